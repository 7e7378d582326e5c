"""Camera motion: primitives, twists and poses, intrinsics, and paths with named phases.

Poses are 4x4 float64 camera-to-world matrices in OpenCV axes (x right, y down, z forward), in
metres, with frame 0 at the identity. Yaw right, pitch up, right, down and forward are positive.
This module uses the standard library and numpy only, in Python 3.9 syntax (see ``world``).
"""

import dataclasses
import enum
import math
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

__all__ = [
    "HOLD",
    "PRIMITIVES",
    "CameraPath",
    "InvalidPath",
    "Primitive",
    "WorldEnvError",
    "fov_of",
    "geodesic_deg",
    "integrate",
    "intrinsics",
    "rotations",
    "twist_of",
    "twists",
    "walk",
    "yaw_pitch",
]


class WorldEnvError(Exception):
    """Base of every error that worldenv raises for something the caller can mend."""


class InvalidPath(WorldEnvError):
    """A camera path holds values that are not rigid poses, or lengths that do not fit."""


class Primitive(enum.IntEnum):
    """The camera primitives, in the fixed order of the action space."""

    STAY = 0
    FORWARD = 1
    BACKWARD = 2
    LEFT = 3
    RIGHT = 4
    YAW_LEFT = 5
    YAW_RIGHT = 6
    PITCH_UP = 7
    PITCH_DOWN = 8


PRIMITIVES: Tuple[Primitive, ...] = tuple(Primitive)

_FURTHEST = 1e7
"""Metres beyond which no camera is: squares of longer ways would not be finite everywhere."""

HOLD = "H"
"""Phase of the final stationary hold, which belongs to no revisit."""

_PHASE = re.compile(r"(V|H|[DR][1-9][0-9]{0,5})\Z")

# Rows: (rotation x, y, z; translation x, y, z). Pitch up turns about +x, yaw right about +y.
_DIRECTIONS = {
    Primitive.STAY: (0, 0, 0, 0, 0, 0),
    Primitive.FORWARD: (0, 0, 0, 0, 0, 1),
    Primitive.BACKWARD: (0, 0, 0, 0, 0, -1),
    Primitive.LEFT: (0, 0, 0, -1, 0, 0),
    Primitive.RIGHT: (0, 0, 0, 1, 0, 0),
    Primitive.YAW_LEFT: (0, -1, 0, 0, 0, 0),
    Primitive.YAW_RIGHT: (0, 1, 0, 0, 0, 0),
    Primitive.PITCH_UP: (1, 0, 0, 0, 0, 0),
    Primitive.PITCH_DOWN: (-1, 0, 0, 0, 0, 0),
}


def twist_of(primitive: Primitive, amount: float) -> np.ndarray:
    """Return the twist (6,) of one frame of ``primitive``, at level pitch.

    Args:
        primitive: Which motion.
        amount: Degrees for turns, metres for steps.
    """
    return amount * np.array(_DIRECTIONS[primitive], dtype=np.float64)


def rotations(degrees: np.ndarray) -> np.ndarray:
    """Return exp of rotation vectors (n, 3) in degrees, shape (n, 3, 3), by Rodrigues' formula."""
    w = np.radians(np.asarray(degrees, dtype=np.float64))
    angle = np.linalg.norm(w, axis=-1)[:, None, None]
    zero = np.zeros(len(w))
    cross = np.stack(
        [zero, -w[:, 2], w[:, 1], w[:, 2], zero, -w[:, 0], -w[:, 1], w[:, 0], zero], axis=-1
    ).reshape(-1, 3, 3)
    # sinc keeps both coefficients exact at zero, where sin(a)/a and (1-cos a)/a^2 divide 0 by 0.
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    return np.asarray(np.eye(3) + first * cross + second * (cross @ cross))


