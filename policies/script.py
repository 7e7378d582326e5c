"""Scripts as legs between waypoints: exact paths in closed form, and policies that walk them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import (
    HOLD,
    PRIMITIVES,
    CameraPath,
    Primitive,
    integrate,
    twists,
    walk,
    yaw_pitch,
)
from worldenv.case import Case
from worldenv.world import Unsupported, WorldSpec, fit_path

DEFAULT_FPS = 16.0
MAX_FRAMES = 100_000
"""Longest path of a script."""
FURTHEST = 10_000.0
"""Largest distance in metres and angle in degrees that a script takes."""
CONTROLS = ("plan", "primitive", "twist", "path")
RIGHT, FORWARD, YAW, PITCH = range(4)
_AXES = (
    (Primitive.RIGHT, Primitive.LEFT, "metres"),
    (Primitive.FORWARD, Primitive.BACKWARD, "metres"),
    (Primitive.YAW_RIGHT, Primitive.YAW_LEFT, "degrees"),
    (Primitive.PITCH_UP, Primitive.PITCH_DOWN, "degrees"),
)


@dataclass(frozen=True)
class Leg:
    """A stretch of equal motion that ends at a waypoint.

    Attributes:
        phase: Phase of its frames: ``V``, ``D1``, ``R1``, ... or ``H``.
        frames: Number of frames, at least 1; a hold may have 0.
        to: Waypoint at its last frame: (right, forward) in metres, (yaw right, pitch up) in
            degrees, seen from frame 0; None holds the camera.
    """

    phase: str
    frames: int
    to: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.frames < (0 if self.to is None else 1):
            raise Unsupported(
                f"a leg of phase {self.phase} cannot have {self.frames} frames; give 1 or more "
                "(a hold may have 0)"
            )
        if self.to is not None and abs(self.to[PITCH]) > 90:
            raise Unsupported(f"a leg cannot pitch to {self.to[PITCH]:g} degrees; 90 is upright")


@dataclass(frozen=True)
class Walk:
    """A script made of legs; implements ``worldenv.case.Script``.

    Attributes:
        name: Name that ``load_script`` turns back into this script.
        legs: Legs for a case; the first frame stands before them, in the phase of the first hold.
    """

    name: str
    legs: Callable[[Case | None], Sequence[Leg]]

    def path(
        self,
        spec: WorldSpec | None = None,
        case: Case | None = None,
        control: str = "plan",
    ) -> CameraPath:
        """Return the target path.

        Each pose is computed from its own waypoints, so a return is bit-equal to the way out.

        Args:
            spec: The world; None gives the published table's frames at 16 a second.
            case: The case walked, for scripts whose distance depends on it.
            control: ``primitive`` rounds each leg to whole chunks of a primitive, as worlds with
                ``spec.held`` do in every control; else only worlds with ``spec.discrete`` round,
                to whole frames.

        Raises:
            Unsupported: the world lacks a primitive, or its pitch limit or the case forbids it.
        """
        legs = [leg for leg in self.legs(case) if leg.frames > 0]
        notes: tuple[str, ...] = ()
        if spec is not None and (spec.discrete or spec.held or control == "primitive"):
            whole_chunks = spec.held or control == "primitive"
            legs, notes = _quantise(legs, spec, whole_chunks=whole_chunks)
        _count_frames(legs)
        path = _closed_form(legs, DEFAULT_FPS if spec is None else spec.fps, notes)
        limit = None if spec is None else spec.pitch_limit
        steepest = float(abs(yaw_pitch(path.poses)[:, 1]).max())
        if limit is not None and steepest > limit + 1e-9:
            raise Unsupported(
                f"{self.name} pitches to {steepest:g} degrees but the world stops at {limit:g}; "
                "choose another script"
            )
        return path

    def policy(self, spec: WorldSpec, control: str, case: Case | None = None) -> ScriptPolicy:
        """Return a policy that walks the script, whatever it observes.

        Args:
            spec: The world's spec.
            control: ``plan``, ``primitive``, ``twist`` or ``path``.
            case: The case walked, for scripts whose distance depends on it.

        Raises:
            Unsupported: the motion exceeds ``spec.max_twist`` or the world lacks a primitive.
        """
        if control not in CONTROLS:
            raise Unsupported(f"A script acts in control {', '.join(CONTROLS)}, not {control!r}")
        path = fit_path(self.path(spec, case, control), spec)
        return ScriptPolicy(_actions(self.name, path, spec, control))


class ScriptPolicy:
    """Plays a fixed list of actions with the interface of a stable-baselines3 model.

    The state counts the steps taken: an int for one environment, an array (n,) for n. Several
    environments are told by ``episode_start`` of shape (n,), or by observations of four axes.
    """

    def __init__(self, actions: NDArray[Any]) -> None:
        self.actions = actions

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[Any], Any]:
        """Return (action, next state); after the last action the camera stays.

        Args:
            observation: One frame (height, width, 3) or a batch of them; not looked at.
            state: What the last call returned, None at the start.
            episode_start: True where an episode has just begun; its count starts again.
            deterministic: Ignored: a script is.
        """
        if np.ndim(episode_start) == 1:
            count: int | None = len(episode_start)
        else:
            count = len(observation) if np.ndim(observation) == 4 else None
        shape = () if count is None else (count,)
        steps = np.broadcast_to(0 if state is None else np.asarray(state), shape).astype(np.int64)
        if episode_start is not None:
            steps = np.where(np.asarray(episode_start, dtype=bool), 0, steps)
        ended = steps >= len(self.actions)
        # The last row is the action that stays.
        action = self.actions[np.where(ended, len(self.actions) - 1, steps)]
        following = steps + 1
        return np.asarray(action), int(following) if count is None else following


def script_name(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """Return ``module:function(key=value)`` with the arguments that differ from the defaults.

    Raises:
        Unsupported: an argument is no number of its kind; every script names itself first.
    """
    defaults = inspect.signature(function).parameters
    for key, parameter in defaults.items():
        _check_argument(key, arguments[key], str(parameter.annotation))
    changed = [
        f"{key}={arguments[key]}" for key in defaults if arguments[key] != defaults[key].default
    ]
    name = f"{function.__module__.rpartition('.')[2]}:{function.__name__}"
    return f"{name}({','.join(changed)})" if changed else name


def _check_argument(key: str, value: Any, kind: str) -> None:
    if value is None and kind.endswith("None"):
        return
    if kind.startswith("int"):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not (whole and 0 <= value <= MAX_FRAMES):
            raise Unsupported(f"{key} must be a whole number from 0 to {MAX_FRAMES}, got {value!r}")
    elif kind.startswith("float"):
        check_amount(key, value)


def check_amount(key: str, value: Any, low: float = -FURTHEST) -> float:
    """Return metres, degrees or seconds as a float.

    Raises:
        Unsupported: it is no finite number from ``low`` to 10,000.
    """
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (real and low <= value <= FURTHEST):
        raise Unsupported(f"{key} must be a number from {low:g} to {FURTHEST:g}, got {value!r}")
    return float(value)


def _count_frames(legs: Sequence[Leg]) -> int:
    """Return the frames of a path through the legs; raise Unsupported where they are too many."""
    total = 1 + sum(leg.frames for leg in legs)
    if total > MAX_FRAMES:
        raise Unsupported(f"the script has {total} frames; a path has at most {MAX_FRAMES}")
    return total


def fixed(name: str, legs: Sequence[Leg], frames: int | None = None) -> Walk:
    """Return a walk that is the same for every case.

    Args:
        name: Name of the script.
        legs: Its legs.
        frames: Frames in all, None for those of the legs; lengthens the last leg.

    Raises:
        Unsupported: the path would be too long, or shorter than the legs.
    """
    made = lengthened(legs, frames)
    _count_frames(made)
    return Walk(name, lambda case: made)


def lengthened(legs: Sequence[Leg], frames: int | None) -> list[Leg]:
    """Return the legs with the final hold lengthened so that the path has ``frames`` frames.

    Raises:
        Unsupported: the legs alone are longer.
    """
    total = _count_frames(legs)
    extra = 0 if frames is None else frames - total
    if extra < 0:
        raise Unsupported(f"the script has {total} frames and cannot be cut to {frames}")
    last = legs[-1]
    return [*legs[:-1], replace(last, frames=last.frames + extra)]


def _closed_form(legs: Sequence[Leg], fps: float, notes: tuple[str, ...]) -> CameraPath:
    """Return the path through the legs' waypoints."""
    at = np.zeros(4)
    rows = [at[None]]
    first = legs[0].phase if legs and legs[0].to is None else "V"
    phases = [first]
    for leg in legs:
        n = leg.frames
        to = at if leg.to is None else np.array(leg.to, dtype=np.float64)
        i = np.arange(1, n + 1)[:, None]
        # Symmetric in (at, i) and (to, n - i): walking back gives the same bits.
        between = (at * (n - i) + to * i) / n
        between[-1] = to
        rows.append(between)
        phases += [leg.phase] * n
        at = to
    state = np.concatenate(rows)
    position = np.stack([state[:, RIGHT], np.zeros(len(state)), state[:, FORWARD]], axis=1)
    poses = walk(position, state[:, YAW], state[:, PITCH])
    return CameraPath(poses, fps=fps, phases=tuple(phases), notes=notes)


