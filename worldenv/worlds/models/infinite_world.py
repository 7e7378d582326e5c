"""Infinite-World: two discrete ids a frame, one way to move and one way to turn."""

from __future__ import annotations

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
    literal,
    places,
    weights_file,
)
from worldenv.worlds.models.control import Keys, intrinsic_rows
from worldenv.worlds.models.driving import (
    chosen_options,
    fit_image,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native, Quantum
from worldenv.worlds.models.text import nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (896, 448)
CHUNK = 80
GROUP = 4
"""Frames of one latent, over which the model pools its ids."""
# The model knows directions, not speeds: half a degree and a sixtieth of a metre a frame, 15
# degrees and half a metre a second.
_DEGREES, _METRES = 0.5, 1 / 60
_QUANTUM = nominal(1, _DEGREES, _METRES)

SPEC = WorldSpec(
    name="Infinite-World",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=30.0,
    chunk=CHUNK,
    first_chunk=CHUNK,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    context_policies=("full", "sliding"),
    # Each chunk encodes the frames so far again: they are the whole state of the official code.
    state="native",
    discrete=True,
    licence="MIT by its README; the repository has no licence file",
    citation="Wu et al., Infinite-World: scaling interactive world models to 1000-frame horizons "
    "via pose-free hierarchical memory (arXiv 2602.02393)",
)

_DIAGONAL = math.sqrt(0.5)
# In the order of the model's ids (scripts/infworld_inference.py, MOVE_ACTION_MAP and
# VIEW_ACTION_MAP). Moves, (right, forward): no-op, forward, back, left, right, forward left,
# forward right, back left, back right. Turns, (yaw right, pitch up): no-op, up, down, left, right,
# up left, up right, down left, down right; the same numbers. Id 9, uncertain, is never asked for.
_STEPS = ((-1, 1), (1, 1), (-1, -1), (1, -1))
_SLANTED = tuple((_DIAGONAL * across, _DIAGONAL * along) for across, along in _STEPS)
_MOVES = ((0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 0.0), *_SLANTED)
_TURNS = _MOVES
_KEYS = Keys(
    tuple((_METRES * right, _METRES * forward) for right, forward in _MOVES),
    tuple((_DEGREES * yaw, _DEGREES * pitch) for yaw, pitch in _TURNS),
)


def _holds(frames: int) -> list[int]:
    """Return the frames of each stretch of equal ids: one latent, the last one maybe cut."""
    return [min(GROUP, frames - 1 - start) for start in range(0, frames - 1, GROUP)]


def compile(path: CameraPath) -> Native:
    """Return ``move`` and ``view``, an id (n,) each for every frame, and ``frames``.

    Id i leads to frame i; that of frame 0, which stands, repeats the next, as the model pools the
    ids around a latent.
    """
    holds = _holds(len(path))
    moves, turns = _KEYS.choose(path, holds)
    first = 1 if holds else 0
    return {
        "move": np.array(
            moves[:first] + [m for m, n in zip(moves, holds) for _ in range(n)] or [0]
        ),
        "view": np.array(
            turns[:first] + [t for t, n in zip(turns, holds) for _ in range(n)] or [0]
        ),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the nominal path of ids; the model itself knows no speeds."""
    holds = [1] * (native["frames"] - 1)
    poses = _KEYS.replay(native["move"][1:], native["view"][1:], holds)
    return CameraPath(poses, fps=SPEC.fps)


MODEL = Model(
    id="InfiniteWorld",
    title="Infinite-World (1.3B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(GROUP, GROUP * _DEGREES, GROUP * _METRES),
    control="keys",
    options={"steps": 30, "guidance": 5.0, "shift": 7.0, "history": 0},
    # The model compresses all frames it is given; fewer are the only way to make it forget.
    context={"full": {"history": 0}, "sliding": {"history": 81}},
    verified="its step equals the official script on a toy network; never run with its weights",
)


def make(**options: Any) -> World:
    """Return InfiniteWorld-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``.

    ``history`` is the number of last frames that the model is given, 0 for all.
    """
    return open_model(MODEL, options)


class Chunks(ModelWorld):
    """Infinite-World: each step encodes the frames so far and continues them by 80.

    Args:
        options: Options of the model that differ from its defaults.
        load: Returns the official autoencoder, text encoder, scheduler, transformer, and the text
            that the official script forbids.
    """

    def __init__(self, options: Mapping[str, Any], load: Callable[[], Any]) -> None:
        super().__init__(MODEL, options)
        self._load = load
        self._parts: Any = None
        self._video: Any = None
        self._scene: str | None = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the image that the walk starts from."""
        import torch

        image = fit_image(start, self.model)
        if self._parts is None:
            self._parts = self._load()
        seed_all(seed)
        self._scene = start.prompt
        pixels = torch.tensor(image).permute(2, 0, 1)[None, :, None]
        self._video = (pixels / 255 - 0.5) * 2
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the frames of the next chunk."""
        import torch

        if prompt is not None:
            self._scene = prompt
        vae, text, scheduler, transformer, forbidden = self._parts
        chosen = {**MODEL.options, **self.options}
        device = next(transformer.parameters()).device
        # The ids of the chunk begin with that of the last frame there is.
        at = self._video.shape[2] - 1
        ids = {}
        for key in ("move", "view"):
            row = np.zeros(CHUNK + 1, dtype=np.int64)
            given = native[key][at : at + CHUNK + 1]
            row[: len(given)] = given
            ids[key] = torch.from_numpy(row)[None].to(device)
        known = self._video[:, :, -chosen["history"] :] if chosen["history"] else self._video
        with torch.no_grad():
            latents = vae.encode(known.to(device))
            size = list(latents.shape)
            size[2] = CHUNK // GROUP + 1
            made = scheduler.sample(
                model=transformer,
                text_encoder=text,
                null_embedder=transformer.y_embedder,
                z_size=torch.Size(size),
                prompts=[self._scene or ""],
                guidance_scale=chosen["guidance"],
                negative_prompts=[forbidden],
                device=device,
                additional_args={"image_cond": latents, **ids},
            )
            new = vae.decode(made).cpu()[:, :, 1:]
        self._video = torch.cat([self._video, new.to(self._video.dtype)], dim=2)
        return frames_of(new[0].permute(1, 0, 2, 3) * 0.5 + 0.5)[: len(poses)], None

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._parts = self._video = None


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return Infinite-World by its official code, in the model's own environment.

    Args:
        repo: Checkout of MeiGen-AI/Infinite-World.
        weights: Folder with ``checkpoints``, as the official configuration names its files.
        options: Options of ``MODEL``.
    """
    repo, weights = places(repo, weights)
    chosen = chosen_options(MODEL, options)

    def load() -> Any:
        enter(repo, weights)
        import infworld.context_parallel.context_parallel_util as parallel
        import torch
        from infworld.utils.prepare_dataloader import get_obj_from_str
        from omegaconf import OmegaConf

        # One process without a group, as the official script sets it.
        parallel.dp_rank, parallel.dp_size, parallel.cp_rank, parallel.cp_size = 0, 1, 0, 1
        config = OmegaConf.load(f"{repo}/configs/infworld_config.yaml")
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # The configuration's paths are relative to the weights' folder.
        vae = get_obj_from_str(config.vae_target)(**config.vae_cfg).to(device)
        text = get_obj_from_str(config.text_encoder_target)(
            device=device, **config.text_encoder_cfg
        )
        text.t5.model.to(device)
        scheduler = get_obj_from_str(config.scheduler_target)(**config.val_scheduler_cfg)
        scheduler.num_sampling_steps, scheduler.shift = chosen["steps"], chosen["shift"]
        transformer = get_obj_from_str(config.model_target)(
            out_channels=vae.out_channels,
            caption_channels=text.output_dim,
            model_max_length=text.model_max_length,
            enable_context_parallel=False,
            **config.model_cfg,
        ).to(getattr(torch, config.amp_dtype))
        file = weights_file(weights, config.checkpoint_path)
        state = torch.load(file, map_location="cpu", weights_only=True)
        state = state.get("state_dict", state)
        for name in ("pos_embed_temporal", "pos_embed"):
            state.pop(name, None)
        transformer.load_state_dict(state, strict=False)
        forbidden = literal(f"{repo}/scripts/infworld_inference.py", "NEGATIVE_PROMPT")
        return vae, text, scheduler, transformer.eval().to(device), forbidden

    return Chunks(options, load)
