"""WonderWorld: a scene of 3D Gaussians rendered along view matrices, outpainted where it ends."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.camera import CameraPath
from worldenv.world import GenerationFailed, Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    frames_of,
    places,
)
from worldenv.worlds.models.control import intrinsic_rows, inverse
from worldenv.worlds.models.driving import (
    RECORDED,
    chosen_options,
    fit_image,
    seed_all,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native, Quantum

__all__ = ["MODEL", "compile", "decode", "make", "official"]

SIZE = (512, 512)
FOCAL = 960.0
"""Focal length in pixels of the authors' example configurations."""

_K = np.array([[FOCAL, 0, SIZE[0] / 2], [0, FOCAL, SIZE[1] / 2], [0, 0, 1.0]])

SPEC = WorldSpec(
    name="WonderWorld",
    size=SIZE,
    K=intrinsic_rows(_K),
    K_exactness="exact",
    fps=16.0,
    chunk=1,
    first_chunk=1,
    drive="stream",
    quantum={"YAW_LEFT": 1.0, "YAW_RIGHT": 1.0, "PITCH_UP": 1.0, "PITCH_DOWN": 1.0},
    image_start=True,
    prompt="chunk",
    # A metre is a unit of the depth that the model estimates.
    pose_exactness="calibrated",
    state="native",
    # Atomic additions of the rasterizer and of the training of Gaussians keep no order.
    deterministic=False,
    licence="none: the repository has no licence file",
    citation="Yu et al., WonderWorld: interactive 3D scene generation from a single image "
    "(CVPR 2025)",
)

# The world's axes are PyTorch3D's: x left, y up, z forward.
_FLIP = np.diag([-1.0, -1.0, 1.0])


def compile(path: CameraPath) -> Native:
    """Return ``view_matrix`` (n, 16), one row-major matrix a frame, and ``frames``.

    A row vector times the matrix leads from the world (x left, y up, z forward) to the camera
    (x right, y down, z forward); the last row moves. One metre is one unit of the official viewer,
    a thousandth of which is a unit of its depth (``xyz_scale``).
    """
    back = inverse(path.poses)
    view = np.zeros((len(path), 4, 4))
    view[:, :3, :3] = _FLIP @ np.swapaxes(back[:, :3, :3], 1, 2)
    view[:, 3, :3] = back[:, :3, 3]
    view[:, 3, 3] = 1.0
    return {"view_matrix": view.reshape(-1, 16) + 0.0, "frames": len(path)}


def decode(native: Native) -> CameraPath:
    """Return the path of view matrices."""
    view = np.asarray(native["view_matrix"], dtype=np.float64).reshape(-1, 4, 4)
    back = np.tile(np.eye(4), (len(view), 1, 1))
    back[:, :3, :3] = np.swapaxes(_FLIP @ view[:, :3, :3], 1, 2)
    back[:, :3, 3] = view[:, 3, :3]
    return CameraPath(inverse(back) + 0.0, fps=SPEC.fps)


