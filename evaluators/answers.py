"""Answers as bytes and back: plain values, arrays and the library's own records, never a pickle."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import sys
import zlib
from typing import Any

import numpy as np

_PACKAGE = "worldenv.evaluators."
_MAGIC = b"WEA1"


class Unstorable(TypeError):
    """An answer is of a kind that has no form on disk."""


def encode(answer: Any) -> bytes:
    """Return an answer as bytes from which ``decode`` makes the same bits.

    Numbers, text, None, tuples, lists, dicts, arrays of numbers, and NamedTuples and dataclasses
    of ``worldenv.evaluators`` made of these.

    Raises:
        Unstorable: it holds something else, or an array with gaps.
    """
    blocks: list[bytes] = []
    tree = json.dumps(_pack(answer, blocks), separators=(",", ":")).encode()
    sizes = json.dumps([len(block) for block in blocks]).encode()
    head = b"".join(len(part).to_bytes(8, "little") for part in (tree, sizes))
    return _MAGIC + head + tree + sizes + b"".join(blocks)


def decode(data: bytes) -> Any:
    """Return the answer that ``encode`` wrote.

    Raises:
        ValueError: the bytes are something else.
    """
    if data[:4] != _MAGIC:
        raise ValueError("these bytes are no stored answer")
    tree_end = 20 + int.from_bytes(data[4:12], "little")
    sizes_end = tree_end + int.from_bytes(data[12:20], "little")
    blocks, at = [], sizes_end
    for size in json.loads(data[tree_end:sizes_end]):
        blocks.append(memoryview(data)[at : at + size])
        at += size
    return _unpack(json.loads(data[20:tree_end]), blocks)


def _pack(value: Any, blocks: list[bytes]) -> Any:
    if value is None or isinstance(value, bool) or type(value) in (int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else ["f", repr(value)]
    if isinstance(value, (np.ndarray, np.generic)):
        return _pack_array(value, blocks)
    kind = type(value)
    if kind in (tuple, list):
        return ["t" if kind is tuple else "l", *(_pack(item, blocks) for item in value)]
    if kind is dict:
        flat = [part for pair in value.items() for part in pair]
        return ["d", *(_pack(item, blocks) for item in flat)]
    if _is_record(kind):
        fields = [_pack(getattr(value, name), blocks) for name in _fields(kind)]
        return ["r", kind.__module__, kind.__qualname__, *fields]
    raise Unstorable(f"{kind.__name__} has no form on disk")


def _pack_array(value: Any, blocks: list[bytes]) -> Any:
    array = np.asarray(value)
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        raise Unstorable(f"{type(value).__name__} is no plain array")
    if array.dtype.kind not in "biuf" or sys.byteorder != "little":
        raise Unstorable(f"arrays of {array.dtype} have no form on disk")
    # The order of the axes in memory is kept: sums over another order round differently.
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    laid = array.transpose(order)
    if not laid.flags.c_contiguous:
        raise Unstorable("an array with gaps has no form on disk")
    mask = array.dtype.kind == "b"
    block = zlib.compress(np.packbits(laid.ravel()).tobytes(), 1) if mask else laid.tobytes()
    blocks.append(block)
    kind = "s" if isinstance(value, np.generic) else "a"
    return [kind, array.dtype.str, list(laid.shape), order, len(blocks) - 1]


def _unpack(tree: Any, blocks: list[memoryview]) -> Any:
    if not isinstance(tree, list):
        return tree
    tag, *rest = tree
    if tag == "f":
        return float(rest[0])
    if tag in "as":
        return _unpack_array(tag, rest, blocks)
    if tag == "r":
        kind = _record(rest[0], rest[1])
        return kind(*(_unpack(item, blocks) for item in rest[2:]))
    items = [_unpack(item, blocks) for item in rest]
    if tag == "t":
        return tuple(items)
    if tag == "l":
        return items
    if tag == "d":
        return dict(zip(items[::2], items[1::2], strict=True))
    raise ValueError(f"a stored answer has no part {tag!r}")


def _unpack_array(tag: str, rest: list[Any], blocks: list[memoryview]) -> Any:
    dtype, shape, order, index = np.dtype(rest[0]), tuple(rest[1]), rest[2], rest[3]
    if dtype.kind not in "biuf":
        raise ValueError(f"a stored answer has no arrays of {dtype}")
    count = math.prod(shape)
    if dtype.kind == "b":
        bits = np.frombuffer(zlib.decompress(blocks[index]), np.uint8)
        laid = np.unpackbits(bits, count=count).astype(np.bool_).reshape(shape)
    else:
        # A copy: an array on top of bytes could not be written to.
        laid = np.frombuffer(blocks[index], dtype, count).reshape(shape).copy()
    array = laid.transpose(np.argsort(order)) if order else laid
    return array[()] if tag == "s" else array


def _is_record(kind: Any) -> bool:
    ours = isinstance(kind, type) and kind.__module__.startswith(_PACKAGE)
    named = ours and issubclass(kind, tuple) and hasattr(kind, "_fields")
    return bool(named or (ours and dataclasses.is_dataclass(kind)))


def _fields(kind: Any) -> tuple[str, ...]:
    if issubclass(kind, tuple):
        return tuple(kind._fields)
    return tuple(field.name for field in dataclasses.fields(kind))


def _record(module: str, name: str) -> Any:
    """Return a record type by name; nothing but the library's own records can be named."""
    if not module.startswith(_PACKAGE) or "." in name:
        raise ValueError(f"{module}.{name} is no record of this library")
    kind = getattr(importlib.import_module(module), name)
    if not _is_record(kind):
        raise ValueError(f"{module}.{name} is no record of this library")
    return kind
