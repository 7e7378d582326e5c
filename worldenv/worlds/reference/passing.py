"""Something that passes close in front of the camera: the occluder of a continuation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.world import UnknownName, Unsupported
from worldenv.worlds.reference.furniture import CLOTHS, PAINTS, Piece, wood
from worldenv.worlds.reference.scene import Instance, Scene, SceneEvent
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.textures import Kit

__all__ = ["PASSERS", "Passing", "read_passing", "with_passing"]

AHEAD = 0.8
"""Metres between the camera and what passes: nearer than anything that stands in the scene."""
REACH = 1.4
"""Metres to either side at which it comes and goes, out of view up to 95 degrees."""
_MOST = 1e4
"""Of its seconds, metres and degrees; beyond it nothing would be seen."""
AWAY = -60.0
"""Where it waits, in metres of height: below every floor."""


class Passing(NamedTuple):
    """What passes, when, and in front of which place.

    Attributes:
        kind: Key of ``PASSERS``.
        start: Seconds at which it comes.
        seconds: How long it takes.
        right: Where the camera stands then, in metres right of the view's own place.
        forward: Metres ahead of it.
        yaw: Degrees that the camera has turned right.
    """

    kind: str
    start: float
    seconds: float
    right: float
    forward: float
    yaw: float


def balloon(kit: Kit) -> Piece:
    """Return a balloon with a knot, its middle at y = 0."""
    b = Builder()
    skin = kit.material("plain", kit.pick(["#d8342c", "#2c74c8", "#f0b020", "#2f9a58", "#c850a0"]))
    b.ball((0, 0.02, 0), (0.2, 0.25, 0.2), skin, sides=28, rings=16)
    b.lathe([(0.0, -0.262), (0.03, -0.26), (0.02, -0.235), (0.0, -0.232)], skin)
    return Piece(b.mesh(), None, "balloon", kit.textures)


def box(kit: Kit) -> Piece:
    """Return a large cardboard or wooden box, its middle at y = 0."""
    b = Builder()
    side = (
        wood(kit)
        if kit.uniform(0, 1) < 0.5
        else kit.material("fabric", "#b08a58", "#9a7648", "plain")
    )
    b.box((-0.3, -0.26, -0.2), (0.3, 0.26, 0.2), side, bevel=0.01)
    tape = kit.material("plain", kit.pick(PAINTS))
    b.box((-0.302, -0.04, -0.202), (0.302, 0.04, 0.202), tape, bevel=0.0)
    return Piece(b.mesh(), None, "box", kit.textures)


def ball(kit: Kit) -> Piece:
    """Return a big striped ball, its middle at y = 0."""
    b = Builder()
    skin = kit.material("ball", kit.pick(CLOTHS), "#f4f0e6", "gores")
    b.ball((0, 0, 0), (0.24, 0.24, 0.24), skin, sides=28, rings=18)
    return Piece(b.mesh(), None, "ball", kit.textures)


PASSERS: dict[str, Callable[[Kit], Piece]] = {"balloon": balloon, "box": box, "ball": ball}
"""Kind -> its maker."""


def read_passing(value: Any) -> Passing | None:
    """Return what ``Start.scene`` says under ``passing``.

    Args:
        value: None, or kind, start, seconds, right, forward and yaw in a sequence.

    Raises:
        Unsupported: the value has another form, or numbers that make no sense.
        UnknownName: there is no such kind.
    """
    if value is None:
        return None
    wrong = Unsupported(
        "the passing of a scene must be [kind, start, seconds, right, forward, yaw] with a kind of "
        f"{', '.join(PASSERS)}, start >= 0, seconds > 0 and nothing beyond {_MOST:g}, got {value!r}"
    )
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 6:
        raise wrong
    kind, *numbers = value
    if not isinstance(kind, str) or any(
        isinstance(n, bool) or not isinstance(n, (int, float)) for n in numbers
    ):
        raise wrong
    if not all(-_MOST <= n <= _MOST for n in numbers) or numbers[0] < 0 or numbers[1] <= 0:
        raise wrong
    if kind not in PASSERS:
        raise UnknownName("kind of passing", kind, PASSERS)
    return Passing(kind, *(float(n) for n in numbers))


def with_passing(scene: Scene, view: NDArray[np.float64], passing: Passing, seed: int) -> Scene:
    """Return the scene with something that passes from left to right or back, by seed.

    Args:
        scene: Has no event of its own.
        view: Camera to scene at frame 0, shape (4, 4).
        passing: What, when and where.
        seed: Of the scene; colours and the side that it comes from follow.

    Raises:
        Unsupported: the scene has an event already.
    """
    if scene.event is not None:
        raise Unsupported(
            f"the scene has the event {scene.event.name!r}; it takes no passing beside it"
        )
    kit = Kit((seed, 211))
    piece = PASSERS[passing.kind](kit)
    side = 1.0 if kit.uniform(0, 1) < 0.5 else -1.0
    here = view @ placed(passing.right, 0, passing.forward, turn=passing.yaw)
    # Views look level; the passer stands upright in the scene, whose y points up.
    right, ahead, middle = here[:3, 0], here[:3, 2], here[:3, 3]

    def pose(t: float) -> NDArray[np.float64]:
        share = (t - passing.start) / passing.seconds
        if not 0 < share < 1:
            return np.asarray(placed(middle[0], AWAY, middle[2]))
        x = side * REACH * (2 * share - 1)
        rise = 0.06 * np.sin(3 * np.pi * share)
        if passing.kind == "ball":
            rise = 0.35 * abs(np.sin(2.5 * np.pi * share)) - 0.2
        point = middle + right * x + ahead * AHEAD
        turn = 25.0 * side * share + np.degrees(np.arctan2(ahead[0], ahead[2]))
        roll = np.eye(4)
        if passing.kind == "ball":
            a = side * 2.2 * np.pi * share
            roll[:2, :2] = [[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]
        return np.asarray(placed(point[0], point[1] + rise, point[2], turn=turn) @ roll)

    number = max(i.id for i in scene.instances) + 1
    thing = Instance(
        number,
        f"passing-{passing.kind}",
        passing.kind,
        piece.variant,
        piece.mesh,
        pose(-1.0),
        moves=True,
    )
    event = SceneEvent(
        f"{passing.kind}_passes",
        "passing",
        number,
        pose,
        lambda t: min(max((t - passing.start) / passing.seconds, 0.0), 1.0),
        passing.start + passing.seconds,
    )
    return replace(scene.with_instance(thing, piece.textures), event=event)
