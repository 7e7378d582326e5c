"""Pose files: reading our own JSON and R2M-Bench's, and writing ours."""

from __future__ import annotations

import json
import re
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, InvalidPath
from worldenv.case import Case, Script, load_script
from worldenv.video import MAX_FRAMES

MAX_BYTES = 32 * 2**20

_FRAME = re.compile(r"(0|[1-9][0-9]{0,6})\Z")


def load_poses(
    file: str | Path, fps: float = 16.0
) -> tuple[CameraPath, NDArray[np.float64] | None]:
    """Return the path of a pose file, and its intrinsics when it has some.

    Two formats are known. Ours: ``{"poses": [4x4, ...]}`` with optional ``fps``, ``phases``,
    ``notes`` and ``K`` (3x3, pixels). R2M-Bench's: ``{"0": {"extrinsic": 4x4, "K": 3x3}, ...}``
    keyed by frame index. Both hold camera-to-world matrices in OpenCV axes; the path is re-based
    on frame 0.

    Args:
        file: A JSON file.
        fps: Frames a second when the file does not say.

    Raises:
        InvalidPath: the file is absent, of neither format, over 32 MB or 20,000 poses, or holds
            poses that are not rigid.
    """
    file = Path(file)
    data = _read(file)
    try:
        if isinstance(data, dict) and "poses" in data:
            return _ours(data, fps)
        if isinstance(data, dict) and data and all(_FRAME.match(key) for key in data):
            return _theirs(data, fps)
    except InvalidPath as error:
        raise InvalidPath(f"{file}: {error}") from error
    raise InvalidPath(
        f'{file} is no pose file; expected {{"poses": [4x4, ...]}} or '
        '{"0": {"extrinsic": 4x4, "K": 3x3}, ...}'
    )


def _ours(data: dict[str, Any], fps: float) -> tuple[CameraPath, NDArray[np.float64] | None]:
    rows = data["poses"]
    if not isinstance(rows, list):
        raise InvalidPath(f"poses must be a list of 4x4 matrices, got {reprlib.repr(rows)}")
    _check_count(len(rows))
    fps, notes, phases = data.get("fps", fps), data.get("notes", []), data.get("phases")
    if not isinstance(notes, list):
        raise InvalidPath(f"notes must be a list of texts, got {reprlib.repr(notes)}")
    if phases is not None and not isinstance(phases, list):
        raise InvalidPath(
            f"phases must be a list with one entry a frame, got {reprlib.repr(phases)}"
        )
    poses = np.stack([_matrix(f"the pose of frame {i}", row, 4) for i, row in enumerate(rows)])
    path = CameraPath.rebased(poses, fps=fps, phases=phases)
    texts = tuple(str(note) for note in notes)
    path = CameraPath(path.poses, fps=float(fps), phases=path.phases, notes=texts)
    return path, None if data.get("K") is None else _intrinsics("K", data["K"])


def _theirs(data: dict[str, Any], fps: float) -> tuple[CameraPath, NDArray[np.float64]]:
    _check_count(len(data))
    poses, Ks = [], []
    for i in range(len(data)):
        row = data.get(str(i))
        if row is None:
            raise InvalidPath(f"there is no pose for frame {i}; expected 0, 1, 2, ...")
        for key in ("extrinsic", "K"):
            if not isinstance(row, dict) or key not in row:
                raise InvalidPath(f'frame {i} has no "{key}"')
        poses.append(_matrix(f"the extrinsic of frame {i}", row["extrinsic"], 4))
        Ks.append(_intrinsics(f"K of frame {i}", row["K"]))
        if not np.array_equal(Ks[i], Ks[0]):
            raise InvalidPath(f"K changes at frame {i}; a path has one K")
    return CameraPath.rebased(np.stack(poses), fps=fps), Ks[0]


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_FRAMES:
        raise InvalidPath(f"there are {count} poses; expected 1 to {MAX_FRAMES}")


def _matrix(name: str, value: Any, side: int) -> NDArray[np.float64]:
    """Return a square matrix of finite numbers."""
    try:
        found = np.array(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (side, side):
        raise InvalidPath(f"{name} must be {side}x{side} numbers, got {reprlib.repr(value)}")
    if not np.isfinite(found).all():
        raise InvalidPath(f"{name} is not finite")
    return found


def _intrinsics(name: str, value: Any) -> NDArray[np.float64]:
    K = _matrix(name, value, 3)
    if min(K[0, 0], K[1, 1]) <= 0:
        raise InvalidPath(f"{name} is no matrix of intrinsics; expected focal lengths above 0")
    return K


def save_poses(path: CameraPath, file: str | Path, K: NDArray[np.float64] | None = None) -> Path:
    """Write a path, with its phases and intrinsics, as a pose file that ``load_poses`` reads.

    Args:
        path: The path.
        file: Where to write.
        K: Intrinsics (3, 3) in pixels.

    Raises:
        InvalidPath: the file cannot be written.
    """
    file = Path(file)
    head = {"fps": path.fps, "notes": list(path.notes), "phases": path.phases}
    if K is not None:
        head["K"] = np.asarray(K, dtype=np.float64).tolist()
    rows = ",\n".join(json.dumps(pose.tolist()) for pose in path.poses)
    text = json.dumps(head)[:-1] + ', "poses": [\n' + rows + "\n]}\n"
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidPath(f"{file} cannot be written: {error.strerror}") from error
    return file


def with_phases(path: CameraPath, script: Script | str, case: Case | None = None) -> CameraPath:
    """Return ``path`` with the phases of a script, or of its name, that it was made with.

    Raises:
        InvalidPath: the script has another number of frames.
        UnknownName: there is no script of that name.
    """
    if isinstance(script, str):
        script = load_script(script)
    phases = script.path(None, case).phases
    if phases is None or len(phases) != len(path):
        raise InvalidPath(
            f"{script.name} has {0 if phases is None else len(phases)} frames with a phase and "
            f"the path has {len(path)} poses; give the script's arguments, as in "
            "'worldmembench:lrlr(hold=16,leg=16)'"
        )
    return CameraPath(path.poses, fps=path.fps, phases=phases, notes=path.notes)


def load_path(
    video: Path, file: Path | None, script: str | None, case: Case | None
) -> tuple[CameraPath, NDArray[np.float64] | None]:
    """Return the path that a video walked, and its intrinsics where they are known.

    Args:
        video: The video, for messages.
        file: Its pose file; None where it walked the script exactly.
        script: Script that it walked; names the phases that the pose file leaves out.
        case: Case that it walked.

    Raises:
        InvalidPath: neither file nor script is given, or they do not fit.
    """
    if file is None:
        if script is None:
            raise InvalidPath(
                f"{video.name} is a video without poses; give its camera path with --path "
                "poses.json (or --script when it walked one exactly)."
            )
        return load_script(script).path(None, case), None
    path, K = load_poses(file)
    if script is None:
        return path, K
    if path.phases is not None and path.phases != load_script(script).path(None, case).phases:
        raise InvalidPath(
            f"{file} has other phases than script {script}; leave out --script, or the phases in "
            "the file."
        )
    return with_phases(path, script, case), K


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InvalidPath(f"{file} has more than {MAX_BYTES >> 20} MB; cut it")
        return json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidPath(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidPath(f"{file} is no JSON: {error}") from error
