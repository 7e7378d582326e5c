"""Matrix-Game 2.0: four keys and a mouse for every pixel frame, stepped in blocks of 12 frames.

Row i of the keys is what is held while frame i is made, the row of frame 0 that of frame 1. Nobody
has said how far a key moves the camera, so the path is nominal: 0.1 of mouse is taken as 1.5
degrees a frame and a key as 0.1235 metres a frame, as the successor defines them. The universal
checkpoint was hardly trained to go back or to look up and down.

Facts from ``pipeline/causal_inference.py`` and ``utils/conditions.py`` of SkyworkAI/Matrix-Game,
folder Matrix-Game-2, at 71c3cd7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import Keys, follow, speeds
from worldenv.worlds.models.driving import (
    TINY,
    HeldRows,
    Loop,
    LoopedWorld,
    at_repo,
    fit_image,
    found,
    official_module,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, Native, Quantum

__all__ = [
    "DEGREES",
    "KEYS",
    "METRES",
    "MODEL",
    "MOUSE",
    "compile",
    "decode",
    "indices",
    "make",
    "official",
    "rows",
]

MOUSE = 0.1
"""What the mouse says for a turn."""

DEGREES = 1.5
"""Nominal turn of a frame."""

METRES = 0.1235
"""Nominal step of a frame."""

_DIAGONAL = METRES / 2**0.5

MOVES = {
    (0, 0, 0, 0): (0.0, 0.0),
    (1, 0, 0, 0): (0.0, METRES),
    (0, 1, 0, 0): (0.0, -METRES),
    (0, 0, 1, 0): (-METRES, 0.0),
    (0, 0, 0, 1): (METRES, 0.0),
    (1, 0, 1, 0): (-_DIAGONAL, _DIAGONAL),
    (1, 0, 0, 1): (_DIAGONAL, _DIAGONAL),
    (0, 1, 1, 0): (-_DIAGONAL, -_DIAGONAL),
    (0, 1, 0, 1): (_DIAGONAL, -_DIAGONAL),
}
"""Keys W, S, A, D -> metres right and forward a frame."""

TURNS = {
    (0.0, 0.0): (0.0, 0.0),
    (0.0, MOUSE): (DEGREES, 0.0),
    (0.0, -MOUSE): (-DEGREES, 0.0),
    (MOUSE, 0.0): (0.0, DEGREES),
    (-MOUSE, 0.0): (0.0, -DEGREES),
}
"""Mouse (pitch, yaw) -> degrees right and up a frame."""

KEYS = Keys(tuple(MOVES.values()), tuple(TURNS.values()), turn_first=1.0)

QUANTUM = Quantum(degrees=1.6, metres=0.1)

SPEC = WorldSpec(
    "Matrix-Game 2.0",
    (640, 352),
    tuple(map(tuple, intrinsics((640, 352), 90.0).tolist())),
    12.0,
    chunk=12,
    first_chunk=8,
    quantum=speeds(DEGREES, METRES),
    max_twist=(DEGREES, DEGREES, 0.0, METRES, 0.0, METRES),
    image_start=True,
    prompt="none",
    pose_exactness="nominal",
    state="native",
    discrete=True,
    deterministic=False,
    licence="MIT",
    citation="He et al., Matrix-Game 2.0, arXiv 2508.13009, 2025",
)


def rows(moves: Sequence[int], turns: Sequence[int], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return keyboard (n, width) and mouse (n, 2) of indices into ``MOVES`` and ``TURNS``."""
    keyboard = np.zeros((len(moves), width))
    keyboard[:, :4] = np.array(list(MOVES), dtype=np.float64)[list(moves)]
    return keyboard, np.array(list(TURNS))[list(turns)]


