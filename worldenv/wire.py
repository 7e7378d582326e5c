"""The message format between a world server and its clients, with limits on all that is read.

A message is eight bytes (``WE``, protocol version, 0, length of the header), the header, and the
raw bytes of its arrays, each at a multiple of 16. The header is a msgpack map; its key ``arrays``
describes the arrays in order, as in ``frames:u1:1,256,256,3 poses:f8:1,4,4``. Nothing is copied
while reading: arrays are views of the message. States of truth are JSON in an array of bytes, since
the standard library reads JSON much faster than plain Python can read msgpack; the poses of their
instances, the bulk of them, are an array of numbers of their own.

This module is packed into the world server (see ``world``).
"""

import contextlib
import itertools
import json
import math
import re
import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type

import numpy as np

from worldenv.camera import CameraPath, InvalidPath, WorldEnvError
from worldenv.vendored.msgpack import fallback
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    WorldSpec,
    to_plain,
)

__all__ = [
    "PROTOCOL",
    "Limits",
    "Memo",
    "Message",
    "WireError",
    "WrongIndex",
    "decode",
    "encode",
    "read_chunk",
    "read_error",
    "read_path",
    "read_spec",
    "read_start",
    "reply_limits",
    "request_limits",
    "write_chunk",
    "write_error",
    "write_path",
    "write_spec",
    "write_start",
]

# The library has no types.
_msgpack: Any = fallback

PROTOCOL = 1
"""Version of the format; both ends must have the same."""

DTYPES: Dict[str, Any] = {"u1": np.uint8, "u2": np.uint16, "f4": np.float32, "f8": np.float64}
TRUTH_ARRAYS = {"pose": ("f8", "f4"), "depth": ("f4", "f8"), "ids": ("u2",)}

_HEAD = struct.Struct("<2sBBI")
_ALIGN = 16
# Below this a copy costs less than one more frame.
_SMALL = 1 << 14
_MOST_LISTED = 1000
_ENTRY = re.compile(r"([a-zA-Z.]{1,20}):(u1|u2|f4|f8):([0-9]{1,12}(?:,[0-9]{1,12}){0,3})\Z")
_MOST_ITEMS = 4096
_MOST_DEPTH = 16
_MOST_FRAMES = 1 << 20
_MOST_TEXT = 1 << 16
_STATE, _STATE_POSES = "truth.state", "truth.state.poses"

Arrays = Dict[str, np.ndarray]


class WireError(WorldEnvError):
    """A message does not keep to the format, or comes where it may not."""


class WrongIndex(WireError):
    """A step does not follow the step before it."""


class Limits(NamedTuple):
    """What a reader accepts, in bytes.

    Attributes:
        message: Whole message.
        header: Its header.
        state: Its states, as JSON.
    """

    message: int
    header: int = 1 << 18
    state: int = 0


class Memo:
    """What one end of a connection last wrote or read of states, most of which stand still.

    Attributes:
        key: What was written, in a copy of our own, or the bytes that were read.
        value: What came of it.
    """

    def __init__(self) -> None:
        self.key: Any = None
        self.value: Any = None


class Message(NamedTuple):
    """A message that was read.

    Attributes:
        kind: What it is.
        fields: The other keys of its header: plain values.
        arrays: Name -> array, views of the message.
        states: States of truth, None when it holds none.
    """

    kind: str
    fields: Dict[str, Any]
    arrays: Arrays
    states: Optional[Tuple[Any, ...]] = None


def request_limits(spec: WorldSpec) -> Limits:
    """Return what a server accepts: an image of up to four times the world's area, and a path."""
    width, height = spec.size
    return Limits(12 * width * height + (1 << 24))


def reply_limits(spec: WorldSpec) -> Limits:
    """Return what a client accepts: the frames of the longest chunk with all truth, and slack."""
    width, height = spec.size
    n = max(spec.chunk, spec.first_chunk, spec.reset_frames)
    # A frame is 3 bytes a pixel, its depth up to 8, its ids 2; a pose twice 128 bytes.
    state = (1 << 20) + (n << 16)
    return Limits(n * (13 * width * height + 256) + state + (1 << 19), state=state)


