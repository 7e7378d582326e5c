"""DiffusionWorld: what the worlds that run through diffusers share."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldenv.world import GenerationFailed, Start, Unsupported, check_image
from worldenv.worlds.diffusion.loading import Weights, load_pipeline, one_line
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native

__all__ = ["DiffusionWorld", "fit_image"]


class DiffusionWorld(ModelWorld):
    """A model that starts from an image; its weights are loaded at the first reset.

    Args:
        model: The model.
        options: Options that differ from its defaults. ``device`` None takes a GPU where there is
            one.

    Attributes:
        chosen: All options, those not given having their defaults.
        pipeline: The pipeline of diffusers, None before the first reset.
    """

    kind: ClassVar[str]
    """Class of the pipeline in diffusers."""
    parts: ClassVar[Mapping[str, str]]
    """Its components, see ``load_pipeline``."""
    size: ClassVar[str]
    """What has to be fetched and what it runs on, in a phrase."""
    multiple: ClassVar[int] = 16
    """Sides of a frame are multiples of it."""

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        super().__init__(model, options)
        self.chosen: dict[str, Any] = {**model.options, **options}
        revision = str(self.chosen["revision"] or "")
        self.spec = dataclasses.replace(self.spec, weights_revision=revision)
        width, height = self.spec.size
        if width % self.multiple or height % self.multiple:
            raise Unsupported(
                f"{model.id} makes frames whose sides are multiples of {self.multiple}, got "
                f"size={self.spec.size}"
            )
        self.pipeline: Any = None
        self._generator: Any = None
        self._memory: Any = None
        self._scene: str | None = None

    @property
    def device(self) -> str:
        """Where the model runs."""
        if self.chosen["device"] is not None:
            return str(self.chosen["device"])
        try:
            import torch
        except ImportError:
            # Nothing runs then; the first reset says what to install.
            return "cpu"
        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def dtype(self) -> str:
        """Precision of the model's weights."""
        return str(self.chosen["dtype"])

    @property
    def weights(self) -> Weights:
        """What is loaded."""
        return Weights(
            self.model.title,
            str(self.chosen["weights"]),
            str(self.model.options["weights"]),
            self.chosen["revision"],
            self.size,
            self.spec.licence,
        )

    def load(self) -> Any:
        """Return the pipeline from its weights."""
        return load_pipeline(
            self.weights,
            self.kind,
            self.parts,
            dtype=self.dtype,
            device=self.device,
            given=self.given(),
        )

    def given(self) -> dict[str, Any]:
        """Return components that do not come from the weights."""
        return {}

    @abc.abstractmethod
    def remember(
        self, image: NDArray[np.uint8], K: NDArray[np.float64], native: Native | None
    ) -> Any:
        """Return what the model knows after the first frame; it is never changed in place.

        Args:
            image: The first frame, shape (height, width, 3).
            K: Its intrinsics (3, 3).
            native: The whole path's control where the world needs a plan, else None.
        """

    @abc.abstractmethod
    def go_on(
        self, memory: Any, native: Native, poses: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], Any]:
        """Return the next frames, one a pose, and what the model knows after them."""

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the conditioning frame, cut to the model's size."""
        if start.image is None:
            raise Unsupported(
                f"{self.model.id} starts from an image; give a case with one, such as a built-in "
                "case"
            )
        self._memory = None
        image, K = fit_image(start.image, start.K, self.spec.size)
        if self.pipeline is None:
            self.pipeline = self.load()
        import torch

        # Everything random comes from this one, on the CPU: the same numbers on every device.
        self._generator = torch.Generator().manual_seed(seed % 2**63)
        self._scene = start.prompt
        self._memory = self.remember(image, self.spec.intrinsics() if K is None else K, native)
        return image[None].copy(), None

    def advance(self, native: Native, poses: NDArray[np.float64], prompt: str | None) -> Frames:
        """Return the next frames."""
        if prompt is not None:
            self._scene = prompt
        frames, self._memory = self.go_on(self._memory, native, poses)
        if len(frames) != len(poses):
            raise GenerationFailed(
                f"{self.model.id} made {len(frames)} frames where {len(poses)} were asked for"
            )
        return frames, None

    def generate(self, call: Any, **keywords: Any) -> Any:
        """Return what a pipeline gives; what it complains of becomes one line.

        Raises:
            GenerationFailed: the model broke, ran out of memory, or refused.
        """
        width, height = self.spec.size
        try:
            return call(
                width=width,
                height=height,
                num_inference_steps=int(self.chosen["steps"]),
                guidance_scale=float(self.chosen["guidance"]),
                generator=self._generator,
                **keywords,
            )
        except Exception as error:
            # Whatever breaks in there is the model's own trouble, not a caller's traceback.
            raise GenerationFailed(f"{self.model.id} broke: {one_line(error)}") from error

    def to_pictures(self, made: Any) -> NDArray[np.uint8]:
        """Return frames in [0, 1], shape (n, height, width, 3), as bytes.

        Raises:
            GenerationFailed: they hold something that is no number.
        """
        values = np.asarray(made, dtype=np.float32)
        if not np.isfinite(values).all():
            raise GenerationFailed(f"{self.model.id} made frames that are not finite")
        return np.ascontiguousarray(np.rint(np.clip(values, 0, 1) * 255), dtype=np.uint8)

    def snapshot(self) -> Any:
        """Return the state of the episode."""
        state = None if self._generator is None else self._generator.get_state()
        asked = None if self._asked is None else self._asked.copy()
        return asked, self._plan, self._memory, self._scene, state

    def restore(self, token: Any) -> None:
        """Return to a state that ``snapshot`` gave."""
        asked, self._plan, self._memory, self._scene, state = token
        self._asked = None if asked is None else asked.copy()
        if state is not None:
            self._generator.set_state(state)

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._memory = self.pipeline = self._generator = None


def fit_image(
    image: NDArray[np.uint8], K: NDArray[np.float64] | None, size: tuple[int, int]
) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None]:
    """Return an image scaled to cover a size and cut in its middle, and its intrinsics then.

    Args:
        image: Shape (h, w, 3).
        K: Intrinsics (3, 3) at that size, or None.
        size: (width, height) wanted.
    """
    import cv2

    image = check_image(image)
    width, height = size
    h, w = image.shape[:2]
    if (w, h) == (width, height):
        return image, K
    scale = max(width / w, height / h)
    wide, high = max(width, round(w * scale)), max(height, round(h * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(image, (wide, high), interpolation=way)
    left, top = (wide - width) // 2, (high - height) // 2
    cut = np.ascontiguousarray(scaled[top : top + height, left : left + width], dtype=np.uint8)
    if K is None:
        return cut, None
    K = np.diag([wide / w, high / h, 1.0]) @ np.asarray(K, dtype=np.float64)
    K[0, 2] -= left
    K[1, 2] -= top
    return cut, K


def to_tensor(frames: NDArray[np.uint8]) -> Any:
    """Return frames (n, height, width, 3) as a tensor (1, 3, n, height, width) in [-1, 1]."""
    import torch

    values = torch.from_numpy(np.ascontiguousarray(frames)).float() / 127.5 - 1
    return values.permute(3, 0, 1, 2)[None]


@dataclasses.dataclass(frozen=True)
class Clip:
    """What a model that restarts from frames knows.

    Attributes:
        frames: The last frames, shape (n, height, width, 3).
    """

    frames: NDArray[np.uint8]
