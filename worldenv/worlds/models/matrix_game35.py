"""Matrix-Game 3.5 (distilled, first person): a metric pose and intrinsics for every pixel frame.

The whole path is read before the first frame, in blocks of 84 frames, the last pose held to a whole
block. The model is causal inside: a rolling window of latent chunks and a memory of reprojected
patches.

Facts from ``infer.py``, ``infer_distilled.py`` and ``distilled_config.py`` of
Riemann-Dynamics/Matrix-Game-3.5 at fa6d2b6.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import GenerationFailed, Start, Unsupported, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.control import hold, pinhole, speeds
from worldenv.worlds.models.driving import (
    RECORDED,
    PlannedWorld,
    at_repo,
    fit_intrinsics,
    found,
    official_module,
)
from worldenv.worlds.models.model import Model, Native, Quantum

__all__ = ["BLOCK", "MODEL", "compile", "decode", "make", "official"]

BLOCK = 84
"""Poses of a block of 21 latent frames."""

# Focal length of the official first-person samples.
K = (650.6, 650.6, 640.0, 352.0)

SPEC = WorldSpec(
    "Matrix-Game 3.5",
    (1280, 704),
    pinhole(*K),
    16.0,
    chunk=12,
    first_chunk=12,
    drive="plan",
    quantum=speeds(1.0, 0.05),
    max_twist=(3.0, 3.0, 3.0, 0.1, 0.1, 0.1),
    image_start=True,
    prompt="episode",
    pose_exactness="exact",
    context_policies=("fov", "sliding"),
    state="native",
    deterministic=False,
    licence="Apache-2.0",
    citation="Riemann Dynamics, Matrix-Game 3.5, technical report, 2026",
)


def compile(path: CameraPath) -> Native:
    """Return ``extrinsics_c2w`` (1 + 84 k, 4, 4) and ``intrinsics`` (1 + 84 k, 4), fx fy cx cy."""
    blocks = max(1, -(-(len(path) - 1) // BLOCK))
    poses = hold(path.poses, 1 + BLOCK * blocks)
    return {
        "extrinsics_c2w": poses,
        "intrinsics": np.tile(np.array(K), (len(poses), 1)),
        "frames": len(path),
    }


def decode(native: Native) -> CameraPath:
    """Return the path itself: every frame has its own pose."""
    return CameraPath(native["extrinsics_c2w"][: native["frames"]], fps=SPEC.fps)


MODEL = Model(
    id="MatrixGame35",
    title="Matrix-Game 3.5 (5B, distilled, first person)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={
        "memory_mode": "c0_plus_generated",
        "dynamic_context": True,
        "context_chunks": 7,
        "cfg_scale": 3.0,
        "profile": "standard",
    },
    # Both memories look past the rolling window; without them only the window is left.
    context={
        "fov": {"memory_mode": "c0_plus_generated", "dynamic_context": True},
        "sliding": {"memory_mode": "empty", "dynamic_context": False},
    },
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return the world; options as in ``worldenv.worlds.models.open_model``."""
    return open_model(MODEL, options)


_RUNNER = """
import sys
import numpy
from pathlib import Path
from examples.wanvideo.pipeline.mosaic import causal_inference
from tools.run_distilled_inference import main

def write(path, frames, *rest, **named):
    numpy.save(str(path) + ".npy", numpy.stack([numpy.asarray(frame) for frame in frames]))
    Path(path).write_bytes(b"see the array beside it")

causal_inference._write_video = write
sys.exit(main(sys.argv[1:]))
"""
"""Runs the official runner with its frames kept as an array instead of a lossy video."""


