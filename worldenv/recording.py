"""RolloutWriter: streams an episode to a folder that appears only when it is complete."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import queue
import re
import secrets
import shutil
import threading
from array import array
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.case import Case
from worldenv.truth import TruthWriter
from worldenv.video import StorageError, VideoWriter
from worldenv.world import Chunk, WorldSpec, to_plain

SCHEMA = 1
RECORD = "rollout.json"
VIDEO = "frames.mkv"

_Work = tuple[NDArray[np.uint8], dict[str, dict[int, Any]]]


def safe_folder_name(text: str) -> str:
    """Return text as a folder name: letters, digits, ``_ - . =`` and ``@``, at most 120."""
    return re.sub(r"[^\w.=@-]+", "_", text, flags=re.ASCII).strip("._")[:120] or "_"


class RolloutWriter:
    """Records one episode; a background thread encodes, and memory stays flat.

    Everything goes to a hidden folder beside ``folder`` that ``finish`` renames, so a folder of
    that name is always complete. Killing the process leaves only the hidden one.

    Args:
        folder: Where the rollout shall appear; must not exist, unless as an empty folder.
        spec: The world's spec, None for frames of unknown origin.
        path: The path as walked, None for a free walk.
        case: The case, or None.
        script: The script's name, or None.
        seed: The seed handed to the world.
        K: Intrinsics (3, 3), pixels, None where unknown.
        K_exactness: ``exact``, ``nominal`` or ``estimated``.
        control: The control mode.
        options: Plain options of the world.
        truth_frames: Frames whose truth is kept, per key of ``Chunk.truth``; absent keys are left
            out. None keeps all. Realised poses are always kept.

        size: (width, height), where there is no spec.
        fps: Frames a second, where there is no spec.

    Raises:
        StorageError: the folder exists or cannot be written; raised by any method, which then
            removes the hidden folder.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        spec: WorldSpec | None,
        path: CameraPath | None,
        case: Case | None,
        script: str | None,
        seed: int,
        K: NDArray[np.float64] | None,
        K_exactness: str,
        control: str,
        options: Mapping[str, Any] | None = None,
        truth_frames: Mapping[str, Collection[int]] | None = None,
        size: tuple[int, int] | None = None,
        fps: float | None = None,
    ) -> None:
        if spec is not None:
            size, fps = spec.size, spec.fps
        if size is None or fps is None:
            raise StorageError("a rollout without a spec needs size and fps")
        self.folder = Path(folder)
        if is_taken(self.folder):
            raise StorageError(f"{self.folder} exists already; choose another folder")
        self._partial = partial_folder(self.folder)
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            _sweep(self.folder)
            self._partial.mkdir()
        except OSError as error:
            raise StorageError(f"{self.folder} cannot be written: {error.strerror}") from error
        self._target = path
        self._header: dict[str, Any] = {
            "schema": SCHEMA,
            "spec": None if spec is None else spec.to_dict(),
            "case": None if case is None else case.to_dict(),
            "script": script,
            "seed": seed,
            "control": control,
            "options": to_plain(dict(options or {})),
            "K": None if K is None else np.asarray(K, dtype=np.float64).tolist(),
            "K_exactness": K_exactness,
            "fps": fps,
            "size": list(size),
            "software": software_versions(),
        }
        self._length = 0
        self._chunks: list[int] = []
        self._wall_times: list[float] = []
        self._commanded = array("d")
        self._realised = array("d")
        self._digest = hashlib.sha256()
        self._truth = TruthWriter(self._partial, truth_frames)
        self._video = VideoWriter(self._partial / VIDEO, size, fps)
        self._error: BaseException | None = None
        self._done = False
        # Two chunks in flight keep the encoder busy without holding the episode in memory.
        self._queue: queue.Queue[_Work | None] = queue.Queue(maxsize=2)
        self._thread = threading.Thread(target=self._work, name="rollout-writer", daemon=True)
        self._thread.start()

    def add(self, chunk: Chunk, wall_time: float = 0.0) -> None:
        """Append a chunk.

        Args:
            chunk: The next new frames, from the reset's on.
            wall_time: Seconds the world took to make it.
        """
        self._raise_trouble()
        n = len(chunk.frames)
        truth = dict(chunk.truth or {})
        realised = truth.pop("pose", None)
        # What is played back may itself hold the truth of some frames only.
        known = truth.pop("recorded", {})
        if realised is not None:
            self._realised.frombytes(np.ascontiguousarray(realised, dtype=np.float64).tobytes())
        kept: dict[str, dict[int, Any]] = {}
        for key, values in truth.items():
            self._truth.declare(key, values[0])
            wanted = [
                i
                for i in range(n)
                if self._truth.wants(key, self._length + i) and (key not in known or known[key][i])
            ]
            # Copies, because a world may go on to use its arrays.
            kept[key] = {
                self._length + i: v.copy() if isinstance(v := values[i], np.ndarray) else v
                for i in wanted
            }
        self._commanded.frombytes(np.ascontiguousarray(chunk.poses, dtype=np.float64).tobytes())
        self._chunks.append(n)
        self._wall_times.append(float(wall_time))
        self._length += n
        self._queue.put((np.array(chunk.frames, order="C"), kept))

    def finish(self) -> Path:
        """Complete the rollout and return its folder."""
        self._queue.put(None)
        self._thread.join()
        self._raise_trouble()
        try:
            self._video.close()
            index = self._truth.close()
            with (self._partial / RECORD).open("w", encoding="utf-8") as file:
                file.writelines(self._record(index))
                file.flush()
                os.fsync(file.fileno())
            if is_taken(self.folder):
                raise StorageError(f"{self.folder} was made by another run; choose another folder")
            self._partial.rename(self.folder)
        except (OSError, StorageError) as error:
            self.abort()
            raise _storage_error(self.folder, error) from error
        self._done = True
        return self.folder

    def abort(self) -> None:
        """Drop the episode and remove what was written; may be called twice."""
        if self._done:
            return
        self._done = True
        if self._thread.is_alive():
            self._error = self._error or StorageError("aborted")
            self._video.kill()
            self._queue.put(None)
            self._thread.join()
        self._video.kill()
        self._truth.abort()
        shutil.rmtree(self._partial, ignore_errors=True)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            if self._error is not None:
                continue
            try:
                frames, truth = work
                self._digest.update(frames.data.cast("B"))
                self._video.write(frames)
                self._truth.add(truth)
            except BaseException as error:
                self._error = error

    def _raise_trouble(self) -> None:
        if self._done:
            raise StorageError(f"the recording of {self.folder} has ended; make another writer")
        error = self._error
        if error is not None:
            self.abort()
            if isinstance(error, OSError | StorageError):
                raise _storage_error(self.folder, error) from error
            raise error

    def _record(self, index: dict[str, Any]) -> Iterator[str]:
        """Yield ``rollout.json`` piece by piece, so that it never lies in memory whole."""
        has_realised = self._length > 0 and len(self._realised) == 16 * self._length
        fields: dict[str, Any] = {
            **self._header,
            "frames": self._length,
            "chunks": self._chunks,
            "wall_times": self._wall_times,
            "digest": self._digest.hexdigest(),
            "truth": index,
            "phases": None if self._target is None else self._target.phases,
            "notes": [] if self._target is None else list(self._target.notes),
        }
        yield "{"
        for key, value in fields.items():
            yield f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)},\n"
        target = None if self._target is None else np.asarray(self._target.poses).ravel()
        yield from _poses("target", target)
        yield ",\n"
        yield from _poses("commanded", np.frombuffer(self._commanded, np.float64))
        yield ",\n"
        yield from _poses(
            "realised", np.frombuffer(self._realised, np.float64) if has_realised else None
        )
        yield "}\n"