def _rotation_vectors(rotations: np.ndarray) -> np.ndarray:
    """Return log of rotations (n, 3, 3) as vectors (n, 3) in degrees, in [0, 180]."""
    R = np.asarray(rotations, dtype=np.float64)
    # Shepperd's method: the quaternion by its largest component stays exact up to 180 degrees.
    m = R.reshape(-1, 9)
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = m.T
    candidates = np.stack(
        [
            np.stack([1 + r00 + r11 + r22, r21 - r12, r02 - r20, r10 - r01], axis=-1),
            np.stack([r21 - r12, 1 + r00 - r11 - r22, r01 + r10, r02 + r20], axis=-1),
            np.stack([r02 - r20, r01 + r10, 1 - r00 + r11 - r22, r12 + r21], axis=-1),
            np.stack([r10 - r01, r02 + r20, r12 + r21, 1 - r00 - r11 + r22], axis=-1),
        ],
        axis=1,
    )
    best = np.argmax(candidates[:, range(4), range(4)], axis=1)
    q = candidates[np.arange(len(m)), best]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    q = np.where(q[:, :1] < 0, -q, q)
    sine = np.linalg.norm(q[:, 1:], axis=-1)
    angle = 2 * np.arctan2(sine, q[:, 0])
    scale = np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 2.0)
    return np.asarray(np.degrees(q[:, 1:] * scale[:, None]))


def integrate(twist_rows: np.ndarray) -> np.ndarray:
    """Compose twists into poses: ``P[i+1] = P[i] @ [[exp(w), v], [0, 1]]``, without screw coupling.

    Args:
        twist_rows: Shape (n, 6): rotation vector in degrees, translation in metres, both in the
            camera frame before the turn.

    Returns:
        Poses, shape (n + 1, 4, 4), the first the identity.

    Raises:
        InvalidPath: the rows are not (n, 6) finite numbers.

    Example:
        >>> integrate(np.array([[0, 90, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2.0]]))[2, :3, 3].round(6)
        array([2., 0., 0.])
    """
    try:
        rows = np.asarray(twist_rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPath("twists must be numbers of shape (n, 6): {}".format(error)) from error
    if rows.ndim != 2 or rows.shape[1] != 6 or not np.isfinite(rows).all():
        raise InvalidPath(
            "twists must be finite numbers of shape (n, 6), got shape {}".format(rows.shape)
        )
    steps = np.tile(np.eye(4), (len(rows), 1, 1))
    steps[:, :3, :3] = rotations(rows[:, :3])
    steps[:, :3, 3] = rows[:, 3:]
    poses = np.empty((len(rows) + 1, 4, 4))
    poses[0] = np.eye(4)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, step in enumerate(steps):
            poses[i + 1] = poses[i] @ step
    if not np.isfinite(poses).all():
        raise InvalidPath("the twists lead beyond what a number can hold")
    return poses


def twists(poses: np.ndarray) -> np.ndarray:
    """Return the twists between neighbours of ``poses``: the inverse of ``integrate``.

    Args:
        poses: Shape (n + 1, 4, 4).

    Returns:
        Shape (n, 6): degrees (rotation angle at most 180), metres.

    Raises:
        InvalidPath: the poses are not (n, 4, 4) finite numbers.
    """
    P = _read_poses(poses)
    if not np.isfinite(P).all():
        raise InvalidPath("poses must be finite, got NaN or infinity")
    turn = np.swapaxes(P[:-1, :3, :3], 1, 2)
    rotation = _rotation_vectors(turn @ P[1:, :3, :3])
    move = (turn @ (P[1:, :3, 3] - P[:-1, :3, 3])[..., None])[..., 0]
    return np.concatenate([rotation, move], axis=1)


def geodesic_deg(Ra: np.ndarray, Rb: np.ndarray) -> np.ndarray:
    """Return the angle between rotations, in degrees, 0 to 180; exactly 0 for equal matrices.

    ``2 asin(|Ra - Rb|_F / (2 sqrt 2))``: exact near 0, where the arccos of a trace is not.

    Args:
        Ra: Shape (..., 3, 3).
        Rb: Shape (..., 3, 3), broadcast against ``Ra``.

    Returns:
        Shape (...).

    Raises:
        InvalidPath: other shapes, or numbers that are not finite.
    """
    try:
        a, b = np.asarray(Ra, dtype=np.float64), np.asarray(Rb, dtype=np.float64)
        difference = a - b
    except (TypeError, ValueError) as error:
        raise InvalidPath(
            "rotations must be numbers of shape (..., 3, 3): {}".format(error)
        ) from error
    if a.shape[-2:] != (3, 3) or b.shape[-2:] != (3, 3):
        raise InvalidPath(
            "rotations must have shape (..., 3, 3), got {} and {}".format(a.shape, b.shape)
        )
    half_sine = np.sqrt(np.sum(difference**2, axis=(-2, -1))) / (2 * math.sqrt(2))
    if not np.isfinite(half_sine).all():
        raise InvalidPath("rotations must be finite, got NaN or infinity")
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(half_sine, 1.0))))


