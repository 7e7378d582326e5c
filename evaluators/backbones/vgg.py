"""Role style: Gram matrices of VGG16 features, trained on ImageNet-1k."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import fill, read_tensors
from worldenv.evaluators.backbones.crops import normalised, resized
from worldenv.evaluators.backbones.inference import Recent, one_thread
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

SIDE = 224
"""Pixels of the shorter side that a frame is brought to."""

RECENT = 64 << 20
"""Bytes of Gram matrices that are held: those of the last 48 frames."""

Grams = tuple[NDArray[np.float32], ...]

# Names of the released file.
_LAYER = re.compile(r"VGG16_0/Conv_(\d+)/(kernel|bias)")

# Channels of the convolutions; the last of each row gives a Gram matrix: relu1_2 .. relu4_3.
_ROWS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512))
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class VggNet(nn.Module):
    """The first ten convolutions of VGG16."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList()
        before = 3
        for channels in (channels for row in _ROWS for channels in row):
            self.convolutions.append(nn.Conv2d(before, channels, 3, padding=1))
            before = channels

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return the Gram matrices of one image, four of (channels, channels).

        The entry of channels a and b is the mean of their product over the map, divided by the
        number of channels.
        """
        number, found = 0, []
        for k, row in enumerate(_ROWS):
            if k:
                x = functional.max_pool2d(x, 2, 2)
            for _ in row:
                x = functional.relu(self.convolutions[number](x))
                number += 1
            maps = x[0].flatten(1)
            found.append(maps @ maps.T / maps.numel())
        return found


class VggStyle:
    """Answers ``style`` with four Gram matrices float32, normalised by channels and places."""

    name = "vgg16-gram"
    batch = 1

    def __init__(self, located: Located, device: str = "cpu", side: int = SIDE) -> None:
        """Load the network.

        Args:
            located: Its convolutions.
            device: Where it runs.
            side: Pixels of the shorter side that frames are brought to, 0 for their own size.

        Raises:
            DamagedWeights: the file is not of this network.
        """
        size = f"short side {side} area" if side else "native"
        self.revision = f"{located.revision}; relu1_2 2_2 3_3 4_3; rgb {size}, ImageNet; 1"
        self.checksum = located.checksum
        self._device = device
        self._side = side
        self._recent: Recent[Grams] = Recent(RECENT, lambda grams: sum(g.nbytes for g in grams))
        self._net = VggNet()
        load_vgg(self._net, located)
        self._net.to(device).eval().requires_grad_(False)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the Gram matrices of every frame."""
        with one_thread():
            return self._recent.answers([frame for (frame,) in inputs], self._all_grams)

    def _all_grams(self, frames: Sequence[NDArray[np.uint8]]) -> list[Grams]:
        return [self._grams(frame) for frame in frames]

    def _grams(self, frame: NDArray[np.uint8]) -> Grams:
        height, width = frame.shape[:2]
        ratio = self._side / min(height, width) if self._side else 1.0
        small = resized(frame, round(width * ratio), round(height * ratio))
        image = torch.from_numpy(normalised([small], _MEAN, _DEVIATION)).to(self._device)
        with torch.inference_mode():
            return tuple(gram.cpu().numpy() for gram in self._net(image))


def load_vgg(net: VggNet, located: Located, file: str = "vgg16.safetensors") -> None:
    """Fill the network from the arrays of the released file, kernels (h, w, in, out).

    The file also holds the last three convolutions and the LPIPS heads, which are not used here.

    Raises:
        DamagedWeights: they are not of this network.
    """
    state = {}
    for key, array in read_tensors(located, file).items():
        layer = _LAYER.fullmatch(key)
        if key.startswith("NetLinLayer_") or (layer is not None and 10 <= int(layer[1]) <= 12):
            continue
        if layer is not None and layer[2] == "kernel" and array.ndim == 4:
            state[f"convolutions.{layer[1]}.weight"] = array.permute(3, 2, 0, 1).contiguous()
        elif layer is not None and layer[2] == "bias":
            state[f"convolutions.{layer[1]}.bias"] = array
        else:
            # Of another network; under its own name it is told as unexpected.
            state[key] = array
    fill(net, state, located, file)
