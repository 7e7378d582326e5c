"""The judge's prompts, versioned and in our own words, and the strict form of its replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worldenv.evaluators.judging.questions import Checklist, Pair, Proposal, Question, Rating

_MOST_TRIES = 1000
PROMPTS_VERSION = "1"
"""Part of the judge's revision, so of every row; changes whenever a text below does."""


class UnusableReply(Exception):
    """A reply that is not the JSON that was asked for."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


Text = Annotated[str, Field(max_length=2000)]


class Inconsistency(_Reply):
    """One difference that the view point does not explain."""

    type: Literal["scene", "identity", "geometry", "persistence"]
    severity: Literal["minor", "moderate", "major", "catastrophic"]
    description: Text = ""


class PairReply(_Reply):
    """Reply to a pair; R2M-Bench appendix A.2."""

    scene_relation: Literal["same", "partial", "different", "uncertain"]
    viewpoint_difference: Text = ""
    inconsistencies: list[Inconsistency] = []
    score: Annotated[float, Field(ge=1, le=5)]
    reason: Text = ""


class ChecklistReply(_Reply):
    """Reply to a checklist."""

    event_starts: bool
    start_evidence: Text = ""
    progress: Annotated[float, Field(ge=0, le=100)]
    answers: Annotated[list[Literal["yes", "no"]], Field(min_length=8, max_length=8)]


class RatingReply(_Reply):
    """Reply to a rating."""

    score: Annotated[float, Field(ge=1, le=5)]
    reason: Text = ""


class ProposedQuestion(_Reply):
    """A question with the answer that a world without faults would give."""

    aspect: Literal["progress", "persistence", "final_state", "causal"]
    question: Annotated[str, Field(min_length=8, max_length=300)]
    answer: Literal["yes", "no"]


class ProposalReply(_Reply):
    """Reply to a proposal."""

    questions: Annotated[list[ProposedQuestion], Field(min_length=8, max_length=8)]


REPLIES: dict[str, type[_Reply]] = {
    "pair": PairReply,
    "checklist": ChecklistReply,
    "state": RatingReply,
    "correctness": RatingReply,
    "proposal": ProposalReply,
}

_PAIR = """You compare two frames of one generated video: image A comes first, image B later. Rate \
how far they show one and the same persistent place, from 1 to 5.

Take nothing for granted: the frames may show different places. Likeness of pixels is not what counts.
1. Decide how the places relate: same, partial, different or uncertain.
2. Where they share content, work out how the camera moved and which part both can see.
3. Within that shared part, compare what is there, its shape and its arrangement.
4. Without recognisable shared content the rating is low: nothing to compare is no proof of memory.

Do not count: whatever motion of the camera, perspective, scale or occlusion can explain; things at \
the border that come into or go out of view; small changes of light, exposure or rendering. If a \
change may come from the view point, take it that it does.
Count only what you are sure of, as one of: scene (another place), identity (a thing has another \
colour, shape, material or kind), geometry (an impossible or contradicting layout), persistence (a \
thing well inside the shared part is gone or new, or a number of like things differs).

5: clearly the same place, the shared state agrees. 4: the same place, small sure differences. \
3: partly or perhaps the same place, or differences of some weight. 2: little sign of the same place, \
or large differences. 1: clearly different places or states that exclude each other. Values between \
are allowed.

Reply with this JSON and nothing else, at most three inconsistencies, every text at most 15 words:
{"scene_relation": "same|partial|different|uncertain", "viewpoint_difference": "...", \
"inconsistencies": [{"type": "scene|identity|geometry|persistence", \
"severity": "minor|moderate|major|catastrophic", "description": "..."}], "score": 4.5, "reason": "..."}"""

_SEQUENCE = """The images are frames of one video in order; each is announced by its frame number. The \
camera was meant to move like this, frame numbers inclusive:
{phases}
"""

_CHECKLIST = """{sequence}
Something in the scene is meant to start changing in the first phase and to go on while the camera \
looks away. You are told nothing of what the video was made from; judge only what you see.

First the gate: does the change visibly start within the first phase? Say true only when at least \
two of its frames show that the change has concretely moved on.
Then answer each question with yes or no, from the frames alone. If a frame that would decide it is \
missing or unclear, answer as the frames make more likely.
Also rate from 0 to 100 how far the change has come when its place is seen again: 0 as it was left, \
100 as far as it could have come.