def encode(
    kind: str,
    fields: Optional[Mapping[str, Any]] = None,
    arrays: Optional[Mapping[str, np.ndarray]] = None,
    states: Optional[Sequence[Any]] = None,
    memo: Optional[Memo] = None,
) -> List[Any]:
    """Return a message as pieces to be sent one after the other, arrays without a copy.

    Args:
        kind: What it is.
        fields: Plain values.
        arrays: Name -> array of an allowed dtype.
        states: States of truth, one a frame.
        memo: Of the connection, where it has one.

    Raises:
        WireError: a value is not plain, or an array has another dtype.
    """
    named = dict(arrays or {})
    if states is not None:
        named[_STATE], named[_STATE_POSES] = _write_states(states, memo or Memo())
    entries, parts = [], []
    for name, array in named.items():
        entries.append("{}:{}:{}".format(name, _code(name, array), ",".join(map(str, array.shape))))
        parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    header: Dict[str, Any] = {"kind": kind, "arrays": " ".join(entries)}
    header.update(fields or {})
    try:
        packed = _msgpack.Packer(use_bin_type=True).pack(header)
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError("a message of kind {!r} holds {}".format(kind, error)) from error
    pieces: List[Any] = []
    small = _HEAD.pack(b"WE", PROTOCOL, 0, len(packed)) + packed
    end = len(small)
    for data in parts:
        small += bytes(-end % _ALIGN)
        end += -end % _ALIGN + len(data)
        if len(data) < _SMALL:
            small += bytes(data)
        else:
            pieces += [small, data] if small else [data]
            small = b""
    return [*pieces, small] if small else pieces


def decode(message: Any, limits: Limits, memo: Optional[Memo] = None) -> Message:
    """Return what a message says.

    Args:
        message: Its bytes.
        limits: What is accepted.
        memo: Of the connection, where it has one; then equal states are the same objects.

    Raises:
        WireError: anything about it is wrong; nothing beyond the limits was allocated.
    """
    if isinstance(message, str):
        raise WireError("a message is text; expected bytes")
    if len(message) > limits.message:
        raise WireError(
            "a message has {} bytes; at most {} are accepted".format(len(message), limits.message)
        )
    if len(message) < _HEAD.size:
        raise WireError("a message has {} bytes, too few for its head".format(len(message)))
    magic, protocol, zero, length = _HEAD.unpack_from(message)
    if magic != b"WE" or zero != 0:
        raise WireError("a message does not begin as one of worldenv's")
    if protocol != PROTOCOL:
        raise WireError(
            "the other end speaks protocol {}, this one {}; use the same version of worldenv on "
            "both".format(protocol, PROTOCOL)
        )
    if length > limits.header or _HEAD.size + length > len(message):
        raise WireError("a message says that its header has {} bytes".format(length))
    fields = _read_header(bytes(memoryview(message)[_HEAD.size : _HEAD.size + length]))
    kind, listed = fields.pop("kind", None), fields.pop("arrays", None)
    if not isinstance(kind, str) or not isinstance(listed, str) or len(listed) > _MOST_LISTED:
        raise WireError("the header of a message lacks kind or arrays")
    arrays: Arrays = {}
    end = _HEAD.size + length
    for item in listed.split():
        name, dtype, shape = _read_entry(item)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        begin = end + -end % _ALIGN
        end = begin + size
        if name in arrays or end > len(message):
            raise WireError("array {!r} of a message does not fit into it".format(name))
        count = size // np.dtype(dtype).itemsize
        arrays[name] = (
            np.frombuffer(message, dtype, count, begin).reshape(shape)
            if count
            else (np.zeros(shape, dtype))
        )
    if end != len(message):
        raise WireError("a message has {} bytes beyond its arrays".format(len(message) - end))
    states = None
    if _STATE in arrays:
        poses = arrays.pop(_STATE_POSES, np.zeros((0, 4, 4)))
        states = _read_states(arrays.pop(_STATE), poses, limits, memo or Memo())
    return Message(kind, fields, arrays, states)


