"""How states of truth travel: as JSON in an array of bytes, and an array of poses.

The standard library reads JSON much faster than plain Python can read msgpack. The poses of
instances, the bulk of a state, are taken out of it and travel as numbers; null stands in their
place. This module is packed into the world server (see ``world``).
"""

import contextlib
import itertools
import json
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from worldenv.wire import WireError

__all__ = ["Memo", "read_states", "write_states"]

_MOST_FRAMES = 1 << 20


class Memo:
    """What one end of a connection last wrote or read of states, most of which stand still.

    Attributes:
        key: What was written, in a copy of our own, or the bytes that were read.
        value: What came of it.
    """

    def __init__(self) -> None:
        self.key: Any = None
        self.value: Any = None


def write_states(states: Sequence[Any], memo: Memo) -> Tuple[np.ndarray, np.ndarray]:
    """Return states as JSON, bytes, and the poses taken out of it, (n, 4, 4).

    Frames that share a state share it here and after reading.

    Raises:
        WireError: a state is not made of plain, finite values.
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


def read_states(data: np.ndarray, poses: np.ndarray, limit: int, memo: Memo) -> Tuple[Any, ...]:
    """Return the states that ``write_states`` wrote; equal ones in a row are the same objects.

    Raises:
        WireError: they have more bytes than ``limit``, or are no such thing.
    """
    if data.dtype != np.uint8 or data.ndim != 1 or poses.dtype != np.float64:
        raise WireError("the states of a message have another type")
    if data.nbytes + poses.nbytes > limit:
        raise WireError(
            "the states of a message have {} bytes; at most {} are accepted".format(
                data.nbytes + poses.nbytes, limit
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
