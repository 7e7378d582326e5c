"""Role perceptual: LPIPS 0.1 on AlexNet; a frame is looked at once, pairs compare what was seen."""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import fill, read_tensors
from worldenv.evaluators.backbones.inference import once, one_thread
from worldenv.evaluators.metrics.checks import InvalidInput
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

# Names of the released file.
_HEAD = re.compile(r"NetLinLayer_(\d+)/Conv_0/kernel")
_LAYER = re.compile(r"AlexNet_0/Conv_(\d+)/(kernel|bias)")

# Channels, kernel, stride, padding of the five convolutions, and whether pooling comes before.
_CONVOLUTIONS = (
    (64, 11, 4, 2, False),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, True),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, False),
)
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
_EPS = 1e-10

SMALLEST = 31
"""Least side of a frame in pixels; smaller ones vanish in the poolings."""

DISK = 4 << 30
"""Most bytes of features that lie in the temporary file; beyond it frames are kept instead."""


class LpipsNet(nn.Module):
    """AlexNet's five convolutions and, for each, the weight of every channel."""

    shift: torch.Tensor
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList()
        self.heads = nn.ParameterList()
        before = 3
        for channels, kernel, stride, padding, _ in _CONVOLUTIONS:
            self.convolutions.append(nn.Conv2d(before, channels, kernel, stride, padding))
            self.heads.append(nn.Parameter(torch.empty(channels)))
            before = channels
        self.register_buffer("shift", torch.tensor(_SHIFT).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("scale", torch.tensor(_SCALE).view(1, 3, 1, 1), persistent=False)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return five maps (n, channels, h, w) whose channel vectors are of unit length.

        Args:
            x: RGB in [-1, 1], shape (n, 3, height, width).
        """
        x = (x - self.shift) / self.scale
        found = []
        for conv, (*_, pools) in zip(self.convolutions, _CONVOLUTIONS, strict=True):
            if pools:
                x = functional.max_pool2d(x, 3, 2)
            x = functional.relu(conv(x))
            found.append(x / (x.square().sum(dim=1, keepdim=True).sqrt() + _EPS))
        return found

    def distance(self, first: list[torch.Tensor], second: list[torch.Tensor]) -> float:
        """Return the distance of two frames from their maps."""
        total = 0.0
        for a, b, head in zip(first, second, self.heads, strict=True):
            squares = (a - b).square_().mean(dim=(0, 2, 3), dtype=torch.float64)
            total += float(squares @ head.double())
        return total


class Maps(NamedTuple):
    """Where the maps of one frame are: in a slot of the store, or to be made again.

    Attributes:
        frame: The frame, where they are to be made again.
        slot: What holds them, else None.
    """

    frame: NDArray[np.uint8] | None
    slot: Slot | None


class Slot:
    """A place in the store's file, given back when it is forgotten."""

    def __init__(self, store: _Store, place: int, shapes: tuple[tuple[int, ...], ...]) -> None:
        self._store = store
        self._place = place
        self._shapes = shapes
        weakref.finalize(self, store.free.append, place)

    def read(self) -> list[NDArray[np.float32]]:
        """Return the maps that were written."""
        return self._store.read(self._place, self._shapes)


class _Store:
    """A temporary file of equal slots.

    The file has no name and goes with the process. What of it fits into spare memory stays there
    as the system's page cache, which gives way to whatever needs memory more.

    Attributes:
        free: Places that were given back.
    """

    def __init__(self, limit: int) -> None:
        self.free: list[int] = []
        self._limit = limit
        self._file: IO[bytes] | None = None
        self._size = 0
        self._places = 0

    def write(self, maps: Sequence[NDArray[np.float32]]) -> Slot | None:
        """Write contiguous maps, None where there is no room for them."""
        size = sum(part.nbytes for part in maps)
        if len(self.free) == self._places:
            # Nothing is in use: frames of another size may take the file.
            self._size, self._places = size, 0
            self.free.clear()
        if size != self._size or not (self.free or (self._places + 1) * size <= self._limit):
            return None
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="worldenv-lpips-", buffering=0)
        if self.free:
            place = self.free.pop()
        else:
            place, self._places = self._places, self._places + 1
        try:
            parts = [part.data for part in maps]
            written = os.pwritev(self._file.fileno(), parts, place * size)
        except OSError:
            written = 0
        if written != size:
            # A full disk: the frame is kept instead, and the place is tried again later.
            self.free.append(place)
            return None
        return Slot(self, place, tuple(part.shape for part in maps))

    def read(self, place: int, shapes: Sequence[tuple[int, ...]]) -> list[NDArray[np.float32]]:
        """Read the maps of a place.

        Raises:
            OSError: the file cannot be read.
        """
        assert self._file is not None
        maps = [np.empty(shape, np.float32) for shape in shapes]
        parts = [part.data for part in maps]
        if os.preadv(self._file.fileno(), parts, place * self._size) != self._size:
            raise OSError("the temporary file of LPIPS features is shorter than it was written")
        return maps


