"""Matrix-Game 3.0: six keys and a mouse for every pixel frame, stepped in clips of 40 new frames.

Row i leads from frame i to frame i + 1, by 0.1235 metres along the mean of both headings and by 15
degrees a unit of mouse: the official code integrates the keys so and gives the model these poses
too. The row of a clip's last frame is used up before the next clip is asked for, so it repeats the
row before it; what that misses is made good afterwards.

Looking up is ambiguous: the key that the official code calls up makes its own poses look down. The
key's name is taken at its word here; paths that stay level are not touched by it.

Facts from ``utils/utils.py``, ``utils/cam_utils.py`` and ``pipeline`` of SkyworkAI/Matrix-Game,
folder Matrix-Game-3, at 71c3cd7.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import follow, speeds
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
from worldenv.worlds.models.matrix_game2 import DEGREES, KEYS, METRES, indices, rows
from worldenv.worlds.models.model import Frames, Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

# The official diagonal is 8.73 units an axis, one straight move 12.35, both in centimetres.
_DIAGONAL = 0.0873
_MOVES = tuple(
    (np.sign(right) * _DIAGONAL, np.sign(forward) * _DIAGONAL)
    if right and forward
    else (right, forward)
    for right, forward in KEYS.moves
)
MEAN_KEYS = dataclasses.replace(KEYS, moves=_MOVES, turn_first=0.5)

QUANTUM = Quantum(degrees=3.1, metres=0.26)

SPEC = WorldSpec(
    "Matrix-Game 3.0",
    (1280, 704),
    # The official code gives both axes 90 degrees, whatever the shape of the image.
    ((640.0, 0.0, 640.0), (0.0, 352.0, 352.0), (0.0, 0.0, 1.0)),
    17.0,
    chunk=40,
    first_chunk=56,
    quantum=speeds(DEGREES, METRES),
    max_twist=(DEGREES, DEGREES, 0.0, METRES, 0.0, METRES),
    image_start=True,
    prompt="episode",
    pose_exactness="calibrated",
    state="native",
    discrete=True,
    deterministic=False,
    licence="Apache-2.0",
    citation="Skywork AI, Matrix-Game 3.0, technical report, 2026",
)


def _holds(frames: int) -> tuple[list[int], list[int]]:
    """Return the frames of each stretch of equal keys, and the frame each is aimed at."""
    holds = [1] * (frames - 1)
    end = SPEC.first_chunk
    last = frames - 1
    while end <= last:
        # The last row of a clip repeats the one before it, beyond the path where this is its end.
        holds[end - 1] = 2
        if end < last:
            holds[end] = 0
        end += SPEC.chunk
    holds = [held for held in holds if held]
    return holds, [1] * len(holds)


def compile(path: CameraPath) -> Native:
    """Return ``keyboard`` (n, 6) of W, S, A, D and two unused, and ``mouse`` (n, 2) of pitch, yaw.

    Raises:
        Unsupported: the path rolls, leaves the ground or is faster than the keys.
    """
    holds, aims = _holds(len(path))
    moves, turns = MEAN_KEYS.choose(path, holds, aims)
    moves = [move for move, held in zip(moves, holds) for _ in range(held)]
    turns = [turn for turn, held in zip(turns, holds) for _ in range(held)]
    # Within a clip the row of the last frame has no frame to lead to.
    rest = len(path) - len(moves)
    keyboard, mouse = rows([*moves, *[0] * rest], [*turns, *[0] * rest], 6)
    native = {"keyboard": keyboard, "mouse": mouse, "frames": len(path)}
    follow(path, decode(native), *QUANTUM.bound(path))
    return native


def decode(native: Native) -> CameraPath:
    """Return the path that the official code integrates, with up as the key says."""
    moves, turns = indices(native["keyboard"][:-1], native["mouse"][:-1])
    return CameraPath(MEAN_KEYS.replay(moves, turns, [1] * len(moves)), fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame3",
    title="Matrix-Game 3.0 (5B, first person)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=QUANTUM,
    control="keys",
    # 0 steps are as many as the weights want: 3 distilled, 50 for the base.
    options={
        "base": False,
        "steps": 0,
        "guidance": 5.0,
        "vae": "mg_lightvae_v2",
        "max_clips": 1000,
    },
    verified=TINY,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


class Official(LoopedWorld):
    """Matrix-Game 3.0 through its interactive loop, which is stepped from outside.

    Its question for an action and its writing of a clip are answered here, so that every frame has
    its own keys and frames come as they are. The loop keeps all frames in main memory.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, repo, weights, options)
        self._pipe: Any = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the conditioning image and start the loop, which waits for the first step."""
        image = fit_image(start, MODEL)
        folder = found(self._repo / "Matrix-Game-3", MODEL)
        self.end()
        with at_repo(folder):
            if self._pipe is None:
                self._pipe = self._load()
        seed_all(seed)
        self.play(lambda loop: self._run(loop, image, start.prompt or "", seed))
        return image[None], None

    def _arguments(self) -> SimpleNamespace:
        pruned = {"wan": None, "mg_lightvae": 0.5, "mg_lightvae_v2": 0.75}
        return SimpleNamespace(
            # Height first, whatever the default of the command line says.
            size=f"{SPEC.size[1]}*{SPEC.size[0]}",
            ckpt_dir=str(found(self._weights / "Matrix-Game-3.0", MODEL)),
            save_name="worldenv",
            output_dir="",
            num_iterations=self.chosen["max_clips"],
            interactive=True,
            fa_version=None,
            vae_type=self.chosen["vae"],
            lightvae_pruning_rate=pruned.get(self.chosen["vae"]),
            compile_vae=False,
            use_async_vae=False,
            async_vae_warmup_iters=0,
            use_int8=False,
            verify_quant=False,
            use_base_model=self.chosen["base"],
        )

    def _load(self) -> Any:
        arguments = self._arguments()
        module = official_module("pipeline.inference_interactive_pipeline", MODEL)
        return module.MatrixGame3Pipeline(
            config=official_module("wan.configs", MODEL).WAN_CONFIGS["matrix_game3"],
            checkpoint_dir=arguments.ckpt_dir,
            device_id=int(os.environ.get("LOCAL_RANK", "0")),
            rank=int(os.environ.get("RANK", "0")),
            t5_fsdp=False,
            dit_fsdp=False,
            use_sp=False,
            t5_cpu=False,
            convert_model_dtype=False,
            args=arguments,
            fa_version=None,
            use_base_model=self.chosen["base"],
        )

    def _run(self, loop: Loop, image: np.ndarray, prompt: str, seed: int) -> None:
        import torch
        from PIL import Image

        module = official_module("pipeline.inference_interactive_pipeline", MODEL)

        def action(*_: Any, **__: Any) -> dict[str, Any]:
            mouse, keyboard = loop.ask()
            return {
                "mouse": HeldRows(torch.as_tensor(mouse).float()),
                "keyboard": HeldRows(torch.as_tensor(keyboard).float()),
            }

        def keep(frames: np.ndarray, file: str, *_: Any, **__: Any) -> None:
            # The whole video is written once more at the end; only clips are wanted.
            if "_current_iteration_" in file:
                loop.give(np.array(frames))

        module.get_current_action = action
        module.process_video = keep
        self._pipe.generate(
            prompt,
            Image.fromarray(image),
            max_area=SPEC.size[0] * SPEC.size[1],
            shift=5.0,
            num_inference_steps=self.chosen["steps"] or (50 if self.chosen["base"] else 3),
            guide_scale=self.chosen["guidance"],
            seed=seed,
            use_base_model=self.chosen["base"],
            args=self._arguments(),
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
