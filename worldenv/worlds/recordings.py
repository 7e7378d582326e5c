"""Finds recordings: rollout folders, and videos with what is known of their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.case import Case, load_case
from worldenv.conventions import Convention, convention_of
from worldenv.poses import load_path
from worldenv.rollout import Rollout
from worldenv.video import InvalidVideo, read_frames
from worldenv.world import UnknownName, Unsupported

__all__ = ["SUFFIXES", "Entry", "find_entries", "listed"]

KEYS = ("video", "path", "script", "case", "seed", "fps", "K", "convention")
SUFFIXES = (".mp4", ".mkv", ".mov", ".webm", ".avi")
RECORD = "rollout.json"
MOST_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Entry:
    """One recording, not yet read.

    Attributes:
        video: A video, or a rollout folder.
        path: Pose file of a video.
        script: Script that a video walked.
        case: Case that was walked, or None.
        seed: Seed of the world, None when it does not matter.
        fps: Frames a second, None as the pose file says.
        K: Intrinsics (3, 3) in pixels, None as the pose file says.
        convention: What the numbers of the pose file mean, None as its format says.
        digest: Digest of a rollout's frames, empty for a video.
    """

    video: Path
    path: Path | None = None
    script: str | None = None
    case: Case | None = None
    seed: int | None = None
    fps: float | None = None
    K: tuple[tuple[float, ...], ...] | None = None
    convention: Convention | None = None
    digest: str = ""

    @property
    def is_rollout(self) -> bool:
        """Whether it is a rollout folder of ours."""
        return self.video.is_dir()

    @property
    def identity(self) -> str:
        """What changes when the recording does; a video is not read for it."""
        if self.digest:
            return self.digest
        status = self.video.stat()
        return f"{self.video.name} {status.st_size} {status.st_mtime_ns}"

    def open(self) -> Rollout:
        """Return the recording; a video's frames are counted by decoding it."""
        if self.is_rollout:
            return Rollout.load(self.video)
        path, K = self.load_path()
        return Rollout.from_video(self.video, path, K=K, case=self.case, script=self.script)

    def load_path(self) -> tuple[CameraPath, NDArray[np.float64] | None]:
        """Return the path of a video and its intrinsics where they are known."""
        path, K = load_path(self.video, self.path, self.script, self.case, self.convention)
        if self.fps is not None:
            path = CameraPath(path.poses, fps=self.fps, phases=path.phases, notes=path.notes)
        return path, K if self.K is None else np.array(self.K)

    def size(self) -> tuple[int, int]:
        """Return (width, height) of a video, decoding its first frame."""
        for frame in read_frames(self.video, count=1):
            return frame.shape[1], frame.shape[0]
        raise InvalidVideo(f"{self.video} holds no frame")


def find_entries(
    videos: str | os.PathLike[str] | Sequence[Mapping[str, Any]],
) -> tuple[Entry, ...]:
    """Return the recordings of a folder, a JSON list or a list.

    Raises:
        Unsupported: there is none, or one is not told as it should be.
        UnknownName: a key or a case is unknown.
    """
    if isinstance(videos, (str, os.PathLike)):
        place = Path(videos)
        if place.is_dir():
            entries = tuple(_scan(place))
        elif place.suffix == ".json":
            entries = tuple(_listed(_read(place), place.parent))
        else:
            raise Unsupported(
                f"videos={str(place)!r} is neither a folder nor a JSON file; for a single video "
                "give videos=[{'video': ..., 'path': ...}]"
            )
    else:
        entries = tuple(_listed(videos, Path()))
    if not entries:
        raise Unsupported(
            f"there is no recording in {videos!r}; expected rollout folders, or videos with a pose "
            "file of the same name (walk.mp4, walk.json)"
        )
    return entries


def _scan(folder: Path) -> Iterator[Entry]:
    if (folder / RECORD).is_file():
        yield _rollout(folder)
        return
    for inside, folders, files in os.walk(folder):
        place = Path(inside)
        # A hidden folder is an unfinished recording.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if RECORD in files:
            folders.clear()
            if not _is_control(place):
                yield _rollout(place)
            continue
        for name in sorted(files):
            video = place / name
            if video.suffix.lower() in SUFFIXES:
                poses = video.with_suffix(".json")
                if not poses.is_file():
                    raise Unsupported(
                        f"{video} has no pose file; expected {poses.name} beside it, or a list "
                        "with its script"
                    )
                yield Entry(video, poses)


