"""Truth on disk: arrays of chosen frames as compressed blocks, states as JSON lines."""

from __future__ import annotations

import json
import re
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import GenerationFailed, WorldEnvError, to_plain

MAX_BLOCK = 2**30
_TYPES = ("float32", "float64", "uint8", "uint16", "int32", "int64", "bool")


class InvalidRollout(WorldEnvError):
    """A rollout folder is unfinished, damaged, or of another version."""


@dataclass
class _Blocks:
    """Index of one array key: which frames have a block, and where it lies."""

    dtype: str
    shape: tuple[int, ...]
    frames: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    lengths: array[int] = field(default_factory=lambda: array("q"))


class TruthWriter:
    """Appends the truth of chunks to ``truth.bin`` and ``truth_<key>.jsonl`` of a folder.

    Args:
        folder: Where the files go.
        only: Frames to keep per key; a key that is absent is left out. None keeps all.
    """

    def __init__(self, folder: Path, only: Mapping[str, Collection[int]] | None) -> None:
        self._folder = folder
        self._only = None if only is None else {k: frozenset(v) for k, v in only.items()}
        self._blocks: dict[str, _Blocks] = {}
        self._file: IO[bytes] | None = None
        self._lines: dict[str, IO[str]] = {}
        self._recorded: dict[str, array[int]] = {}
        self._latest: dict[str, str] = {}

    def declare(self, key: str, value: Any) -> None:
        """Say that the world offers ``key``, with an example of one frame."""
        if key in self._blocks or key in self._lines:
            return
        if not re.fullmatch(r"\w+", key):
            raise GenerationFailed(f"truth[{key!r}] has a name that cannot be recorded")
        if not isinstance(value, np.ndarray):
            self._lines[key] = (self._folder / f"truth_{key}.jsonl").open("w", encoding="utf-8")
            self._recorded[key] = array("q")
        elif value.dtype.name in _TYPES:
            self._blocks[key] = _Blocks(value.dtype.name, value.shape)
        else:
            raise GenerationFailed(f"truth[{key!r}] of {value.dtype} cannot be recorded")

    def wants(self, key: str, frame: int) -> bool:
        """Return whether ``frame`` of ``key`` is kept."""
        return self._only is None or frame in self._only.get(key, ())

    def add(self, truth: Mapping[str, Mapping[int, Any]]) -> None:
        """Append values of declared keys: key -> {frame index: array or plain value}."""
        for key, values in truth.items():
            for frame, value in values.items():
                if key in self._lines:
                    self._add_plain(key, frame, value)
                else:
                    self._add_array(key, frame, value)

    def close(self) -> dict[str, Any]:
        """Finish the files and return the index for ``rollout.json``."""
        self.abort()
        arrays = {
            key: {
                "dtype": blocks.dtype,
                "shape": list(blocks.shape),
                "frames": blocks.frames.tolist(),
                "offsets": blocks.offsets.tolist(),
                "lengths": blocks.lengths.tolist(),
            }
            for key, blocks in self._blocks.items()
        }
        plain = {key: frames.tolist() for key, frames in self._recorded.items()}
        return {"arrays": arrays, "plain": plain}

    def abort(self) -> None:
        """Close the files as they are."""
        for file in [self._file, *self._lines.values()]:
            if file is not None:
                file.close()

    def _add_array(self, key: str, frame: int, value: NDArray[Any]) -> None:
        if self._file is None:
            self._file = (self._folder / "truth.bin").open("wb")
        blocks = self._blocks[key]
        if (value.dtype.name, value.shape) != (blocks.dtype, blocks.shape):
            raise GenerationFailed(f"truth[{key!r}] changes its shape or type at frame {frame}")
        # Bytes of equal weight side by side compress far better.
        planes = np.ascontiguousarray(value).view(np.uint8).reshape(-1, value.dtype.itemsize).T
        data = zlib.compress(np.ascontiguousarray(planes).tobytes(), 1)
        blocks.frames.append(frame)
        blocks.offsets.append(self._file.tell())
        blocks.lengths.append(len(data))
        self._file.write(data)

    def _add_plain(self, key: str, frame: int, value: Any) -> None:
        self._recorded[key].append(frame)
        text = json.dumps(to_plain(value), separators=(",", ":"), allow_nan=False)
        if self._latest.get(key) != text:
            self._lines[key].write(f'{{"frame":{frame},"value":{text}}}\n')
            self._latest[key] = text


