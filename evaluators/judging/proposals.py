"""Eight questions for an event: proposed by a judge, checked, and frozen so that none can move."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worldenv.evaluators.judging.endpoint import NoReply
from worldenv.evaluators.judging.panel import Panel, Posed
from worldenv.evaluators.judging.prompts import ProposalReply, ProposedQuestion
from worldenv.evaluators.judging.questions import Checklist, Proposal
from worldenv.evaluators.judging.settings import JudgeSettings
from worldenv.world import WorldEnvError

ASPECTS = ("progress", "persistence", "final_state", "causal")
_LEAST = 2
"""Least number of either answer: a judge that always gives the other one scores 0.75 at most."""


class InvalidQuestions(WorldEnvError):
    """Questions are no set of eight that can tell memory from forgetting, or were changed."""


class QuestionSet(BaseModel):
    """Eight questions on an event, two an aspect, with reference answers.

    Attributes:
        event: What happens, in words.
        questions: In aspect order.
        proposed_by: Judge that proposed them, empty when written by hand.
        frozen: SHA-256 of event and questions once frozen.
    """

    model_config = ConfigDict(extra="forbid")

    event: Annotated[str, Field(min_length=3, max_length=1000)]
    questions: list[ProposedQuestion]
    proposed_by: str = ""
    frozen: str | None = None
    version: Literal[1] = 1

    def digest(self) -> str:
        """Return the SHA-256 of event, questions and answers."""
        rows = [[q.aspect, q.question, q.answer] for q in self.questions]
        return hashlib.sha256(json.dumps([self.event, rows]).encode()).hexdigest()

    @property
    def texts(self) -> tuple[str, ...]:
        """The eight questions, for ``Event.questions``."""
        return tuple(q.question for q in self.questions)

    @property
    def answers(self) -> tuple[bool, ...]:
        """Their reference answers, for ``Event.answers``."""
        return tuple(q.answer == "yes" for q in self.questions)


def faults(found: QuestionSet) -> list[str]:
    """Return what is wrong with a set of questions, nothing when it can be frozen."""
    out = []
    counts: Counter[str] = Counter(q.aspect for q in found.questions)
    for aspect in ASPECTS:
        if counts[aspect] != 2:
            out.append(f"{counts[aspect]} questions on {aspect}, expected 2")
    order = [q.aspect for q in found.questions]
    if not out and order != [aspect for aspect in ASPECTS for _ in range(2)]:
        out.append(f"questions must stand in the order {', '.join(ASPECTS)}, two each")
    no = sum(q.answer == "no" for q in found.questions)
    if min(no, len(found.questions) - no) < _LEAST:
        out.append(f"{no} reference answers are no, expected at least {_LEAST} of either kind")
    texts = [" ".join(q.question.lower().split()) for q in found.questions]
    out += [f"asked twice: {text}" for text, count in Counter(texts).items() if count > 1]
    out += [f"no question: {q.question}" for q in found.questions if "?" not in q.question]
    return out


def propose(event: str, image: NDArray[np.uint8], settings: JudgeSettings) -> QuestionSet:
    """Let the first judge propose eight questions for an event, from its first view.

    Args:
        event: What will happen, in words.
        image: The first view, shape (height, width, 3).
        settings: The judges.

    Raises:
        InvalidQuestions: the judge gave none that can be read.
    """
    if not 3 <= len(event.strip()) <= 1000:
        raise InvalidQuestions("An event is told in 3 to 1000 characters; say what will happen.")
    alone = settings.model_copy(update={"judge": settings.judge[:1], "repeats": 1})
    reply = Panel(alone).reply(Posed(Proposal(event), (0,), (image,)))
    if isinstance(reply, NoReply):
        raise InvalidQuestions(f"No questions: {reply}.")
    assert isinstance(reply, ProposalReply)
    ordered = sorted(reply.questions, key=lambda q: ASPECTS.index(q.aspect))
    return QuestionSet(event=event, questions=ordered, proposed_by=settings.judge[0].model)


def try_out(
    found: QuestionSet,
    frames: tuple[int, ...],
    images: tuple[NDArray[np.uint8], ...],
    phases: tuple[tuple[str, int, int], ...],
    settings: JudgeSettings,
) -> list[bool]:
    """Return, a question, whether the judges give its reference answer on a video that is right.

    Args:
        found: The questions.
        frames: Frame index of each image.
        images: Frames of a video in which the event goes as it should.
        phases: (name, first frame, last frame).
        settings: The judges.

    Raises:
        InvalidQuestions: the judges gave no answer.
    """
    posed = Posed(Checklist(found.texts, phases), frames, images)
    (verdict,) = Panel(settings).decide([posed])
    if isinstance(verdict, NoReply):
        raise InvalidQuestions(f"The questions could not be tried out: {verdict}.")
    return [a == b for a, b in zip(verdict.answers, found.answers, strict=True)]


def load_questions(file: Path) -> QuestionSet:
    """Read a file of questions.

    Raises:
        InvalidQuestions: it cannot be read, is of another form, or was changed after freezing.
    """
    try:
        found = QuestionSet.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InvalidQuestions(f"{file} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise InvalidQuestions(f"{file}: {where}: {first['msg']}.") from None
    if found.frozen is not None and found.frozen != found.digest():
        raise InvalidQuestions(
            f"{file} was changed after it was frozen; restore it, or set frozen to null and freeze "
            "it under another name."
        )
    return found


def check_place(file: Path) -> None:
    """Refuse a file that questions cannot be written to.

    Raises:
        InvalidQuestions: the file there is frozen, or its folder cannot be written.
    """
    if file.exists() and load_questions(file).frozen is not None:
        raise InvalidQuestions(f"{file} is frozen; write the new questions to another file.")
    if not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        raise InvalidQuestions(f"{file.parent} is no folder that can be written to.")


def save_questions(found: QuestionSet, file: Path) -> None:
    """Write a file of questions.

    Raises:
        InvalidQuestions: it cannot be written, or the file there is frozen.
    """
    check_place(file)
    part = file.with_name(file.name + ".part")
    try:
        part.write_text(found.model_dump_json(indent=1) + "\n", "utf-8")
        part.replace(file)
    except OSError as error:
        raise InvalidQuestions(f"{file} cannot be written: {error.strerror}.") from None


def freeze(found: QuestionSet) -> QuestionSet:
    """Return the set with its digest, which every later reading compares.

    Raises:
        InvalidQuestions: something is wrong with it; the message lists what.
    """
    wrong = faults(found)
    if wrong:
        raise InvalidQuestions(f"The questions cannot be frozen: {'; '.join(wrong)}.")
    return found.model_copy(update={"frozen": found.digest()})
