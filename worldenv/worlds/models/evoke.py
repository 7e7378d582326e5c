"""Evoke: camera poses and intrinsics that warp a remembered point cloud, 36 frames a chunk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, intrinsics
from worldenv.world import GenerationFailed, Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    places,
    weights_file,
)
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.driving import (
    RECORDED,
    PlannedWorld,
    fit_intrinsics,
    official_module,
    seed_all,
)
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (640, 384)
CHUNK = 36
FIRST = 35
"""New frames of the first chunk: it makes 36 from an image, of which the first repeats it."""

_K = intrinsics(SIZE, FOV)
_TURNS = dict.fromkeys(("YAW_LEFT", "YAW_RIGHT", "PITCH_UP", "PITCH_DOWN"), 0.625)
_MOVES = dict.fromkeys(("FORWARD", "BACKWARD", "LEFT", "RIGHT"), 1 / 24)

SPEC = WorldSpec(
    name="Evoke",
    size=SIZE,
    K=intrinsic_rows(_K),
    K_exactness="nominal",
    fps=24.0,
    chunk=CHUNK,
    first_chunk=FIRST,
    drive="plan",
    # The speeds of the authors' interface: 15 degrees and one unit a second.
    quantum={**_MOVES, **_TURNS},
    image_start=True,
    prompt="episode",
    # A metre is a unit of the median depth that the model estimates.
    pose_exactness="calibrated",
    context_policies=("fov", "sliding"),
    state="native",
    licence="Apache-2.0; the depth weights that it needs are CC-BY-NC-4.0",
    citation="Yin et al., Alaya-EVOKE: from linear-scaling supervision to endless world "
    "(arXiv 2608.13546)",
)


def compile(path: CameraPath) -> Native:
    """Return ``cam_c2w`` (n, 4, 4) float32 at 24 a second, ``intrinsics`` (n, 3, 3), ``frames``.

    Poses are OpenCV camera-to-world matrices, absolute, the first that of the image. The model
    fits them to a depth that it estimates, whose median it sets to 5: a metre is a unit of that.
    """
    return {
        "cam_c2w": path.poses.astype(np.float32),
        "intrinsics": np.asarray(_K, dtype=np.float32)[None].repeat(len(path), 0),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path of camera-to-world matrices."""
    return CameraPath(np.asarray(native["cam_c2w"], dtype=np.float64), fps=SPEC.fps)


