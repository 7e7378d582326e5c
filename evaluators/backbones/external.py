"""Roles pose and depth by programs that need an environment of their own: DA3 and ViPE."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import WorldEnvError
from worldenv.evaluators.backbones.stretches import Floats, Layout, depth_ratio, join, rebased
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

SETUP = {
    "WORLDENV_DA3_PYTHON": "python -m venv da3 && da3/bin/pip install depth-anything-3",
    "WORLDENV_VIPE_PYTHON": "python -m venv vipe && vipe/bin/pip install nvidia-vipe",
}
"""Environment variable that names the python of a program's environment -> how to make one."""


_SCRIPT = Path(__file__).with_name("worker.py")


class ExternalFailed(WorldEnvError):
    """A program that runs in its own environment is missing, broke or took too long."""


@dataclass(frozen=True)
class Program:
    """A program and how it is talked to.

    Attributes:
        name: Which, as in ``worker.py``.
        variable: Environment variable that names its python.
        seconds: Longest time for a stretch, or for loading.
        script: What that python runs.
    """

    name: str
    variable: str
    seconds: float = 1800.0
    script: Path = _SCRIPT


DA3 = Program("da3", "WORLDENV_DA3_PYTHON")
VIPE = Program("vipe", "WORLDENV_VIPE_PYTHON")
_KNOWN = {program.name: program for program in (DA3, VIPE)}