def _code(name: str, array: np.ndarray) -> str:
    for code, dtype in DTYPES.items():
        if array.dtype == dtype:
            return code
    raise WireError(
        "{} has dtype {}; only {} can be sent".format(
            name, array.dtype, ", ".join(np.dtype(d).name for d in DTYPES.values())
        )
    )


def _read_header(data: bytes) -> Dict[str, Any]:
    unpacker = _msgpack.Unpacker(
        raw=False,
        strict_map_key=False,
        max_buffer_size=len(data),
        max_str_len=_MOST_TEXT,
        max_bin_len=0,
        max_array_len=_MOST_ITEMS,
        max_map_len=_MOST_ITEMS,
        max_ext_len=0,
    )
    try:
        unpacker.feed(data)
        header = unpacker.unpack()
        _check_plain(header, _MOST_DEPTH)
        extra = unpacker.tell() != len(data)
    except WireError:
        raise
    except Exception as error:
        # What the reader raises on hostile bytes is not listed anywhere.
        raise WireError(
            "the header of a message cannot be read: {} {}".format(type(error).__name__, error)
        ) from error
    if extra or not isinstance(header, dict):
        raise WireError("the header of a message is not one map")
    return header


def _check_plain(value: Any, depth: int) -> None:
    """Refuse values that are too deep, not finite, or keyed by anything but text and numbers."""
    if depth < 1:
        raise WireError("a message is nested deeper than {}".format(_MOST_DEPTH))
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, bool) or not isinstance(key, (str, int)):
                raise WireError("a message has a key of type {}".format(type(key).__name__))
            _check_plain(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check_plain(item, depth - 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise WireError("a message holds {}; numbers must be finite".format(value))
    elif value is not None and not isinstance(value, (bool, int, str)):
        raise WireError("a message holds a {}".format(type(value).__name__))


def _read_entry(item: str) -> Tuple[str, Any, Tuple[int, ...]]:
    found = _ENTRY.match(item)
    if found is None:
        raise WireError("an array of a message is described wrongly")
    name, code, shape = found.groups()
    return name, DTYPES[code], tuple(map(int, shape.split(",")))


def _write_states(states: Sequence[Any], memo: Memo) -> Tuple[np.ndarray, np.ndarray]:
    """Return states as JSON and the poses taken out of it, where null is left.

    Frames that share a state share it here and after reading.
    """
    places: Dict[int, int] = {}
    given: List[Any] = []
    index = []
    for state in states:
        if id(state) not in places:
            places[id(state)] = len(given)
            given.append(state)
        index.append(places[id(state)])
    with contextlib.suppress(ValueError):  # an array in a state cannot be compared as a whole
        if memo.key == (index, given):
            written: Tuple[np.ndarray, np.ndarray] = memo.value
            return written
    poses: List[Any] = []
    unique = [_without_poses(state, poses) for state in given]
    try:
        text = json.dumps([index, unique], allow_nan=False, default=_number, separators=(",", ":"))
        numbers = np.array(poses, dtype=np.float64).reshape(-1, 4, 4)
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError("a state of truth is not made of plain values: {}".format(error)) from error
    if not np.isfinite(numbers).all():
        raise WireError("a state of truth has a pose that is not finite")
    # A copy, since a world may change what it handed out.
    memo.key = (index, [_copied(state) for state in given])
    memo.value = np.frombuffer(text.encode("utf-8"), np.uint8), numbers
    return np.frombuffer(text.encode("utf-8"), np.uint8), numbers


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in value]
    return value


def _without_poses(state: Any, poses: List[Any]) -> Any:
    """Return a state with its instances' poses moved to the end of ``poses``."""
    instances = state.get("instances") if isinstance(state, dict) else None
    if not isinstance(instances, dict):
        return state
    bare: Dict[Any, Any] = {}
    for key, instance in instances.items():
        pose = instance.get("pose") if isinstance(instance, dict) else None
        if (
            type(pose) is list
            and len(pose) == 4
            and all(type(row) is list and len(row) == 4 for row in pose)
            and set(map(type, itertools.chain.from_iterable(pose))) == {float}
        ):
            poses.append(pose)
            instance = {**instance, "pose": None}
        bare[key] = instance
    return {**state, "instances": bare}


def _number(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError("{} is not plain".format(type(value).__name__))


def _read_states(
    data: np.ndarray, poses: np.ndarray, limits: Limits, memo: Memo
) -> Tuple[Any, ...]:
    if data.dtype != np.uint8 or data.ndim != 1 or poses.dtype != np.float64:
        raise WireError("the states of a message have another type")
    if data.nbytes + poses.nbytes > limits.state:
        raise WireError(
            "the states of a message have {} bytes; at most {} are accepted".format(
                data.nbytes + poses.nbytes, limits.state
            )
        )
    key = (data.tobytes(), poses.tobytes())
    if memo.key == key:
        known: Tuple[Any, ...] = memo.value
        return known
    if poses.shape[1:] != (4, 4) or not np.isfinite(poses).all():
        raise WireError("the poses of states must be finite (n, 4, 4)")
    try:
        index, unique = json.loads(key[0].decode("utf-8"), parse_int=_whole, parse_constant=_refuse)
        numbers = poses.tolist()[::-1]
        states = [_whole_state(state, numbers) for state in unique]
        if numbers:
            raise WireError("the states of a message have poses left over")
        if not isinstance(index, list) or len(index) > _MOST_FRAMES:
            raise WireError("the states of a message have no index")
        if not all(type(i) is int and 0 <= i < len(states) for i in index):
            raise WireError("the states of a message are indexed wrongly")
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise WireError("the states of a message cannot be read: {}".format(error)) from error
    memo.key, memo.value = key, tuple(states[i] for i in index)
    return tuple(states[i] for i in index)


def _whole(text: str) -> int:
    if len(text) > 20:
        raise ValueError("a number of {} digits".format(len(text)))
    return int(text)


def _refuse(text: str) -> Any:
    raise ValueError("{} is no number".format(text))


def _whole_state(state: Any, poses: List[Any]) -> Any:
    """Return a state with instances keyed by number, since JSON keys are text, and with poses."""
    if isinstance(state, dict) and isinstance(state.get("instances"), dict):
        instances: Dict[Any, Any] = {}
        for key, instance in state["instances"].items():
            if isinstance(instance, dict) and instance.get("pose", 0) is None:
                instance["pose"] = poses.pop()
            instances[int(key) if key.isdecimal() and len(key) < 10 else key] = instance
        state["instances"] = instances
    return state


def write_start(start: Start) -> Tuple[Dict[str, Any], Arrays]:
    """Return a start as fields and arrays."""
    arrays: Arrays = {}
    if start.image is not None:
        arrays["image"] = np.asarray(start.image)
    if start.K is not None:
        arrays["K"] = np.asarray(start.K, dtype=np.float64)
    return {"prompt": start.prompt, "scene": to_plain(start.scene)}, arrays


def read_start(message: Message) -> Start:
    """Return the start that a message holds.

    Raises:
        WireError: a part of it has another type or shape.
    """
    image, K = message.arrays.get("image"), message.arrays.get("K")
    if image is not None and (image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3):
        raise WireError("image must be uint8 (height, width, 3), got {}".format(image.shape))
    if K is not None and (K.shape != (3, 3) or not np.isfinite(K).all()):
        raise WireError("K must be finite (3, 3), got {}".format(K.shape))
    scene = message.fields.get("scene")
    if scene is not None and not isinstance(scene, dict):
        raise WireError("scene must be a map, got {}".format(type(scene).__name__))
    return Start(image, read_text(message, "prompt"), K, scene)


def read_text(message: Message, key: str) -> Optional[str]:
    """Return a field that is text or None.

    Raises:
        WireError: it is something else.
    """
    value = message.fields.get(key)
    if value is not None and not isinstance(value, str):
        raise WireError("{} must be text, got {}".format(key, type(value).__name__))
    return value


def read_whole(message: Message, key: str) -> int:
    """Return a field that is a whole number from 0.

    Raises:
        WireError: it is something else.
    """
    value = message.fields.get(key)
    if type(value) is not int or value < 0:
        raise WireError("{} must be a whole number from 0, got {!r}".format(key, value))
    return value


def read_poses(message: Message, key: str = "poses") -> np.ndarray:
    """Return poses (n, 4, 4) that a message holds, n >= 1.

    Raises:
        WireError: they are absent, of another shape or not finite.
    """
    poses = message.arrays.get(key)
    if poses is None or poses.ndim != 3 or poses.shape[1:] != (4, 4) or not len(poses):
        raise WireError("{} must be (n, 4, 4), got {}".format(key, _shape(poses)))
    if poses.dtype not in (np.float64, np.float32) or not np.isfinite(poses).all():
        raise WireError("{} must be finite floats".format(key))
    return poses


def _shape(array: Optional[np.ndarray]) -> str:
    return "none" if array is None else str(array.shape)


def write_path(path: Optional[CameraPath]) -> Tuple[Dict[str, Any], Arrays]:
    """Return a path as fields and arrays; phases are written as runs."""
    if path is None:
        return {"plan": None}, {}
    phases: Optional[List[List[Any]]] = None
    if path.phases is not None:
        phases = []
        for phase in path.phases:
            if phases and phases[-1][0] == phase:
                phases[-1][1] += 1
            else:
                phases.append([phase, 1])
    plan = {"fps": float(path.fps), "phases": phases, "notes": list(path.notes)}
    return {"plan": plan}, {"plan": path.poses}


def read_path(message: Message) -> Optional[CameraPath]:
    """Return the path that a message holds, or None.

    Raises:
        WireError: a part of it has another type or shape, or it is no path.
    """
    plan = message.fields.get("plan")
    if plan is None:
        return None
    poses = read_poses(message, "plan")
    phases: Optional[Tuple[Optional[str], ...]] = None
    try:
        if plan["phases"] is not None:
            runs = [(phase, n) for phase, n in plan["phases"]]
            if any(type(n) is not int or n < 1 for _, n in runs):
                raise WireError("a run of phases has no length")
            if sum(n for _, n in runs) != len(poses):
                raise WireError("the phases of a plan do not fit its poses")
            phases = tuple(phase for phase, n in runs for _ in range(n))
        notes = tuple(str(note) for note in plan["notes"])
        return CameraPath(poses, fps=float(plan["fps"]), phases=phases, notes=notes)
    except (TypeError, ValueError, KeyError, InvalidPath) as error:
        raise WireError("the plan of a message is wrong: {}".format(error)) from error


def write_chunk(chunk: Chunk, fields: Mapping[str, Any], memo: Optional[Memo] = None) -> List[Any]:
    """Return a chunk as the pieces of a message of kind ``chunk``.

    Raises:
        WireError: its truth has a key or dtype that cannot be sent.
    """
    arrays: Arrays = {"frames": chunk.frames, "poses": np.asarray(chunk.poses)}
    states = None
    truth = chunk.truth
    for key, value in (truth or {}).items():
        if key == "state":
            states = value
        elif key in TRUTH_ARRAYS:
            arrays["truth." + key] = np.asarray(value)
        else:
            raise WireError(
                "truth has a key {!r}; only pose, depth, ids and state can be sent".format(key)
            )
    return encode("chunk", {**fields, "truth": truth is not None}, arrays, states, memo)


def read_chunk(message: Message) -> Chunk:
    """Return the chunk that a message holds; its arrays are views of the message.

    Raises:
        WireError: a part of it has another type or shape.
    """
    frames, poses = message.arrays.get("frames"), read_poses(message)
    if frames is None or frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != 3:
        raise WireError("frames must be uint8 (n, h, w, 3), got {}".format(_shape(frames)))
    n = len(frames)
    if len(poses) != n:
        raise WireError("a chunk has {} poses beside {} frames".format(len(poses), n))
    if not message.fields.get("truth"):
        return Chunk(frames, poses)
    truth: Dict[str, Any] = {}
    for key, dtypes in TRUTH_ARRAYS.items():
        array = message.arrays.get("truth." + key)
        if array is None:
            continue
        shape = (n, 4, 4) if key == "pose" else frames.shape[:3]
        if array.shape != shape or array.dtype not in [DTYPES[d] for d in dtypes]:
            raise WireError("truth {} has shape {} {}".format(key, array.shape, array.dtype))
        truth[key] = array
    if message.states is not None:
        if len(message.states) != n:
            raise WireError("a chunk has {} states beside {} frames".format(len(message.states), n))
        truth["state"] = message.states
    return Chunk(frames, poses, truth)


def write_spec(spec: WorldSpec) -> Dict[str, Any]:
    """Return a spec as plain values."""
    return spec.to_dict()


def read_spec(value: Any) -> WorldSpec:
    """Return the spec that plain values say.

    Raises:
        WireError: they are no spec, or one that would need more than 16 GB a reply.
    """
    try:
        spec = WorldSpec.from_dict(value)
        same = _alike(WorldSpec.from_dict(spec.to_dict()).to_dict(), value)
    except (WorldEnvError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise WireError("the spec of a world cannot be read: {}".format(error)) from error
    if not same or not all(type(n) is int for n in (*spec.size, spec.chunk, spec.first_chunk)):
        raise WireError("the spec of a world has values of other types")
    if not isinstance(spec.name, str) or reply_limits(spec).message > 1 << 34:
        raise WireError("the spec of a world asks for replies beyond 16 GB")
    return spec


def _alike(spec: Dict[str, Any], given: Dict[str, Any]) -> bool:
    """Return whether every given value has the type that a field of that name has by default."""
    model = WorldSpec("", (1, 1), ((1.0, 0.0, 0.0),) * 3, 1.0).to_dict()
    for key in given:
        if not _same_kind(model[key], given[key], key):
            return False
    return set(given) == set(spec)


def _same_kind(model: Any, value: Any, key: str) -> bool:
    if key == "pitch_limit":
        return value is None or _is_number(value)
    if key == "quantum":
        return isinstance(value, dict) and all(
            isinstance(k, str) and _is_number(v) for k, v in value.items()
        )
    if key == "K":
        return np.shape(value) == (3, 3) and all(_is_number(x) for row in value for x in row)
    if key in ("size", "max_twist"):
        return isinstance(value, list) and all(_is_number(x) for x in value)
    if isinstance(model, list):
        return isinstance(value, list) and all(isinstance(x, str) for x in value)
    if isinstance(model, float):
        return _is_number(value)
    return type(value) is type(model)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


ERRORS: Dict[str, Type[WorldEnvError]] = {
    error.__name__: error
    for error in (
        GenerationFailed,
        InvalidPath,
        PlanRequired,
        UnknownName,
        Unsupported,
        WeightsNotFound,
        WireError,
        WrongIndex,
    )
}
"""The errors that travel by name; any other arrives as GenerationFailed."""


def write_error(error: BaseException) -> Dict[str, Any]:
    """Return an error as plain values."""
    name = next((c.__name__ for c in type(error).__mro__ if ERRORS.get(c.__name__) is c), None)
    text = str(error)
    if name is None and not isinstance(error, WorldEnvError):
        text = "{}: {}".format(type(error).__name__, text)
    return {"error": name or "GenerationFailed", "text": text[:4000]}


def read_error(fields: Mapping[str, Any]) -> WorldEnvError:
    """Return the error that plain values say, of the class that was raised at the other end."""
    name, text = fields.get("error"), fields.get("text")
    found = ERRORS.get(name, GenerationFailed) if isinstance(name, str) else GenerationFailed
    # UnknownName builds its text from three arguments; here the text is there already.
    error = found.__new__(found)
    Exception.__init__(error, text if isinstance(text, str) and text else "no reason was given")
    return error
