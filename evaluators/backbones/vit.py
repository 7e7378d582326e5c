"""The vision transformer of DINOv2 under its own names, for place networks built on it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional


class VitSize(NamedTuple):
    """What a transformer is made of; the default is ViT-B/14 for 518 pixels.

    Attributes:
        width: Channels of a token.
        layers: Number of blocks.
        heads: Number of attention heads.
        patch: Side of a patch in pixels.
        grid: Patches a side of the images that its positions were learned for.
    """

    width: int = 768
    layers: int = 12
    heads: int = 12
    patch: int = 14
    grid: int = 37


class _Patches(nn.Module):
    def __init__(self, size: VitSize) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, size.width, size.patch, size.patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.proj(x).flatten(2).transpose(1, 2)
        return found


class _Attention(nn.Module):
    def __init__(self, size: VitSize) -> None:
        super().__init__()
        self._heads = size.heads
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.proj = nn.Linear(size.width, size.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v)
        found: torch.Tensor = self.proj(seen.transpose(1, 2).flatten(2))
        return found


class _Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.fc2(functional.gelu(self.fc1(x)))
        return found


class _Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gamma


class Block(nn.Module):
    """One block; an adapter, where there is one, is added beside the second half."""

    def __init__(self, size: VitSize, adapter: nn.Module | None = None, share: float = 0.0) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(size.width, eps=1e-6)
        self.attn = _Attention(size)
        self.ls1 = _Scale(size.width)
        self.norm2 = nn.LayerNorm(size.width, eps=1e-6)
        self.mlp = _Mlp(size.width)
        self.ls2 = _Scale(size.width)
        self._share = share
        if adapter is not None:
            self.adapter = adapter

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens (n, tokens, width) after the block."""
        x = x + self.ls1(self.attn(self.norm1(x)))
        inner = self.norm2(x)
        change = self.mlp(inner)
        if self._share:
            change = change + self._share * self.adapter(inner)
        found: torch.Tensor = x + self.ls2(change)
        return found


class Vit(nn.Module):
    """The transformer, up to and without its last normalisation."""

    def __init__(self, size: VitSize, blocks: list[Block] | None = None) -> None:
        super().__init__()
        self._size = size
        self.patch_embed = _Patches(size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, size.width))
        self.pos_embed = nn.Parameter(torch.zeros(1, size.grid**2 + 1, size.width))
        # Trained with masks; nothing is masked here, but the checkpoints hold it.
        self.mask_token = nn.Parameter(torch.zeros(1, size.width))
        self.blocks = nn.ModuleList(blocks or [Block(size) for _ in range(size.layers)])
        self.norm = nn.LayerNorm(size.width, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return class token and patch tokens (n, 1 + patches, width), not normalised.

        Args:
            x: Images (n, 3, height, width), sides multiples of the patch.
        """
        rows, columns = (side // self._size.patch for side in x.shape[-2:])
        tokens: torch.Tensor = self.patch_embed(x)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), tokens], dim=1)
        tokens = tokens + self._positions(rows, columns)
        for block in self.blocks:
            tokens = block(tokens)
        return tokens

    def _positions(self, rows: int, columns: int) -> torch.Tensor:
        grid = self._size.grid
        if (rows, columns) == (grid, grid):
            return self.pos_embed
        first, patches = self.pos_embed[:, :1], self.pos_embed[:, 1:]
        # Scaled by a tenth of a patch too much, as the release does it.
        stretched = functional.interpolate(
            patches.reshape(1, grid, grid, -1).permute(0, 3, 1, 2),
            scale_factor=((rows + 0.1) / grid, (columns + 0.1) / grid),
            mode="bicubic",
        )
        return torch.cat([first, stretched.flatten(2).transpose(1, 2)], dim=1)
