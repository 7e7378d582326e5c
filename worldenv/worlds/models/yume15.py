"""YUME 1.5: an image walked on by captions of keys, 29 frames a caption."""

from __future__ import annotations

from typing import Any

from worldenv.camera import intrinsics
from worldenv.world import World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.model import Model
from worldenv.worlds.models.text import nominal, twist_limit
from worldenv.worlds.models.yume import KeyCaptions

__all__ = ["MODEL", "compile", "decode", "make"]

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
)


def make(**options: Any) -> World:
    """Return Yume15-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)
