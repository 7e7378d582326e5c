"""What a world model must offer to be walked: the World protocol, its WorldSpec, Start and Chunk.

This module and ``camera`` use the standard library and numpy only, in Python 3.9 syntax: they are
packed into a server that runs inside the environments of other people's models.
"""

import dataclasses
import difflib
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Protocol, Tuple

import numpy as np

from worldenv.camera import PRIMITIVES, CameraPath, Primitive, WorldEnvError

__all__ = [
    "Chunk",
    "GenerationFailed",
    "PlanRequired",
    "Start",
    "UnknownName",
    "Unsupported",
    "WeightsNotFound",
    "World",
    "WorldEnvError",
    "WorldSpec",
    "check_chunk",
    "check_image",
    "fit_path",
    "nearest_name",
    "to_plain",
]

DRIVES = ("stream", "replan", "plan")
PROMPTS = ("none", "episode", "chunk")
EXACTNESS = ("exact", "calibrated", "nominal")
K_EXACTNESS = ("exact", "nominal", "estimated")
STATES = ("native", "reanchored", "whole")


class PlanRequired(WorldEnvError):
    """The world needs the whole path before its first frame, and none was given."""


class Unsupported(WorldEnvError):
    """The world cannot do what was asked (a motion, a prompt, a start image, an option)."""


class WeightsNotFound(WorldEnvError):
    """The model's weights are absent; the message holds the command that brings them."""


class GenerationFailed(WorldEnvError):
    """The world broke while making frames, or returned something that is not a valid chunk."""


class UnknownName(WorldEnvError):
    """No world, suite, case, script, metric or profile has that name."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__("Unknown {} {!r}. {}".format(kind, name, nearest_name(name, known)))


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the hint of an error about a name: the nearest known one, else the whole list."""
    names: List[str] = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return "Did you mean {!r}?".format(close[0])
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return "Known: {}.".format(shown) if names else "None is known."


class Start(NamedTuple):
    """What an episode begins from; a world uses what it understands and refuses the rest.

    Attributes:
        image: Conditioning frame, shape (height, width, 3) uint8.
        prompt: Text of the scene.
        K: Intrinsics of ``image`` at its own size, shape (3, 3), pixels.
        scene: Plain data that names a scene of the world itself (Reference-v0: family, seed, view).
    """

    image: Optional[np.ndarray] = None
    prompt: Optional[str] = None
    K: Optional[np.ndarray] = None
    scene: Optional[Dict[str, Any]] = None


class Chunk(NamedTuple):
    """New frames of a world, with the poses it was asked for.

    Attributes:
        frames: Shape (n, height, width, 3) uint8.
        poses: Commanded poses after the world's own rounding, shape (n, 4, 4) float64, frame-0
            coordinates.
        truth: None, or a dict with any of ``pose`` (n, 4, 4) realised poses, ``depth``
            (n, height, width) float32 planar metres (0 where nothing was hit), ``ids``
            (n, height, width) uint16 instance ids (0 where nothing was hit), and ``state``, a
            sequence of n dicts of plain values. A state holds ``instances``: id -> {category,
            variant, pose}, the instances as they are *shown* in that frame, and ``event``: None or
            {name, progress}. Where not all of it is known, ``recorded`` says of which frames it is:
            key -> bool (n,).
    """

    frames: np.ndarray
    poses: np.ndarray
    truth: Optional[Dict[str, Any]] = None


