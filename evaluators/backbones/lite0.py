"""Role embed, light: EfficientNet-Lite0, trained on ImageNet-1k, of frames and of regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.crops import crop, normalised, resized, squared
from worldenv.evaluators.backbones.inference import Recent, batch_of, once, one_thread, ran
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

SIDE = 224
"""Pixels of the side that a frame is brought to, as the network was trained."""

REGION_SIDE = 128
"""Same of a region, which is seldom larger; half the work, and it tells things apart as well."""

RECENT = 32 << 20
"""Bytes of vectors that are held: those of the last 6553 images."""

# Kernel, stride, expansion, channels, repeats of the stages; source: the EfficientNet-Lite release.
_STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
_STEM, _HEAD, _CLASSES = 32, 1280, 1000


class _Same(nn.Conv2d):
    """A convolution that pads as its training framework did: where it skips, more at the end."""

    def __init__(self, inside: int, out: int, kernel: int, stride: int, groups: int = 1) -> None:
        padding = kernel // 2 if stride == 1 else 0
        super().__init__(inside, out, kernel, stride, padding, groups=groups, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Pad so that the output is ceil(input / stride), then convolve."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        if stride == 1:
            return super().forward(x)
        pad = []
        for size in (x.shape[3], x.shape[2]):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pad += [total // 2, total - total // 2]
        return super().forward(functional.pad(x, pad))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


class _Block(nn.Module):
    """An inverted residual: widen, filter each channel, narrow."""

    def __init__(self, narrow: int, out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = narrow * expansion
        self.widens = expansion > 1
        if self.widens:
            self._expand_conv = nn.Conv2d(narrow, wide, 1, bias=False)
            self._bn0 = _norm(wide)
        self._depthwise_conv = _Same(wide, wide, kernel, stride, wide)
        self._bn1 = _norm(wide)
        self._project_conv = nn.Conv2d(wide, out, 1, bias=False)
        self._bn2 = _norm(out)
        self.residual = stride == 1 and narrow == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return maps of shape (n, out, ceil(height / stride), ceil(width / stride))."""
        y = x
        if self.widens:
            y = functional.relu6(self._bn0(self._expand_conv(y)))
        y = functional.relu6(self._bn1(self._depthwise_conv(y)))
        narrow: torch.Tensor = self._bn2(self._project_conv(y))
        return x + narrow if self.residual else narrow


class Lite0Net(nn.Module):
    """The network; names of its tensors are those of the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = _Same(3, _STEM, 3, 2)
        self._bn0 = _norm(_STEM)
        blocks, channels = [], _STEM
        for kernel, stride, expansion, out, repeats in _STAGES:
            for k in range(repeats):
                blocks.append(_Block(channels, out, kernel, stride if k == 0 else 1, expansion))
                channels = out
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = nn.Conv2d(channels, _HEAD, 1, bias=False)
        self._bn1 = _norm(_HEAD)
        self._fc = nn.Linear(_HEAD, _CLASSES)

    def fold(self) -> None:
        """Put every normalisation into the convolution before it: a third of the work is gone."""
        pairs: list[tuple[nn.Module, str, str]] = [
            (self, "_conv_stem", "_bn0"),
            (self, "_conv_head", "_bn1"),
        ]
        for block in self._blocks:
            pairs += [(block, "_depthwise_conv", "_bn1"), (block, "_project_conv", "_bn2")]
            if block.widens:
                pairs.append((block, "_expand_conv", "_bn0"))
        for owner, conv, norm in pairs:
            folded = fuse_conv_bn_eval(getattr(owner, conv), getattr(owner, norm))
            setattr(owner, conv, folded.requires_grad_(False))
            setattr(owner, norm, nn.Identity())

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the pooled features, shape (n, 1280)."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of the 1000 classes, shape (n, 1000)."""
        logits: torch.Tensor = self._fc(self.features(x))
        return logits


class Lite0:
    """Answers ``embed`` with unit vectors (1280,) float32.

    ``Ask(role, (frame,))`` gives the vector of the frame; ``Ask(role, (frame,), subject)`` gives
    track -> (Region without its mask, vector) for every region of the ``cutout`` that is large
    enough, cut out tightly and set on a white square.
    """

    name = "efficientnet-lite0"

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load the network.

        Raises:
            DamagedWeights: the file is not of this network.
        """
        self.revision = (
            f"{located.revision}; rgb {SIDE} area, (x - 127) / 128; "
            f"regions on white, {REGION_SIDE}; 1"
        )
        self.checksum = located.checksum
        self.batch = batch_of(device, 16)
        # Of images this small a few at once are cheaper, even with one that only fills up.
        self._regions_batch = batch_of(device, 16, on_cpu=2)
        self._device = device
        self._recent: Recent[NDArray[np.float32]] = Recent(RECENT, lambda vector: vector.nbytes)
        self._net = Lite0Net()
        load_state(self._net, located, "lite0.safetensors", device=device)
        self._net.fold()

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame, or its cutout where a subject is given."""
        whole = pixels(ask.frames[0])
        return (Ask("cutout", ask.frames, ask.subject) if ask.subject else whole,)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Embed every frame or its regions."""
        whole = iter(self.vectors([v for (v,) in inputs if not isinstance(v, tuple)]))

        def answer(k: int) -> Any:
            value = inputs[k][0]
            return self._regions(*value) if isinstance(value, tuple) else next(whole)

        # Only regions can be spared: every frame of a batch was looked at already.
        keys = [ask if ask.subject else (k, ask) for k, ask in enumerate(asks)]
        return once(keys, answer)

    def _regions(
        self, frame: NDArray[np.uint8], regions: Sequence[Region]
    ) -> dict[int, tuple[Region, NDArray[np.float32]]]:
        least = constant("worldmembench.min_area")
        large = [region for region in regions if region.area >= least]
        crops = [squared(crop(frame, region.mask)) for region in large]
        pairs = zip(large, self.vectors(crops, REGION_SIDE, self._regions_batch), strict=True)
        return {r.track: (r._replace(mask=r.mask[:0]), vector) for r, vector in pairs}

    def vectors(
        self, images: Sequence[NDArray[np.uint8]], side: int = SIDE, batch: int = 0
    ) -> list[NDArray[np.float32]]:
        """Return the unit vector of every image (height, width, 3) uint8, brought to a side."""
        about = f"{side} {batch}"
        return self._recent.answers(images, lambda new: self._look(new, side, batch), about)

    def _look(
        self, images: Sequence[NDArray[np.uint8]], side: int, batch: int
    ) -> list[NDArray[np.float32]]:
        small = [resized(image, side, side) for image in images]
        scaled = normalised(small, (127 / 255,) * 3, (128 / 255,) * 3)
        with one_thread():
            found = ran(self._net.features, scaled, batch or self.batch, self._device)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6)
        return list(found.astype(np.float32))
