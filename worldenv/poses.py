"""Pose files: reading our own JSON and R2M-Bench's, and writing ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, InvalidPath
from worldenv.case import Case, Script, load_script

MAX_BYTES = 256 * 2**20


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
        InvalidPath: the file is absent, of neither format, or holds poses that are not rigid.
    """
    file = Path(file)
    data = _read(file)
    try:
        if isinstance(data, dict) and "poses" in data:
            phases = data.get("phases")
            path = CameraPath.rebased(
                np.array(data["poses"], dtype=np.float64),
                fps=float(data.get("fps", fps)),
                phases=None if phases is None else tuple(phases),
            )
            K = None if data.get("K") is None else np.array(data["K"], dtype=np.float64)
            notes = tuple(str(note) for note in data.get("notes", ()))
            path = CameraPath(path.poses, fps=path.fps, phases=path.phases, notes=notes)
        elif isinstance(data, dict) and data and all(str(key).isdigit() for key in data):
            frames = sorted(int(key) for key in data)
            if frames != list(range(len(frames))):
                missing = next(i for i in range(len(frames)) if i not in set(frames))
                raise InvalidPath(f"{file} has no pose for frame {missing}; expected 0, 1, 2, ...")
            rows = [data[str(i)] for i in frames]
            path = CameraPath.rebased(np.array([row["extrinsic"] for row in rows], float), fps=fps)
            Ks = np.array([row["K"] for row in rows], dtype=np.float64)
            if not np.array_equal(Ks, np.broadcast_to(Ks[0], Ks.shape)):
                raise InvalidPath(f"{file} changes K between frames; a path has one K")
            K = Ks[0]
        else:
            raise InvalidPath(
                f'{file} is no pose file; expected {{"poses": [4x4, ...]}} or '
                '{"0": {"extrinsic": 4x4, "K": 3x3}, ...}'
            )
    except InvalidPath as error:
        raise InvalidPath(
            f"{file}: {error}" if str(file) not in str(error) else str(error)
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidPath(f"{file} holds something that is no pose: {error!r}") from error
    if K is not None and (K.shape != (3, 3) or not np.isfinite(K).all() or K[0, 0] <= 0):
        raise InvalidPath(f"{file} has a K that is no 3x3 matrix of intrinsics")
    return path, K


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


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InvalidPath(f"{file} is larger than {MAX_BYTES} bytes")
        return json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidPath(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidPath(f"{file} is no JSON: {error}") from error
