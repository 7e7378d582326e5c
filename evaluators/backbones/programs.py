"""Programs that need an environment of their own: how one is found, started, asked and ended."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import WorldEnvError

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
KNOWN = {program.name: program for program in (DA3, VIPE)}


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
