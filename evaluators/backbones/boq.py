"""Role place: BoQ (MIT), a bag of learned queries over DINOv2, 12288 numbers a frame."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.places import PlaceNetwork
from worldenv.evaluators.backbones.vit import Vit, VitSize
from worldenv.weights import Located

FILE = "dinov2_12288.pth"


class _Queries(nn.Module):
    """One layer of queries; names of its tensors are those of the release."""

    def __init__(self, width: int, queries: int) -> None:
        super().__init__()
        heads = width // 64
        self.encoder = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True
        )
        self.queries = nn.Parameter(torch.zeros(1, queries, width))
        self.self_attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_q = nn.LayerNorm(width)
        self.cross_attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_out = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.encoder(x)
        asked = self.queries.expand(len(x), -1, -1)
        asked = self.norm_q(asked + self.self_attn(asked, asked, asked, need_weights=False)[0])
        found = self.cross_attn(asked, x, x, need_weights=False)[0]
        return x, self.norm_out(found)


class _Bag(nn.Module):
    def __init__(self, taken: int, width: int, queries: int, layers: int, rows: int) -> None:
        super().__init__()
        self.proj_c = nn.Conv2d(taken, width, 3, padding=1)
        self.norm_input = nn.LayerNorm(width)
        self.boqs = nn.ModuleList([_Queries(width, queries) for _ in range(layers)])
        self.fc = nn.Linear(layers * queries, rows)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm_input(self.proj_c(x).flatten(2).transpose(1, 2))
        out = []
        for layer in self.boqs:
            x, found = layer(x)
            out.append(found)
        rows = self.fc(torch.cat(out, dim=1).transpose(1, 2))
        return functional.normalize(rows.flatten(1), dim=-1)


class BoqNet(nn.Module):
    """The network: patch tokens of DINOv2, not normalised, and the bag over them."""

    def __init__(self, size: VitSize, width: int = 384, queries: int = 64, rows: int = 32) -> None:
        super().__init__()
        self._patch = size.patch
        self.backbone = nn.ModuleDict({"dino": Vit(size)})
        self.aggregator = _Bag(size.width, width, queries, 2, rows)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return unit descriptors (n, rows * width) of images (n, 3, height, width)."""
        tokens = self.backbone["dino"](x)[:, 1:]
        grid = [side // self._patch for side in x.shape[-2:]]
        found: torch.Tensor = self.aggregator(tokens.transpose(1, 2).unflatten(2, grid))
        return found


class Boq(PlaceNetwork):
    """Answers ``place``, asked as (frame,), with unit vectors; frames are squashed to 322 x 322."""

    def __init__(
        self,
        located: Located,
        device: str = "cpu",
        side: int = 322,
        size: VitSize | None = None,
        width: int = 384,
    ) -> None:
        """Load it.

        Args:
            located: Folder with the release's ``dinov2_12288.pth``.
            device: Where it runs, in float32.
            side: Side of its square input in pixels.
            size: Of its DINOv2.
            width: Channels of its queries.

        Raises:
            DamagedWeights: the file is of another network.
        """
        net = BoqNet(size or VitSize(), width)
        load_state(net, located, FILE, device=device)
        super().__init__(net, located, side, device)
