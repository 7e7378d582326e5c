"""What adapters share inside a model's own environment: its code, seeds, images and frames.

Only the standard library and numpy at module level; the rest is the model's.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldenv.world import (
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    WorldSpec,
    check_image,
)
from worldenv.worlds.models.model import Model

__all__ = [
    "enter",
    "fitted",
    "frames_of",
    "one_rank",
    "places",
    "seed_all",
    "settle",
    "start_image",
    "weights_file",
]


def settle(model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a model, those not given having their defaults.

    Raises:
        UnknownName: the model has no such option.
    """
    for key in options:
        if key not in model.options:
            raise UnknownName(f"option of {model.id}:", key, model.options)
    return {**model.options, **options}


def places(repo: str, weights: str) -> tuple[str, str]:
    """Return the two folders as absolute paths, before any change of the working directory."""
    return os.path.abspath(repo), os.path.abspath(weights)


def enter(repo: str, weights: str) -> None:
    """Make the official code importable, and lead its relative paths into the weights' folder.

    Args:
        repo: Checkout of the official code.
        weights: Folder of the weights, which becomes the working directory.

    Raises:
        WeightsNotFound: one of them is no folder.
    """
    for what, place in (("repo", repo), ("weights", weights)):
        if not os.path.isdir(place):
            raise WeightsNotFound(f"{what}={place!r} is no folder; run 'worldenv setup' again")
    if repo not in sys.path:
        sys.path.insert(0, repo)
    os.chdir(weights)


def weights_file(weights: str, *parts: str) -> str:
    """Return the path of a file or folder of the weights.

    Raises:
        WeightsNotFound: it is not there.
    """
    path = os.path.join(weights, *parts)
    if not os.path.exists(path):
        raise WeightsNotFound(f"{path} is missing; run 'worldenv setup' again")
    return path


def seed_all(seed: int) -> None:
    """Seed every generator that official code draws from, the global ones too."""
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def one_rank() -> None:
    """Start a process group of this process alone, for code that needs one; no port is opened."""
    import torch
    import torch.distributed as dist

    for key, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")):
        os.environ.setdefault(key, value)
    if not dist.is_initialized():
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        # Untyped, as torch does not declare its stores.
        stores: Any = dist
        dist.init_process_group(backend, store=stores.HashStore(), rank=0, world_size=1)


def start_image(start: Start, spec: WorldSpec) -> np.ndarray:
    """Return the start image at the world's size.

    Raises:
        Unsupported: there is none.
    """
    if start.image is None:
        raise Unsupported(f"{spec.name} starts from an image, and the case has none")
    return fitted(check_image(start.image), spec.size)


def fitted(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return an image (height, width, 3) uint8 cropped about its centre and resized.

    Args:
        image: Any size.
        size: (width, height) in pixels.
    """
    height, width = image.shape[:2]
    if (width, height) == tuple(size):
        return np.ascontiguousarray(image)
    from PIL import Image

    scale = min(width / size[0], height / size[1])
    across, down = size[0] * scale, size[1] * scale
    left, top = (width - across) / 2, (height - down) / 2
    picture = Image.fromarray(image).resize(
        (size[0], size[1]), Image.Resampling.LANCZOS, box=(left, top, left + across, top + down)
    )
    return np.ascontiguousarray(np.asarray(picture))


def frames_of(video: Any) -> np.ndarray:
    """Return frames (n, height, width, 3) uint8 of a tensor (n, 3, height, width) in [0, 1]."""
    count, _, height, width = video.shape
    frames = np.empty((count, height, width, 3), dtype=np.uint8)
    # A few at a time: a long video as floats would fill the memory.
    for at in range(0, count, 16):
        part = (video[at : at + 16].detach().float().clamp(0, 1) * 255).round()
        frames[at : at + 16] = part.permute(0, 2, 3, 1).cpu().numpy()
    return frames
