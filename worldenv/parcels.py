"""What messages carry: starts, paths, chunks, specs and errors, as fields and arrays.

This module is packed into the world server (see ``world``).
"""

import math
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type

import numpy as np

from worldenv.camera import CameraPath, InvalidPath, WorldEnvError
from worldenv.states import Memo, read_states, write_states
from worldenv.wire import (
    Arrays,
    Limits,
    Message,
    WireError,
    WrongIndex,
    encode,
    read_poses,
    read_text,
    reply_limits,
    shape_of,
)
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
    "read_chunk",
    "read_error",
    "read_path",
    "read_spec",
    "read_start",
    "write_chunk",
    "write_error",
    "write_path",
    "write_spec",
    "write_start",
]

_TRUTH = {
    "pose": (np.float64, np.float32),
    "depth": (np.float32, np.float64),
    "ids": (np.uint16,),
}
_STATE, _STATE_POSES = "truth.state", "truth.state.poses"


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
    truth = chunk.truth
    for key, value in (truth or {}).items():
        if key == "state":
            arrays[_STATE], arrays[_STATE_POSES] = write_states(value, memo or Memo())
        elif key in _TRUTH:
            arrays["truth." + key] = np.asarray(value)
        elif key == "recorded":
            for name, known in value.items():
                arrays["known." + name] = np.asarray(known, dtype=bool).astype(np.uint8)
        else:
            raise WireError(
                "truth has a key {!r}; only pose, depth, ids, state and recorded can be "
                "sent".format(key)
            )
    return encode("chunk", {**fields, "truth": truth is not None}, arrays)


def read_chunk(message: Message, limits: Limits, memo: Optional[Memo] = None) -> Chunk:
    """Return the chunk that a message holds; its arrays are views of the message.

    Raises:
        WireError: a part of it has another type or shape.
    """
    frames, poses = message.arrays.get("frames"), read_poses(message)
    if frames is None or frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != 3:
        raise WireError("frames must be uint8 (n, h, w, 3), got {}".format(shape_of(frames)))
    n = len(frames)
    if len(poses) != n:
        raise WireError("a chunk has {} poses beside {} frames".format(len(poses), n))
    if not message.fields.get("truth"):
        return Chunk(frames, poses)
    truth: Dict[str, Any] = {}
    for key, dtypes in _TRUTH.items():
        array = message.arrays.get("truth." + key)
        if array is None:
            continue
        shape = (n, 4, 4) if key == "pose" else frames.shape[:3]
        if array.shape != shape or array.dtype not in dtypes:
            raise WireError("truth {} has shape {} {}".format(key, array.shape, array.dtype))
        truth[key] = array
    if _STATE in message.arrays:
        poses_of = message.arrays.get(_STATE_POSES, np.zeros((0, 4, 4)))
        states = read_states(message.arrays[_STATE], poses_of, limits.state, memo or Memo())
        if len(states) != n:
            raise WireError("a chunk has {} states beside {} frames".format(len(states), n))
        truth["state"] = states
    recorded = {}
    for key in truth:
        known = message.arrays.get("known." + key)
        if known is None:
            continue
        if known.dtype != np.uint8 or known.shape != (n,):
            raise WireError("what is known of {} has shape {}".format(key, known.shape))
        recorded[key] = known.astype(bool)
    if recorded:
        truth["recorded"] = recorded
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
    # One line, without what could steer a terminal: it comes from another machine.
    plain = "".join(c if c.isprintable() else " " for c in text) if isinstance(text, str) else ""
    Exception.__init__(error, " ".join(plain.split()) or "no reason was given")
    return error
