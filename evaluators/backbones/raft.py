"""Role flow: RAFT (BSD-3-Clause), how far pixels move between two frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.resample import resample
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

FILE = "raft_large_C_T_SKHT_V2-ff5fadd5.pth"
WIDTH, LEAST, ROUNDS = 320, 128, 12
"""Width of its input and shortest side in pixels, and how often the flow is refined."""
_LEVELS, _RADIUS, _HIDDEN = 4, 4, 128

Norm = Callable[[int], nn.Module]


def _conv(
    inside: int, out: int, kernel: int, norm: Norm | None = None, stride: int = 1, act: bool = True
) -> nn.Sequential:
    parts: list[nn.Module] = [nn.Conv2d(inside, out, kernel, stride, kernel // 2)]
    if norm is not None:
        parts.append(norm(out))
    if act:
        parts.append(nn.ReLU())
    return nn.Sequential(*parts)


class _Residual(nn.Module):
    def __init__(self, inside: int, out: int, norm: Norm, stride: int) -> None:
        super().__init__()
        self.convnormrelu1 = _conv(inside, out, 3, norm, stride)
        self.convnormrelu2 = _conv(out, out, 3, norm)
        self.downsample: nn.Module = nn.Identity()
        if stride > 1:
            self.downsample = _conv(inside, out, 1, norm, stride, act=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.downsample(x) + self.convnormrelu2(self.convnormrelu1(x)))


class _Encoder(nn.Module):
    """Features of an image at an eighth of its size."""

    def __init__(self, norm: Norm, widths: Sequence[int] = (64, 64, 96, 128, 256)) -> None:
        super().__init__()
        self.convnormrelu = _conv(3, widths[0], 7, norm, 2)
        for k, stride in enumerate((1, 2, 2)):
            first = _Residual(widths[k], widths[k + 1], norm, stride)
            pair = nn.Sequential(first, _Residual(widths[k + 1], widths[k + 1], norm, 1))
            self.add_module(f"layer{k + 1}", pair)
        self.conv = nn.Conv2d(widths[3], widths[4], 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.children():
            x = part(x)
        return x


class _Motion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convcorr1 = _conv(_LEVELS * (2 * _RADIUS + 1) ** 2, 256, 1)
        self.convcorr2 = _conv(256, 192, 3)
        self.convflow1 = _conv(2, 128, 7)
        self.convflow2 = _conv(128, 64, 3)
        self.conv = _conv(192 + 64, 126, 3)

    def forward(self, flow: torch.Tensor, alike: torch.Tensor) -> torch.Tensor:
        seen = self.convcorr2(self.convcorr1(alike))
        moved = self.convflow2(self.convflow1(flow))
        return torch.cat([self.conv(torch.cat([seen, moved], dim=1)), flow], dim=1)


class _Gate(nn.Module):
    def __init__(self, kernel: tuple[int, int]) -> None:
        super().__init__()
        padding = (kernel[0] // 2, kernel[1] // 2)
        self.convz, self.convr, self.convq = (
            nn.Conv2d(3 * _HIDDEN, _HIDDEN, kernel, padding=padding) for _ in range(3)
        )

    def forward(self, h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        both = torch.cat([h, x], dim=1)
        z, r = self.convz(both).sigmoid(), self.convr(both).sigmoid()
        q = self.convq(torch.cat([r * h, x], dim=1)).tanh()
        found: torch.Tensor = (1 - z) * h + z * q
        return found


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convgru1, self.convgru2 = _Gate((1, 5)), _Gate((5, 1))


class _Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(_HIDDEN, 256, 3, padding=1)
        self.conv2 = nn.Conv2d(256, 2, 3, padding=1)


class _Update(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.motion_encoder = _Motion()
        self.recurrent_block = _Recurrent()
        self.flow_head = _Head()

    def forward(
        self, h: torch.Tensor, context: torch.Tensor, alike: torch.Tensor, flow: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([context, self.motion_encoder(flow, alike)], dim=1)
        h = self.recurrent_block.convgru2(self.recurrent_block.convgru1(h, x), x)
        head = self.flow_head
        return h, head.conv2(functional.relu(head.conv1(h)))


class _Mask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convrelu = _conv(_HIDDEN, 256, 3)
        self.conv = nn.Conv2d(256, 8 * 8 * 9, 1)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = 0.25 * self.conv(self.convrelu(h))
        return found


class RaftNet(nn.Module):
    """The large network; names of its tensors are those of torchvision's checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.feature_encoder = _Encoder(nn.InstanceNorm2d)
        self.context_encoder = _Encoder(nn.BatchNorm2d)
        self.update_block = _Update()
        self.mask_predictor = _Mask()

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the flow (n, 2, h, w) in pixels from images (n, 3, h, w) in [-1, 1].

        Sides must be multiples of 8, of at least 128 pixels.
        """
        a, b = self.feature_encoder(torch.cat([first, second])).chunk(2)
        levels = pyramid(a, b)
        h, context = self.context_encoder(first).split(_HIDDEN, dim=1)
        h, context = h.tanh(), functional.relu(context)
        start = places(a)
        now = start
        for _ in range(ROUNDS):
            h, change = self.update_block(h, context, looked_up(levels, now), now - start)
            now = now + change
        return enlarged(now - start, self.mask_predictor(h))


def places(features: torch.Tensor) -> torch.Tensor:
    """Return x and y of every cell, shape (n, 2, h, w)."""
    count, _, height, width = features.shape
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([x, y])[None].repeat(count, 1, 1, 1).to(features)


def pyramid(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    """Return how alike every cell of a is to all of b, at four sizes, each (n h w, 1, h', w')."""
    count, channels, height, width = a.shape
    alike = a.flatten(2).transpose(1, 2) @ b.flatten(2) / channels**0.5
    out = [alike.reshape(count * height * width, 1, height, width)]
    while len(out) < _LEVELS:
        out.append(functional.avg_pool2d(out[-1], 2, 2))
    return out


def looked_up(levels: Sequence[torch.Tensor], now: torch.Tensor) -> torch.Tensor:
    """Return the likenesses around where every cell is thought to be, shape (n, c, h, w)."""
    count, _, height, width = now.shape
    reach = torch.arange(-_RADIUS, _RADIUS + 1).to(now)
    delta = torch.stack(torch.meshgrid(reach, reach, indexing="ij"), dim=-1)[None]
    centre = now.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2)
    out = []
    for level in levels:
        last = torch.tensor([level.shape[-1] - 1, level.shape[-2] - 1]).to(now)
        grid = 2 * (centre + delta) / last - 1
        sampled = functional.grid_sample(level, grid, align_corners=True)
        out.append(sampled.reshape(count, height, width, -1))
        centre = centre / 2
    return torch.cat(out, dim=-1).permute(0, 3, 1, 2)


def enlarged(flow: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the flow eight times as large, every pixel a mean of nine cells by learned weights."""
    count, _, height, width = flow.shape
    share = mask.reshape(count, 1, 9, 8, 8, height, width).softmax(dim=2)
    near = functional.unfold(8 * flow, 3, padding=1).reshape(count, 2, 9, 1, 1, height, width)
    mixed = (share * near).sum(dim=2).permute(0, 1, 4, 2, 5, 3)
    return mixed.reshape(count, 2, 8 * height, 8 * width)


class Raft:
    """Answers ``flow``, asked as (i, j), with the mean flow magnitude at 320 pixels width."""

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Folder with torchvision's checkpoint.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the file is of another network.
        """
        self.name = f"{located.id}-{WIDTH}"
        self.revision = f"{located.revision}; 1"
        self.checksum = located.checksum
        self._device = device
        self._net = RaftNet()
        load_state(self._net, located, FILE, unused=("num_batches_tracked",), device=device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return both frames."""
        return tuple(pixels(frame) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the mean magnitude in pixels of every pair."""
        return [self._magnitude(first, second) for first, second in inputs]

    def _magnitude(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
        exact = first.shape[0] * WIDTH / first.shape[1]
        height = max(round(exact / 8) * 8, LEAST)
        images = [
            torch.from_numpy(
                resample(frame, WIDTH, height, "bilinear").astype(np.float32) / 127.5 - 1
            ).permute(2, 0, 1)[None]
            for frame in (first, second)
        ]
        with torch.inference_mode():
            flow = self._net(*(image.to(self._device) for image in images))[0].cpu().numpy()
        # The input's height is a multiple of 8; flow is measured in undistorted pixels.
        return float(np.hypot(flow[0], flow[1] * exact / height).mean())