def partial_folder(folder: Path) -> Path:
    """Return a new hidden name beside ``folder`` that says which process writes there."""
    own = f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    return folder.with_name(f".{folder.name}.{own}.partial")


def _host() -> str:
    return safe_folder_name(platform.node())[:40].replace("-", "_").replace(".", "_")


def _sweep(folder: Path) -> None:
    """Remove what killed processes of this machine left of ``folder``."""
    prefix = f".{folder.name}.{_host()}-"
    for left in folder.parent.iterdir():
        parts = left.name.removeprefix(prefix).removesuffix(".partial").split("-")
        if not left.name.startswith(prefix) or len(parts) != 2 or not parts[0].isdigit():
            continue
        try:
            os.kill(int(parts[0]), 0)
        except ProcessLookupError:
            shutil.rmtree(left, ignore_errors=True)
        except OSError:
            # It lives and belongs to somebody else.
            continue


def is_taken(folder: Path) -> bool:
    """Return whether ``folder`` exists as anything but an empty folder."""
    if not folder.is_dir():
        return folder.exists()
    return next(folder.iterdir(), None) is not None


def software_versions() -> dict[str, str]:
    """Return the versions that a rollout's bits may depend on."""
    import cv2
    import imageio_ffmpeg

    import worldenv

    return {
        "worldenv": worldenv.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "ffmpeg": str(imageio_ffmpeg.get_ffmpeg_version()),
        "platform": platform.platform(),
    }


def _poses(key: str, values: NDArray[np.float64] | None) -> Iterator[str]:
    if values is None:
        yield f"{json.dumps(key)}: null"
        return
    yield f"{json.dumps(key)}: ["
    for i, pose in enumerate(values.reshape(-1, 4, 4)):
        yield ("" if i == 0 else ",\n") + json.dumps(pose.tolist(), allow_nan=False)
    yield "]"


def _storage_error(folder: Path, error: Exception) -> StorageError:
    if isinstance(error, StorageError):
        return error
    return StorageError(f"{folder} cannot be written: {getattr(error, 'strerror', error)}")