def _quantise(
    legs: Sequence[Leg], spec: WorldSpec, whole_chunks: bool
) -> tuple[list[Leg], tuple[str, ...]]:
    """Return the legs in whole quanta (and whole chunks), and what that lost."""
    made: list[Leg] = []
    notes: list[str] = []
    at = np.zeros(4)
    legs = list(legs)
    chunk = spec.chunk if whole_chunks else 1
    given = spec.reset_frames - 1
    if whole_chunks and (given or spec.first_chunk > 1 or chunk > 1):
        # The first chunk may have another length, and reset may give frames at rest: both are
        # spent on the first hold, so that every later leg is a whole number of chunks.
        opening = legs.pop(0) if legs[0].to is None else Leg("V", 0)
        started = given + spec.first_chunk
        fewest = -1 if spec.first_chunk == chunk else 0
        held = started + chunk * max(fewest, round((opening.frames - started) / chunk))
        if held != opening.frames:
            notes.append(f"the first hold has {held} frames instead of {opening.frames}")
        if held:
            made.append(replace(opening, frames=held))
    for leg in legs:
        if leg.to is None:
            frames = leg.frames if leg.phase == HOLD else chunk * round(leg.frames / chunk)
            if frames != leg.frames:
                notes.append(f"a hold of {leg.phase} has {frames} frames instead of {leg.frames}")
            if frames:
                made.append(replace(leg, frames=frames))
            continue
        wanted = np.array(leg.to, dtype=np.float64)
        change = wanted - at
        axis = int(abs(change).argmax())
        positive, negative, unit = _AXES[axis]
        primitive = positive if change[axis] > 0 else negative
        if primitive.name not in spec.primitives:
            raise Unsupported(f"{spec.name} has no primitive {primitive.name}, which {leg} needs")
        quantum = spec.step_of(primitive)
        count = chunk * round(abs(change[axis]) / quantum / chunk)
        if count == 0:
            raise Unsupported(
                f"{spec.name} moves {quantum * chunk:g} {unit} at once, more than a leg of "
                f"{abs(change[axis]):g}; choose another script or control"
            )
        end = at.copy()
        end[axis] += np.sign(change[axis]) * count * quantum
        lost = float(wanted[axis] - end[axis])
        if abs(lost) < 1e-9:
            end[axis] = wanted[axis]
        else:
            notes.append(f"{leg.phase} ends {abs(lost):.6g} {unit} from {wanted[axis]:g}")
        if count != leg.frames:
            notes.append(f"{leg.phase} has a leg of {count} frames instead of {leg.frames}")
        made.append(Leg(leg.phase, count, (end[0], end[1], end[2], end[3])))
        at = end
    return made, tuple(notes)