def _is_control(folder: Path) -> bool:
    """Return whether a run walked this episode in a floor or ceiling control."""
    scores = folder / "scores.json"
    if not scores.is_file():
        return False
    data = _read(scores)
    return isinstance(data, dict) and bool(data.get("control"))


def _rollout(folder: Path) -> Entry:
    rollout = Rollout.load(folder)
    return Entry(
        folder,
        script=rollout.script,
        case=rollout.case,
        seed=rollout.seed,
        digest=rollout.digest,
    )


def listed(file: Path) -> Iterator[tuple[str, Entry]]:
    """Yield (world, recording) of a JSON list whose rows may name the world that was recorded.

    Raises:
        Unsupported: it is none, or a row is not told as it should be.
        UnknownName: a key or a case is unknown.
    """
    rows = _read(file)
    if not isinstance(rows, list) or not rows:
        raise Unsupported(f"{file} is no list of recordings")
    for number, row in enumerate(rows):
        world = row.pop("world", "") if isinstance(row, dict) else ""
        if not isinstance(world, str):
            raise Unsupported(f"world of recording {number} must be a text, got {world!r}")
        yield world, _entry(row, file.parent, f"recording {number}")


def _listed(rows: Any, base: Path) -> Iterator[Entry]:
    if not isinstance(rows, (list, tuple)):
        raise Unsupported(f"videos must be a list of recordings, got {type(rows).__name__}")
    for number, row in enumerate(rows):
        yield _entry(row, base, f"recording {number}")


def _entry(row: Any, base: Path, name: str) -> Entry:
    if not isinstance(row, Mapping):
        raise Unsupported(f"{name} must be a dict with video, got {type(row).__name__}")
    for key in row:
        if key not in KEYS:
            raise UnknownName(f"key of {name}:", str(key), KEYS)
    for key in ("video", "path", "script", "case"):
        value = row.get(key)
        if not isinstance(value, (str, os.PathLike)) and (key == "video" or value is not None):
            raise Unsupported(f"{key} of {name} must be a text, got {value!r}")
    video = base / os.fspath(row["video"])
    seed, fps = row.get("seed"), row.get("fps")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise Unsupported(f"seed of {name} must be a whole number from 0, got {seed!r}")
    if fps is not None and (
        isinstance(fps, bool) or not isinstance(fps, (int, float)) or not 1e-3 <= fps <= 1e4
    ):
        raise Unsupported(f"fps of {name} must be a number from 0.001 to 10000, got {fps!r}")
    case = None if row.get("case") is None else load_case(str(row["case"]))
    K = None if row.get("K") is None else _intrinsics(row["K"], name)
    if video.is_dir():
        for key in ("path", "script", "fps", "K", "convention"):
            if row.get(key) is not None:
                raise Unsupported(f"{video} is a rollout and brings its own {key}; leave it out")
        found = _rollout(video)
        found = found if case is None else replace(found, case=case)
        return found if seed is None else replace(found, seed=seed)
    if not video.is_file():
        raise Unsupported(f"{name} names {video}, which is neither a video nor a rollout folder")
    path = None if row.get("path") is None else base / os.fspath(row["path"])
    if path is None and row.get("script") is None:
        raise Unsupported(f"{name} ({video}) does not say its path; give path or script")
    stated = row.get("convention")
    convention = None if stated is None else convention_of(stated, name)
    rate = None if fps is None else float(fps)
    return Entry(video, path, row.get("script"), case, seed, rate, K, convention)


def _intrinsics(value: Any, name: str) -> tuple[tuple[float, ...], ...]:
    try:
        K = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        K = np.zeros(0)
    if K.shape != (3, 3) or not np.isfinite(K).all() or min(K[0, 0], K[1, 1]) <= 0:
        raise Unsupported(f"K of {name} must be 3x3 finite pixels with focal lengths above 0")
    return tuple(tuple(float(x) for x in row) for row in K)


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise Unsupported(f"{file} has more than {MOST_BYTES >> 20} MB")
        return json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise Unsupported(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Unsupported(f"{file} is no JSON: {error}") from error