class Worker:
    """A child process that estimates stretches; it starts with the first and ends with us."""

    def __init__(self, program: Program, folder: str, device: str) -> None:
        self._program = program
        self._arguments = (program.name, folder, device, str(os.getpid()))
        self._process: subprocess.Popen[str] | None = None
        self._notes: IO[str] | None = None

    def estimate(self, frames: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Return the arrays that the program makes of frames (n, height, width, 3).

        Raises:
            ExternalFailed: it cannot be started, broke, or took too long; it is then ended.
        """
        with tempfile.TemporaryDirectory(prefix="worldenv-") as folder:
            given, answer = Path(folder, "frames.npy"), Path(folder, "answer.npz")
            np.save(given, frames, allow_pickle=False)
            try:
                process = self._running()
                assert process.stdin is not None
                request = {"frames": str(given), "answer": str(answer)}
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                self._read(process)
                with np.load(answer, allow_pickle=False) as found:
                    return {name: found[name] for name in found.files}
            except (OSError, ValueError) as error:
                self.close()
                raise self._failed(f"{type(error).__name__}: {error}") from error
            except ExternalFailed:
                self.close()
                raise

    def close(self) -> None:
        """End the child; a later estimate starts a new one."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        python = os.environ.get(self._program.variable)
        if not python:
            raise self._failed(f"{self._program.variable} is not set")
        self._notes = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            [python, str(self._program.script), *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._notes,
            text=True,
        )
        weakref.finalize(self, _end, self._process)
        self._read(self._process)
        return self._process

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Wait for the next answer."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._program.seconds):
                raise self._failed(f"no answer within {self._program.seconds:g} s")
        line = process.stdout.readline()
        if not line:
            raise self._failed(f"it ended with {process.wait()}{self._last_note()}")
        answer = json.loads(line)
        if "error" in answer:
            raise self._failed(str(answer["error"]))

    def _last_note(self) -> str:
        if self._notes is None:
            return ""
        self._notes.seek(0)
        lines = [line.strip() for line in self._notes.read()[-4000:].splitlines() if line.strip()]
        return f": {lines[-1]}" if lines else ""

    def _failed(self, what: str) -> ExternalFailed:
        variable = self._program.variable
        setup = SETUP.get(variable, "")
        first = what.strip().splitlines()[0] if what.strip() else "no reason given"
        return ExternalFailed(
            f"{self._program.name} failed: {first}; {variable} must name the python of an "
            f"environment that has it ({setup})"
        )


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass


@dataclass(frozen=True)
class Stretch:
    """What was estimated of the frames of a stretch, in the frame and unit of the first stretch.

    Attributes:
        first: Its first frame.
        poses: Camera-to-world relative to frame 0, shape (n, 4, 4).
        depth: Shape (n, h, w), 0 = nothing, at the program's own size; None where it gives none.
        size: Height and width of the frames.
    """

    first: int
    poses: Floats
    depth: NDArray[np.float32] | None
    size: tuple[int, int]


class Stretches:
    """Answers ``stretch``, asked as (first frame,), and needs the frames of it and the one before.

    Memory holds two stretches and their frames, however long the path.
    """

    batch = 1

    def __init__(
        self,
        *located: Located,
        device: str = "cpu",
        frames: int = 0,
        program: str | Program = "da3",
        length: int = 32,
        overlap: int = 8,
        role: str = "stretch",
    ) -> None:
        """Make it; the program starts with the first stretch.

        Args:
            located: Its weights, where it does not bring them itself.
            device: Where it runs.
            frames: Number of frames of the path.
            program: Which.
            length: Frames of a stretch.
            overlap: Frames that two neighbours share.
            role: Role that it answers.
        """
        chosen = _KNOWN[program] if isinstance(program, str) else program
        self.name, self.revision, self.checksum = _identity(located, chosen.name)
        self._layout = Layout(frames, length, overlap)
        self._role = role
        self._worker = Worker(chosen, str(located[0].folder) if located else "", device)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frames of the stretch, then the stretch before."""
        start = ask.frames[0]
        wanted = tuple(pixels(frame) for frame in self._layout.stretch(start))
        before = self._layout.before(start)
        return wanted if before is None else (*wanted, Ask(self._role, (before,)))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Estimate every stretch and join it to the one before."""
        out: list[Any] = []
        for ask, values in zip(asks, inputs, strict=True):
            before = values[-1] if isinstance(values[-1], Stretch) else None
            frames = np.stack(values[:-1] if before is not None else values)
            out.append(self._join(ask.frames[0], frames, before))
        return out

    def _join(self, first: int, frames: NDArray[np.uint8], before: Stretch | None) -> Stretch:
        found = self._worker.estimate(frames)
        poses, depth = checked(found, len(frames))
        size = (frames.shape[1], frames.shape[2])
        if before is None:
            return Stretch(first, rebased(poses), depth, size)
        shared = before.first + len(before.poses) - first
        known = before.poses[len(before.poses) - shared :]
        ratio = None
        if depth is not None and before.depth is not None:
            ratio = depth_ratio(before.depth[len(before.depth) - shared :], depth[:shared])
        change = join(known, poses[:shared], ratio)
        scaled = None if depth is None else np.asarray(depth * change.scale, np.float32)
        return Stretch(first, change.poses(poses), scaled, size)


def checked(
    found: dict[str, NDArray[Any]], count: int
) -> tuple[Floats, NDArray[np.float32] | None]:
    """Return poses and depth of an answer.

    Raises:
        ValueError: they are not of the frames that were asked for, or no poses at all.
    """
    poses = np.asarray(found.get("poses", np.zeros(0)), np.float64)
    if poses.shape != (count, 4, 4) or not np.isfinite(poses).all():
        raise ValueError(f"{count} frames gave poses of shape {poses.shape}, or not finite ones")
    gram = poses[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1)
    if np.abs(gram - np.eye(3)).max() > 1e-2:
        raise ValueError("the poses hold something else than rotations")
    if "depth" not in found:
        return poses, None
    depth = np.asarray(found["depth"], np.float32)
    if depth.ndim != 3 or len(depth) != count:
        raise ValueError(f"{count} frames gave depth of shape {depth.shape}")
    return poses, np.where(np.isfinite(depth) & (depth > 0), depth, 0).astype(np.float32)


class OfStretch:
    """Answers ``pose`` or ``depth``, asked as (frame,), out of the stretch that holds the frame."""

    batch = 1

    def __init__(
        self,
        *located: Located,
        frames: int = 0,
        part: str = "pose",
        program: str = "da3",
        length: int = 32,
        overlap: int = 8,
        role: str = "stretch",
    ) -> None:
        """Make it; arguments as of Stretches, and ``part``: ``pose`` or ``depth``."""
        self.name, self.revision, self.checksum = _identity(located, program)
        self._layout = Layout(frames, length, overlap)
        self._part = part
        self._role = role

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the stretch that holds the frame."""
        return (Ask(self._role, (self._layout.holding(ask.frames[0]),)),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Pick the frame out of its stretch; depth at the size of the frame."""
        out: list[Any] = []
        for ask, (stretch,) in zip(asks, inputs, strict=True):
            place = ask.frames[0] - stretch.first
            if self._part == "pose":
                out.append(stretch.poses[place].copy())
                continue
            if stretch.depth is None:
                raise ValueError(f"{self.name} gives no depth")
            height, width = stretch.size
            # Nearest: between a thing and what is behind it there is nothing.
            large = cv2.resize(
                stretch.depth[place], (width, height), interpolation=cv2.INTER_NEAREST
            )
            out.append(np.asarray(large, np.float32))
        return out


def _identity(located: Sequence[Located], program: str) -> tuple[str, str, str]:
    if not located:
        return program, "1", ""
    return f"{program}:{located[0].id}", f"{located[0].revision}; 1", located[0].checksum
