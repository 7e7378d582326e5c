"""SANA-WM in this process: the whole path is made at once, and shown step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.world import World
from worldenv.worlds.diffusion.world import DiffusionWorld
from worldenv.worlds.models.model import Native
from worldenv.worlds.models.sana_wm import MODEL

__all__ = ["SanaWMWorld", "make_local"]


class SanaWMWorld(DiffusionWorld):
    """SANA-WM (bidirectional), first stage; every frame is made with the whole path in sight."""

    kind = "SanaWMPipeline"
    parts = {  # noqa: RUF012, a constant
        "tokenizer": "",
        "text_encoder": "",
        "transformer": "",
        "vae": "",
        "scheduler": "",
    }
    size = "about 20 GB with its text encoder; a GPU of 48 GB"
    multiple = 32

    def remember(
        self, image: NDArray[np.uint8], K: NDArray[np.float64], native: Native | None
    ) -> tuple[NDArray[np.uint8], int]:
        """Return all frames of the path, and that the first has been shown."""
        from PIL import Image

        assert native is not None
        poses = np.asarray(native["c2w"], dtype=np.float32)
        made = self.generate(
            self.pipeline,
            image=Image.fromarray(image),
            prompt=self._scene or "",
            c2w=poses,
            intrinsics=np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]], dtype=np.float32),
            num_frames=len(poses),
            fps=int(self.spec.fps),
            output_type="np",
        )
        return self.to_pictures(made.frames), 1

    def go_on(
        self, memory: tuple[NDArray[np.uint8], int], native: Native, poses: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], tuple[NDArray[np.uint8], int]]:
        """Return the next frames of those that have been made."""
        frames, shown = memory
        end = shown + len(poses)
        return frames[shown:end].copy(), (frames, end)


def make_local(**options: Any) -> World:
    """Return SanaWM-v0; options as in ``worldenv.worlds.models.sana_wm.MODEL``."""
    return SanaWMWorld(MODEL, options)
