"""YUME 1.0: an image walked on by captions of keys, one caption for every 32 frames."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    frames_of,
    places,
    weights_file,
)
from worldenv.worlds.models.control import Keys, chunk_lengths, intrinsic_rows
from worldenv.worlds.models.driving import (
    chosen_options,
    fit_image,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native, Quantum
from worldenv.worlds.models.text import nominal, twist_limit

__all__ = [
    "HEAD",
    "MODEL",
    "TAIL",
    "KeyCaptions",
    "Segments",
    "compile",
    "decode",
    "make",
    "official",
    "steps",
]

FOV = 60.0
SIZE = (960, 544)
CHUNK = 32
# 30 degrees and one metre a caption of two seconds: the words name a direction, not a speed.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="YUME 1.0",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=16.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    state="native",
    held=True,
    licence="Apache-2.0",
    citation="Mao et al., Yume: an interactive world generation model (arXiv 2507.17744)",
)

# The model's own words (fastvideo/sample/sample.py, vocab_k and vocab_c). The order of moves and
# turns is that of ``_MOVES`` and ``_TURNS``.
_STILL = "Person stands still (·)."
_WALKS = (
    _STILL,
    "Person moves forward (W).",
    "Person moves backward (S).",
    "Person moves left (A).",
    "Person moves right (D).",
    "Person moves forward and left (W+A).",
    "Person moves forward and right (W+D).",
    "Person moves backward and left (S+A).",
    "Person moves backward and right (S+D).",
)
_LOOKS = (
    "Camera remains still (·).",
    "Camera turns right (→).",
    "Camera turns left (←).",
    "Camera tilts up (↑).",
    "Camera tilts down (↓).",
    "Camera tilts up and turns right (↑→).",
    "Camera tilts up and turns left (↑←).",
    "Camera tilts down and turns right (↓→).",
    "Camera tilts down and turns left (↓←).",
)
# (right, forward) and (yaw right, pitch up), in whole steps.
_MOVES = ((0, 0), (0, 1), (0, -1), (-1, 0), (1, 0), (-1, 1), (1, 1), (-1, -1), (1, -1))
_TURNS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@dataclasses.dataclass(frozen=True)
class KeyCaptions:
    """Captions that name one way to move and one way to turn at once.

    Attributes:
        spec: The spec of the model.
        prefix: What every caption begins with.
        walks: Words for each of the nine ways to move.
        looks: Words for each of the nine ways to turn.
    """

    spec: WorldSpec
    prefix: str
    walks: tuple[str, ...]
    looks: tuple[str, ...]

    def keys(self) -> Keys:
        """Return the nominal keys: as fast along a diagonal as along an axis."""
        metres, degrees = self.spec.quantum["FORWARD"], self.spec.quantum["YAW_RIGHT"]
        return Keys(_scaled(_MOVES, metres), _scaled(_TURNS, degrees))

    def compile(self, path: CameraPath) -> Native:
        """Return ``captions``, one motion text a step, and ``frames``."""
        moves, turns = self.keys().choose(path, chunk_lengths(len(path), self.spec))
        captions = [self.caption(move, turn) for move, turn in zip(moves, turns)]
        return {"captions": captions, "frames": len(path)}

    def decode(self, native: Native) -> CameraPath:
        """Return the nominal path of captions."""
        back = {
            self.caption(move, turn): (move, turn)
            for move in range(len(self.walks))
            for turn in range(len(self.looks))
        }
        chosen = [back[caption] for caption in native["captions"]]
        holds = chunk_lengths(native["frames"], self.spec)
        poses = self.keys().replay([m for m, _ in chosen], [t for _, t in chosen], holds)
        return CameraPath(poses, fps=self.spec.fps)

    def caption(self, move: int, turn: int) -> str:
        """Return the motion text of a way to move and a way to turn."""
        return self.prefix + self.walks[move] + self.looks[turn]

    @property
    def quantum(self) -> Quantum:
        """How far a decoded path may miss: by what a caption moves while it is held."""
        chunk = max(self.spec.chunk, self.spec.first_chunk)
        metres, degrees = self.spec.quantum["FORWARD"], self.spec.quantum["YAW_RIGHT"]
        return Quantum(chunk, chunk * degrees, chunk * metres)


def _scaled(steps: tuple[tuple[int, int], ...], size: float) -> tuple[tuple[float, float], ...]:
    return tuple(
        (size * a / math.hypot(a, b), size * b / math.hypot(a, b)) if a or b else (0.0, 0.0)
        for a, b in steps
    )


# The three numbers that may follow the words are left out, which the authors name as the simpler
# way; no scale of theirs is known.
_CONTROL = KeyCaptions(
    SPEC, "This video depicts a city walk scene with a first-person view (FPV).", _WALKS, _LOOKS
)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="Yume",
    title="YUME 1.0 (I2V, 14B, 540p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 50, "guidance": 5.0, "shift": 3.0},
    verified="its step equals the official script on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return Yume-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


HEAD = 16
"""Times that the image is repeated before the first segment."""
TAIL = 8
"""Latents of a segment."""


def steps(count: int, shift: float) -> list[tuple[float, float]]:
    """Return (noise level before, after) of each of the authors' Euler steps."""
    even = np.linspace(1, 0, count + 1)
    levels = (shift * even / (1 + (shift - 1) * even)).tolist()
    return [(levels[i], levels[i + 1]) for i in range(count)]


