"""Role matches: LighterGlue (Apache-2.0), the small LightGlue that was trained on XFeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from worldenv.evaluators.backbones.checkpoint import load_state
from worldenv.evaluators.backbones.inference import one_thread
from worldenv.evaluators.backbones.superpoint import SizedKeypoints
from worldenv.evaluators.backbones.xfeat import XFeat
from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.match import Matches
from worldenv.evaluators.plan import Ask
from worldenv.weights import Located

Turn = tuple[torch.Tensor, torch.Tensor]


class _Mix(nn.Sequential):
    """What turns a descriptor and a message into an update."""

    def __init__(self, width: int) -> None:
        super().__init__(
            nn.Linear(2 * width, 2 * width),
            nn.LayerNorm(2 * width),
            nn.GELU(),
            nn.Linear(2 * width, width),
        )


def _heads(x: torch.Tensor, count: int) -> torch.Tensor:
    return x.reshape(len(x), count, -1).transpose(0, 1)


def _turned(x: torch.Tensor, turn: Turn) -> torch.Tensor:
    """Rotate neighbouring pairs of channels by angles that come from the position."""
    half = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    return x * turn[0] + half * turn[1]


class _Self(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._count = heads
        self.Wqkv = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)
        self.ffn = _Mix(width)

    def forward(self, x: torch.Tensor, turn: Turn) -> torch.Tensor:
        # The three are interleaved channel by channel.
        q, k, v = self.Wqkv(x).unflatten(-1, (self._count, -1, 3)).transpose(0, 1).unbind(-1)
        seen = functional.scaled_dot_product_attention(_turned(q, turn), _turned(k, turn), v)
        message = self.out_proj(seen.transpose(0, 1).flatten(-2))
        found: torch.Tensor = x + self.ffn(torch.cat([x, message], dim=-1))
        return found


class _Cross(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._count = heads
        self.to_qk = nn.Linear(width, width)
        self.to_v = nn.Linear(width, width)
        self.to_out = nn.Linear(width, width)
        self.ffn = _Mix(width)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        keys = [_heads(self.to_qk(x), self._count) for x in (a, b)]
        values = [_heads(self.to_v(x), self._count) for x in (a, b)]
        out = []
        for x, mine, other in ((a, 0, 1), (b, 1, 0)):
            seen = functional.scaled_dot_product_attention(keys[mine], keys[other], values[other])
            message = self.to_out(seen.transpose(0, 1).flatten(-2))
            out.append(x + self.ffn(torch.cat([x, message], dim=-1)))
        return out[0], out[1]


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.self_attn = _Self(width, heads)
        self.cross_attn = _Cross(width, heads)


class _Assignment(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.matchability = nn.Linear(width, 1)
        self.final_proj = nn.Linear(width, width)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the probability of every pair, shape (n, m)."""
        scale = a.shape[-1] ** 0.25
        alike = (self.final_proj(a) / scale) @ (self.final_proj(b) / scale).T
        certain = (
            functional.logsigmoid(self.matchability(a))
            + functional.logsigmoid(self.matchability(b)).T
        )
        both = functional.log_softmax(alike, 1) + functional.log_softmax(alike, 0)
        return (both + certain).exp()


class _Position(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.Wr = nn.Linear(2, width // 2, bias=False)

    def forward(self, points: torch.Tensor) -> Turn:
        angles = self.Wr(points).repeat_interleave(2, dim=-1)
        return angles.cos(), angles.sin()


class _Confidence(nn.Module):
    """Part of every layer but the last; it would end the matching early, which is not done here."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.token = nn.Sequential(nn.Linear(width, 1))


class LightGlueNet(nn.Module):
    """The network; names of its tensors are those of the official checkpoints."""

    def __init__(self, taken: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.input_proj = nn.Linear(taken, width) if taken != width else nn.Identity()
        self.posenc = _Position(width // heads)
        self.transformers = nn.ModuleList([_Layer(width, heads) for _ in range(layers)])
        self.log_assignment = nn.ModuleList([_Assignment(width) for _ in range(layers)])
        self.token_confidence = nn.ModuleList([_Confidence(width) for _ in range(layers - 1)])

    def forward(
        self, points: Sequence[torch.Tensor], descriptors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """Return the probability of every pair of two frames' keypoints, shape (n, m).

        Args:
            points: Of each frame, shape (n, 2), the centre of the frame at 0, half of its longer
                side 1.
            descriptors: Of each frame, shape (n, taken).
        """
        a, b = (self.input_proj(d) for d in descriptors)
        turns = [self.posenc(p) for p in points]
        layers: list[Any] = list(self.transformers)
        for layer in layers:
            a, b = layer.self_attn(a, turns[0]), layer.self_attn(b, turns[1])
            a, b = layer.cross_attn(a, b)
        found: torch.Tensor = self.log_assignment[-1](a, b)
        return found


class SizedXFeat(XFeat):
    """Answers ``match`` with the SizedKeypoints of a frame, found by XFeat."""

    def keypoints(self, frame: NDArray[np.uint8]) -> SizedKeypoints:
        """Return the keypoints of a frame (height, width, 3) uint8."""
        found = super().keypoints(frame)
        size = (frame.shape[0], frame.shape[1])
        return SizedKeypoints(found.points, found.descriptors, size)


class LighterGlue:
    """Answers ``matches``, asked as (i, j), over the XFeat keypoints of both frames.

    The score of a match is at least 0.1. All layers run and no keypoint is dropped on the way.
    """

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: Its weights.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the weights are of another network.
        """
        self.name = located.id
        self.revision = f"{located.revision}; 1"
        self.checksum = located.checksum
        self._device = device
        self._net = LightGlueNet(taken=64, width=96, layers=6, heads=1)

        def rename(key: str) -> str | None:
            return key.removeprefix("matcher.") if key.startswith("matcher.") else None

        load_state(self._net, located, "lighterglue.safetensors", rename, device=device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the keypoints of both frames."""
        return tuple(Ask("match", (frame,)) for frame in ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Match every pair."""
        with one_thread():
            return [self._match(first, second) for first, second in inputs]

    def _match(self, first: SizedKeypoints, second: SizedKeypoints) -> Matches:
        counts = (len(first.points), len(second.points))
        none = np.zeros((0, 2), np.float32)
        if not all(counts):
            return Matches(none, none, counts)
        points = [
            torch.from_numpy(placed(side.points, side.size)).to(self._device)
            for side in (first, second)
        ]
        described = [
            torch.from_numpy(side.descriptors).to(self._device) for side in (first, second)
        ]
        with torch.inference_mode():
            chance = self._net(points, described).cpu().numpy()
        rows = mutual(chance, constant("lightglue.score"))
        return Matches(first.points[rows[:, 0]], second.points[rows[:, 1]], counts)


def placed(points: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Return points (n, 2) relative to the centre, in halves of the longer of height and width."""
    centre = np.array([size[1] / 2, size[0] / 2], np.float32)
    return np.asarray((points - centre) / (max(size) / 2), np.float32)


def mutual(chance: NDArray[np.float32], least: float) -> NDArray[np.int64]:
    """Return the index pairs (m, 2) that are each other's best, with at least this chance."""
    best, back = chance.argmax(axis=1), chance.argmax(axis=0)
    rows = np.arange(len(best))
    good = (back[best] == rows) & (chance[rows, best] > least)
    return np.stack([rows[good], best[good]], axis=1).astype(np.int64)
