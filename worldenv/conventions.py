"""Camera conventions of other people's pose files, and the formats they come in."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, InvalidPath
from worldenv.video import MAX_FRAMES
from worldenv.world import UnknownName

Floats = NDArray[np.float64]

DIRECTIONS = ("c2w", "w2c")
AXES: dict[str, tuple[float, float, float]] = {
    "opencv": (1, 1, 1),
    "opengl": (1, -1, -1),
    "blender": (1, -1, -1),
    "unity": (1, -1, 1),
}
"""Axes of the camera -> signs that turn (x, y, z) into right, down, forward.

``opencv``: x right, y down, z forward (COLMAP, R2M-Bench, KITTI). ``opengl`` and ``blender``: x
right, y up, z backward (NeRF files). ``unity``: x right, y up, z forward, left-handed. How the
world's own axes lie does not matter: paths are re-based on frame 0.
"""


_INDEX = re.compile(r"(0|[1-9][0-9]{0,6})\Z")


@dataclass(frozen=True)
class Convention:
    """What the numbers of a pose file mean.

    Attributes:
        direction: ``c2w`` (camera to world) or ``w2c`` (world to camera, often called extrinsics).
        axes: Axes of the camera, a key of ``AXES``.
        scale: Metres a unit of length.
    """

    direction: str = "c2w"
    axes: str = "opencv"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UnknownName("direction of poses", str(self.direction), DIRECTIONS)
        if self.axes not in AXES:
            raise UnknownName("camera axes", str(self.axes), AXES)
        scale = self.scale
        good = isinstance(scale, (int, float)) and not isinstance(scale, bool)
        if not good or not math.isfinite(scale) or scale <= 0:
            raise InvalidPath(f"the scale of poses must be metres a unit above 0, got {scale!r}")

    def path(self, matrices: Floats, fps: float, phases: Any = None) -> CameraPath:
        """Return matrices (n, 4, 4) of this convention as a path that starts at the identity.

        Raises:
            InvalidPath: a matrix is not rigid.
        """
        poses = matrices
        if self.direction == "w2c":
            # Checked as they are: the inverse of a matrix that is not rigid hides what is wrong.
            CameraPath.rebased(matrices, fps=fps)
            R = np.swapaxes(matrices[:, :3, :3], 1, 2)
            poses = matrices.copy()
            poses[:, :3, :3] = R
            poses[:, :3, 3] = -(R @ matrices[:, :3, 3:])[..., 0]
        path = CameraPath.rebased(poses, fps=fps, phases=phases)
        if self.axes == "opencv" and self.scale == 1:
            return path
        flip = np.diag([*AXES[self.axes], 1.0])
        turned = flip @ path.poses @ flip
        turned[:, :3, 3] *= self.scale
        # Minus zero compares equal and prints badly.
        return CameraPath(turned + 0.0, fps=path.fps, phases=path.phases)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"direction": self.direction, "axes": self.axes, "scale": self.scale}


def convention_of(data: Mapping[str, Any], where: str) -> Convention:
    """Return the convention that a mapping states.

    Raises:
        UnknownName: a key, a direction or axes are unknown.
        InvalidPath: the scale is no number above 0.
    """
    if not isinstance(data, Mapping):
        raise InvalidPath(f"the convention of {where} must be an object, got {reprlib.repr(data)}")
    for key in data:
        if key not in ("direction", "axes", "scale"):
            raise UnknownName("key of a convention", str(key), ("direction", "axes", "scale"))
    return Convention(**data)


class Poses(NamedTuple):
    """What a pose file holds, before its convention is applied.

    Attributes:
        matrices: Shape (n, 4, 4), as written.
        K: Intrinsics (3, 3) in pixels, None where the file has none.
        stated: What the format itself says of the convention, None where it says nothing.
        fps: Frames a second, None where the file has no times.
        phases: Phase of every frame, None where the file has none.
        notes: What the reader must know.
    """

    matrices: Floats
    K: Floats | None = None
    stated: Convention | None = None
    fps: float | None = None
    phases: Any = None
    notes: tuple[str, ...] = ()


def read_table(text: str) -> Poses:
    """Read poses as rows of numbers: TUM (8), KITTI (12) or 4x4 (16 a row).

    TUM rows are ``time x y z qx qy qz qw`` and KITTI rows the upper 3x4, both camera-to-world in
    OpenCV axes by their definition. What 16 numbers mean is not said.

    Raises:
        InvalidPath: the rows are none of these, or times do not ascend.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split("#")[0].replace(",", " ").split()
        if not parts:
            continue
        try:
            rows.append([float(part) for part in parts])
        except ValueError:
            raise InvalidPath(f"line {number} holds no numbers: {reprlib.repr(line)}") from None
        if len(rows[-1]) != len(rows[0]):
            raise InvalidPath(
                f"line {number} has {len(rows[-1])} numbers and the first {len(rows[0])}"
            )
    _check_count(len(rows))
    table = np.array(rows)
    if not np.isfinite(table).all():
        raise InvalidPath(f"row {int(np.flatnonzero(~np.isfinite(table).all(1))[0])} is not finite")
    if table.shape[1] == 8:
        return _tum(table)
    if table.shape[1] == 12:
        return Poses(_closed(table.reshape(-1, 3, 4)), stated=Convention())
    if table.shape[1] == 16:
        return Poses(table.reshape(-1, 4, 4))
    raise InvalidPath(
        f"rows have {table.shape[1]} numbers; expected 8 (TUM), 12 (KITTI) or 16 (4x4)"
    )


