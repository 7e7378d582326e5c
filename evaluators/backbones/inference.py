"""Running a network on images: one fixed batch size, so that no value depends on its company."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def batch_of(device: str, on_gpu: int, on_cpu: int = 1) -> int:
    """Return the batch size of a device.

    A CPU gains little by batches of convolutions, and padding would cost it whole images.
    """
    return on_cpu if device == "cpu" else on_gpu


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run a small network on one core.

    Its layers are so short that threads wait for each other longer than they work, by an order of
    magnitude where other processes want the cores too, as the workers of a bench do; and its
    values cannot depend on their number.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def ran(
    net: Callable[[torch.Tensor], torch.Tensor],
    images: Floats,
    batch: int,
    device: str,
) -> Floats:
    """Return what a network makes of images, shape (n, ...) float32.

    Args:
        net: Tensor (batch, 3, height, width) -> tensor (batch, ...).
        images: Shape (n, 3, height, width).
        batch: Images a pass; the last pass is padded with its last image.
        device: Where the network lies.
    """
    found = []
    with torch.inference_mode():
        for first in range(0, len(images), batch):
            part = images[first : first + batch]
            padding = batch - len(part)
            if padding:
                part = np.concatenate([part, np.repeat(part[-1:], padding, axis=0)])
            answer = net(torch.from_numpy(part).to(device))[: batch - padding]
            found.append(answer.float().cpu().numpy())
    return np.concatenate(found)


def once(keys: Sequence[Key], make: Callable[[int], Value]) -> list[Value]:
    """Return ``make(k)`` for every key, made once for equal keys: a padded batch repeats its last.

    Args:
        keys: What tells the entries apart.
        make: Index of an entry -> its value.
    """
    made: dict[Key, Value] = {}
    for k, key in enumerate(keys):
        if key not in made:
            made[key] = make(k)
    return [made[key] for key in keys]