class Official(PlannedWorld):
    """Matrix-Game 3.5 through its official runner, in a process of its own for each episode.

    The official entry point makes a scene folder, an index and a process; so does this, and the
    weights are loaded anew each time.
    """

    def __init__(self, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        super().__init__(MODEL, options)
        self._repo, self._weights = repo, weights

    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return all frames; see ``PlannedWorld``."""
        if not (start.prompt or "").strip():
            raise Unsupported(f"{MODEL.title} needs a prompt; choose a case with one")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._write(folder, image, start, native, seed)
            with at_repo(found(self._repo, MODEL)):
                try:
                    command, environment = self._command(folder)
                except SystemExit as error:
                    raise GenerationFailed(f"{MODEL.title} refused its inputs: {error}") from error
            done = subprocess.run(
                command,
                cwd=self._repo,
                env=environment,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
            )
            made = folder / "result.mp4.npy"
            if done.returncode or not made.exists():
                raise GenerationFailed(
                    f"{MODEL.title} ended with status {done.returncode}; its log is above"
                )
            return np.asarray(np.load(made, allow_pickle=False))

    def _write(
        self, folder: Path, image: np.ndarray, start: Start, native: Native, seed: int
    ) -> None:
        """Write the inputs that the official command line reads."""
        from PIL import Image

        Image.fromarray(image).save(folder / "image.png")
        K = fit_intrinsics(start, MODEL)
        row = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
        np.savez(
            folder / "camera.npz",
            extrinsics_c2w=native["extrinsics_c2w"].astype(np.float32),
            intrinsics=np.tile(row, (len(native["intrinsics"]), 1)).astype(np.float32),
        )
        # JSON is YAML, which the official code reads.
        config = {
            "profile": self.chosen["profile"],
            "seed": seed,
            "num_blocks": (len(native["extrinsics_c2w"]) - 1) // BLOCK,
            "memory_mode": self.chosen["memory_mode"],
            "dynamic_context": self.chosen["dynamic_context"],
            "context_chunks": self.chosen["context_chunks"],
            "student_cfg_scale": self.chosen["cfg_scale"],
        }
        (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
        (folder / "prompt.txt").write_text(start.prompt or "", encoding="utf-8")
        (folder / "run.py").write_text(_RUNNER, encoding="utf-8")

    def _command(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command that runs the model, and its environment."""
        infer = official_module("infer", MODEL)
        wan = found(self._weights / "Wan2.2-TI2V-5B", MODEL)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(self._repo), os.environ.get("PYTHONPATH", "")])
            ),
            "DA3_MODEL_PATH": str(found(self._weights / "DA3NESTED-GIANT-LARGE-1.1", MODEL)),
            "DIFFSYNTH_SKIP_DOWNLOAD": "true",
            "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        }
        config = json.loads((folder / "config.yaml").read_text(encoding="utf-8"))
        workspace = infer.build_input_workspace(
            SimpleNamespace(
                person="first",
                image=str(folder / "image.png"),
                camera=str(folder / "camera.npz"),
                caption="",
                prompt="",
                prompt_file=str(folder / "prompt.txt"),
                refs="",
                num_blocks=config["num_blocks"],
                camera_convention="c2w",
            ),
            str(folder),
        )
        index = infer.build_index(workspace, sys.executable, environment)
        checkpoint = self._weights / "Matrix-Game-3.5-Distilled" / "first-person.safetensors"
        command = official_module("infer_distilled", MODEL).build_command(
            SimpleNamespace(
                config=folder / "config.yaml",
                checkpoint=found(checkpoint, MODEL),
                accelerate_config=self._repo / "configs/accelerate_inference_1gpu.yaml",
            ),
            workspace=workspace,
            dataset_index=index,
            wan_dir=wan,
            tokenizer_dir=found(wan / "google/umt5-xxl", MODEL),
            tmp_root=folder,
            output=folder / "result.mp4",
        )
        runner = str(folder / "run.py")
        swapped = [runner if str(w).endswith("run_distilled_inference.py") else w for w in command]
        if runner not in swapped:
            raise GenerationFailed("the official command no longer runs its distilled runner")
        return swapped, environment


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return the model run by its official code, in an environment that has what this needs.

    Args:
        repo: Checkout of the official repository.
        weights: Folder of the weights, laid out as in the recipe.
        options: Options of the model.
    """
    world: World = Official(Path(repo).absolute(), Path(weights).absolute(), options)
    return world
