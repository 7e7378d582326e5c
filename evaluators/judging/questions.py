"""What a judge is asked, as data, and what a settled answer is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple


class Pair(NamedTuple):
    """How far two frames of one video show the same state: R2M's 1 to 5."""

    @property
    def kind(self) -> str:
        """Name of the prompt."""
        return "pair"


class Checklist(NamedTuple):
    """Whether an event starts in view, and eight yes-or-no questions: WorldMemBench.

    Attributes:
        questions: Eight, two an aspect.
        phases: (name, first frame, last frame) as planned.
    """

    questions: tuple[str, ...]
    phases: tuple[tuple[str, int, int], ...]

    @property
    def kind(self) -> str:
        """Name of the prompt."""
        return "checklist"


class Rating(NamedTuple):
    """A change that goes on unseen, rated 1 to 5: MBench.

    Attributes:
        scale: ``state`` (did it go on while unseen) or ``correctness`` (as it should).
        event: What is expected, in words.
        phases: (name, first frame, last frame) as planned.
    """

    scale: Literal["state", "correctness"]
    event: str
    phases: tuple[tuple[str, int, int], ...]

    @property
    def kind(self) -> str:
        """Name of the prompt."""
        return self.scale


class Proposal(NamedTuple):
    """Eight questions to be proposed for an event.

    Attributes:
        event: What is expected, in words.
    """

    event: str

    @property
    def kind(self) -> str:
        """Name of the prompt."""
        return "proposal"


Question = Pair | Checklist | Rating | Proposal


@dataclass(frozen=True)
class Verdict:
    """What the judges settled on.

    Attributes:
        score: 1 to 5 for a pair or a rating; None for a checklist.
        started: Whether the event visibly starts in the first view; checklists only.
        answers: The eight answers, True for yes; checklists only.
        progress: How far the event has come when it is seen again, 0 (as it was left) to 1 (as far
            as can be expected); checklists only, beside the yes-or-no ones.
        agreement: Share of votes that agree with what was settled, in [0, 1]; for scores, votes
            within half a point.
        votes: Number of replies that could be used.
        asked: Number of replies that were asked for.
        replies: The raw texts, one a judge and repeat.
    """

    score: float | None = None
    started: bool | None = None
    answers: tuple[bool, ...] = ()
    progress: float | None = None
    agreement: float = 1.0
    votes: int = 0
    asked: int = 0
    replies: tuple[dict[str, Any], ...] = field(default_factory=tuple)

    def __float__(self) -> float:
        if self.score is None:
            raise TypeError("a checklist has no score")
        return self.score
