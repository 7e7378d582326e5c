"""Role quality: MUSIQ trained on SPAQ, technical quality of a frame in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import fill
from worldenv.evaluators.backbones.pretrained import wrong
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

FILE = "musiq_spaq_ckpt-358bb6af.pth"
PATCH, GRID, LONGEST = 32, 10, (224, 384)
"""Side of a patch, cells a side of the learned positions, longer sides of the two small scales."""


def _same(x: torch.Tensor, kernel: int, stride: int) -> torch.Tensor:
    """Pad so that every stride-th pixel has an answer, the odd pixel at the end."""
    pads = []
    for side in (x.shape[-1], x.shape[-2]):
        total = max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)
        pads += [total // 2, total - total // 2]
    return functional.pad(x, pads)


class _Conv(nn.Conv2d):
    """A convolution whose weights are standardised and whose padding is 'same'."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        weight = weight / (weight.std((1, 2, 3), keepdim=True) + 1e-5)
        padded = _same(x, self.kernel_size[0], self.stride[0])
        return functional.conv2d(padded, weight, None, self.stride)


class _Bottleneck(nn.Module):
    def __init__(self, inside: int, out: int) -> None:
        super().__init__()
        self.conv1, self.gn1 = _Conv(inside, inside, 1, bias=False), _norm(inside, 1e-4)
        self.conv2, self.gn2 = _Conv(inside, inside, 3, bias=False), _norm(inside, 1e-4)
        self.conv3, self.gn3 = _Conv(inside, out, 1, bias=False), _norm(out, 1e-4)
        self.conv_proj, self.gn_proj = _Conv(inside, out, 1, bias=False), _norm(out, 1e-4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.gn1(self.conv1(x)))
        y = functional.relu(self.gn2(self.conv2(y)))
        return functional.relu(self.gn3(self.conv3(y)) + self.gn_proj(self.conv_proj(x)))


def _norm(channels: int, eps: float) -> nn.GroupNorm:
    return nn.GroupNorm(32, channels, eps=eps)


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part(x).reshape(len(x), self._heads, -1).transpose(0, 1)
            for part in (self.query, self.key, self.value)
        )
        seen = functional.scaled_dot_product_attention(q, k, v)
        found: torch.Tensor = self.out(seen.transpose(0, 1).flatten(1))
        return found


class _Block(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = _Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, inner), "fc2": nn.Linear(inner, width)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        inner = functional.gelu(self.mlp["fc1"](self.norm2(x)))
        found: torch.Tensor = x + self.mlp["fc2"](inner)
        return found


class _Encoder(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, layers: int) -> None:
        super().__init__()
        self.posembed_input = nn.ParameterDict(
            {"position_emb": nn.Parameter(torch.zeros(1, GRID * GRID, width))}
        )
        self.scaleembed_input = nn.ParameterDict(
            {"scale_emb": nn.Parameter(torch.zeros(len(LONGEST) + 1, width))}
        )
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.encoder_norm = nn.LayerNorm(width, eps=1e-6)
        self.transformer = nn.ModuleDict(
            {f"encoderblock_{k}": _Block(width, inner, heads) for k in range(layers)}
        )

    def forward(self, x: torch.Tensor, places: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        x = x + self.posembed_input["position_emb"][0, places]
        x = x + self.scaleembed_input["scale_emb"][scales]
        x = torch.cat([self.cls[0], x])
        for block in self.transformer.values():
            x = block(x)
        found: torch.Tensor = self.encoder_norm(x[0])
        return found


class MusiqNet(nn.Module):
    """The network; names of its tensors are those of the public port to torch."""

    def __init__(
        self, width: int = 384, inner: int = 1152, heads: int = 6, layers: int = 14
    ) -> None:
        super().__init__()
        self.conv_root = _Conv(3, 64, 7, 2, bias=False)
        self.gn_root = _norm(64, 1e-6)
        self.block1 = _Bottleneck(64, 256)
        self.embedding = nn.Linear(256 * (PATCH // 4) ** 2, width)
        self.transformer_encoder = _Encoder(width, inner, heads, layers)
        self.head = nn.Linear(width, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return the opinion score, 0 to 100, of an image (3, height, width) in [-1, 1]."""
        height, width = image.shape[-2:]
        scales = [image[None]]
        for longest in reversed(LONGEST):
            ratio = longest / max(height, width)
            size = (max(round(height * ratio), 1), max(round(width * ratio), 1))
            scales.insert(0, functional.interpolate(image[None], size, mode="bicubic"))
        parts = [patches(scaled) for scaled in scales]
        tokens = torch.cat([part for part, _ in parts])
        places = torch.cat([place for _, place in parts])
        number = torch.cat([torch.full_like(p, k) for k, (_, p) in enumerate(parts)])
        x = functional.relu(self.gn_root(self.conv_root(tokens)))
        x = self.block1(functional.max_pool2d(_same(x, 3, 2), 3, 2))
        # Channels last: the weights were trained in that order.
        x = self.embedding(x.permute(0, 2, 3, 1).flatten(1))
        found: torch.Tensor = self.head(self.transformer_encoder(x, places, number))[0]
        return found


def patches(image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return patches (n, 3, 32, 32) of an image (1, 3, h, w), padded, and the cell of each."""
    rows, columns = (math.ceil(side / PATCH) for side in image.shape[-2:])
    found = functional.unfold(_same(image, PATCH, PATCH), PATCH, stride=PATCH)
    cells = [
        torch.div(torch.arange(count, device=image.device) * GRID, count, rounding_mode="floor")
        for count in (rows, columns)
    ]
    places = (cells[0][:, None] * GRID + cells[1][None]).flatten()
    return found[0].T.reshape(-1, 3, PATCH, PATCH), places


class Musiq:
    """Answers ``quality``, asked as (frame,): the opinion score over 100, clipped to [0, 1].

    The frame is looked at in its own size and with its longer side at 384 and 224 pixels.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu", net: MusiqNet | None = None) -> None:
        """Load it.

        Args:
            located: Folder with the port's ``musiq_spaq_ckpt-358bb6af.pth``.
            device: Where it runs, in float32.
            net: Network to fill, that of the paper if None.

        Raises:
            DamagedWeights: the file is of another network.
        """
        self.name = located.id
        self.revision = f"{located.revision}; 1"
        self.checksum = located.checksum
        self._device = device
        self._net = net or MusiqNet()
        try:
            state = torch.load(located.folder / FILE, map_location="cpu", weights_only=True)
        except Exception as error:
            # What torch raises depends on what is wrong with the file.
            raise wrong(located, FILE, f"it cannot be read ({type(error).__name__})") from error
        # The port's own checkpoints lie one level deeper.
        state = state.get("params", state) if isinstance(state, dict) else {}
        fill(self._net, state, located, FILE)
        self._net.to(device).eval().requires_grad_(False)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Rate every frame."""
        return [self._rate(frame) for (frame,) in inputs]

    def _rate(self, frame: NDArray[np.uint8]) -> float:
        values = frame.astype(np.float32).transpose(2, 0, 1) / 127.5 - 1
        with torch.inference_mode():
            score = float(self._net(torch.from_numpy(values).to(self._device)))
        return min(max(score / 100, 0.0), 1.0)
