"""A stand-in for a model: its decoded native control rendered in Reference-v0.

Every convention of the model (axis signs, order, units, first frame, chunk sizes) is walked end to
end without its weights. The frames are the reference world's, and the spec says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import fov_of
from worldenv.world import Start, Unsupported, WorldSpec
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native

__all__ = ["LONGEST_SIDE", "StandIn", "stand_in_spec"]

LONGEST_SIDE = 384
"""Pixels of a stand-in's longer side unless ``size`` is given: rendering runs on the CPU."""


class StandIn(ModelWorld):
    """Reference-v0 walked along the path that a model would really be asked to follow.

    Args:
        model: The model stood in for.
        options: Options of the model.
        context: Context policy, kept by Reference-v0's own option; None for the model's default.
        size: (width, height) in pixels; None scales the model's size to ``LONGEST_SIDE``.
        scene_options: Options of Reference-v0: family, truth, supersample, detail, threads.
    """

    def __init__(
        self,
        model: Model,
        options: Mapping[str, Any],
        *,
        context: str | None = None,
        size: tuple[int, int] | None = None,
        **scene_options: Any,
    ) -> None:
        from worldenv.worlds.reference import make

        if context is not None:
            scene_options["context"] = context
        spec = model.spec_of(options)
        self._world = make(
            size=_scaled(spec.size) if size is None else size,
            fov=fov_of(spec.intrinsics(), spec.size[0]),
            fps=spec.fps,
            chunk=1,
            first_chunk=1,
            **scene_options,
        )
        super().__init__(model, options, stand_in_spec(spec, self._world.spec))

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the scene's first view, repeated where a model makes a first chunk by itself."""
        if start.scene is None and start.image is not None:
            raise Unsupported(
                f"the stand-in of {self.model.id} renders scenes of Reference-v0 and cannot start "
                "from an image; use a built-in case, or leave stand_in out"
            )
        chunk = self._world.reset(Start(scene=start.scene), seed=seed, plan=None)
        still = self.spec.reset_frames - 1
        if not still:
            return chunk.frames, chunk.truth
        more = self._world.step(np.eye(4)[None].repeat(still, 0))
        return _joined([(chunk.frames, chunk.truth), (more.frames, more.truth)])

    def advance(self, native: Native, poses: NDArray[np.float64], prompt: str | None) -> Frames:
        """Return the scene along the decoded poses."""
        chunk = self._world.step(poses)
        return chunk.frames, chunk.truth

    def close(self) -> None:
        """Free the scene; may be called twice."""
        super().close()
        self._world.close()


def stand_in_spec(spec: WorldSpec, rendered: WorldSpec) -> WorldSpec:
    """Return a model's spec as its stand-in keeps it: driven alike, made by Reference-v0.

    Args:
        spec: The model's spec.
        rendered: The spec of the reference world that renders.
    """
    return dataclasses.replace(
        spec,
        name=f"{spec.name} (stand-in)",
        size=rendered.size,
        K=rendered.K,
        K_exactness="exact",
        truth=rendered.truth,
        # It begins in the scene that a case names, which needs no picture of it.
        image_start=False,
        # The camera really goes where the decoded control says.
        pose_exactness="exact",
        deterministic=True,
        stand_in=True,
        backend=f"stand-in, {rendered.backend}",
        weights_revision="",
        licence=rendered.licence,
    )


def _scaled(size: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, LONGEST_SIDE / max(size))
    # Even sides suit every video codec.
    return (2 * round(size[0] * scale / 2), 2 * round(size[1] * scale / 2))


def _joined(parts: list[Frames]) -> Frames:
    frames = np.concatenate([frames for frames, _ in parts])
    truths = [truth for _, truth in parts if truth is not None]
    if not truths:
        return frames, None
    return frames, {
        key: tuple(state for truth in truths for state in truth[key])
        if key == "state"
        else np.concatenate([truth[key] for truth in truths])
        for key in truths[0]
    }
