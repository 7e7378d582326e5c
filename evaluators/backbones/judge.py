"""Role judge: vision-language models at an address, or whoever answers files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worldenv.evaluators.judging.endpoint import NoReply
from worldenv.evaluators.judging.panel import Panel, Posed
from worldenv.evaluators.judging.prompts import PROMPTS_VERSION
from worldenv.evaluators.judging.questions import Pair
from worldenv.evaluators.judging.settings import JudgeSettings
from worldenv.evaluators.plan import Ask, Failure, pixels


class VisionJudge:
    """Answers ``judge`` with a Verdict: asked as (i, j) for a pair, else with a question.

    Attributes:
        pairs: How many pairs of a set are worth asking for; each costs a request.
    """

    checksum = ""

    def __init__(self, settings: JudgeSettings) -> None:
        self._panel = Panel(settings)
        self.name = "+".join(judge.model for judge in settings.judge)
        self.revision = (
            f"prompts-{PROMPTS_VERSION}; {settings.repeats} replies at {settings.temperature:g}, "
            f"{settings.pair_side} and {settings.frame_side} px, {settings.pairs} pairs"
        )
        self.batch = settings.concurrency
        self.pairs = settings.pairs

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frames."""
        return tuple(pixels(frame) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask the judges about all asks at once, each of them once."""
        posed = {
            ask: Posed(Pair() if ask.subject == "" else ask.subject, ask.frames, images)  # type: ignore[arg-type]
            for ask, images in zip(asks, inputs, strict=True)
        }
        settled = dict(zip(posed, self._panel.decide(list(posed.values())), strict=True))
        return [_answer(settled[ask]) for ask in asks]


def _answer(found: Any) -> Any:
    if isinstance(found, NoReply):
        return Failure(str(found), "unavailable" if found.waiting else "error")
    return found
