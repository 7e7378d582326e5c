"""Camera paths as models ask for them: sampled poses, keys held for some frames, captions.

Standard library and numpy only, in Python 3.9 syntax (see ``worldenv.world``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from worldenv.camera import (
    PRIMITIVES,
    CameraPath,
    InvalidPath,
    Primitive,
    geodesic_deg,
    rotations,
    twists,
    walk,
    yaw_pitch,
)
from worldenv.world import Unsupported, WorldSpec

__all__ = [
    "Captions",
    "Keys",
    "chunk_lengths",
    "follow",
    "hold",
    "intrinsic_rows",
    "inverse",
    "pinhole",
    "sample",
    "speeds",
    "spread",
    "whole_steps",
]

LEVEL = 0.05
"""Degrees of roll, and centimetres of height, that a level walk may show by rounding."""


def speeds(degrees: float, metres: float) -> dict[str, float]:
    """Return ``WorldSpec.quantum``: degrees a frame of every turn, metres a frame of every step."""
    return {
        primitive.name: metres if primitive in _MOVES else degrees
        for primitive in PRIMITIVES
        if primitive is not Primitive.STAY
    }


def pinhole(fx: float, fy: float, cx: float, cy: float) -> tuple[tuple[float, float, float], ...]:
    """Return ``WorldSpec.K`` of focal lengths and a principal point in pixels."""
    return ((fx, 0.0, cx), (0.0, fy, cy), (0.0, 0.0, 1.0))


def intrinsic_rows(K: np.ndarray) -> tuple[tuple[float, float, float], ...]:
    """Return intrinsics (3, 3) as three rows of three, as ``WorldSpec.K`` takes them."""
    return tuple((float(a), float(b), float(c)) for a, b, c in np.asarray(K))


def inverse(poses: np.ndarray) -> np.ndarray:
    """Return world-to-camera matrices of camera-to-world ones, and back; shape (n, 4, 4)."""
    poses = np.asarray(poses, dtype=np.float64)
    back = np.zeros_like(poses)
    turn = np.swapaxes(poses[..., :3, :3], -1, -2)
    back[..., :3, :3] = turn
    back[..., :3, 3] = -(turn @ poses[..., :3, 3:])[..., 0]
    back[..., 3, 3] = 1.0
    return back


def sample(poses: np.ndarray, stride: int) -> np.ndarray:
    """Return every ``stride``-th pose from frame 0, the end held to a whole stride.

    Args:
        poses: Shape (n, 4, 4); frame 0 is the conditioning frame.
        stride: Frames between two samples: the temporal stride of the model's autoencoder.

    Returns:
        Shape (1 + ceil((n - 1) / stride), 4, 4).
    """
    last = len(poses) - 1
    at = np.minimum(np.arange(0, last + stride, stride), last)
    return np.asarray(poses, dtype=np.float64)[at]


def spread(samples: np.ndarray, stride: int, frames: int) -> np.ndarray:
    """Return one pose a frame between samples: what a model is asked to do there.

    Positions go straight and rotations along the shortest arc, both at even speed.

    Args:
        samples: Shape (m, 4, 4), at frames 0, stride, 2 * stride, ...
        stride: Frames between two samples.
        frames: Number of poses to return.

    Raises:
        InvalidPath: there are too few samples for that many frames.
    """
    samples = np.asarray(samples, dtype=np.float64)
    if frames > 1 + stride * (len(samples) - 1):
        raise InvalidPath(
            f"{len(samples)} samples every {stride} frames make "
            f"{1 + stride * (len(samples) - 1)} frames, not {frames}"
        )
    if len(samples) == 1:
        return samples.repeat(frames, 0)
    index = np.arange(frames)
    before = np.minimum(index // stride, len(samples) - 2)
    part = (index - before * stride) / stride
    turn = twists(samples)[:, :3]
    poses = samples[before].copy()
    poses[:, :3, :3] = poses[:, :3, :3] @ rotations(turn[before] * part[:, None])
    start, end = samples[before, :3, 3], samples[before + 1, :3, 3]
    poses[:, :3, 3] = start + (end - start) * part[:, None]
    # A frame on a sample has the sample's own bits.
    on = index % stride == 0
    poses[on] = samples[index[on] // stride]
    return poses


def chunk_lengths(frames: int, spec: WorldSpec) -> list[int]:
    """Return the new frames of each step after reset that ``frames`` frames take.

    The last step may be cut short where the frames end within it.
    """
    lengths: list[int] = []
    left = frames - spec.reset_frames
    while left > 0:
        lengths.append(min(left, spec.chunk_at(len(lengths))))
        left -= lengths[-1]
    return lengths


def whole_steps(frames: int, spec: WorldSpec) -> int:
    """Return the frames, reset's included, of the whole steps that cover ``frames`` frames."""
    over = frames - spec.reset_frames - spec.first_chunk
    if over <= 0:
        return spec.reset_frames + (spec.first_chunk if frames > spec.reset_frames else 0)
    return spec.reset_frames + spec.first_chunk + spec.chunk * -(-over // spec.chunk)


def hold(poses: np.ndarray, frames: int) -> np.ndarray:
    """Return poses with the last one held until there are ``frames`` of them."""
    poses = np.asarray(poses, dtype=np.float64)
    return np.concatenate([poses, poses[-1:].repeat(frames - len(poses), 0)])


def follow(path: CameraPath, decoded: CameraPath, degrees: float, metres: float) -> None:
    """Raise Unsupported unless the decoded path keeps that near to the path asked for."""
    turned = geodesic_deg(path.poses[:, :3, :3], decoded.poses[:, :3, :3])
    moved = np.linalg.norm(path.poses[:, :3, 3] - decoded.poses[:, :3, 3], axis=1)
    far = (turned > degrees) | (moved > metres)
    if far.any():
        frame = int(np.flatnonzero(far)[0])
        raise Unsupported(
            f"the path is faster than the keys: at frame {frame} they are {turned[frame]:.3g} "
            f"degrees and {moved[frame]:.3g} m behind; use a slower script"
        )


@dataclasses.dataclass(frozen=True)
class Keys:
    """Motion by keys: each stretch of frames holds one way to move and one way to turn.

    Attributes:
        moves: Ways to move; right and forward, in metres a frame, in the frame of the camera's
            heading. The first is to stand still.
        turns: Ways to turn; yaw right and pitch up, in degrees a frame. The first is not to turn.
        exclusive: Whether a stretch either moves or turns, not both.
        turn_first: Share of a frame's own turn that is made before it moves: 1 moves along the
            heading after the turn, 0 along the one before, 0.5 along the one between.
        pitch_limit: Largest |pitch| in degrees; a turn beyond it is not made.
    """

    moves: tuple[tuple[float, float], ...]
    turns: tuple[tuple[float, float], ...]
    exclusive: bool = False
    turn_first: float = 0.0
    pitch_limit: float | None = None

    def __post_init__(self) -> None:
        if any(self.moves[0]) or any(self.turns[0]):
            raise ValueError("the first move and the first turn must be none")

    def choose(
        self, path: CameraPath, holds: Sequence[int], aims: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        """Return the move and the turn of each stretch that keep nearest to the path.

        What one stretch misses is part of what the next one makes good, so misses do not add up.

        Args:
            path: The path asked for; level, without roll.
            holds: Frames of each stretch; together ``len(path) - 1``.
            aims: Frame of each stretch, counted from 1, that is to be nearest to the path; None
                for its last. With it the last stretch may go on beyond the path.

        Returns:
            Indices into ``moves`` and into ``turns``, one each a stretch.

        Raises:
            Unsupported: the path rolls or leaves the ground.
        """
        aims = holds if aims is None else aims
        frames = sum(holds)
        aimed = frames - (holds[-1] - aims[-1] if len(holds) else 0)
        if not aimed <= len(path) - 1 <= frames:
            raise InvalidPath(
                f"stretches of {frames} frames beside a path of {len(path) - 1} new frames"
            )
        angles = yaw_pitch(path.poses)
        angles[:, 0] = np.degrees(np.unwrap(np.radians(angles[:, 0])))
        self._check(path, angles)
        moves, turns = [], []
        state = np.zeros(5)
        start = 0
        for held, aim in zip(holds, aims):
            end = start + aim
            turn = min(
                range(len(self.turns)),
                key=lambda i: (_near(self._turned(state, i, aim) - angles[end]), i),
            )
            place = path.poses[end, [0, 2], 3]
            move = min(
                range(len(self.moves)),
                key=lambda i: (_near(self._run(state, i, turn, aim)[-1, [0, 2]] - place), i),
            )
            if self.exclusive and move and turn:
                move, turn = self._one(state, move, turn, aim, place, angles[end])
            state = self._run(state, move, turn, held)[-1]
            start += held
            moves.append(move)
            turns.append(turn)
        return moves, turns

    def replay(
        self, moves: Sequence[int], turns: Sequence[int], holds: Sequence[int]
    ) -> np.ndarray:
        """Return the poses that the keys ask for, shape (1 + sum of holds, 4, 4)."""
        rows = [np.zeros((1, 5))]
        for move, turn, held in zip(moves, turns, holds):
            rows.append(self._run(rows[-1][-1], int(move), int(turn), int(held)))
        state = np.concatenate(rows)
        return walk(state[:, :3], state[:, 3], state[:, 4])

    def _turned(self, state: np.ndarray, turn: int, frames: int) -> np.ndarray:
        """Return (yaw, pitch) in degrees after holding a turn."""
        yaw, pitch = self.turns[turn]
        return np.array([state[3] + yaw * frames, self._pitched(state[4], pitch, frames)[-1]])

    def _pitched(self, pitch: float, turn: float, frames: int) -> np.ndarray:
        rows = pitch + turn * np.arange(1, frames + 1)
        limit = self.pitch_limit
        if limit is None:
            return np.asarray(rows)
        # The last whole step inside the limit is kept, as keys stop there.
        inside = abs(rows) <= limit + 1e-9
        steps = np.cumprod(inside).sum() if turn else 0
        return np.asarray(pitch + turn * np.minimum(np.arange(1, frames + 1), steps))

    def _run(self, state: np.ndarray, move: int, turn: int, frames: int) -> np.ndarray:
        """Return the states (frames, 5) of a stretch: x, y, z, yaw, pitch."""
        rows = np.tile(state, (frames, 1))
        yaw, pitch = self.turns[turn]
        right, forward = self.moves[move]
        count = np.arange(1, frames + 1)
        rows[:, 3] = state[3] + yaw * count
        rows[:, 4] = self._pitched(state[4], pitch, frames)
        heading = np.radians(rows[:, 3] - yaw * (1 - self.turn_first))
        sine, cosine = np.sin(heading), np.cos(heading)
        rows[:, 0] += np.cumsum(right * cosine + forward * sine)
        rows[:, 2] += np.cumsum(forward * cosine - right * sine)
        return rows

    def _one(
        self,
        state: np.ndarray,
        move: int,
        turn: int,
        hold: int,
        place: np.ndarray,
        angles: np.ndarray,
    ) -> tuple[int, int]:
        """Return either the move or the turn: the one that makes good the larger share."""
        # Each miss is measured in what the stretch can make good of it.
        turned = _near(self._turned(state, 0, hold) - angles) / (
            hold * float(np.hypot(*self.turns[turn]))
        )
        moved = _near(state[[0, 2]] - place) / (hold * float(np.hypot(*self.moves[move])))
        return (0, turn) if turned >= moved else (move, 0)

    def _check(self, path: CameraPath, angles: np.ndarray) -> None:
        level = walk(path.poses[:, :3, 3], angles[:, 0], angles[:, 1])
        roll = abs(level[:, :3, :3] - path.poses[:, :3, :3]).max()
        height = abs(path.poses[:, 1, 3]).max()
        if np.degrees(roll) > LEVEL or 100 * height > LEVEL:
            raise Unsupported(
                f"the path rolls by {np.degrees(roll):.3g} degrees and leaves its height by "
                f"{height:.3g} m, which keys cannot ask for; expected a level walk"
            )


def _near(difference: np.ndarray) -> float:
    """Return a distance, rounded so that equal ones compare as equal."""
    return round(float(np.linalg.norm(difference)), 9)


@dataclasses.dataclass(frozen=True)
class Captions:
    """Motion in words: one sentence per primitive, held for a chunk.

    The nominal path of a caption moves by the spec's quantum each frame: no model promises it.

    Attributes:
        sentences: Primitive name -> sentence. Every sentence is unlike the others.
        scene: Where the scene's own text stands: ``{motion}`` and ``{scene}`` are filled in.
    """

    sentences: Mapping[str, str]
    scene: str = "{scene} {motion}"

    def keys(self, spec: WorldSpec) -> Keys:
        """Return the nominal keys of the spec's primitives, a move or a turn at a time."""
        moves, turns = [(0.0, 0.0)], [(0.0, 0.0)]
        for primitive, slot in self._slots(spec):
            (moves if primitive in _MOVES else turns).append(slot)
        return Keys(tuple(moves), tuple(turns), exclusive=True, pitch_limit=spec.pitch_limit)

    def compile(self, path: CameraPath, spec: WorldSpec) -> list[str]:
        """Return one motion sentence per step of the spec's chunks."""
        keys = self.keys(spec)
        holds = chunk_lengths(len(path), spec)
        given = min(len(path), spec.reset_frames) - 1
        moves, turns = keys.choose(path, [given, *holds] if given else holds)
        names = self._names(spec)
        chosen = [names[0][move] if move else names[1][turn] for move, turn in zip(moves, turns)]
        if given and chosen[0] != Primitive.STAY.name:
            raise Unsupported(
                f"the first {spec.reset_frames} frames of {spec.name} show a camera at rest, but "
                "the path moves in them"
            )
        return [self.sentences[name] for name in (chosen[1:] if given else chosen)]

    def decode(self, sentences: Sequence[str], spec: WorldSpec, frames: int) -> np.ndarray:
        """Return the nominal poses (frames, 4, 4) of motion sentences."""
        names = self._names(spec)
        back = {text: name for name, text in self.sentences.items()}
        moves, turns = [], []
        for sentence in sentences:
            name = back[sentence]
            moves.append(names[0].index(name) if name in names[0] else 0)
            turns.append(names[1].index(name) if name in names[1] else 0)
        holds = chunk_lengths(frames, spec)
        given = min(frames, spec.reset_frames) - 1
        if given:
            moves, turns, holds = [0, *moves], [0, *turns], [given, *holds]
        return self.keys(spec).replay(moves, turns, holds)

    def prompt(self, sentence: str, scene: str | None) -> str:
        """Return the text that a model is given for a chunk."""
        return self.scene.format(motion=sentence, scene=scene or "").strip()

    def _slots(self, spec: WorldSpec) -> list[tuple[Primitive, tuple[float, float]]]:
        slots: list[tuple[Primitive, tuple[float, float]]] = []
        for primitive in PRIMITIVES:
            if primitive is Primitive.STAY or primitive.name not in spec.primitives:
                continue
            amount = spec.step_of(primitive)
            right, forward = _DIRECTIONS[primitive]
            slots.append((primitive, (right * amount, forward * amount)))
        return slots

    def _names(self, spec: WorldSpec) -> tuple[list[str], list[str]]:
        stay = Primitive.STAY.name
        slots = self._slots(spec)
        return (
            [stay] + [p.name for p, _ in slots if p in _MOVES],
            [stay] + [p.name for p, _ in slots if p not in _MOVES],
        )


_MOVES = (Primitive.FORWARD, Primitive.BACKWARD, Primitive.LEFT, Primitive.RIGHT)
# (right, forward) of a move, (yaw right, pitch up) of a turn.
_DIRECTIONS = {
    Primitive.FORWARD: (0.0, 1.0),
    Primitive.BACKWARD: (0.0, -1.0),
    Primitive.LEFT: (-1.0, 0.0),
    Primitive.RIGHT: (1.0, 0.0),
    Primitive.YAW_LEFT: (-1.0, 0.0),
    Primitive.YAW_RIGHT: (1.0, 0.0),
    Primitive.PITCH_UP: (0.0, 1.0),
    Primitive.PITCH_DOWN: (0.0, -1.0),
}
