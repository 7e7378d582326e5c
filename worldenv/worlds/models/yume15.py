"""YUME 1.5: an image walked on by captions of keys, 29 frames a caption."""

from __future__ import annotations

from typing import Any

from worldenv.camera import intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    places,
    weights_file,
)
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.driving import (
    chosen_options,
)
from worldenv.worlds.models.model import Model
from worldenv.worlds.models.text import nominal, twist_limit
from worldenv.worlds.models.yume import TAIL, KeyCaptions, Segments, steps

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (1280, 704)
# Each segment of eight latents is decoded by itself, so its first latent makes one frame.
CHUNK = 29
# 30 degrees and one metre a caption of 1.8 seconds: the words name a direction, not a speed.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="YUME 1.5",
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
    citation="Mao et al., Yume-1.5: a text-controlled interactive world generation model "
    "(arXiv 2512.22096)",
)

# The model's own words (webapp_single_gpu.py, vocab1 and vocab2), in the order of ``Keys``.
_WALKS = (
    "The camera's movement direction remains stationary (·). ",
    "The camera pushes forward (W). ",
    "The camera pulls back (S). ",
    "The camera moves to the left (A). ",
    "The camera moves to the right (D). ",
    "The camera pushes forward and moves to the left (W+A). ",
    "The camera pushes forward and moves to the right (W+D). ",
    "The camera pulls back and moves to the left (S+A). ",
    "The camera pulls back and moves to the right (S+D). ",
)
_LOOKS = (
    "The rotation direction of the camera remains stationary (·).",
    "The camera pans to the right (→).",
    "The camera pans to the left (←).",
    "The camera tilts up (↑).",
    "The camera tilts down (↓).",
    "The camera tilts up and pans to the right (↑→).",
    "The camera tilts up and pans to the left (↑←).",
    "The camera tilts down and pans to the right (↓→).",
    "The camera tilts down and pans to the left (↓←).",
)

# The authors' caption files (caption_re.txt) say the still words too, as here.
_CONTROL = KeyCaptions(SPEC, "First-person perspective. ", _WALKS, _LOOKS)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="Yume15",
    title="YUME 1.5 (5B, 720p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 4, "shift": 7.0},
    verified="its step equals the official script on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return Yume15-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


class Segments5B(Segments):
    """YUME 1.5: the same walk in the latents of a finer autoencoder, each segment decoded alone.

    The history is what the authors' script keeps, every latent so far, and not what their web
    application keeps, the image and one segment.
    """

    def _segment(self, text: str) -> Any:
        """Return the next 29 frames, (3, 29, height, width) in [-1, 1]."""
        import torch

        model, chosen = self._official, {**self.model.options, **self.options}
        if self._latents is None:
            video = self._opening()
            parts = [video[:, : -4 * TAIL], video[:, -4 * TAIL :]]
            head, tail = (model.vae.encode([part])[0] for part in parts)
            self._latents, frames = head, video.shape[1]
        else:
            frames = (self._latents.shape[1] - 1) * 4 + 1 + 4 * TAIL
        kept = self._latents
        width, height = self.spec.size
        # The seed of the model's own generator comes from the global one, which is seeded.
        told, _, noise, mask, given = model.generate(
            text,
            img=kept,
            frame_num=frames,
            max_area=width * height,
            latent_frame_zero=TAIL,
            seed=int(torch.randint(2**31, (1,))),
        )
        latents = torch.cat([given[0][:, :-TAIL], noise[:, -TAIL:]], dim=1)
        levels = steps(chosen["steps"], chosen["shift"])
        cuda = str(model.device).startswith("cuda")
        with torch.autocast("cuda" if cuda else "cpu", dtype=torch.bfloat16):
            for now, after in levels:
                known = mask[0][0][:-TAIL, ::2, ::2].flatten()
                new = known.new_ones(told["seq_len"] - known.size(0)) * (now * 1000)
                flow = model.model([latents], t=torch.cat([known, new])[None], **told)[0]
                tail = latents[:, -TAIL:] + (after - now) * flow[:, -TAIL:]
                latents = torch.cat([kept, tail], dim=1)
            self._latents = torch.cat([kept, latents[:, -TAIL:]], dim=1)
            return model.vae.decode([self._latents[:, -TAIL:].float()])[0]


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return YUME 1.5 by its official code, in the model's own environment.

    Args:
        repo: Checkout of stdstu12/YUME.
        weights: Folder with ``Yume-5B-720P``.
        options: Options of ``MODEL``.
    """
    chosen_options(MODEL, options)
    repo, weights = places(repo, weights)

    def load() -> Any:
        folder = weights_file(weights, "Yume-5B-720P")
        enter(repo, weights)
        import torch
        import wan23
        from wan23.configs import WAN_CONFIGS

        model = wan23.Yume(config=WAN_CONFIGS["ti2v-5B"], checkpoint_dir=folder, device_id=0)
        model.model.to(torch.bfloat16).to(model.device).eval().requires_grad_(False)
        return model

    return Segments5B(MODEL, options, load)
