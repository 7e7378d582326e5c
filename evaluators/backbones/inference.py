"""Running a network on images: one fixed batch size, so that no value depends on its company."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

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


class Recent(Generic[Value]):
    """What a network made of the images it saw last, by their pixels.

    A walk that returns sees the very pixels again in a world that forgets nothing, several
    benchmarks cut the same thing out of a frame, and rollouts of one case begin alike: such an
    image need not be looked at again. An answer must depend on its image alone.
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        """Begin with nothing.

        Args:
            limit: Most bytes of answers that are held; the least recently asked for go first.
            size: Answer -> its bytes.
        """
        self._limit, self._size = limit, size
        self._held: OrderedDict[bytes, Value] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def answers(
        self,
        images: Sequence[NDArray[np.uint8]],
        make: Callable[[list[NDArray[np.uint8]]], Sequence[Value]],
        about: str = "",
    ) -> list[Value]:
        """Return the answer for every image, those of new ones made in one call, each once.

        Args:
            images: Each (height, width, 3) uint8.
            make: Images -> their answers, in order.
            about: What else an answer depends on.
        """
        keys = [_digest(image, about) for image in images]
        found: dict[bytes, Value] = {}
        with self._lock:
            for key in keys:
                if key in self._held:
                    self._held.move_to_end(key)
                    found[key] = self._held[key]
        new = {key: image for key, image in zip(keys, images, strict=True) if key not in found}
        if new:
            found |= dict(zip(new, make(list(new.values())), strict=True))
            with self._lock:
                for key in new:
                    self._hold(key, found[key])
        return [found[key] for key in keys]

    def _hold(self, key: bytes, answer: Value) -> None:
        if key not in self._held:
            self._held[key] = answer
            self._bytes += self._size(answer)
        while self._bytes > self._limit and self._held:
            _, gone = self._held.popitem(last=False)
            self._bytes -= self._size(gone)


def _digest(image: NDArray[np.uint8], about: str) -> bytes:
    digest = hashlib.blake2b(f"{image.shape} {about} ".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(image).data)
    return digest.digest()