MODEL = Model(
    id="Evoke",
    title="Alaya-EVOKE (stage 3, post-distilled, 14B)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    # The poses are rounded to float32.
    quantum=Quantum(degrees=1e-4, metres=1e-4),
    options={"geo_hist_max_frames": 0},
    # The bank of depth is read by what the camera sees; an age limit makes it a window. 720 frames
    # are the authors' typical one.
    context={"fov": {"geo_hist_max_frames": 0}, "sliding": {"geo_hist_max_frames": 720}},
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return Evoke-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


# The recipe of scripts/inference/infer_post_distill.sh in mode i2v, as the weights were distilled
# for it. Its caps of a chunk's motion, its smoothing and its extension of the path are left out:
# they would change what is asked. So would the rescaling of the first chunk alone, which brings its
# largest step to 135 pixels of parallax; without it the authors found close views less steady.
_RECIPE = (
    "--is_enable_stage2 --stage2_num_stages 3 --stage2_steps 1 1 1 --stage2_stage_range 0 "
    "0.3333333333333333 0.6666666666666666 1 --stage2_warp_compression_mode fixed_mem --fps 24 "
    "--num_inference_steps 3 --guidance_scale 1.0 --vae_decode_type persistent --start_seconds 0.0 "
    "--ref_seconds 0.0 --no_raw_sink_frames --use_geometric_state --lingbot_pose_source_fps 24 "
    "--lingbot_pose_type vipe --visibility_aware_noise --warp_noise_sigma_invisible 1.0 "
    "--warp_noise_sigma_min 0.0 --warp_noise_sigma_max 0.135 --visible_token_threshold 0.5 "
    "--prefix_idx_mode zero --warp_rope_mode overlap_noise --warp_lag_chunks 0 --geo_recon_backend "
    "da3 --geo_cloud_update_n 12 --geo_da3_process_res 644 --geo_depth_backend vigeo "
    "--geo_vigeo_mode chunk --geo_vigeo_scale_mode auto --geo_vigeo_scale_value 0.0 "
    "--geo_vigeo_depth_median_target 5 --geo_vigeo_anchor_windows 4 "
    "--geo_vigeo_cache_keep_frames 6 --geo_vigeo_intr_source gt --geo_da3_render_mode "
    "backward_zbuf --geo_bw_fill_iters 12 --geo_warp_stage0_only --joystick_hud off --sample_type "
    "i2v --image_noise_sigma_min 0.0 --image_noise_sigma_max 0.0 --geo_chunk0_target_disparity_px 0"
)


def arguments(native: Native, prompt: str, seed: int, weights: str, folder: str) -> list[str]:
    """Return the command line of the official engine for one episode.

    Args:
        native: The path's control; its frames are whole chunks.
        prompt: Text of the scene.
        seed: Seed of the episode.
        weights: Folder with ``models``.
        folder: Folder of the episode, which holds ``start.png`` and ``path.npz``.
    """
    width, height = SIZE
    # The engine cuts the last three frames off what its chunks make.
    chunks = -(-(native["frames"] + 3) // CHUNK)
    models = os.path.join(weights, "models")
    return [
        *_RECIPE.split(),
        *("--ckpt_path", os.path.join(models, "evoke-base")),
        *("--transformer_path", os.path.join(models, "evoke", "stage3_post_distillation")),
        *("--geo_vigeo_weights", os.path.join(models, "ViGeo1.1")),
        *("--height", str(height), "--width", str(width)),
        # The engine rounds up to chunks of 33 asked frames.
        *("--num_frames", str(33 * chunks)),
        *("--lingbot_pose_source_resolution", str(height), str(width)),
        *("--lingbot_pose_path", os.path.join(folder, "path.npz")),
        *("--image_path", os.path.join(folder, "start.png")),
        *("--prompt", prompt, "--seed", str(seed), "--output_folder", os.path.join(folder, "out")),
    ]


class Film(PlannedWorld):
    """Evoke: the engine's own entry point, called for each episode; it keeps its weights loaded.

    Its frames are taken where it would encode them.

    Args:
        repo: Checkout of the official code.
        weights: Folder with ``models``.
        options: Options of the model that differ from its defaults.
    """

    def __init__(self, repo: str, weights: str, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self.repo, self.weights = repo, weights

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        weights_file(self.weights, "models", "evoke", "stage3_post_distillation")
        enter(self.repo, self.weights)
        enter(os.path.join(self.repo, "scripts", "inference"), self.weights)
        engine = official_module("infer_single", MODEL)
        writer = official_module("postprocess_viz", MODEL)
        from PIL import Image

        made: list[np.ndarray] = []

        def keep(folder: Any, frames: np.ndarray, settings: Any) -> None:
            made.append(np.array(frames))

        writer.run_postprocess = keep
        seed_all(seed)
        K = fit_intrinsics(start, MODEL).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            Image.fromarray(image).save(os.path.join(folder, "start.png"))
            np.savez(
                os.path.join(folder, "path.npz"),
                cam_c2w=native["cam_c2w"],
                intrinsics=K[None].repeat(native["frames"], 0),
            )
            line = arguments(native, start.prompt or "", seed, self.weights, folder)
            if self.chosen["geo_hist_max_frames"]:
                line += ["--geo_hist_max_frames", str(self.chosen["geo_hist_max_frames"])]
            try:
                engine.main(line)
            except SystemExit as error:
                # So the engine ends where it refuses its inputs; the server goes on.
                raise GenerationFailed(f"{MODEL.title} refused its inputs: {error}") from error
        if not made:
            raise GenerationFailed("the engine of Evoke has made no frames; see the server's log")
        # Frame 0 is the image as the model repeats it; the episode begins with the image itself.
        return np.concatenate([image[None], made[0][1 : native["frames"]]])


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return Evoke by its official code, in the model's own environment.

    Args:
        repo: Checkout of AlayaLab/Evoke.
        weights: Folder with ``models`` as the repository lays it out.
        options: Options of ``MODEL``.
    """
    return Film(*places(repo, weights), options)
