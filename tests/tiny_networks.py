"""Tiny networks of the transformers library with random weights, saved as the real ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as T


def _save(network: Any, folder: Path) -> None:
    network.save_pretrained(folder)


def dinov2(folder: Path, side: int = 56, hidden: int = 32, seed: int = 0) -> None:
    torch.manual_seed(seed)
    config = T.Dinov2Config(
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=side,
        patch_size=14,
    )
    _save(T.Dinov2Model(config), folder)