def yaw_pitch(poses: np.ndarray) -> np.ndarray:
    """Return (yaw, pitch) in degrees of poses (n, 4, 4), shape (n, 2); right and up positive."""
    P = np.asarray(poses, dtype=np.float64)
    forward = P[..., :3, 2]
    yaw = np.arctan2(forward[..., 0], forward[..., 2])
    pitch = np.arctan2(-forward[..., 1], np.hypot(forward[..., 0], forward[..., 2]))
    return np.asarray(np.degrees(np.stack([yaw, pitch], axis=-1)))


def walk(position: np.ndarray, yaw: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    """Return level poses from positions and angles: yaw about world-up, then pitch.

    Each pose depends on its own row only, so equal rows give bit-equal poses.

    Args:
        position: Shape (n, 3), metres.
        yaw: Shape (n,), degrees, right is positive.
        pitch: Shape (n,), degrees, up is positive.

    Returns:
        Shape (n, 4, 4).
    """
    y, p = np.radians(np.asarray(yaw, float)), np.radians(np.asarray(pitch, float))
    cy, sy, cp, sp = np.cos(y), np.sin(y), np.cos(p), np.sin(p)
    poses = np.zeros((len(y), 4, 4))
    poses[:, 0, 0], poses[:, 0, 1], poses[:, 0, 2] = cy, sy * sp, sy * cp
    poses[:, 1, 1], poses[:, 1, 2] = cp, -sp
    poses[:, 2, 0], poses[:, 2, 1], poses[:, 2, 2] = -sy, cy * sp, cy * cp
    poses[:, :3, 3] = position
    poses[:, 3, 3] = 1.0
    # -0.0 and 0.0 are equal numbers but unequal bits.
    return poses + 0.0


def intrinsics(size: Tuple[int, int], fov: float) -> np.ndarray:
    """Return K (3, 3) of a pinhole camera with square pixels and a centred principal point.

    Args:
        size: (width, height) in pixels.
        fov: Horizontal field of view in degrees, in (0, 180).
    """
    if not 0 < fov < 180:
        raise ValueError("fov must lie between 0 and 180 degrees, got {}".format(fov))
    width, height = size
    focal = 0.5 * width / math.tan(math.radians(fov) / 2)
    return np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1.0]])


def fov_of(K: np.ndarray, width: int) -> float:
    """Return the horizontal field of view in degrees of intrinsics at ``width`` pixels."""
    fx, cx = float(K[0][0]), float(K[0][2])
    return math.degrees(math.atan(cx / fx) + math.atan((width - cx) / fx))


