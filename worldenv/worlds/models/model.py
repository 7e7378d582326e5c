"""What a public world model is, how a camera path becomes its control, and a World around it.

Standard library and numpy only, in Python 3.9 syntax (see ``worldenv.world``): it is packed into
the server that runs inside a model's own environment.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Optional

import numpy as np

from worldenv.camera import CameraPath, twists
from worldenv.world import Chunk, PlanRequired, Start, Unsupported, WorldSpec

__all__ = ["Frames", "Model", "ModelWorld", "Native", "Quantum"]

Native = dict[str, Any]
"""A model's own control of a path: plain values and arrays, with ``frames``, the path's length."""

Frames = tuple[np.ndarray, Optional[dict[str, Any]]]
"""New frames (n, height, width, 3) uint8, and their truth or None, as in ``Chunk``."""


@dataclasses.dataclass(frozen=True)
class Quantum:
    """How finely a model can be asked: by how much a decoded path may miss the path asked for.

    Attributes:
        frames: Frames between two values of the control (1: each frame has its own).
        degrees: Turn that one value is rounded to.
        metres: Step that one value is rounded to.
    """

    frames: int = 1
    degrees: float = 0.0
    metres: float = 0.0

    def bound(self, path: CameraPath) -> tuple[float, float]:
        """Return the largest miss in any frame of ``path``, (degrees, metres).

        Between two values the model is asked to go evenly, so a path that turns a corner there is
        missed by at most what it moves in that time.
        """
        if len(path) < 2:
            return self.degrees, self.metres
        rows = twists(path.poses)
        turn = float(np.linalg.norm(rows[:, :3], axis=1).max())
        move = float(np.linalg.norm(rows[:, 3:], axis=1).max())
        between = self.frames - 1
        return self.degrees + turn * between + 1e-6, self.metres + move * between + 1e-6


@dataclasses.dataclass(frozen=True)
class Model:
    """A public world model.

    Attributes:
        id: World name without version, e.g. ``WorldPlay``.
        title: Name with variant, e.g. ``HY-WorldPlay (HY-8B)``.
        spec: How it is driven, with the official code and default options.
        compile: Turns a path at ``spec.fps`` into the model's own control. Raises Unsupported for
            motion that it cannot be asked for. Frame 0 is the first frame that reset returns.
        decode: Turns that control back into the path that the model is really asked to follow, of
            the same length; for captions it is the nominal path.
        quantum: How far apart the two may be.
        control: What the control is: ``poses``, ``keys`` or ``captions``.
        options: Options of the official code that change results, name -> default.
        context: Context policy -> the options that make the model keep to it. Its keys are
            ``spec.context_policies``.
        specify: Returns the spec under options; None: options do not change the spec.
        local: ``module:factory`` of the world where it runs in this process, given the options as
            keywords; empty where the model runs in an environment of its own, through the factory
            ``official`` of the model's module.
        verified: What of the way from here to the model's frames has been run, in a phrase.
    """

    id: str
    title: str
    spec: WorldSpec
    compile: Callable[[CameraPath], Native]
    decode: Callable[[Native], CameraPath]
    quantum: Quantum
    control: str = "poses"
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    context: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    specify: Callable[[WorldSpec, Mapping[str, Any]], WorldSpec] | None = None
    local: str = ""
    verified: str = "control only; the official code has not been run with its weights by us"

    def __post_init__(self) -> None:
        if self.control not in ("poses", "keys", "captions"):
            raise ValueError("control must be poses, keys or captions, got " + self.control)
        if tuple(self.context) != self.spec.context_policies:
            raise ValueError(f"context and spec.context_policies of {self.id} differ")

    def spec_of(self, options: Mapping[str, Any]) -> WorldSpec:
        """Return the spec under options, those not given having their defaults."""
        chosen = {**self.options, **options}
        return self.spec if self.specify is None else self.specify(self.spec, chosen)


class ModelWorld(abc.ABC):
    """A World that hands a model its own control; a subclass makes the frames.

    The commanded poses are those of the decoded control: what the model was really asked.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
        spec: Another spec than the model's, for a world that stands in for it.
    """

    def __init__(
        self, model: Model, options: Mapping[str, Any], spec: WorldSpec | None = None
    ) -> None:
        self.model = model
        self.options = dict(options)
        self.spec = model.spec_of(options) if spec is None else spec
        self._asked: np.ndarray | None = None
        self._plan: tuple[Native, np.ndarray] | None = None

    @abc.abstractmethod
    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the frames that exist before any action.

        Args:
            start: What the episode begins from.
            seed: Seed of the episode.
            native: The whole path's control in a world that needs a plan, else None.
        """

    @abc.abstractmethod
    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the next frames, one a pose.

        Args:
            native: Control of the path from frame 0 to the last of the new frames; in a world
                that needs a plan, of the whole path.
            poses: The new commanded poses, shape (n, 4, 4).
            prompt: Text of this chunk, None to go on with the one before.
        """

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Begin an episode; see ``worldenv.world.World``."""
        spec = self.spec
        self._asked = self._plan = None
        native = None
        if spec.drive == "plan":
            if plan is None:
                raise PlanRequired(
                    f"{spec.name} needs the whole path before its first frame; give script=, "
                    "case= of a suite, or plan="
                )
            native = self.model.compile(plan)
            self._plan = native, self.model.decode(native).poses
        # Official code hands its seed to torch, which takes none of 64 bits and more.
        frames, truth = self.begin(start, seed % 2**63, native)
        self._asked = np.eye(4)[None].repeat(len(frames), 0)
        return Chunk(frames, self._asked.copy(), truth)

    def step(self, poses: np.ndarray, prompt: str | None = None) -> Chunk:
        """Make one frame per pose; see ``worldenv.world.World``."""
        if self._asked is None:
            raise Unsupported(f"{self.spec.name} has no running episode; reset it first")
        if prompt is not None and self.spec.prompt != "chunk":
            raise Unsupported(
                f"{self.spec.name} takes no prompt between chunks; its spec says "
                f"prompt={self.spec.prompt!r}"
            )
        asked = np.concatenate([self._asked, np.asarray(poses, dtype=np.float64)])
        if self._plan is None:
            native = self.model.compile(CameraPath(asked, fps=self.spec.fps))
            commanded = self.model.decode(native).poses
        else:
            # The model has been asked for the whole path already.
            native, commanded = self._plan
        new = np.array(commanded[len(self._asked) : len(asked)])
        frames, truth = self.advance(native, new, prompt)
        self._asked = asked
        return Chunk(frames, new, truth)

    def close(self) -> None:
        """Free what the world holds; may be called twice."""
        self._asked = self._plan = None