class Lpips:
    """Answers ``perceptual``, asked as (i, j), with the LPIPS distance; lower is better.

    Asked for one frame it answers with its Maps, which a pair is computed from. The maps of a
    640 x 360 frame take 9 MB in full precision, and a walk there and back needs those of half its
    frames at once. They lie in an unnamed temporary file (4 GB at most, so 450 such frames;
    writing and reading them takes under a tenth of the time the network does); beyond that, or on
    a full disk, the frame itself is kept and its maps are made anew for every pair. All three ways
    give the same number to the last bit.
    """

    name = "lpips-alex"
    # One frame at a time: its maps are larger than what a batch would save.
    batch = 1

    def __init__(self, located: Located, device: str = "cpu", disk: int = DISK) -> None:
        """Load the network.

        Args:
            located: Trunk and heads.
            device: Where it runs.
            disk: Most bytes of the temporary file.

        Raises:
            DamagedWeights: the file is not of this network.
        """
        self.revision = f"{located.revision}; LPIPS 0.1; rgb native; 1"
        self.checksum = located.checksum
        self._device = device
        self._store = _Store(disk)
        self._net = LpipsNet()
        load_lpips(self._net, located)
        self._net.to(device).eval().requires_grad_(False)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, or what is known of both frames of a pair."""
        if len(ask.frames) == 1:
            return (pixels(ask.frames[0]),)
        return tuple(Ask(ask.role, (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Look at every frame, or compare every pair."""
        with one_thread():
            return once([ask.frames for ask in asks], lambda k: self._answer(inputs[k]))

    def _answer(self, values: tuple[Any, ...]) -> Any:
        if len(values) == 1:
            return self._seen(values[0])
        first, second = (self._tensors(maps) for maps in values)
        with torch.inference_mode():
            return self._net.distance(first, second)

    def _seen(self, frame: NDArray[np.uint8]) -> Maps:
        slot = self._store.write([part.cpu().numpy() for part in self._maps(frame)])
        return Maps(frame if slot is None else None, slot)

    def _tensors(self, maps: Maps) -> list[torch.Tensor]:
        if maps.slot is not None:
            return [torch.from_numpy(part).to(self._device) for part in maps.slot.read()]
        assert maps.frame is not None
        return self._maps(maps.frame)

    def _maps(self, frame: NDArray[np.uint8]) -> list[torch.Tensor]:
        if min(frame.shape[:2]) < SMALLEST:
            raise InvalidInput(
                f"LPIPS needs frames of at least {SMALLEST} x {SMALLEST} pixels, got "
                f"{frame.shape[1]} x {frame.shape[0]}"
            )
        image = torch.from_numpy(np.ascontiguousarray(frame.transpose(2, 0, 1)))[None]
        with torch.inference_mode():
            found: list[torch.Tensor] = self._net(image.to(self._device).float() / 127.5 - 1)
        return found


def load_lpips(net: LpipsNet, located: Located, file: str = "alexnet.safetensors") -> None:
    """Fill the network from the arrays of the released file, kernels (h, w, in, out).

    Raises:
        DamagedWeights: they are not of this network.
    """
    state = {}
    for key, array in read_tensors(located, file).items():
        head, layer = _HEAD.fullmatch(key), _LAYER.fullmatch(key)
        if head is not None:
            state[f"heads.{head[1]}"] = array.flatten()
        elif layer is not None and layer[2] == "kernel" and array.ndim == 4:
            state[f"convolutions.{layer[1]}.weight"] = array.permute(3, 2, 0, 1).contiguous()
        elif layer is not None and layer[2] == "bias":
            state[f"convolutions.{layer[1]}.bias"] = array
        else:
            # Of another network; under its own name it is told as unexpected.
            state[key] = array
    fill(net, state, located, file)
