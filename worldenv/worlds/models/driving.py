"""Driving official code: its folder on the path, images in, frames out, its own loop stepped.

Standard library and numpy only at module level, in Python 3.9 syntax (see ``worldenv.world``); what
else is needed is imported where it is used, from the environment of the model.
"""

from __future__ import annotations

import abc
import contextlib
import importlib
import os
import queue
import random
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.world import (
    GenerationFailed,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    check_image,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native

__all__ = [
    "CHECKED",
    "RECORDED",
    "TINY",
    "HeldRows",
    "Loop",
    "LoopedWorld",
    "PlannedWorld",
    "at_repo",
    "chosen_options",
    "fit_image",
    "fit_intrinsics",
    "found",
    "lone_rank",
    "official_module",
    "pixels",
    "seed_all",
]


TINY = (
    "official loop run on the CPU by its adapter with tiny random or stubbed networks, which saw "
    "the control that was meant; never run with its weights by us"
)
"""``Model.verified`` of models whose official loop has been run by the adapter."""

CHECKED = (
    "control compared with the official functions; adapter run against a recording stand-in of the "
    "official code, never with its weights by us"
)
"""``Model.verified`` of models whose control was held against the official code's own."""

RECORDED = (
    "adapter run against a recording stand-in of the official code, never with its weights by us"
)
"""``Model.verified`` of models whose official code does nothing to the control beforehand."""


def chosen_options(model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of a model, those not given having their defaults.

    Raises:
        UnknownName: there is no such option.
    """
    for key in options:
        if key not in model.options:
            raise UnknownName(f"option of {model.id}:", key, model.options)
    return {**model.options, **options}


def official_module(name: str, model: Model) -> Any:
    """Import a module of the official code or of what it needs.

    Raises:
        WeightsNotFound: it cannot be imported in this environment.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise WeightsNotFound(
            f"{model.title} needs the module {name}, which cannot be imported ({error}); run "
            f"`worldenv setup {model.id}-v0 --plan` to see what its environment needs"
        ) from error


def found(path: Path, model: Model) -> Path:
    """Return a path that must be there.

    Raises:
        WeightsNotFound: it is not; the message says what set-up would have put it there.
    """
    if not path.exists():
        raise WeightsNotFound(
            f"{model.title} needs {path}, which is not there; run `worldenv setup {model.id}-v0 "
            "--plan` to see what belongs where"
        )
    return path


@contextlib.contextmanager
def at_repo(*folders: Path) -> Iterator[None]:
    """Import from folders of a repository, and run in the first: official paths are relative."""
    for folder in reversed(folders):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    before = Path.cwd()
    os.chdir(folders[0])
    try:
        yield
    finally:
        os.chdir(before)


def lone_rank() -> None:
    """Tell torch.distributed that this process is the only rank, unless it has been told else.

    Official code that is always started by torchrun relies on these variables even on one GPU.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    for name, value in (
        ("RANK", "0"),
        ("LOCAL_RANK", "0"),
        ("WORLD_SIZE", "1"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", str(port)),
    ):
        os.environ.setdefault(name, value)


def seed_all(seed: int) -> None:
    """Seed every global generator: official code draws from them beside the seed it is given."""
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def fit_image(start: Start, model: Model) -> np.ndarray:
    """Return the conditioning image at the model's size: scaled to cover it, cut about its centre.

    Official code stretches images of another shape, or rounds its own size to theirs; an image of
    the right size is touched by neither.

    Returns:
        Shape (height, width, 3) uint8.

    Raises:
        Unsupported: the start has no image.
    """
    if start.image is None:
        raise Unsupported(
            f"{model.title} starts from an image; choose a case with one, or give image="
        )
    image = check_image(start.image)
    scale, left, top = _cover(image.shape, model)
    width, height = model.spec.size
    if image.shape[:2] == (height, width):
        return image
    from PIL import Image

    rows, columns = image.shape[:2]
    scaled = (max(width, round(columns * scale)), max(height, round(rows * scale)))
    large = Image.fromarray(image).resize(scaled, Image.Resampling.LANCZOS)
    cut = large.crop((left, top, left + width, top + height))
    return np.ascontiguousarray(np.asarray(cut))


def fit_intrinsics(start: Start, model: Model) -> np.ndarray:
    """Return intrinsics (3, 3) of ``fit_image``: the start's own, else the model's nominal ones."""
    if start.K is None or start.image is None:
        return model.spec.intrinsics()
    scale, left, top = _cover(np.shape(start.image), model)
    K = np.array(start.K, dtype=np.float64)
    K[:2] *= scale
    K[:2, 2] -= (left, top)
    return K


def _cover(shape: tuple[int, ...], model: Model) -> tuple[float, int, int]:
    """Return the factor that makes an image cover the model's size, and what is cut off it."""
    rows, columns = shape[:2]
    width, height = model.spec.size
    scale = max(width / columns, height / rows)
    return (
        scale,
        (max(width, round(columns * scale)) - width) // 2,
        (max(height, round(rows * scale)) - height) // 2,
    )


def pixels(video: Any, axes: str, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Return a video of numbers as frames (n, height, width, 3) uint8, as official writers do.

    Args:
        video: Tensor or array.
        axes: What each of its axes is: B (of length 1), T, C, H, W.
        low: Number that is black.
        high: Number that is white.
    """
    if hasattr(video, "detach"):
        video = video.detach().float().cpu().numpy()
    array = np.asarray(video)
    if array.ndim != len(axes):
        raise GenerationFailed(f"a video of shape {array.shape} came, expected axes {axes}")
    if "B" in axes:
        array = np.take(array, 0, axis=axes.index("B"))
        axes = axes.replace("B", "")
    array = array.transpose([axes.index(axis) for axis in "THWC"])
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    scaled = (array.astype(np.float32) - low) * np.float32(255.0 / (high - low))
    return np.ascontiguousarray(np.clip(scaled, 0, 255).astype(np.uint8))


class PlannedWorld(ModelWorld):
    """A model whose official code makes the whole path in one call; its frames are then dealt out.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
    """

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self.chosen = chosen_options(model, options)
        super().__init__(model, options)
        self._frames: np.ndarray | None = None
        self._dealt = 0

    @abc.abstractmethod
    def generate(self, image: np.ndarray, start: Start, native: Native, seed: int) -> np.ndarray:
        """Return the frames of the whole path, frame 0 included, (n, height, width, 3) uint8.

        Args:
            image: Conditioning image at the model's size; empty where the model takes none.
            start: What the episode begins from.
            native: The control of the whole path.
            seed: Seed of the episode.
        """

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Generate everything and return the frames of reset."""
        assert native is not None
        empty = np.zeros((0, 0, 3), np.uint8)
        image = fit_image(start, self.model) if self.spec.image_start else empty
        frames = self.generate(image, start, native, seed)
        if len(frames) < native["frames"]:
            raise GenerationFailed(
                f"{self.model.title} made {len(frames)} frames of a path of {native['frames']}"
            )
        self._frames, self._dealt = frames, self.spec.reset_frames
        return frames[: self._dealt], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the next frames of what has been generated."""
        assert self._frames is not None
        start = self._dealt
        self._dealt += len(poses)
        return self._frames[start : self._dealt], None

    def close(self) -> None:
        """Drop the frames; the model stays until the process ends."""
        super().close()
        self._frames = None


class _Stopped(BaseException):
    """Ends an official loop from inside; no ``except Exception`` of its own may catch it."""


class Loop:
    """An official loop that asks for its control, run in a thread so that it can be stepped.

    Args:
        run: Runs the loop; it calls ``ask`` for each chunk's control and ``give`` with its frames.
    """

    def __init__(self, run: Callable[[Loop], object]) -> None:
        self._asked: queue.Queue[Any] = queue.Queue()
        self._made: queue.Queue[Any] = queue.Queue()
        self._over = False
        self._thread = threading.Thread(target=self._run, args=(run,), daemon=True)
        self._thread.start()

    def ask(self) -> Any:
        """Return the next chunk's control; called from inside the loop."""
        control = self._asked.get()
        if control is _Stopped:
            raise _Stopped
        return control

    def give(self, frames: np.ndarray) -> None:
        """Hand out the frames of the chunk asked for; called from inside the loop."""
        self._made.put(frames)

    def step(self, control: Any) -> np.ndarray:
        """Return the frames that the loop makes of a control.

        Raises:
            GenerationFailed: the loop broke or came to its end.
        """
        if self._over:
            raise GenerationFailed("the model's loop has ended; reset it")
        self._asked.put(control)
        made = self._made.get()
        if isinstance(made, BaseException):
            self._over = True
            if isinstance(made, GenerationFailed):
                raise made
            raise GenerationFailed(f"the model broke: {type(made).__name__}: {made}") from made
        return np.asarray(made)

    def close(self) -> None:
        """End the loop at its next question and wait for it."""
        self._over = True
        self._asked.put(_Stopped)
        self._thread.join(timeout=600)

    def _run(self, run: Callable[[Loop], object]) -> None:
        try:
            run(self)
            self._made.put(GenerationFailed("the official loop came to its end"))
        except _Stopped:
            pass
        except BaseException as error:
            self._made.put(error)


class LoopedWorld(ModelWorld):
    """A model asked by keyboard and mouse whose own interactive loop is stepped from outside.

    Args:
        model: The model.
        repo: Checkout of the official repository.
        weights: Folder of the weights.
        options: Options of the model that differ from its defaults.
    """

    def __init__(self, model: Model, repo: Path, weights: Path, options: Mapping[str, Any]) -> None:
        self.chosen = chosen_options(model, options)
        super().__init__(model, options)
        self._repo, self._weights = repo, weights
        self._loop: Loop | None = None
        self._made = 0

    def play(self, run: Callable[[Loop], object]) -> None:
        """Start a loop after frame 0; it waits for the first step."""
        self._made = 1
        self._loop = Loop(run)

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Make the next chunk of keys."""
        assert self._loop is not None
        # The first chunk makes frame 0 too.
        start = 0 if self._made == 1 else self._made
        rows = slice(start, self._made + len(poses))
        made = self._loop.step((native["mouse"][rows], native["keyboard"][rows]))
        self._made += len(poses)
        return made[-len(poses) :], None

    def close(self) -> None:
        """End the loop; the model stays until the process ends."""
        super().close()
        self.end()

    def end(self) -> None:
        """End the loop, if one runs."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None


class HeldRows:
    """Control of a chunk, a row a frame, for code that would repeat one row over the chunk.

    Official interactive code takes one action and repeats it; this answers with its own rows.

    Args:
        rows: Tensor of shape (frames, values).
    """

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __getitem__(self, key: Any) -> HeldRows:
        """Return itself: axes added in front are added by ``repeat``."""
        return self

    def repeat(self, *counts: int) -> Any:
        """Return the rows, with axes of length 1 in front where as many are asked for.

        Raises:
            GenerationFailed: the code repeats over another number of frames.
        """
        if counts[-2] != len(self.rows):
            raise GenerationFailed(
                f"the official code makes {counts[-2]} frames where {len(self.rows)} were expected"
            )
        return self.rows.reshape(*[1] * (len(counts) - 2), *self.rows.shape)