@dataclasses.dataclass(frozen=True)
class WorldSpec:
    """What a world is and how it is driven. Chunk sizes count new frames of a ``step``.

    Attributes:
        name: Display name, e.g. ``Reference``.
        size: Native (width, height) in pixels.
        K: Intrinsics at ``size``, three rows of three, pixels.
        K_exactness: ``exact``, ``nominal`` or ``estimated``.
        fps: Frames a second.
        chunk: New frames of the second and every later ``step``.
        first_chunk: New frames of the first ``step``.
        drive: ``stream`` (one chunk at a time), ``replan`` (the path may be changed between
            chunks, but a look ahead is wanted) or ``plan`` (the whole path before frame 0).
        quantum: Per primitive name, what one frame of it moves: degrees for turns, metres for
            steps.
        max_twist: Largest per-frame twist, (rx, ry, rz) degrees and (x, y, z) metres.
        primitives: The primitives it can do, in the fixed order.
        pitch_limit: Largest |pitch| in degrees, None when free.
        image_start: Whether an episode can start from an image.
        prompt: ``none``, ``episode`` or ``chunk``.
        pose_exactness: How far ``Chunk.poses`` is what was really asked: ``exact``,
            ``calibrated`` or ``nominal``.
        truth: Keys of ``Chunk.truth`` that the world offers.
        context_policies: Values of the world's ``context=`` option.
        state: ``native`` (the model's memory goes on between chunks), ``reanchored`` (each chunk
            restarts from stored frames, so a memory score measures the wrapper) or ``whole``.
        backend: Which code runs; never mixed in a table.
        reset_frames: Frames that ``reset`` returns: 1 for an image world, the first chunk of a
            text world.
        discrete: Whether each frame can only move one primitive by its quantum; a world that
            takes float poses is not discrete, whatever ``quantum`` says.
        held: Whether one motion is held through each chunk, as by a caption; scripts then round
            their legs to whole chunks.
        deterministic: Whether equal seeds give equal bits.
        stand_in: Whether frames come from another world; such runs enter no comparison.
        weights_revision: Revision of the weights, empty when there are none.
        licence: Licence of the world's code and weights.
        citation: How to cite it.
    """

    name: str
    size: Tuple[int, int]
    K: Tuple[Tuple[float, float, float], ...]
    fps: float
    chunk: int = 1
    first_chunk: int = 1
    drive: str = "stream"
    K_exactness: str = "nominal"
    quantum: Dict[str, float] = dataclasses.field(default_factory=dict)
    max_twist: Tuple[float, ...] = (3.0, 3.0, 3.0, 0.1, 0.1, 0.1)
    primitives: Tuple[str, ...] = tuple(p.name for p in PRIMITIVES)
    pitch_limit: Optional[float] = None
    image_start: bool = False
    prompt: str = "none"
    pose_exactness: str = "exact"
    truth: Tuple[str, ...] = ()
    context_policies: Tuple[str, ...] = ()
    state: str = "native"
    backend: str = "official"
    reset_frames: int = 1
    discrete: bool = False
    held: bool = False
    deterministic: bool = True
    stand_in: bool = False
    weights_revision: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        width, height = self.size
        if width < 1 or height < 1:
            raise ValueError("size must be at least 1 x 1 pixel, got {}".format(self.size))
        if self.reset_frames < 1:
            raise ValueError("reset_frames must be at least 1, got {}".format(self.reset_frames))
        if self.chunk < 1 or self.first_chunk < 1:
            raise ValueError(
                "chunk and first_chunk count new frames of a step and must be at least 1, got "
                "{} and {}".format(self.chunk, self.first_chunk)
            )
        if not self.fps > 0:
            raise ValueError("fps must be positive, got {}".format(self.fps))
        for field, allowed in (
            ("drive", DRIVES),
            ("prompt", PROMPTS),
            ("pose_exactness", EXACTNESS),
            ("K_exactness", K_EXACTNESS),
            ("state", STATES),
        ):
            value = getattr(self, field)
            if value not in allowed:
                raise ValueError("{} must be one of {}, got {!r}".format(field, allowed, value))
        order = [p.name for p in PRIMITIVES]
        if [n for n in order if n in self.primitives] != list(self.primitives):
            raise ValueError(
                "primitives must be a subset of {} in that order, got {}".format(
                    order, list(self.primitives)
                )
            )
        if len(self.max_twist) != 6 or min(self.max_twist) < 0:
            raise ValueError("max_twist needs six values >= 0, got {}".format(self.max_twist))

    def intrinsics(self) -> np.ndarray:
        """Return ``K`` as an array, shape (3, 3) float64."""
        return np.asarray(self.K, dtype=np.float64)

    def step_of(self, primitive: Primitive) -> float:
        """Return what one frame of ``primitive`` moves: degrees for turns, metres for steps."""
        default = 1.0 if primitive in _TURNS else 1.0 / 30.0
        return float(self.quantum.get(primitive.name, default))

    def chunk_at(self, step: int) -> int:
        """Return the new frames of step number ``step``, counted from 0 after reset."""
        return self.first_chunk if step == 0 else self.chunk

    def to_dict(self) -> Dict[str, Any]:
        """Return the spec as plain JSON values."""
        data = dataclasses.asdict(self)
        return {k: to_plain(v) for k, v in data.items()}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "WorldSpec":
        """Read what ``to_dict`` wrote; unknown keys of a newer version are an error."""
        known = {f.name for f in dataclasses.fields(cls)}
        for key in data:
            if key not in known:
                raise UnknownName("field of WorldSpec", key, known)
        tuples = {"size", "max_twist", "primitives", "truth", "context_policies"}
        values: Dict[str, Any] = {k: tuple(v) if k in tuples else v for k, v in data.items()}
        values["K"] = tuple(tuple(float(x) for x in row) for row in data["K"])
        return cls(**values)


_TURNS = (Primitive.YAW_LEFT, Primitive.YAW_RIGHT, Primitive.PITCH_UP, Primitive.PITCH_DOWN)


