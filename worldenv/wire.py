"""The message format between a world server and its clients, with limits on all that is read.

A message is eight bytes (``WE``, protocol version, 0, length of the header), the header, and the
raw bytes of its arrays, each at a multiple of 16. The header is a msgpack map; its key ``arrays``
describes the arrays in order, as in ``frames:u1:1,256,256,3 poses:f8:1,4,4``. Nothing is copied
while reading: arrays are views of the message. ``parcels`` says what messages carry.

This module is packed into the world server (see ``world``).
"""

import math
import re
import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from worldenv.camera import WorldEnvError
from worldenv.vendored.msgpack import fallback
from worldenv.world import WorldSpec

__all__ = [
    "PROTOCOL",
    "Arrays",
    "Limits",
    "Message",
    "WireError",
    "WrongIndex",
    "decode",
    "encode",
    "read_poses",
    "read_text",
    "read_whole",
    "reply_limits",
    "request_limits",
    "shape_of",
]

# The library has no types.
_msgpack: Any = fallback

PROTOCOL = 1
"""Version of the format; both ends must have the same."""

DTYPES: Dict[str, Any] = {"u1": np.uint8, "u2": np.uint16, "f4": np.float32, "f8": np.float64}

_HEAD = struct.Struct("<2sBBI")
_ALIGN = 16
# Below this a copy costs less than one more frame.
_SMALL = 1 << 14
_MOST_LISTED = 1000
_ENTRY = re.compile(r"([a-zA-Z.]{1,20}):(u1|u2|f4|f8):([0-9]{1,12}(?:,[0-9]{1,12}){0,3})\Z")
_MOST_ITEMS = 4096
_MOST_DEPTH = 16
MOST_TEXT = 1 << 16
"""Longest text in a message, in bytes of UTF-8."""

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


class Message(NamedTuple):
    """A message that was read.

    Attributes:
        kind: What it is.
        fields: The other keys of its header: plain values.
        arrays: Name -> array, views of the message.
    """

    kind: str
    fields: Dict[str, Any]
    arrays: Arrays


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
) -> List[Any]:
    """Return a message as pieces to be sent one after the other, arrays without a copy.

    Args:
        kind: What it is.
        fields: Plain values.
        arrays: Name -> array of an allowed dtype.

    Raises:
        WireError: a value is not plain, or an array has another dtype.
    """
    entries, parts = [], []
    for name, array in (arrays or {}).items():
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


def decode(message: Any, limits: Limits) -> Message:
    """Return what a message says.

    Args:
        message: Its bytes.
        limits: What is accepted.

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
        if size == 0:
            # Such a shape may have other sides beyond what numpy can count.
            arrays[name] = np.zeros([min(n, 1 << 20) for n in shape], dtype)
            continue
        count = size // np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(message, dtype, count, begin).reshape(shape)
    if end != len(message):
        raise WireError("a message has {} bytes beyond its arrays".format(len(message) - end))
    return Message(kind, fields, arrays)


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
        max_str_len=MOST_TEXT,
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
        raise WireError("{} must be (n, 4, 4), got {}".format(key, shape_of(poses)))
    if poses.dtype not in (np.float64, np.float32) or not np.isfinite(poses).all():
        raise WireError("{} must be finite floats".format(key))
    return poses


def shape_of(array: Optional[np.ndarray]) -> str:
    """Return the shape of an array as an error names it."""
    return "none" if array is None else str(array.shape)