Questions:
{questions}

Reply with this JSON and nothing else:
{{"event_starts": true, "start_evidence": "frames and what moved, at most 20 words", "progress": 70, \
"answers": ["yes", "no", ...eight in order...]}}"""

_STATE = """{sequence}
Expected change: {event}
It goes on while the camera looks away. Rate from 1 to 5 whether its state moved on while unseen: \
1 it stands as it was left or went back, 2 barely further, 3 about half of what the time away allows, \
4 nearly as far as it should be, 5 fully as far as it should be.
If the thing that changes is not seen again, the rating is 1.

Reply with this JSON and nothing else: {{"score": 3, "reason": "at most 20 words"}}"""

_CORRECTNESS = """{sequence}
Expected change: {event}
Rate from 1 to 5 whether the change runs as it should, whatever its amount: the same thing changes, \
in the right direction, in its place, obeying cause and physics, and nothing else changes with it. \
1 wrong or impossible, 2 mostly wrong, 3 right and wrong parts, 4 small faults, 5 without fault.

Reply with this JSON and nothing else: {{"score": 3, "reason": "at most 20 words"}}"""

_PROPOSAL = """The image is the first view of a scene. This will happen in it: {event}
The change starts in view, goes on while the camera looks away, and is seen again on return. Write \
eight questions with yes-or-no answers that tell from the frames whether a video model kept this \
change going correctly: exactly two each on progress (it moved on while unseen), persistence (it did \
not reset, the thing stayed the same), final_state (how it ends), causal (it obeys cause and physics). \
Each asks one thing that can be seen, names the thing, and cannot be answered without the video. When \
all goes well at least two of the eight must have the answer yes and at least two the answer no.

Reply with this JSON and nothing else: {{"questions": [{{"aspect": \
"progress|persistence|final_state|causal", "question": "...", "answer": "yes|no"}}, ...]}}"""


def prompt(question: Question) -> str:
    """Return the text of a question."""
    if isinstance(question, Pair):
        return _PAIR
    if isinstance(question, Proposal):
        return _PROPOSAL.format(event=question.event)
    phases = "\n".join(f"{name}: frames {a} to {b}" for name, a, b in question.phases)
    sequence = _SEQUENCE.format(phases=phases)
    if isinstance(question, Checklist):
        listed = "\n".join(f"{k}. {text}" for k, text in enumerate(question.questions, 1))
        return _CHECKLIST.format(sequence=sequence, questions=listed)
    text = _STATE if question.scale == "state" else _CORRECTNESS
    return text.format(sequence=sequence, event=question.event)


def labels(question: Question, frames: Sequence[int]) -> list[str]:
    """Return what announces each image."""
    if isinstance(question, Pair):
        return ["Image A:", "Image B:"]
    if isinstance(question, Proposal):
        return ["First view:"]
    return [f"Frame {frame}:" for frame in frames]


def schema(question: Question) -> dict[str, Any]:
    """Return the JSON schema of the reply, for servers that enforce one."""
    return REPLIES[question.kind].model_json_schema()


def read_reply(question: Question, text: str) -> BaseModel:
    """Return the reply in its strict form.

    Reasoning before the reply and fences around it are passed over; anything else is refused.

    Raises:
        UnusableReply: there is no such JSON in the text.
    """
    shape = REPLIES[question.kind]
    reason = "no JSON object in it"
    for data in _objects(text.rpartition("</think>")[2]):
        try:
            return shape.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = f"{where or 'reply'}: {first['msg']}"
    raise UnusableReply(reason)


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects of a text, last first.

    Raises:
        UnusableReply: one is nested too deeply.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: list[dict[str, Any]] = []
    at, tries = text.find("{"), 0
    while at >= 0 and tries < _MOST_TRIES:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise UnusableReply("JSON nested too deeply") from None
        except ValueError:
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found[::-1]


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


__all__ = [
    "PROMPTS_VERSION",
    "ChecklistReply",
    "PairReply",
    "ProposalReply",
    "Rating",
    "RatingReply",
    "UnusableReply",
    "labels",
    "prompt",
    "read_reply",
    "schema",
]