class World(Protocol):
    """A video world model. ``snapshot() -> token`` and ``restore(token)`` are optional.

    Making one is cheap: weights are loaded at the first ``reset``, since a run makes a world also
    to read its spec.
    """

    spec: WorldSpec

    def reset(self, start: Start, *, seed: int, plan: Optional[CameraPath]) -> Chunk:
        """Begin an episode and return the frames that exist before any action, n >= 1.

        An image world returns the conditioning frame alone; a text world its first chunk, made
        with the camera held.

        Raises:
            PlanRequired: ``spec.drive`` is ``plan`` and ``plan`` is None.
            Unsupported: the start asks for something the world cannot do.
            WeightsNotFound: the weights are absent.
        """
        ...

    def step(self, poses: np.ndarray, prompt: Optional[str] = None) -> Chunk:
        """Make one frame per pose, shape (n, 4, 4) camera-to-world in frame-0 coordinates."""
        ...

    def close(self) -> None:
        """Free what the world holds; may be called twice."""
        ...


def fit_path(path: CameraPath, spec: WorldSpec, given: Optional[int] = None) -> CameraPath:
    """Return ``path`` as a world walks it: in whole chunks, and held while frames are given.

    Frames that reset returns show a camera at rest, so a path that moves earlier is prefixed with
    held frames; its end is padded with held frames to a whole chunk. Added frames have no phase.

    Args:
        path: The target path.
        spec: The world's spec.
        given: Frames that reset returned, None for ``spec.reset_frames``.
    """
    given = spec.reset_frames if given is None else given
    moved = np.flatnonzero((path.poses != path.poses[0]).any(axis=(1, 2)))
    still = int(moved[0]) if len(moved) else len(path)
    before = max(0, given - still)
    steps_end = given + spec.first_chunk
    total = before + len(path)
    # One step is always walked, even of a path that reset has shown whole.
    after = steps_end - total if total <= steps_end else -(total - steps_end) % spec.chunk
    if not before and not after:
        return path
    poses = np.concatenate(
        [path.poses[:1].repeat(before, 0), path.poses, path.poses[-1:].repeat(after, 0)]
    )
    phases: Tuple[Optional[str], ...] = path.phases or (None,) * len(path)
    phases = (None,) * before + phases + (None,) * after
    return CameraPath(poses, fps=path.fps, phases=phases, notes=path.notes)


def check_image(image: Any) -> np.ndarray:
    """Return a conditioning image as a contiguous array.

    Raises:
        Unsupported: it is not (height, width, 3) uint8.
    """
    if (
        not isinstance(image, np.ndarray)
        or image.dtype != np.uint8
        or image.ndim != 3
        or image.shape[2] != 3
        or image.size == 0
    ):
        got = "{} {}".format(getattr(image, "dtype", type(image).__name__), np.shape(image))
        raise Unsupported(
            "a start image must be a uint8 array (height, width, 3), got {}".format(got)
        )
    return np.ascontiguousarray(image)


def check_chunk(chunk: Chunk, spec: WorldSpec, expected: Optional[int]) -> Chunk:
    """Return ``chunk`` when it keeps the contract.

    Args:
        chunk: What a world returned.
        spec: The world's spec.
        expected: Number of new frames that were asked for, None for a reset (any n >= 1).

    Raises:
        GenerationFailed: wrong type, dtype, shape or count; the message names it.
    """
    frames, poses = chunk.frames, chunk.poses
    if not isinstance(frames, np.ndarray) or frames.dtype != np.uint8 or frames.ndim != 4:
        got = "{} {}".format(getattr(frames, "dtype", type(frames).__name__), np.shape(frames))
        raise GenerationFailed(
            "{} returned frames of {}; expected a uint8 array (n, height, width, 3)".format(
                spec.name, got
            )
        )
    width, height = spec.size
    if frames.shape[1:] != (height, width, 3):
        raise GenerationFailed(
            "{} returned frames of shape {}; its spec says (n, {}, {}, 3)".format(
                spec.name, frames.shape, height, width
            )
        )
    n = len(frames)
    if n < 1 or (expected is not None and n != expected):
        raise GenerationFailed(
            "{} returned {} frames where {} were asked for".format(
                spec.name, n, "at least 1" if expected is None else expected
            )
        )
    if np.shape(poses) != (n, 4, 4):
        raise GenerationFailed(
            "{} returned poses of shape {} beside {} frames; expected ({}, 4, 4)".format(
                spec.name, np.shape(poses), n, n
            )
        )
    if not np.isfinite(poses).all():
        raise GenerationFailed("{} returned poses that are not finite".format(spec.name))
    truth = dict(chunk.truth or {})
    recorded = truth.pop("recorded", {})
    for key, value in [*truth.items(), *recorded.items()]:
        if len(value) != n:
            raise GenerationFailed(
                "{} returned truth[{!r}] for {} frames beside {} frames".format(
                    spec.name, key, len(value), n
                )
            )
    return chunk


def to_plain(value: Any) -> Any:
    """Return ``value`` with tuples as lists and numpy scalars as Python numbers, for JSON."""
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value