def _actions(name: str, path: CameraPath, spec: WorldSpec, control: str) -> NDArray[Any]:
    """Return one action a step, and at the end the action that stays."""
    starts, ends = [], []
    at = spec.reset_frames - 1
    while at < len(path) - 1:
        starts.append(at)
        at += spec.chunk_at(len(starts) - 1)
        ends.append(at)
    if control == "plan":
        return np.zeros(len(starts) + 1, dtype=np.int64)
    if control == "primitive":
        return _primitives(path, spec, starts, ends)
    scale = np.asarray(spec.max_twist, dtype=np.float64)
    longest = max(spec.first_chunk, spec.chunk)
    rows = np.zeros((len(starts) + 1, longest, 6), dtype=np.float32)
    pose = path.poses[starts[0]] if starts else np.eye(4)
    for step, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for i in range(end - start):
            # What float32 loses is made good by the next twist, so it never adds up.
            if control == "path":
                wanted = _even_twist(pose, path.poses[start + 1 + i], 1)
                rows[step, i] = _scaled(name, wanted, scale)
            elif i == 0:
                wanted = _even_twist(pose, path.poses[end], end - start)
                rows[step] = _scaled(name, wanted, scale)
            pose = pose @ integrate(rows[step, i : i + 1] * scale)[1]
    return rows[:, 0] if control == "twist" else rows


