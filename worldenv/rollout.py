"""Rollout: the record of one episode, read from its folder or from a plain video."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, WorldEnvError
from worldenv.case import Case
from worldenv.poses import load_poses, save_poses, with_phases
from worldenv.recording import (
    RECORD,
    SCHEMA,
    VIDEO,
    RolloutWriter,
    is_taken,
    partial_folder,
    safe_folder_name,
)
from worldenv.truth import InvalidRollout, RecordedTruth
from worldenv.video import InvalidVideo, StorageError, read_frames
from worldenv.world import Chunk, WorldSpec

__all__ = [
    "InvalidRollout",
    "InvalidVideo",
    "Rollout",
    "RolloutWriter",
    "StorageError",
    "is_taken",
    "load_poses",
    "safe_folder_name",
    "save_poses",
    "with_phases",
]

MAX_RECORD_BYTES = 2**30
VIDEO_CHUNK = 16
MAX_SCALE = 64
# A video that fits is kept decoded, so that counting its frames is not a second decoding.
KEEP_BYTES = 256 * 2**20


@dataclass(frozen=True, eq=False)
class Rollout:
    """One episode: frames, poses, phases and truth.

    Attributes:
        source: The folder or the video file.
        spec: The world's spec, None for a plain video.
        case: The case, or None.
        script: The script's name, or None.
        seed: The seed handed to the world, 0 for a plain video.
        control: The control mode, empty for a plain video.
        options: Plain options of the world.
        target: What the script wanted; the commanded path for a free walk. It may be longer than
            the rollout where the episode ended early.
        commanded: What the world was asked after its own rounding, (n, 4, 4).
        realised: Poses by truth, (n, 4, 4), None where unknown.
        fps: Frames a second.
        K: Intrinsics (3, 3) in pixels at the frames' size, None where unknown.
        K_exactness: ``exact``, ``nominal`` or ``estimated``.
        chunk_lengths: New frames of reset and of every step.
        wall_times: Seconds each of them took.
        truth: What of the truth was recorded, None when nothing was.
        software: Versions that the bits may depend on.
        size: (width, height) of the frames.
        digest: SHA-256 over the frames in order, hexadecimal.
    """

    source: Path
    spec: WorldSpec | None
    case: Case | None
    script: str | None
    seed: int
    control: str
    options: dict[str, Any]
    target: CameraPath
    commanded: NDArray[np.float64]
    realised: NDArray[np.float64] | None
    fps: float
    K: NDArray[np.float64] | None
    K_exactness: str
    chunk_lengths: tuple[int, ...]
    wall_times: tuple[float, ...]
    truth: RecordedTruth | None
    software: dict[str, str]
    size: tuple[int, int]
    digest: str
    _kept: list[NDArray[np.uint8]] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.commanded)

    @property
    def phases(self) -> tuple[str | None, ...]:
        """Phase of each frame, None where it has none."""
        phases = self.target.phases or (None,) * len(self)
        return phases[: len(self)]

    def frames(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Return frames [start, stop), shape (n, height, width, 3), decoding only those.

        Raises:
            InvalidRollout: the folder's video is damaged.
            InvalidVideo: the video file changed or is damaged.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        if stop <= start:
            return np.empty((0, self.size[1], self.size[0], 3), np.uint8)
        return np.stack(list(self._decode(start, stop)))

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks as they were made, decoding each frame once.

        ``truth`` holds the recorded keys at full length, and ``recorded``: key -> bool (n,), False
        where a frame's truth was not kept.
        """
        frames = self._decode(0, len(self))
        start = 0
        for n in self.chunk_lengths:
            made = np.stack([next(frames) for _ in range(n)])
            truth = None if self.truth is None else self.truth.read(start, start + n)
            yield Chunk(made, self.commanded[start : start + n], truth)
            start += n
        # Asking once more lets the reader notice what is wrong with the end of the file.
        next(frames, None)

    def copy_to(self, folder: str | Path) -> Path:
        """Write the rollout to another folder, losslessly also from a plain video; return it.

        Raises:
            StorageError: the folder exists or cannot be written.
        """
        folder = Path(folder)
        if self.source.is_dir():
            return _copy_folder(self.source, folder)
        writer = RolloutWriter(
            folder,
            spec=self.spec,
            path=self.target,
            case=self.case,
            script=self.script,
            seed=self.seed,
            K=self.K,
            K_exactness=self.K_exactness,
            control=self.control,
            options=self.options,
            size=self.size,
            fps=self.fps,
        )
        try:
            for chunk in self.chunks():
                writer.add(chunk)
            return writer.finish()
        except BaseException:
            writer.abort()
            raise

    @classmethod
    def load(cls, folder: str | Path) -> Rollout:
        """Read a rollout that ``RolloutWriter`` finished.

        Raises:
            InvalidRollout: the folder is absent, unfinished, damaged or of another version.
        """
        folder = Path(folder)
        data = _read_record(folder)
        try:
            return cls._from_record(folder, data)
        except InvalidRollout:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, WorldEnvError) as error:
            detail = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
            raise InvalidRollout(f"{folder}/{RECORD} is damaged: {detail}") from error

    @classmethod
    def _from_record(cls, folder: Path, data: dict[str, Any]) -> Rollout:
        n = int(data["frames"])
        commanded = np.array(data["commanded"], dtype=np.float64).reshape(-1, 4, 4)
        realised = data["realised"]
        if realised is not None:
            realised = np.array(realised, dtype=np.float64).reshape(-1, 4, 4)
        lengths = tuple(int(c) for c in data["chunks"])
        counts = [len(commanded), sum(lengths), n if realised is None else len(realised)]
        if n < 1 or min(lengths) < 1 or counts != [n] * 3:
            raise InvalidRollout(
                f"{folder} says {n} frames but has {counts[0]} commanded and {counts[2]} realised "
                f"poses and chunks of {counts[1]} frames"
            )
        fps = float(data["fps"])
        if data["target"] is None:
            target = CameraPath.rebased(commanded, fps=fps)
        else:
            poses = np.array(data["target"], dtype=np.float64)
            phases = None if data["phases"] is None else tuple(data["phases"])
            target = CameraPath(poses, fps=fps, phases=phases, notes=tuple(data["notes"]))
        if len(target) < n:
            raise InvalidRollout(f"{folder} has a target of {len(target)} poses for {n} frames")
        if not (folder / VIDEO).is_file():
            raise InvalidRollout(f"{folder} lacks {VIDEO}")
        index = data["truth"]
        has_truth = realised is not None or index["arrays"] or index["plain"]
        commanded.flags.writeable = False
        return cls(
            source=folder,
            spec=None if data["spec"] is None else WorldSpec.from_dict(data["spec"]),
            case=None if data["case"] is None else Case.from_dict(data["case"]),
            script=data["script"],
            seed=int(data["seed"]),
            control=data["control"],
            options=data["options"],
            target=target,
            commanded=commanded,
            realised=realised,
            fps=fps,
            K=None if data["K"] is None else np.array(data["K"], dtype=np.float64).reshape(3, 3),
            K_exactness=data["K_exactness"],
            chunk_lengths=lengths,
            wall_times=tuple(data["wall_times"]),
            truth=RecordedTruth(folder, index, n, realised) if has_truth else None,
            software=data["software"],
            size=(int(data["size"][0]), int(data["size"][1])),
            digest=data["digest"],
        )

    @classmethod
    def from_video(
        cls,
        file: str | Path,
        path: CameraPath,
        *,
        K: NDArray[np.float64] | None = None,
        K_exactness: str = "nominal",
        case: Case | None = None,
        script: str | None = None,
        on_frame: Callable[[NDArray[np.uint8]], None] | None = None,
    ) -> Rollout:
        """Read a plain mp4 or mkv that shows one frame a pose; frames are counted by decoding.

        Args:
            file: A local video.
            path: Target path, one pose a frame.
            K: Intrinsics (3, 3) in pixels. Where its centre says that it belongs to another size
                it is scaled to the video's, and the target's notes say so.
            K_exactness: ``exact``, ``nominal`` or ``estimated``.
            case: The case that was walked.
            script: The script that was walked.
            on_frame: Called with every frame as it is decoded.

        Raises:
            InvalidVideo: the file is empty, cut short or no video, has another number of frames
                than ``path`` has poses, or exceeds a limit.
        """
        file = Path(file)
        digest = hashlib.sha256()
        kept: list[NDArray[np.uint8]] | None = []
        count, size = 0, (0, 0)
        for frame in read_frames(file):
            count += 1
            if size != (frame.shape[1], frame.shape[0]) and count > 1:
                raise InvalidVideo(
                    f"{file} changes from {size[0]} x {size[1]} to {frame.shape[1]} x "
                    f"{frame.shape[0]} at frame {count - 1}; a rollout has one size"
                )
            size = (frame.shape[1], frame.shape[0])
            if on_frame is not None:
                on_frame(frame)
            digest.update(frame.data.cast("B"))
            if kept is not None:
                kept.append(frame)
                if count * frame.nbytes > KEEP_BYTES:
                    kept = None
        if count != len(path):
            raise InvalidVideo(
                f"{file} has {count} frames and the path {len(path)} poses; expected one pose a "
                "frame"
            )
        notes = path.notes
        if K is not None:
            K, note = _scaled_K(K, size)
            notes = (*notes, note) if note else notes
        lengths = [1] + [VIDEO_CHUNK] * ((count - 1) // VIDEO_CHUNK)
        rest = count - sum(lengths)
        return cls(
            source=file,
            spec=None,
            case=case,
            script=script,
            seed=0,
            control="",
            options={},
            target=CameraPath(path.poses, fps=path.fps, phases=path.phases, notes=notes),
            commanded=path.poses,
            realised=None,
            fps=path.fps,
            K=K,
            K_exactness=K_exactness,
            chunk_lengths=tuple(lengths + ([rest] if rest else [])),
            wall_times=(),
            truth=None,
            software={},
            size=size,
            digest=digest.hexdigest(),
            _kept=kept,
        )

    def _decode(self, start: int, stop: int) -> Iterator[NDArray[np.uint8]]:
        """Yield frames [start, stop); afterwards, at the very end, check the whole."""
        if self._kept is not None:
            yield from self._kept[start:stop]
            return
        made = 0
        if not self.source.is_dir():
            # A compressed video has to be decoded from its beginning.
            for i, frame in enumerate(read_frames(self.source, count=stop)):
                if i >= start:
                    made += 1
                    yield frame
        else:
            file = self.source / VIDEO
            count = None if stop == len(self) else stop - start
            shape = (self.size[1], self.size[0], 3)
            try:
                for frame in read_frames(file, start=start, count=count, fps=self.fps):
                    made += 1
                    if made > stop - start or frame.shape != shape:
                        raise InvalidRollout(
                            f"{file} holds other frames than {RECORD} says: {made} or more of "
                            f"{frame.shape[1]} x {frame.shape[0]}"
                        )
                    yield frame
            except InvalidVideo as error:
                raise InvalidRollout(str(error)) from error
        if made != stop - start:
            raise InvalidRollout(f"{self.source} holds {made} frames of [{start}, {stop})")


def _copy_folder(source: Path, folder: Path) -> Path:
    if is_taken(folder):
        raise StorageError(f"{folder} exists already; choose another folder")
    partial = partial_folder(folder)
    try:
        partial.mkdir(parents=True)
        for file in source.iterdir():
            if file.name in (RECORD, VIDEO) or file.name.startswith("truth"):
                shutil.copyfile(file, partial / file.name)
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise StorageError(f"{folder} cannot be written: {error.strerror}") from error
    return folder


def _read_record(folder: Path) -> dict[str, Any]:
    file = folder / RECORD
    if not file.is_file():
        what = "is unfinished" if folder.name.endswith(".partial") else "is no rollout"
        raise InvalidRollout(f"{folder} {what}: it has no {RECORD}")
    try:
        if file.stat().st_size > MAX_RECORD_BYTES:
            raise InvalidRollout(f"{file} is larger than {MAX_RECORD_BYTES} bytes")
        data = json.loads(file.read_text("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise InvalidRollout(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRollout(f"{file} is damaged: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise InvalidRollout(f"{file} has schema {found!r}; this version reads {SCHEMA}")
    return data


def _refuse(constant: str) -> float:
    raise ValueError(f"it holds {constant}")


def _scaled_K(K: Any, size: tuple[int, int]) -> tuple[NDArray[np.float64], str]:
    """Return K at ``size``, and a note where it was made for another one."""
    try:
        K = np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidVideo(f"K must be 3x3 pixels: {error}") from error
    if K.shape != (3, 3) or not np.isfinite(K).all() or min(K[0, 0], K[1, 1]) <= 0:
        raise InvalidVideo("K must be 3x3 finite pixels with focal lengths above 0")
    width, height = 2 * K[0, 2], 2 * K[1, 2]
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise InvalidVideo("K has no principal point inside an image; expected pixels, 3x3")
    scale = np.array([size[0] / width, size[1] / height])
    if scale.min() < 1 / MAX_SCALE or scale.max() > MAX_SCALE:
        raise InvalidVideo(
            f"K was made for {width:g} x {height:g} and the video has {size[0]} x {size[1]} "
            f"pixels; a factor beyond {MAX_SCALE} is taken for a mistake: give K in pixels"
        )
    if (abs(scale - 1) < 0.05).all():
        return K, ""
    note = f"K was made for {width:g} x {height:g} and was scaled to {size[0]} x {size[1]}"
    return np.diag([scale[0], scale[1], 1.0]) @ K, note
