"""The Score: one value of one metric, with the count and the status it rests on."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

Status = Literal[
    "ok", "unreliable", "no_observation", "absent", "not_applicable", "unavailable", "error"
]
"""``ok`` and ``unreliable`` carry a value; the others say why there is none.

``no_observation``: the detector found nothing. ``absent``: judged gone. ``not_applicable``: the
metric has no meaning on this path. ``unavailable``: a role is missing. ``error``: it broke.
"""

STATUSES: tuple[str, ...] = get_args(Status)
VALUED = ("ok", "unreliable")


@dataclass(frozen=True)
class Score:
    """One value of one metric.

    Attributes:
        benchmark: ``worldmembench``, ``mbench`` or ``r2m``.
        metric: Metric key, e.g. ``object_appearance``.
        variant: Which form, e.g. ``whole``, ``core``, ``rev``, ``mg``; empty for the only one.
        target: Name of the case's target, None for a metric of the whole view.
        revisit: Revisit k from 1, None for a metric of the whole rollout.
        value: A float exactly when ``status`` is ``ok`` or ``unreliable``, else None.
        n_valid: Observations (frames, pairs, questions) that the value rests on.
        n_expected: Observations that were wanted.
        status: See ``Status``.
        detail: Plain values that explain it: frames used, matches, sub-scores, the reason.
        final_at: Index of the frame at which the score became final.
    """

    benchmark: str
    metric: str
    variant: str = ""
    target: str | None = None
    revisit: int | None = None
    value: float | None = None
    n_valid: int = 0
    n_expected: int = 0
    status: Status = "ok"
    detail: dict[str, Any] = field(default_factory=dict)
    final_at: int | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {STATUSES}, got {self.status!r}")
        if (self.value is not None) != (self.status in VALUED):
            raise ValueError(
                f"a score has a value exactly when its status is ok or unreliable, got "
                f"{self.value} with {self.status!r}"
            )
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.metric} gave {self.value}; no score may be NaN or infinite")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Score:
        """Read what ``to_dict`` wrote."""
        return cls(**data)
