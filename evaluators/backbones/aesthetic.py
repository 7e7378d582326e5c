"""Role aesthetic: LAION's linear head (MIT) on CLIP ViT-L/14, a frame's appeal in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.clip import Clip
from worldenv.evaluators.backbones.pretrained import in_batches
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

FILE = "sa_0_4_vit_l_14_linear.pth"


class Aesthetic:
    """Answers ``aesthetic``, asked as (frame,): the predicted rating over 10, clipped to [0, 1]."""

    def __init__(self, clip: Located, head: Located, device: str = "cpu") -> None:
        """Load both.

        Args:
            clip: Weights of the ``CLIPModel`` that the head was trained on.
            head: Folder with the head.
            device: Where they run, in float32.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = head.id
        self.revision = f"{clip.revision}+{head.revision}"
        self.checksum = f"{clip.checksum}+{head.checksum}"
        self._clip = Clip(clip, device)
        self.batch = self._clip.batch
        width = int(self._clip._network.config.projection_dim)
        self._head = load_state(nn.Linear(width, 1), head, FILE)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Rate every frame."""
        vectors = in_batches([frame for (frame,) in inputs], self.batch, self._clip.images)
        with torch.inference_mode():
            ratings = self._head(torch.from_numpy(np.stack(vectors)))[:, 0].numpy()
        return [float(np.clip(rating / 10, 0, 1)) for rating in ratings]
