"""Role mutualvpr: MutualVPR, DINOv2 with convolutional adapters, 512 numbers a frame."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.places import PlaceNetwork
from worldenv.evaluators.backbones.vit import Block, Vit, VitSize
from worldenv.weights import Located

FILE = "mutualvpr.pth"
_SHARE = 0.2
"""How much of an adapter is added."""

Branches = tuple[int, int, int, int, int]
_WIDTHS: Branches = (192, 24, 96, 24, 96)


class _Conv(nn.Module):
    def __init__(self, inside: int, out: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inside, out, kernel, padding=kernel // 2)
        self.bn = nn.BatchNorm2d(out, eps=1e-3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.bn(self.conv(x)))


class _Adapter(nn.Module):
    """Convolutions of three sizes over the patches, beside the perceptron of every block."""

    def __init__(self, width: int, inner: int, widths: Branches) -> None:
        super().__init__()
        one, thin3, three, thin5, five = widths
        self.branch1 = _Conv(inner, one, 1)
        self.branch2 = nn.Sequential(_Conv(inner, thin3, 1), _Conv(thin3, three, 3))
        self.branch3 = nn.Sequential(_Conv(inner, thin5, 1), _Conv(thin5, five, 5))
        self.D_fc1 = nn.Linear(width, inner)
        self.D_fc2 = nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.D_fc1(x))
        count, tokens, inner = x.shape
        side = int((tokens - 1) ** 0.5)
        grid = x[:, 1:].reshape(count, side, side, inner).permute(0, 3, 1, 2)
        found = torch.cat([b(grid) for b in (self.branch1, self.branch2, self.branch3)], dim=1)
        patches = found.reshape(count, inner, side * side).permute(0, 2, 1)
        out: torch.Tensor = self.D_fc2(torch.cat([x[:, :1], patches], dim=1) + x)
        return out


class _Gem(nn.Module):
    """Generalised mean over the patches."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.full((1,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        powered = x.clamp(min=1e-6).pow(self.p)
        return powered.mean(dim=(-2, -1)).pow(1 / self.p)


class MutualVprNet(nn.Module):
    """The network; names of its tensors are those of the release."""

    def __init__(
        self, size: VitSize, out: int = 512, inner: int = 384, widths: Branches = _WIDTHS
    ) -> None:
        super().__init__()
        blocks = [
            Block(size, _Adapter(size.width, inner, widths), _SHARE) for _ in range(size.layers)
        ]
        self._patch = size.patch
        self.backbone = Vit(size, blocks)
        # Normalise (0), mean (1), flatten (2), project (3): the numbers are part of the names.
        self.aggregation = nn.ModuleDict({"1": _Gem(), "3": nn.Linear(size.width, out)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return unit descriptors (n, out) of square images (n, 3, side, side)."""
        tokens = self.backbone.norm(self.backbone(x))[:, 1:]
        grid = [side // self._patch for side in x.shape[-2:]]
        patches = functional.normalize(tokens.transpose(1, 2).unflatten(2, grid), dim=1)
        projected = self.aggregation["3"](self.aggregation["1"](patches))
        return functional.normalize(projected, dim=-1)


class MutualVpr(PlaceNetwork):
    """Answers ``mutualvpr``, asked as (frame,), with unit vectors; frames squashed to 518 x 518."""

    def __init__(
        self,
        located: Located,
        device: str = "cpu",
        side: int = 518,
        size: VitSize | None = None,
        inner: int = 384,
        widths: Sequence[int] = _WIDTHS,
    ) -> None:
        """Load it.

        Args:
            located: Folder with the release's checkpoint as ``mutualvpr.pth``.
            device: Where it runs, in float32.
            side: Side of its square input in pixels.
            size: Of its DINOv2.
            inner: Channels inside an adapter.
            widths: Channels of an adapter's convolutions.

        Raises:
            DamagedWeights: the file is of another network.
        """
        one, thin3, three, thin5, five = widths
        net = MutualVprNet(size or VitSize(), 512, inner, (one, thin3, three, thin5, five))
        # Saved from several GPUs, every name has this in front.
        load_state(
            net,
            located,
            FILE,
            lambda key: key.removeprefix("module."),
            unused=("num_batches_tracked",),
            device=device,
        )
        super().__init__(net, located, side, device)