MODEL = Model(
    id="WonderWorld",
    title="WonderWorld",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=Quantum(),
    options={"uncovered": 0.2, "generate": True},
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return WonderWorld-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``.

    Its authors let a user say when to outpaint. Here it is done before a frame whose uncovered
    part exceeds ``uncovered`` (0 to 1), unless ``generate`` is False.
    """
    return open_model(MODEL, options)


class _Ended(Exception):
    """Ends the official loop, which has no end of its own."""


class Gaussians(ModelWorld):
    """WonderWorld: the authors' server without its sockets, its loop in a thread of its own.

    Args:
        options: Options of the model that differ from its defaults.
        load: Returns the official module ``run`` and a configuration; called at the first reset.
    """

    def __init__(
        self, options: Mapping[str, Any], load: Callable[[], tuple[Any, dict[str, Any]]]
    ) -> None:
        super().__init__(MODEL, options)
        self._load = load
        self._official: Any = None
        self._config: dict[str, Any] = {}
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        # The view that is to be outpainted, until the official loop takes it.
        self._wanted: list[float] | None = None
        self._error: BaseException | None = None
        self._folder: Any = None
        self._scene: str | None = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the image, once a scene of Gaussians has been made of it."""
        image = fit_image(start, self.model)
        if self._official is None:
            self._official, self._config = self._load()
        self._end()
        seed_all(seed)
        official = self._official
        text = start.prompt or "A scene"
        self._scene = start.prompt
        # Sky images are kept by name, so each image and seed has its own.
        name = hashlib.sha256(image.tobytes() + text.encode()).hexdigest()[:16] + f"-{seed}"
        self._folder = tempfile.TemporaryDirectory()
        file = os.path.join(self._folder.name, "start.png")
        _save(image, file)
        example = {
            "name": name,
            "image_filepath": file,
            "style_prompt": "DSLR 35mm landscape",
            "content_prompt": text,
            "negative_prompt": "",
            "background": text,
        }
        official.load_example_yaml = lambda *_: example
        official.keep_rendering = True
        official.time = _Clock(official.time, self._wait)
        # The official code seeds numpy too, which takes no larger ones.
        config = {**self._config, "example_name": name, "seed": seed % 2**32}
        config["runs_dir"] = os.path.join(self._folder.name, "run")
        self._idle.clear()
        self._thread = threading.Thread(target=self._run, args=(config,), daemon=True)
        self._thread.start()
        self._await()
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the scene along the next view matrices, outpainted where it is uncovered."""
        import torch

        official, chosen = self._official, {**MODEL.options, **self.options}
        if prompt is not None and prompt != self._scene:
            self._scene = prompt
            told = {"scene_name": prompt, "entities": [], "background": prompt}
            official.scene_dict = {**official.scene_dict, **told}
        frames = []
        for matrix in native["view_matrix"][-len(poses) :]:
            view = [float(value) for value in matrix]
            with torch.no_grad():
                seen = self._render(view)
            uncovered = float((seen["final_opacity"] < 0.6).float().mean())
            if chosen["generate"] and uncovered > chosen["uncovered"]:
                with self._lock:
                    self._idle.clear()
                    self._wanted = view
                self._await()
                with torch.no_grad():
                    seen = self._render(view)
            frames.append(frames_of(seen["render"][None]))
        return np.concatenate(frames), None

    def close(self) -> None:
        """End the official loop; may be called twice."""
        super().close()
        self._end()
        self._official = None

    def _render(self, view: list[float]) -> Any:
        """Return what the official renderer makes of a view matrix."""
        official = self._official
        scale = official.xyz_scale
        camera = official.kf_gen.get_camera_by_js_view_matrix(view, xyz_scale=scale)
        camera = official.convert_pt3d_cam_to_3dgs_cam(camera, xyz_scale=scale)
        return official.render(
            camera, official.gaussians, official.opt, official.background, render_visible=True
        )

    def _run(self, config: dict[str, Any]) -> None:
        try:
            self._official.run(config)
        except _Ended:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._idle.set()

    def _wait(self, seconds: float) -> None:
        """Take part in the official loop wherever it sleeps."""
        if self._stop.is_set():
            raise _Ended
        # Only the wait for the next scene sleeps for a twentieth of a second.
        if seconds != 0.05:
            return
        with self._lock:
            view, self._wanted = self._wanted, None
            if view is None:
                self._idle.set()
            else:
                self._official.view_matrix = view
                self._official.keep_rendering = False

    def _await(self) -> None:
        """Wait until the official loop waits.

        Raises:
            GenerationFailed: it has ended instead.
        """
        self._idle.wait()
        if self._error is not None:
            raise GenerationFailed(f"WonderWorld failed: {self._error!r}") from self._error

    def _end(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
        self._stop.clear()
        self._wanted = self._error = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class _Clock:
    """The module ``time`` as the official code sees it, with a sleep that reports."""

    def __init__(self, real: Any, wait: Callable[[float], None]) -> None:
        self._real: Any = real._real if isinstance(real, _Clock) else real
        self._wait = wait

    def sleep(self, seconds: float) -> None:
        self._wait(seconds)
        self._real.sleep(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _save(image: np.ndarray, file: str) -> None:
    from PIL import Image

    Image.fromarray(image).save(file)


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return WonderWorld by its official code, in the model's own environment.

    Args:
        repo: Checkout of KovenYu/WonderWorld.
        weights: Folder with ``repvit_sam.pt`` and the hub's repositories by their ids, which the
            official code names; it also keeps sky images there.
        options: Options of ``MODEL``.
    """
    chosen_options(MODEL, options)
    repo, weights = places(repo, weights)

    def load() -> tuple[Any, dict[str, Any]]:
        enter(repo, weights)
        # The official code reads it when it is imported; nothing that is used here needs it.
        os.environ.setdefault("OPENAI_API_KEY", "unused")
        import run
        from omegaconf import OmegaConf

        config = OmegaConf.to_container(
            OmegaConf.merge(
                OmegaConf.load(f"{repo}/config/base-config.yaml"),
                OmegaConf.load(f"{repo}/config/example.yaml"),
                {"use_gpt": False, "debug": False, "load_gen": False, "init_focal_length": FOCAL},
            ),
            resolve=True,
        )
        return run, config

    return Gaussians(options, load)