class RecordedTruth:
    """The truth of a recorded rollout, read on demand; each block is decoded once a read.

    Attributes:
        keys: The keys that were recorded.
    """

    def __init__(
        self,
        folder: Path,
        index: Mapping[str, Any],
        length: int,
        realised: NDArray[np.float64] | None,
    ) -> None:
        self._folder = folder
        self._length = length
        self._realised = realised
        self._arrays: dict[str, dict[str, Any]] = {}
        self._at: dict[str, NDArray[np.int64]] = {}
        for key, entry in dict(index.get("arrays", {})).items():
            if entry["dtype"] not in _TYPES or not re.fullmatch(r"\w+", key):
                raise InvalidRollout(f"{folder} has truth {key!r} of an unknown type")
            counts = {len(entry[k]) for k in ("frames", "offsets", "lengths")}
            if len(counts) != 1:
                raise InvalidRollout(f"{folder} has an index of truth {key!r} that does not fit")
            self._arrays[key] = dict(entry)
            self._at[key] = self._positions(entry["frames"])
        self._plain: dict[str, tuple[NDArray[np.bool_], list[int], list[Any]]] = {}
        for key, frames in dict(index.get("plain", {})).items():
            if not re.fullmatch(r"\w+", key):
                raise InvalidRollout(f"{folder} has truth of the name {key!r}")
            self._plain[key] = (self._positions(frames) >= 0, *self._read_lines(key))
        own = ("pose",) if realised is not None else ()
        self.keys: tuple[str, ...] = (*own, *self._arrays, *self._plain)

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def __getitem__(self, key: str) -> Any:
        """Return all frames of a key, shape (n, ...); zeros or empty states where unrecorded."""
        if key not in self.keys:
            raise KeyError(key)
        return self.read(0, self._length, (key,))[key]

    def recorded(self, key: str) -> NDArray[np.bool_]:
        """Return which frames have the key, shape (n,)."""
        if key == "pose":
            return np.ones(self._length, dtype=np.bool_)
        return self._plain[key][0] if key in self._plain else self._at[key] >= 0

    def read(self, start: int, stop: int, keys: Collection[str] | None = None) -> dict[str, Any]:
        """Return ``Chunk.truth`` of frames [start, stop), with ``recorded``: key -> bool (n,)."""
        keys = self.keys if keys is None else keys
        made: dict[str, Any] = {}
        for key in keys:
            if key == "pose" and self._realised is not None:
                made[key] = self._realised[start:stop]
            elif key in self._plain:
                mask, firsts, values = self._plain[key]
                made[key] = tuple(
                    values[bisect_right(firsts, frame) - 1] if mask[frame] else _empty_state()
                    for frame in range(start, stop)
                )
            else:
                made[key] = self._read_array(key, start, stop)
        made["recorded"] = {key: self.recorded(key)[start:stop] for key in keys}
        return made

    def _positions(self, frames: Sequence[int]) -> NDArray[np.int64]:
        at = np.full(self._length, -1, dtype=np.int64)
        index = np.asarray(frames, dtype=np.int64)
        if len(index) and not (0 <= index.min() and index.max() < self._length):
            raise InvalidRollout(f"{self._folder} has truth of frames it does not hold")
        at[index] = np.arange(len(index))
        return at

    def _read_array(self, key: str, start: int, stop: int) -> NDArray[Any]:
        entry = self._arrays[key]
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size > MAX_BLOCK:
            raise InvalidRollout(f"{self._folder} has truth {key!r} of {size} bytes a frame")
        out = np.zeros((stop - start, *shape), dtype)
        wanted = [(i, int(at)) for i, at in enumerate(self._at[key][start:stop]) if at >= 0]
        if not wanted:
            return out
        try:
            with (self._folder / "truth.bin").open("rb") as file:
                for i, at in wanted:
                    file.seek(entry["offsets"][at])
                    decoder = zlib.decompressobj()
                    data = decoder.decompress(file.read(entry["lengths"][at]), size + 1)
                    if not decoder.eof:
                        raise ValueError(f"the block of frame {start + i} is cut short")
                    planes = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1)
                    out[i] = np.ascontiguousarray(planes.T).view(dtype).reshape(shape)
        except (OSError, ValueError, zlib.error) as error:
            raise InvalidRollout(f"{self._folder}/truth.bin is damaged: {error}") from error
        return out

    def _read_lines(self, key: str) -> tuple[list[int], list[Any]]:
        firsts, values = [], []
        try:
            with (self._folder / f"truth_{key}.jsonl").open(encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    firsts.append(int(row["frame"]))
                    values.append(_with_ids(row["value"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidRollout(f"{self._folder} has damaged truth {key!r}: {error}") from error
        return firsts, values


def _empty_state() -> dict[str, Any]:
    return {"instances": {}, "event": None}


def _with_ids(state: Any) -> Any:
    """Return a state whose instances are keyed by number again; JSON keys are text."""
    if isinstance(state, dict) and isinstance(state.get("instances"), dict):
        instances = {int(k) if k.isdigit() else k: v for k, v in state["instances"].items()}
        return {**state, "instances": instances}
    return state