def indices(keyboard: np.ndarray, mouse: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the indices into ``MOVES`` and ``TURNS`` of rows, the inverse of ``rows``."""
    moves, turns = list(MOVES), list(TURNS)
    return (
        [moves.index(tuple(row)) for row in np.asarray(keyboard)[:, :4].astype(int).tolist()],
        [turns.index(tuple(row)) for row in np.asarray(mouse).tolist()],
    )


def compile(path: CameraPath) -> Native:
    """Return ``keyboard`` (n, 4) of W, S, A, D and ``mouse`` (n, 2) of pitch, yaw, a row a frame.

    Raises:
        Unsupported: the path rolls, leaves the ground or is faster than the keys.
    """
    moves, turns = KEYS.choose(path, [1] * (len(path) - 1))
    # Frame 0 is made in the first block, whose keys it shares.
    moves, turns = [*(moves[:1] or [0]), *moves], [*(turns[:1] or [0]), *turns]
    keyboard, mouse = rows(moves, turns, 4)
    native = {"keyboard": keyboard, "mouse": mouse, "frames": len(path)}
    follow(path, decode(native), *QUANTUM.bound(path))
    return native


def decode(native: Native) -> CameraPath:
    """Return the nominal path of the keys."""
    moves, turns = indices(native["keyboard"][1:], native["mouse"][1:])
    return CameraPath(KEYS.replay(moves, turns, [1] * len(moves)), fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame2",
    title="Matrix-Game 2.0 (universal, distilled)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=QUANTUM,
    control="keys",
    options={"max_latents": 360},
    verified=TINY,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(LoopedWorld):
    """Matrix-Game 2.0 through its interactive loop, which is stepped from outside.

    The loop asks for an action by the keyboard and writes each block as a video; both are answered
    here instead, so that every frame has its own keys and frames come as they are.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, repo, weights, options)
        self._game: Any = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the conditioning image and start the loop, which waits for the first step."""
        image = fit_image(start, MODEL)
        folder = found(self._repo / "Matrix-Game-2", MODEL)
        self.end()
        with at_repo(folder):
            if self._game is None:
                self._game = self._load(folder)
            # Noise and every later draw come from the global generator.
            seed_all(seed)
            noise, conditions = self._conditions(image)
        self.play(lambda loop: self._run(loop, noise, conditions))
        return image[None], None

    def _load(self, folder: Path) -> Any:
        weights = found(self._weights / "Matrix-Game-2.0", MODEL)
        # The folder holds one file, whatever its name.
        files = sorted((weights / "base_distilled_model").glob("*.safetensors"))
        checkpoint = files[0] if files else found(weights / "base_distilled_model", MODEL)
        return official_module("inference_streaming", MODEL).InteractiveGameInference(
            SimpleNamespace(
                config_path=str(folder / "configs/inference_yaml/inference_universal.yaml"),
                checkpoint_path=str(checkpoint),
                pretrained_model_path=str(weights),
                max_num_output_frames=self.chosen["max_latents"],
                output_folder="",
                seed=0,
            )
        )

    def _conditions(self, image: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return the noise of the longest episode, and what the image conditions."""
        import torch
        from PIL import Image

        game, latents = self._game, int(self.chosen["max_latents"])
        place = {"device": game.device, "dtype": game.weight_dtype}
        with torch.no_grad():
            first = game.frame_process(Image.fromarray(image))[None, :, None].to(**place)
            rest = torch.zeros_like(first).repeat(1, 1, 4 * (latents - 1), 1, 1)
            encoded = game.vae.encode(
                torch.cat([first, rest], dim=2),
                device=game.device,
                tiled=True,
                tile_size=[44, 80],
                tile_stride=[23, 38],
            ).to(game.device)
            known = torch.ones_like(encoded)
            known[:, :, 1:] = 0
            context = game.vae.clip.encode_video(first)
            noise = torch.randn([1, 16, latents, 44, 80], **place)
        frames = 4 * (latents - 1) + 1
        return noise, {
            "cond_concat": torch.cat([known[:, :4], encoded], dim=1).to(**place),
            "visual_context": context.to(**place),
            "mouse_cond": torch.zeros(1, frames, 2, **place),
            "keyboard_cond": torch.zeros(1, frames, 4, **place),
        }

    def _run(self, loop: Loop, noise: Any, conditions: dict[str, Any]) -> None:
        import torch

        module = official_module("pipeline.causal_inference", MODEL)
        game = self._game

        def action(*_: Any, **__: Any) -> dict[str, Any]:
            mouse, keyboard = loop.ask()
            place = {"device": game.device, "dtype": game.weight_dtype}
            return {
                "mouse": HeldRows(torch.as_tensor(mouse).to(**place)),
                "keyboard": HeldRows(torch.as_tensor(keyboard).to(**place)),
            }

        def keep(frames: np.ndarray, file: str, *_: Any, **__: Any) -> None:
            # The whole video is written once more at the end; only blocks are wanted.
            if file.endswith("_current.mp4"):
                loop.give(np.array(frames))

        module.get_current_action = action
        module.process_video = keep
        # The loop asks whether to go on.
        module.input = lambda *_: ""
        with torch.no_grad():
            game.pipeline.inference(
                noise=noise,
                conditional_dict=conditions,
                return_latents=False,
                output_folder="",
                name="worldenv",
                mode="universal",
            )


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
