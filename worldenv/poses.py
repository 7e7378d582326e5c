"""Pose files: reading our own and other people's, and writing ours."""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, InvalidPath
from worldenv.case import Case, Script, load_script
from worldenv.conventions import Convention, Poses, read_array, read_json, read_table

MAX_BYTES = 32 * 2**20
_TABLES = (".txt", ".tum", ".kitti", ".csv")
_ARRAYS = (".npy", ".npz")


def load_poses(
    file: str | Path, fps: float = 16.0, convention: Convention | None = None
) -> tuple[CameraPath, NDArray[np.float64] | None]:
    """Return the path of a pose file, re-based on frame 0, and its intrinsics when it has some.

    ``.json``: ours, ``{"poses": [4x4, ...]}`` with optional ``fps``, ``phases``, ``notes``, ``K``
    (3x3, pixels) and ``convention``; R2M-Bench's, ``{"0": {"extrinsic": 4x4, "K": 3x3}, ...}``;
    NeRF's ``transforms.json``; or a list of 4x4 or 3x4 matrices. ``.txt``, ``.tum``, ``.kitti``,
    ``.csv``: rows of TUM, KITTI or 4x4. ``.npy``, ``.npz``: (n, 4, 4) or (n, 3, 4).

    Args:
        file: The pose file.
        fps: Frames a second when the file does not say.
        convention: What its numbers mean. Needed where the format does not say (lists and arrays
            of matrices, rows of 16 numbers); overrides what other people's formats are taken to
            mean.

    Raises:
        InvalidPath: the file is absent, of no known format, over 32 MB or 20,000 poses, states no
            convention, or holds poses that are not rigid.
        UnknownName: its convention is unknown.
    """
    file = Path(file)
    try:
        found = _read(file)
        meant = convention or found.stated
        if meant is None:
            raise InvalidPath(
                "its format does not say what the matrices mean; state it: direction c2w or w2c "
                "and camera axes (--pose-direction, --pose-axes)"
            )
        rate = found.fps if found.fps is not None else fps
        path = meant.path(found.matrices, rate, found.phases)
        if found.notes:
            path = CameraPath(path.poses, fps=path.fps, phases=path.phases, notes=found.notes)
    except InvalidPath as error:
        raise InvalidPath(f"{file}: {error}") from error
    return path, found.K


def _read(file: Path) -> Poses:
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise InvalidPath(f"it has more than {MAX_BYTES >> 20} MB; cut it")
        if file.suffix.lower() in _ARRAYS:
            return read_array(file)
        text = file.read_text("utf-8")
    except OSError as error:
        raise InvalidPath(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidPath("it is no text; arrays are read from .npy and .npz") from None
    if file.suffix.lower() in _TABLES:
        return read_table(text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidPath(f"it is no JSON: {error}") from error
    return read_json(data, _intrinsics)


def _intrinsics(name: str, value: Any) -> NDArray[np.float64]:
    try:
        K = np.array(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        K = np.zeros(0)
    if K.shape != (3, 3):
        raise InvalidPath(f"{name} must be 3x3 numbers, got {reprlib.repr(value)}")
    if not np.isfinite(K).all():
        raise InvalidPath(f"{name} is not finite")
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
    video: Path,
    file: Path | None,
    script: str | None,
    case: Case | None,
    convention: Convention | None = None,
) -> tuple[CameraPath, NDArray[np.float64] | None]:
    """Return the path that a video walked, and its intrinsics where they are known.

    Args:
        video: The video, for messages.
        file: Its pose file; None where it walked the script exactly.
        script: Script that it walked; names the phases that the pose file leaves out.
        case: Case that it walked.
        convention: What the numbers of the pose file mean; see ``load_poses``.

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
    path, K = load_poses(file, convention=convention)
    if script is None:
        return path, K
    if path.phases is not None and path.phases != load_script(script).path(None, case).phases:
        raise InvalidPath(
            f"{file} has other phases than script {script}; leave out --script, or the phases in "
            "the file."
        )
    return with_phases(path, script, case), K
