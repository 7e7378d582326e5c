"""What a calibration found, as data: how each score answers to each planted fault."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "GAMED",
    "MOVERS",
    "Calibration",
    "Control",
    "Expected",
    "Response",
    "Subject",
    "Verdict",
    "best_share",
]

MOVERS = {
    "frozen": "a frozen video",
    "slow_motion": "a slow mover out of step",
    "camera_gain": "a camera that goes less far",
}
"""Fault -> who shows less motion than was asked for, and forgets nothing."""
GAMED = 0.02
"""Share of its range by which a score may be worse than the perfect world's and still count as
equal to it."""

Expected = Literal["falls", "rises", "ignores", "open"]
"""Sign that was written down beforehand; ``open`` where nothing is claimed."""

Verdict = Literal["as expected", "not as expected", "not measured", "open"]


@dataclass(frozen=True)
class Subject:
    """A score that is calibrated, and what the perfect world gives for it.

    Attributes:
        benchmark: E.g. ``worldmembench``.
        metric: Published key.
        variant: E.g. ``core`` or ``mg``; empty where there is none.
        low: Least value of its range; of an unbounded score the least mean that was met.
        high: Largest value of its range.
        bounded: Whether the range is the metric's own, not what was met.
        perfect: Mean in the world without a fault.
        noise: Standard deviation over seeds within a case without a fault.
        spread: Standard deviation over cases without a fault.
        backbone: What measured it.
    """

    benchmark: str
    metric: str
    variant: str
    low: float
    high: float
    bounded: bool
    perfect: float | None
    noise: float | None
    spread: float | None
    backbone: str

    @property
    def key(self) -> str:
        """``benchmark/metric`` with ``/variant`` where it has one."""
        return "/".join(part for part in (self.benchmark, self.metric, self.variant) if part)


@dataclass(frozen=True)
class Response:
    """How one score answers to one fault, over cases and seeds.

    Attributes:
        subject: Key of the ``Subject``.
        fault: Name of the fault.
        expected: Sign written down beforehand.
        doses: Ascending, 0 and 1 included.
        means: Mean of each dose, None where no rollout has a value.
        lows: Lower end of its interval over cases.
        highs: Upper end.
        counts: Rollouts at each dose; only cases and seeds with a value at every dose count.
        cases: How many cases they are of.
        slope: Change of the score for a dose from 0 to 1, least squares within rollouts' cases.
        slope_low: Lower end of its interval, cases drawn with replacement.
        slope_high: Upper end.
        p: Of the slope, doses permuted within case and seed.
        rho: Spearman's rho of score and dose: the median over cases for a graded fault, that of
            the means for one that is all or nothing. Positive where the score rises.
        monotone: Whether the means are strictly monotone in the expected direction (for ``open``
            and ``ignores`` in either).
        detects: Least dose from which on every change from dose 0 has an interval without 0, on the
            side of the change to dose 1; None unless p < 0.01 over three cases or more.
        saturates: Least dose by which 95 % of the change to dose 1 has happened.
        moved: Change from dose 0 to dose 1 as a share of the subject's range, signed.
        verdict: Whether it did as was expected.
        reason: What spoke against it, empty otherwise.
    """

    subject: str
    fault: str
    expected: Expected
    doses: tuple[float, ...]
    means: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    counts: tuple[int, ...]
    cases: int
    slope: float | None
    slope_low: float | None
    slope_high: float | None
    p: float | None
    rho: float | None
    monotone: bool | None
    detects: float | None
    saturates: float | None
    moved: float | None
    verdict: Verdict
    reason: str = ""


def best_share(subject: Subject, response: Response, best: int) -> tuple[float, float] | None:
    """Return the dose that serves a score best, and how much better than at dose 0 it is there.

    Args:
        subject: The score.
        response: How it answered.
        best: 1 when larger scores are better, -1 when smaller ones are.

    Returns:
        The dose and the share of the range, negative where the score is worse; None where no case
        has every dose.
    """
    means = [mean for mean in response.means if mean is not None]
    span = subject.high - subject.low
    if len(means) < max(2, len(response.means)) or span <= 0:
        return None
    shares = [best * (mean - means[0]) / span for mean in means[1:]]
    return max(zip(response.doses[1:], shares, strict=True), key=lambda found: found[1])


@dataclass(frozen=True)
class Control:
    """A finding about one claim that is not a dose-response curve.

    Attributes:
        claim: E.g. ``frozen: memory gain is 0 within noise``.
        found: What was measured, as text with numbers.
        holds: Whether the claim holds, None where it could not be measured.
        values: The numbers by name.
    """

    claim: str
    found: str
    holds: bool | None
    values: dict[str, float | str | None]


@dataclass(frozen=True)
class Calibration:
    """All that a calibration found.

    Attributes:
        profile: E.g. ``classic+truth``.
        made: Versions, machine, seconds, rollouts and settings (cases, seeds, doses, size).
        subjects: The scores.
        responses: One per score and fault that were measured together.
        controls: Findings beside the curves.
        unmeasured: Score -> status, of those that no rollout has a value for.
    """

    profile: str
    made: dict[str, Any]
    subjects: tuple[Subject, ...]
    responses: tuple[Response, ...]
    controls: tuple[Control, ...]
    unmeasured: dict[str, str]

    def subject(self, key: str) -> Subject:
        """Return a subject by its key.

        Raises:
            KeyError: there is none.
        """
        return next(s for s in self.subjects if s.key == key)

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read ``calibration.json``.

        Raises:
            ValueError: the file is no calibration.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(
                data["profile"],
                data["made"],
                tuple(Subject(**row) for row in data["subjects"]),
                tuple(Response(**_tuples(row)) for row in data["responses"]),
                tuple(Control(**row) for row in data["controls"]),
                dict(data["unmeasured"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} is no calibration ({error!r}); expected calibration.json of "
                "'worldenv calibrate'"
            ) from error


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