def _tum(table: Floats) -> Poses:
    steps = np.diff(table[:, 0])
    if (steps <= 0).any():
        raise InvalidPath(f"time does not ascend at row {int(np.flatnonzero(steps <= 0)[0]) + 1}")
    q = table[:, 4:]
    length = np.linalg.norm(q, axis=1)
    if (np.abs(length - 1) > 1e-2).any():
        raise InvalidPath(
            f"the quaternion of row {int(np.argmax(np.abs(length - 1)))} has length "
            f"{length[np.argmax(np.abs(length - 1))]:.3g}, expected 1 in the order qx qy qz qw"
        )
    from scipy.spatial.transform import Rotation

    matrices = np.tile(np.eye(4), (len(table), 1, 1))
    matrices[:, :3, :3] = Rotation.from_quat(q).as_matrix()
    matrices[:, :3, 3] = table[:, 1:4]
    if not len(steps):
        return Poses(matrices, stated=Convention())
    middle = float(np.median(steps))
    if np.abs(steps - middle).max() > 0.2 * middle:
        note = "the times of the pose file are uneven; frames are counted, times are not used"
        return Poses(matrices, stated=Convention(), notes=(note,))
    return Poses(matrices, stated=Convention(), fps=round(1 / middle, 3))


def read_array(file: Path) -> Poses:
    """Read poses from .npy, or from the one array (or the key ``poses``) of .npz.

    Raises:
        InvalidPath: it cannot be read, or holds no (n, 4, 4) or (n, 3, 4) numbers.
    """
    try:
        found = np.load(file, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            with found:
                name = "poses" if "poses" in found.files else found.files[0]
                if len(found.files) > 1 and name != "poses":
                    raise InvalidPath(f"it has {', '.join(found.files)}; expected a key 'poses'")
                found = found[name]
        array = np.asarray(found, np.float64)
    except InvalidPath:
        raise
    except OSError as error:
        raise InvalidPath(f"it cannot be read: {error.strerror or error}") from None
    except Exception as error:  # numpy, zipfile and zlib each raise their own
        raise InvalidPath(f"it is no array of numbers: {error}") from None
    if array.ndim != 3 or array.shape[1:] not in ((4, 4), (3, 4)):
        raise InvalidPath(f"it has shape {array.shape}; expected (n, 4, 4) or (n, 3, 4)")
    _check_count(len(array))
    return Poses(_closed(array))


def read_json(data: Any, check_K: Callable[[str, Any], Floats]) -> Poses:
    """Read poses from JSON: ours, R2M-Bench's, a NeRF ``transforms.json``, or a list of matrices.

    Args:
        data: What was read.
        check_K: (name, value) -> intrinsics.

    Raises:
        InvalidPath: it is none of these.
        UnknownName: its convention is unknown.
    """
    if isinstance(data, list):
        return Poses(_matrices(data))
    if isinstance(data, dict) and "poses" in data:
        return _ours(data, check_K)
    if isinstance(data, dict) and isinstance(data.get("frames"), list):
        return _nerf(data)
    if isinstance(data, dict) and data and all(_INDEX.match(key) for key in data):
        return _r2m(data, check_K)
    raise InvalidPath(
        'no pose file; expected {"poses": [4x4, ...]}, {"0": {"extrinsic": 4x4, "K": 3x3}, ...}, '
        '{"frames": [{"transform_matrix": 4x4}, ...]} or a list of matrices'
    )


def _ours(data: dict[str, Any], check_K: Callable[[str, Any], Floats]) -> Poses:
    rows, notes, phases = data["poses"], data.get("notes", []), data.get("phases")
    if not isinstance(rows, list):
        raise InvalidPath(f"poses must be a list of 4x4 matrices, got {reprlib.repr(rows)}")
    if not isinstance(notes, list):
        raise InvalidPath(f"notes must be a list of texts, got {reprlib.repr(notes)}")
    if phases is not None and not isinstance(phases, list):
        raise InvalidPath(
            f"phases must be a list with one entry a frame, got {reprlib.repr(phases)}"
        )
    stated = convention_of(data.get("convention") or {}, "the pose file")
    K = None if data.get("K") is None else check_K("K", data["K"])
    texts = tuple(str(note) for note in notes)
    return Poses(_matrices(rows), K, stated, data.get("fps"), phases, texts)


def _r2m(data: dict[str, Any], check_K: Callable[[str, Any], Floats]) -> Poses:
    _check_count(len(data))
    rows, Ks = [], []
    for i in range(len(data)):
        row = data.get(str(i))
        if row is None:
            raise InvalidPath(f"there is no pose for frame {i}; expected 0, 1, 2, ...")
        for key in ("extrinsic", "K"):
            if not isinstance(row, dict) or key not in row:
                raise InvalidPath(f'frame {i} has no "{key}"')
        rows.append(row["extrinsic"])
        Ks.append(check_K(f"K of frame {i}", row["K"]))
        if not np.array_equal(Ks[i], Ks[0]):
            raise InvalidPath(f"K changes at frame {i}; a path has one K")
    return Poses(_matrices(rows, "the extrinsic"), Ks[0], Convention())


def _nerf(data: dict[str, Any]) -> Poses:
    frames = data["frames"]
    _check_count(len(frames))
    rows = []
    for i, frame in enumerate(frames):
        if not isinstance(frame, dict) or "transform_matrix" not in frame:
            raise InvalidPath(f'frame {i} has no "transform_matrix"')
        rows.append(frame["transform_matrix"])
    numbers = [data.get(key) for key in ("fl_x", "fl_y", "cx", "cy")]
    K = None
    if all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers):
        fx, fy, cx, cy = (float(n) for n in numbers if n is not None)
        if min(fx, fy) <= 0 or not np.isfinite([fx, fy, cx, cy]).all():
            raise InvalidPath("fl_x and fl_y must be focal lengths in pixels above 0")
        K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
    return Poses(_matrices(rows), K, Convention(axes="opengl"))


def _matrices(rows: list[Any], name: str = "the pose") -> Floats:
    _check_count(len(rows))
    found = []
    for i, row in enumerate(rows):
        try:
            matrix = np.array(row, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            matrix = np.zeros(0)
        if matrix.shape not in ((4, 4), (3, 4)):
            raise InvalidPath(
                f"{name} of frame {i} must be 4x4 or 3x4 numbers, got {reprlib.repr(row)}"
            )
        if not np.isfinite(matrix).all():
            raise InvalidPath(f"{name} of frame {i} is not finite")
        found.append(_closed(matrix[None])[0])
    return np.stack(found)


def _closed(array: Floats) -> Floats:
    """Return (n, 4, 4); the last row is added to (n, 3, 4)."""
    if array.shape[1] == 4:
        return array
    last = np.broadcast_to([0.0, 0, 0, 1], (len(array), 1, 4))
    return np.concatenate([array, last], axis=1)


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_FRAMES:
        raise InvalidPath(f"there are {count} poses; expected 1 to {MAX_FRAMES}")