@dataclasses.dataclass(frozen=True, eq=False)
class CameraPath:
    """Poses over time with the phase each frame belongs to.

    Attributes:
        poses: Shape (n, 4, 4) float64, read-only; frame 0 is the identity.
        fps: Frames a second.
        phases: One of ``V``, ``D1``, ``R1``, ``D2``, ... ``H`` or None per frame; None as a whole
            for a path without phases.
        notes: What a script says of the path, e.g. what rounding lost.
    """

    poses: np.ndarray
    fps: float = 16.0
    phases: Optional[Tuple[Optional[str], ...]] = None
    notes: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        poses = np.array(_read_poses(self.poses))
        _check_rigid(poses)
        if geodesic_deg(poses[0, :3, :3], np.eye(3)) > 1e-4 or abs(poses[0, :3, 3]).max() > 1e-6:
            raise InvalidPath(
                "the pose of frame 0 must be the identity; use CameraPath.rebased for poses in "
                "other coordinates"
            )
        try:
            good = math.isfinite(self.fps) and self.fps > 0
        except (OverflowError, TypeError):
            good = False
        if not good:
            raise InvalidPath("fps must be a positive number, got {!r}".format(self.fps))
        if self.phases is not None:
            given: Any = self.phases
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise InvalidPath(
                    "phases must be a list with one entry a frame, got {!r}".format(given)
                )
            phases = tuple(given)
            if len(phases) != len(poses):
                raise InvalidPath(
                    "{} phases beside {} poses; expected one a frame".format(
                        len(phases), len(poses)
                    )
                )
            for phase in phases:
                if phase is not None and not _is_phase(phase):
                    raise InvalidPath(
                        "unknown phase {!r}; expected V, D1, R1, D2, ..., H or None".format(phase)
                    )
            object.__setattr__(self, "phases", phases)
        poses.flags.writeable = False
        object.__setattr__(self, "poses", poses)

    def __len__(self) -> int:
        return len(self.poses)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CameraPath)
            and self.fps == other.fps
            and self.phases == other.phases
            and np.array_equal(self.poses, other.poses)
        )

    @classmethod
    def rebased(
        cls,
        poses: np.ndarray,
        fps: float = 16.0,
        phases: Optional[Sequence[Optional[str]]] = None,
    ) -> "CameraPath":
        """Build a path from camera-to-world poses in any coordinates, re-based on frame 0."""
        P = _read_poses(poses)
        _check_rigid(P)
        if not np.array_equal(P[0], np.eye(4)):
            P = np.linalg.inv(P[0]) @ P
            P[0] = np.eye(4)
        given: Any = phases
        return cls(P, fps=fps, phases=given)

    @property
    def twists(self) -> np.ndarray:
        """Twists between neighbours, shape (n - 1, 6), degrees and metres."""
        return twists(self.poses)

    @property
    def revisits(self) -> int:
        """Number K of prescribed revisits: the largest k with a phase ``Rk``."""
        return max(
            [int(p[1:]) for p in set(self.phases or ()) if p is not None and p[0] == "R"],
            default=0,
        )

    def frames_of(self, phase: str) -> np.ndarray:
        """Return the frame indices of a phase, shape (m,), empty when the path has none."""
        return np.array([i for i, p in enumerate(self.phases or ()) if p == phase], dtype=np.int64)

    def __getitem__(self, frames: slice) -> "CameraPath":
        """Return a stretch that starts at frame 0, with its phases."""
        if frames.start not in (None, 0) or frames.step not in (None, 1):
            raise InvalidPath("only stretches from frame 0 are paths: use path[:n]")
        phases = None if self.phases is None else self.phases[frames]
        return CameraPath(self.poses[frames], fps=self.fps, phases=phases, notes=self.notes)

    def to_dict(self) -> Dict[str, Any]:
        """Return plain JSON values; ``from_dict`` gives back an equal path, bit for bit."""
        return {
            "fps": self.fps,
            "phases": None if self.phases is None else list(self.phases),
            "poses": self.poses.tolist(),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "CameraPath":
        """Read what ``to_dict`` wrote."""
        phases = data.get("phases")
        return cls(
            np.array(data["poses"], dtype=np.float64),
            fps=float(data["fps"]),
            phases=None if phases is None else tuple(phases),
            notes=tuple(data.get("notes", ())),
        )


def _is_phase(phase: object) -> bool:
    return isinstance(phase, str) and _PHASE.match(phase) is not None


def _read_poses(poses: Any) -> np.ndarray:
    """Return poses as float64 (n, 4, 4), n >= 1, or raise InvalidPath."""
    try:
        P = np.asarray(poses, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPath("poses must be numbers of shape (n, 4, 4): {}".format(error)) from error
    if P.ndim != 3 or P.shape[1:] != (4, 4) or len(P) < 1:
        raise InvalidPath("poses must have shape (n, 4, 4), n >= 1, got {}".format(P.shape))
    return P


def _check_rigid(poses: np.ndarray) -> None:
    """Raise InvalidPath with the first offending frame unless all poses are rigid."""

    def refuse(bad: np.ndarray, what: str) -> None:
        if bad.any():
            frames: List[int] = np.flatnonzero(bad).tolist()
            raise InvalidPath(
                "pose of frame {} {} ({} of {} frames); expected camera-to-world "
                "[[R, t], [0, 0, 0, 1]] with det R = 1".format(
                    frames[0], what, len(frames), len(poses)
                )
            )

    refuse(~np.isfinite(poses).all(axis=(1, 2)), "is not finite")
    refuse(abs(poses[:, :3, 3]).max(axis=1) > _FURTHEST, "lies more than 10,000 km away")
    refuse(abs(poses[:, 3] - [0, 0, 0, 1]).max(axis=1) > 1e-6, "has another last row than 0 0 0 1")
    R = poses[:, :3, :3]
    error = abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
    refuse(error > 1e-3, "has a part that is not a rotation")
    refuse(np.linalg.det(R) < 0, "mirrors")