class Segments(ModelWorld):
    """YUME 1.0, a segment of eight latents a step, its history growing as in the authors' script.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
        load: Loads the official model; called at the first reset.
    """

    def __init__(self, model: Model, options: Mapping[str, Any], load: Callable[[], Any]) -> None:
        super().__init__(model, options)
        self._load = load
        self._official: Any = None
        self._scene: str | None = None
        self._image: np.ndarray | None = None
        # Latents and pixels so far, the first with its repeated image; None before a segment.
        self._latents: Any = None
        self._pixels: Any = None
        self._seen: Any = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the image that the first segment starts from."""
        image = fit_image(start, self.model)
        if self._official is None:
            self._official = self._load()
        # The official code draws from the global generators only, and never seeds them.
        seed_all(seed)
        self._scene, self._image = start.prompt, image
        self._latents = self._pixels = self._seen = None
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the frames of the next segment."""
        import torch

        if prompt is not None:
            self._scene = prompt
        text = f"{native['captions'][-1]} {self._scene or ''}".strip()
        with torch.no_grad():
            video = self._segment(text)
        return frames_of(video.permute(1, 0, 2, 3) * 0.5 + 0.5)[: len(poses)], None

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._official = self._latents = self._pixels = self._seen = None

    def _opening(self) -> Any:
        """Return the repeated image and 32 empty frames, (3, 49, height, width) in [-1, 1]."""
        import torch

        assert self._image is not None
        image = torch.tensor(self._image).permute(2, 0, 1).float() / 127.5 - 1
        video = torch.zeros(3, HEAD + 1 + 4 * TAIL, *image.shape[1:])
        video[:, : HEAD + 1] = image[:, None]
        return video.to(self._official.device)

    def _segment(self, text: str) -> Any:
        """Return the next 32 frames, (3, 32, height, width) in [-1, 1]."""
        import torch
        from PIL import Image

        model, chosen = self._official, {**self.model.options, **self.options}
        shared = {
            "max_area": self.spec.size[0] * self.spec.size[1],
            "rand_num_img": 0.6,
            "offload_model": False,
            "flag_sample": True,
        }
        assert self._image is not None
        picture = Image.fromarray(self._image)
        if self._latents is None:
            self._pixels = self._opening()
            _, _, told, noise, known, self._seen, untold = model.generate(
                self._pixels,
                model.device,
                text,
                picture,
                frame_num=self._pixels.shape[1],
                clip_context=None,
                **shared,
            )
            kept = known[:, :-TAIL]
        else:
            _, _, told, _, known, self._seen, untold = model.generate_next(
                self._pixels,
                self._latents,
                model.device,
                text,
                picture,
                frame_num=self._latents.shape[1],
                clip_context=self._seen,
                **shared,
            )
            kept = known
            noise = torch.randn_like(torch.cat([known, known[:, -TAIL:]], dim=1))
        levels = steps(chosen["steps"], chosen["shift"])
        latents = noise
        cuda = str(model.device).startswith("cuda")
        with torch.autocast("cuda" if cuda else "cpu", dtype=torch.bfloat16):
            for now, after in levels:
                time = torch.tensor([now * 1000]).to(model.device)
                flow, empty = (
                    model.model([latents], t=time, rand_num_img=0.6, **words)[0]
                    for words in (told, untold)
                )
                flow = empty + chosen["guidance"] * (flow - empty)
                tail = latents[:, -TAIL:] + (after - now) * flow[:, -TAIL:]
                # What is known is noised as what is being made; at the end the script leaves it
                # one step behind.
                level = after if after > 0 else now
                before = noise[:, :-TAIL] * level + (1 - level) * kept
                latents = torch.cat([before, tail], dim=1)
        self._latents = torch.cat([kept, latents[:, -TAIL:]], dim=1)
        video = model.vae.decode([self._latents.float()])[0][:, -4 * TAIL :]
        if kept is known:
            self._pixels = torch.cat([self._pixels, video], dim=1)
        else:
            self._pixels = torch.cat([self._pixels[:, : -4 * TAIL], video], dim=1)
        return video


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return YUME 1.0 by its official code, in the model's own environment.

    Args:
        repo: Checkout of stdstu12/YUME.
        weights: Folder with ``Yume-I2V-540P``.
        options: Options of ``MODEL``.
    """
    chosen_options(MODEL, options)
    repo, weights = places(repo, weights)

    def load() -> Any:
        folder = weights_file(weights, "Yume-I2V-540P")
        enter(repo, weights)
        import torch
        import wan
        from wan.configs import WAN_CONFIGS

        device = "cuda" if torch.cuda.is_available() else "cpu"
        config = WAN_CONFIGS["i2v-14B"]
        model = wan.Yume(config=config, checkpoint_dir=folder, device="cpu")
        model.model.to(torch.bfloat16).to(device).eval().requires_grad_(False)
        model.init_model(config=config, checkpoint_dir=folder, device_id=0, t5_cpu=True)
        return model

    return Segments(MODEL, options, load)
