"""What adapters share whose official code finds its weights by paths relative to where it runs.

Only the standard library and numpy at module level; the rest is the model's.
"""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

import numpy as np

from worldenv.world import Unsupported, WeightsNotFound
from worldenv.worlds.models.driving import pixels

__all__ = ["enter", "frames_of", "literal", "one_rank", "places", "weights_file"]


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


def literal(file: str, name: str) -> Any:
    """Return the plain value that a Python file of the official code gives to a name.

    For constants of scripts that cannot be imported.

    Args:
        file: The file.
        name: The name, at any depth; its first assignment counts.

    Raises:
        Unsupported: the file gives it none.
    """
    with open(file, encoding="utf-8") as script:
        tree = ast.parse(script.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    return ast.literal_eval(node.value)
    raise Unsupported(f"{file} sets no {name}; check out the commit that the recipe names")


def weights_file(weights: str, *parts: str) -> str:
    """Return the path of a file or folder of the weights.

    Raises:
        WeightsNotFound: it is not there.
    """
    path = os.path.join(weights, *parts)
    if not os.path.exists(path):
        raise WeightsNotFound(f"{path} is missing; run 'worldenv setup' again")
    return path


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


def frames_of(video: Any) -> np.ndarray:
    """Return frames (n, height, width, 3) uint8 of a tensor (n, 3, height, width) in [0, 1]."""
    # A few at a time: a long video as floats would fill the memory.
    parts = [pixels(video[at : at + 16], "TCHW", low=0.0) for at in range(0, len(video), 16)]
    return np.concatenate(parts)
