"""Changes of the interior in closed form of time, one or more of each mechanism.

Every event starts at time 0 in view, goes on whether it is looked at or not, and comes to rest in
its final state before a dynamic script looks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size, make
from worldenv.worlds.reference.layout import Layout
from worldenv.worlds.reference.props import (
    FLOWER_SIZE,
    ICE_SIZE,
    LAMP_SIZE,
    POT_SIZE,
    TANK_SIZE,
    Shape,
    bright_lamp,
    flower,
    ice_block,
    shade_lamps,
    water_tank,
)
from worldenv.worlds.reference.rooms import BALL, BALL_END, BALL_LANE, BALL_START
from worldenv.worlds.reference.scene import Instance, Mesh, SceneEvent
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.views import camera_at
from worldenv.worlds.reference.walking import PACE, STEP, stride, travelled, walker

ROLL_SECONDS = 13.0
SWING_SECONDS = 14.0
SWING_DEGREES = 64.0
CHANGE_SECONDS = 15.0
"""How long melting, filling and growing take."""
SPROUT = (0.5, 0.4)
"""Width and height of a flower at the start, as shares of what it grows to."""
WALK_START, WALK_END, WALK_LANE = -1.05, 3.5, 2.1
"""Where a walk begins and ends at the latest (x), and the z of its line."""
WALK_WATCH = (-3.55, 0.0, 2.1)
"""Where a walk is watched from, (x, 0, z)."""
WALK_WAIT = 1.8
"""Seconds that someone stands before the first step."""
EVENING, EVENING_GLOW = 0.05, 0.16
"""What is left in the evening of the lamps and of what glows, as shares."""
EVENING_EXPOSURE = 0.5
LAMP_LIGHT = (10.0, 7.4, 4.4)
"""Radiance of the lamp that is turned up."""
STAND: Size = (1.1, 0.62, 0.66)
"""Size of the table on which something changes."""
STAGE = 2.85
"""The x of that table, in the open lane of the ball."""


def eased(t: float, duration: float) -> float:
    """Return the share (0 to 1) of a motion that starts at full speed and slows to rest evenly.

    Constant friction: the distance is v t - a t^2 / 2 with a = v / duration.
    """
    share = min(max(t / duration, 0.0), 1.0)
    return share * (2 - share)


def ball_rolls_off(layout: Layout) -> SceneEvent:
    """Roll the ball across the open floor until friction stops it; it turns without slipping."""
    instance = _mark(layout, "ball")
    start = instance.pose.copy()
    way = (BALL_END - BALL_START) * layout.mirror

    def pose(t: float) -> NDArray[np.float64]:
        distance = way * eased(t, ROLL_SECONDS)
        a = -distance / BALL  # Rolling towards +x turns clockwise seen from +z.
        turn = np.eye(4)
        turn[:2, :2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
        lift, drop = placed(0, BALL, 0), placed(0, -BALL, 0)
        return np.asarray(placed(distance, 0, 0) @ start @ lift @ turn @ drop)

    return SceneEvent(
        "ball_rolls_off",
        "moving",
        instance.id,
        pose,
        lambda t: eased(t, ROLL_SECONDS),
        ROLL_SECONDS,
    )


def door_opens(layout: Layout) -> SceneEvent:
    """Swing the door leaf into the room about its hinge edge, slowing down to rest."""
    instance = _mark(layout, "door")
    start = instance.pose.copy()

    def pose(t: float) -> NDArray[np.float64]:
        return np.asarray(start @ placed(turn=-SWING_DEGREES * eased(t, SWING_SECONDS)))

    return SceneEvent(
        "door_opens", "opening", instance.id, pose, lambda t: eased(t, SWING_SECONDS), SWING_SECONDS
    )


def settling(t: float, duration: float) -> float:
    """Return the share (0 to 1) of a change that runs evenly at first and slows down at its end."""
    share = min(max(t / duration, 0.0), 1.0)
    return share + 0.4 * share * (1 - share)


def ice_melts(layout: Layout) -> SceneEvent:
    """Melt a block of ice on a tray: it sinks and shrinks in a growing pool."""
    piece, shape = ice_block(int(layout.rng.integers(1 << 16)))
    return _on_stage(layout, "ice_melts", "melting", piece, "ice block", ICE_SIZE, shape)


def tank_fills(layout: Layout) -> SceneEvent:
    """Fill a clear tank from a tap until it is full and the tap stops."""
    piece, shape = water_tank(int(layout.rng.integers(1 << 16)))
    return _on_stage(layout, "tank_fills", "filling", piece, "tank", TANK_SIZE, shape)


def flower_grows(layout: Layout) -> SceneEvent:
    """Grow a flower in a pot from a sprout to its full height."""
    table = _stage(layout, 1.4)
    seed = int(layout.rng.integers(1 << 16))
    vessel = layout.add(
        make("pot", seed, POT_SIZE),
        "pot",
        table.pose @ placed(0, layout.sizes[table.id][1] + 0.002, 0),
        POT_SIZE,
    )
    root = vessel.pose @ placed(0, POT_SIZE[1] - 0.02, 0)
    small = np.array([SPROUT[0], SPROUT[1], SPROUT[0]])

    def pose(t: float) -> NDArray[np.float64]:
        size = small + (1 - small) * settling(t, CHANGE_SECONDS)
        return np.asarray(root @ np.diag([*size, 1.0]))

    instance = layout.add(flower(seed), "flower", pose(0.0), FLOWER_SIZE, moves=True)
    return SceneEvent(
        "flower_grows",
        "growing",
        instance.id,
        pose,
        lambda t: settling(t, CHANGE_SECONDS),
        CHANGE_SECONDS,
    )


def lamp_brightens(layout: Layout) -> SceneEvent:
    """Turn up a lamp in the evening, when it is dusk outside and the ceiling lights are low."""
    for i, instance in enumerate(layout.instances):
        layout.instances[i] = with_glow(instance, EVENING_GLOW)
    layout.lamps = [lamp._replace(radiance=_evening(lamp.radiance)) for lamp in layout.lamps]
    layout.ambient = _evening(layout.ambient)
    layout.exposure = EVENING_EXPOSURE
    layout.tags["glow"] = repr(EVENING_GLOW)
    place = layout.pose(STAGE, 0.0, BALL_LANE, 0.0)
    piece = bright_lamp(int(layout.rng.integers(1 << 16)))
    instance = layout.add(piece, "lamp", place, LAMP_SIZE, moves=True)
    first = len(layout.lamps)
    layout.lamps += shade_lamps(place, LAMP_LIGHT)
    layout.watch["event"] = camera_at(place[0, 3] - 0.3, place[2, 3] + 2.7, -4.0)
    return SceneEvent(
        "lamp_brightens",
        "lighting",
        instance.id,
        lambda t: place,
        lambda t: settling(t, CHANGE_SECONDS),
        CHANGE_SECONDS,
        lamps=tuple(range(first, len(layout.lamps))),
        # The eye sees even steps where the light grows by even factors.
        brightness=lambda t: settling(t, CHANGE_SECONDS) ** 1.5,
    )


def _evening(light: tuple[float, float, float]) -> tuple[float, float, float]:
    red, green, blue = light
    return EVENING * red, EVENING * green, EVENING * blue


def with_glow(instance: Instance, share: float) -> Instance:
    """Return an instance whose glowing surfaces give a share of their light."""

    def dimmed(mesh: Mesh | None) -> Mesh | None:
        if mesh is None:
            return None
        materials = tuple(m._replace(emission=share * m.emission) for m in mesh.materials)
        return mesh._replace(materials=materials)

    mesh = dimmed(instance.mesh)
    assert mesh is not None
    return replace(instance, mesh=mesh, coarse=dimmed(instance.coarse))


def person_walks(layout: Layout) -> SceneEvent:
    """Let someone walk along the free strip in the south, away from the view, and stand there."""
    piece, figure = walker(64 + int(layout.rng.integers(1 << 12)))
    start = layout.pose(WALK_START, 0.0, WALK_LANE, 90.0)
    steps = int((WALK_END - WALK_START) / STEP) + 1
    way = travelled(steps, steps)

    def phase(t: float) -> float:
        return min(max((t - WALK_WAIT) / PACE, 0.0), float(steps))

    def pose(t: float) -> NDArray[np.float64]:
        return np.asarray(start @ placed(0, 0, travelled(phase(t), steps)))

    size: Size = (0.6, 1.8, 0.45)
    person = layout.add(piece, "person", start, size, moves=True)
    eye = layout.pose(*WALK_WATCH, 0.0)[:3, 3]
    layout.watch["event"] = camera_at(float(eye[0]), float(eye[2]), 90 * layout.mirror - 21)
    return SceneEvent(
        "person_walks",
        "walking",
        person.id,
        pose,
        lambda t: travelled(phase(t), steps) / way,
        WALK_WAIT + steps * PACE,
        shape=_kept(lambda u: stride(figure, u, steps), phase),
    )


def _kept(
    shape: Callable[[float], NDArray[np.float32]], phase: Callable[[float], float]
) -> Callable[[float], NDArray[np.float32]]:
    """Return vertices by time from vertices by phase; at rest they are not made again."""
    recent = lru_cache(maxsize=4)(shape)

    def at(t: float) -> NDArray[np.float32]:
        vertices = recent(phase(t))
        vertices.flags.writeable = False
        return vertices

    return at


def _stage(layout: Layout, away: float = 1.95) -> Instance:
    """Put a table in the open, and a view of what will stand on it from metres away."""
    table = layout.put("table", STAND, STAGE, BALL_LANE, 0.0, keep=False)
    if table is None:
        raise ValueError("the room has no place for the event's table")
    x, z = float(table.pose[0, 3]), float(table.pose[2, 3])
    layout.watch["event"] = camera_at(x - 0.2, z + away, -4.0)
    return table


def _on_stage(
    layout: Layout,
    name: str,
    mechanism: str,
    piece: Piece,
    category: str,
    size: Size,
    shape: Shape,
) -> SceneEvent:
    """Put something that changes its form on a table."""
    table = _stage(layout)
    place = table.pose @ placed(0, layout.sizes[table.id][1] + 0.002, 0)
    instance = layout.add(piece, category, place, size, moves=True)
    return SceneEvent(
        name,
        mechanism,
        instance.id,
        lambda t: place,
        lambda t: settling(t, CHANGE_SECONDS),
        CHANGE_SECONDS,
        shape=_kept(shape, lambda t: settling(t, CHANGE_SECONDS)),
    )


EVENTS: dict[str, Callable[[Layout], SceneEvent]] = {
    "ball_rolls_off": ball_rolls_off,
    "door_opens": door_opens,
    "ice_melts": ice_melts,
    "tank_fills": tank_fills,
    "flower_grows": flower_grows,
    "lamp_brightens": lamp_brightens,
    "person_walks": person_walks,
}


def _mark(layout: Layout, category: str) -> Instance:
    for i, instance in enumerate(layout.instances):
        if instance.category == category:
            layout.instances[i] = replace(instance, moves=True)
            return layout.instances[i]
    raise ValueError(f"the room has no {category} to move")