def _primitives(
    path: CameraPath, spec: WorldSpec, starts: Sequence[int], ends: Sequence[int]
) -> NDArray[Any]:
    """Return the index in the action space of each chunk's primitive."""
    angles = yaw_pitch(path.poses)
    state = np.concatenate([path.poses[:, [0, 2], 3], angles], axis=1)
    names = []
    for start, end in zip(starts, ends, strict=True):
        change = state[end] - state[start]
        change[YAW] = (change[YAW] + 180) % 360 - 180
        axis = int(abs(change).argmax())
        positive, negative, _ = _AXES[axis]
        still = abs(change[axis]) < 1e-9
        names.append(Primitive.STAY if still else positive if change[axis] > 0 else negative)
    names.append(Primitive.STAY)
    available = [p for p in PRIMITIVES if p.name in spec.primitives]
    for primitive in names:
        if primitive not in available:
            raise Unsupported(f"{spec.name} has no primitive {primitive.name}")
    return np.array([available.index(p) for p in names], dtype=np.int64)


def _even_twist(pose: NDArray[Any], goal: NDArray[Any], frames: int) -> NDArray[Any]:
    """Return the twist (6,) that, held for ``frames``, leads from ``pose`` to ``goal``."""
    whole = twists(np.stack([pose, goal]))[0]
    turn = whole[:3] / frames
    if frames == 1:
        return np.asarray(whole)
    held = np.zeros((frames, 6))
    held[:, :3] = turn
    # goal = (1 + E + E^2 + ...) v with E the turn of one frame.
    spread = integrate(held)[:-1, :3, :3].sum(axis=0)
    return np.concatenate([turn, np.linalg.solve(spread, whole[3:])])


def _scaled(name: str, twist: NDArray[Any], scale: NDArray[Any]) -> NDArray[np.float32]:
    """Return a twist as an action in [-1, 1]."""
    twist = np.where(abs(twist) < 1e-12, 0.0, twist)
    over = abs(twist) > scale * (1 + 1e-6)
    if over.any():
        i = int(np.flatnonzero(over)[0])
        unit = "degrees" if i < 3 else "metres"
        raise Unsupported(
            f"{name} moves {abs(twist[i]):g} {unit} a frame but the world's max_twist is "
            f"{scale[i]:g}; use control 'plan' or a slower script"
        )
    ratio = np.divide(twist, scale, out=np.zeros(6), where=scale > 0)
    return np.asarray(np.clip(ratio, -1, 1), dtype=np.float32)
