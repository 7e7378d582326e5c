"""What a planner hands to the engine: asks of roles, and measurements that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.case import Case
from worldenv.evaluators.score import Score, Status
from worldenv.world import WorldSpec

if TYPE_CHECKING:
    from worldenv.evaluators.profile import Profile

PIXELS = "pixels"
"""Source: the frame, shape (height, width, 3) uint8."""
TRUTH = ("pose", "depth", "ids", "state")
"""Sources ``truth:<key>``: what the world says of a frame."""


class Ask(NamedTuple):
    """A question to a role about one frame, or about a pair of frames.

    Equal asks of several measurements are answered once.

    Attributes:
        role: A source (``pixels``, ``truth:depth``), a role of the profile (``embed``) or a pair
            function (``psnr``).
        frames: One frame index, or two.
        subject: What in the frame, e.g. the Thing to segment; empty for the whole frame.
    """

    role: str
    frames: tuple[int, ...]
    subject: Hashable = ""


class Thing(NamedTuple):
    """Subject of detect, segment and what rests on them: things of a noun, in a run of frames.

    Attributes:
        noun: What is looked for, e.g. ``red chair``; ``*`` for every object.
        window: Frames, ascending, over which a thing keeps its track: a tracker follows it from
            each to the next. Empty: every frame is looked at by itself.
    """

    noun: str
    window: tuple[int, ...] = ()

    def before(self, frame: int) -> int | None:
        """Return the frame of the window before ``frame``, None for the first of it."""
        place = self.window.index(frame) if frame in self.window else 0
        return self.window[place - 1] if place else None


def pixels(frame: int) -> Ask:
    """Ask for a frame."""
    return Ask(PIXELS, (int(frame),))


def truth(key: str, frame: int) -> Ask:
    """Ask for what the world says of a frame."""
    return Ask(f"truth:{key}", (int(frame),))


class Slot(NamedTuple):
    """The Score that a measurement will fill."""

    metric: str
    variant: str = ""
    target: str | None = None
    revisit: int | None = None
    n_expected: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a measurement found for one slot; fields as in Score."""

    value: float | None = None
    n_valid: int = 0
    status: Status = "ok"
    detail: dict[str, Any] = field(default_factory=dict)


Features = Mapping[Ask, Any]


class Failure(NamedTuple):
    """Stands for an answer that could not be made; whatever needs it fails with its message."""

    message: str
    status: Status = "error"


@dataclass(frozen=True)
class Measurement:
    """One step of a plan: pure, over the answers to its asks.

    Attributes:
        benchmark: Benchmark id.
        slots: The Scores it fills.
        asks: What it needs; it is computed when the last of them is answered.
        compute: Answers -> one Outcome a slot.
        partial: Whether it is computed from what there is when the rollout ends early or some
            answers failed: asks that came too late are then missing from the features, and failed
            ones hold their Failure. Otherwise its slots take the status of what is missing.
    """

    benchmark: str
    slots: tuple[Slot, ...]
    asks: tuple[Ask, ...]
    compute: Callable[[Features], Sequence[Outcome]]
    partial: bool = False

    @property
    def frames(self) -> frozenset[int]:
        """The frames it looks at."""
        return frozenset(frame for ask in self.asks for frame in ask.frames)


def refused(benchmark: str, slots: Sequence[Slot], status: Status, reason: str) -> Measurement:
    """Return a measurement that looks at nothing and says why."""
    outcome = Outcome(status=status, detail={"reason": reason})
    found = [outcome] * len(slots)
    return Measurement(benchmark, tuple(slots), (), lambda features: found)


@dataclass(frozen=True, eq=False)
class Context:
    """What a planner knows before the first frame.

    Attributes:
        path: The target path.
        profile: Roles and the backbones that answer them.
        case: What is looked for, None on a free path.
        spec: The world, None for a plain video.
        K: Intrinsics in pixels of the frames, shape (3, 3), None when unknown.
        K_exactness: ``exact``, ``nominal`` or ``estimated``.
        seed: Seed of sampled pairs.
        options: The benchmark's own options.
        script: Name of the script that is walked, None on a free path.
    """

    path: CameraPath
    profile: Profile
    case: Case | None = None
    spec: WorldSpec | None = None
    K: NDArray[np.float64] | None = None
    K_exactness: str = "nominal"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    script: str | None = None

    def lacks(self, *roles: str, noun: str = "") -> str | None:
        """Return why one of the roles cannot be answered, None when all can.

        Args:
            roles: Roles or pair functions.
            noun: What they would be asked for; some answer for people only.
        """
        for role in roles:
            reason = self.profile.lacks(role, noun)
            if reason is not None:
                return reason
        return None


Conclude = Callable[[Sequence[Score], Context], list[Score]]
