"""Planted faults by name: what each does to a world, and what its dose means.

A dose lies in [0, 1]: 0 is the world without the fault. Faults and doses combine freely. What a
dose draws, a larger dose of the same fault and seed draws too (draws are nested), so that a score
can be held against the dose. What is absent depends on what is shown: behind a thing that has
vanished another one stays in view, and its next absence is then not the same.

The dose of a fault that is all or nothing is the probability for each thing, person or event and
each absence of it. Things that carry something are not swapped, people only by ``swap_people``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any, Literal, NamedTuple

from worldenv.world import UnknownName, Unsupported

__all__ = ["FAULTS", "FRAME_FAULTS", "STATE_FAULTS", "Fault", "check_faults"]

Group = Literal["content", "event", "camera", "time", "frames"]


class Fault(NamedTuple):
    """What a fault does.

    Attributes:
        group: ``content``, ``event``, ``camera`` and ``time`` change the state of a world that
            knows it (Reference-v0), so that depth, ids, light and pose stay true to what is shown;
            ``frames`` change the pictures of any world.
        graded: Whether the dose is an amount; else it is the probability for each target, event,
            leg or frame, drawn nested by seed.
        meaning: What a dose of 1 does, as one sentence.
    """

    group: Group
    graded: bool
    meaning: str


FAULTS: dict[str, Fault] = {
    "forget": Fault(
        "content", False, "What was out of view for 16 frames comes back as another of its kind."
    ),
    "vanish": Fault("content", False, "What was out of view for 16 frames is gone on return."),
    "swap_objects": Fault(
        "content", False, "A thing that was out of view comes back as a thing of another kind."
    ),
    "swap_people": Fault(
        "content", False, "A person who was out of view comes back as somebody else."
    ),
    "duplicate": Fault(
        "content", False, "A thing that was out of view comes back with a copy of it beside it."
    ),
    "deform": Fault(
        "content", True, "What was out of view comes back bent and stretched, up to half its size."
    ),
    "layout_shuffle": Fault(
        "content", True, "What was out of view comes back moved, up to about its own size."
    ),
    "restyle": Fault(
        "content", True, "What was out of view comes back in other colours and textures."
    ),
    "relight": Fault(
        "content", True, "After an absence the light has another strength and colour."
    ),
    "drift": Fault(
        "content", True, "Colour, texture, shape and position of things wander with time."
    ),
    "drift_colour": Fault("content", True, "Colours of things wander with time."),
    "drift_texture": Fault("content", True, "Textures of things wander with time."),
    "drift_shape": Fault("content", True, "Shapes of things wander with time."),
    "drift_position": Fault("content", True, "Positions of things wander with time."),
    "event_absent": Fault("event", False, "The event never starts."),
    "event_freeze": Fault("event", True, "The event stands still while it is out of view."),
    "event_restart": Fault(
        "event", True, "The event goes back towards its beginning on every return."
    ),
    "event_reverse": Fault("event", True, "The event runs backwards once it has been left."),
    "event_break": Fault(
        "event", True, "What changes becomes another thing on the way: an invariant breaks."
    ),
    "camera_gain": Fault("camera", True, "The camera moves less far than it is asked to."),
    "camera_lag": Fault("camera", True, "The camera follows late."),
    "camera_drift": Fault("camera", True, "The camera wanders off by an error that adds up."),
    "camera_axis": Fault("camera", False, "A leg is walked along another axis."),
    "camera_stuck": Fault("camera", False, "A leg is not walked at all."),
    "slow_motion": Fault(
        "time", True, "Camera and event run at a fraction of their pace; at 1 a quarter of it."
    ),
    "frozen": Fault("time", False, "Frame 0 is repeated whatever is asked; the dose is 0 or 1."),
    "blur": Fault("frames", True, "Gaussian blur, at 1 of 3 % of the picture's width."),
    "down_up": Fault("frames", True, "Scaled down and up again, at 1 by a factor of 8."),
    "compression": Fault(
        "frames", True, "H.264, a key frame every 16, at 1 with the coarsest quantiser."
    ),
    "noise": Fault("frames", True, "Gaussian noise, at 1 of 48 grey levels; new in every frame."),
    "exposure": Fault(
        "frames", True, "Brightness wanders with time, at 1 by up to 3 stops from frame 0."
    ),
    "frame_rate": Fault(
        "frames", True, "Fewer distinct frames, at 1 each picture is held for 8 frames."
    ),
    "dropped": Fault(
        "frames", False, "A frame is lost: the one before stands in its place; at 1 all are."
    ),
    "repeated": Fault(
        "frames", False, "A frame is shown twice, and all later ones come later; at 1 half speed."
    ),
}
"""Fault name -> what it does."""

STATE_FAULTS = tuple(name for name, fault in FAULTS.items() if fault.group != "frames")
FRAME_FAULTS = tuple(name for name, fault in FAULTS.items() if fault.group == "frames")


def check_faults(
    faults: Mapping[str, float] | None, known: Collection[str] = tuple(FAULTS)
) -> dict[str, float]:
    """Return the faults as a dict of doses.

    Args:
        faults: Name -> dose in [0, 1].
        known: The faults that a world offers.

    Raises:
        UnknownName: there is no such fault.
        Unsupported: a dose is not a number from 0 to 1, or frozen is neither 0 nor 1.
    """
    checked: dict[str, float] = {}
    if faults is not None and not isinstance(faults, Mapping):
        raise Unsupported(
            f"faults must map names to doses, such as {{'forget': 0.5}}; got {faults!r}"
        )
    asked: dict[Any, Any] = dict(faults or {})
    for name, dose in asked.items():
        if name not in known:
            raise UnknownName("fault", str(name), known)
        real = isinstance(dose, Real) and not isinstance(dose, bool)
        if not real or not 0 <= dose <= 1:
            raise Unsupported(
                f"the dose of fault {name!r} must be a number from 0 to 1, got {dose!r}"
            )
        if name == "frozen" and dose not in (0, 1):
            raise Unsupported(f"the dose of fault 'frozen' is 0 or 1, got {dose!r}")
        checked[name] = float(dose)
    return checked
