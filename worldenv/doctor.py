"""Look at this machine: what is installed, what works, what a run would miss."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldenv import __version__

_CORE = ("numpy", "scipy", "opencv-python-headless", "imageio", "gymnasium", "numba", "pydantic")
_OPTIONAL = {"torch": "light", "stable-baselines3": "rl", "matplotlib": "report", "pillow": "view"}


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``note`` says what was found and, for a problem, what to do."""

    check: str
    state: Literal["ok", "note", "problem"]
    note: str


def examine() -> list[Finding]:
    """Return the findings, from the ground up."""
    found = [
        Finding("worldenv", "ok", __version__),
        Finding("python", "ok", f"{platform.python_version()} on {platform.platform()}"),
        Finding("cores", "ok", str(len(os.sched_getaffinity(0)))),
        *(_core(name) for name in _CORE),
        *(_optional(name, extra) for name, extra in _OPTIONAL.items()),
        _codec(),
        _disk(),
        _display(),
        _device(),
        _weights(),
        _reference(),
    ]
    return found


def _core(name: str) -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "problem", "missing: pip install worldenv again")


def _optional(name: str, extra: str) -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "note", f"absent; pip install 'worldenv[{extra}]' brings it")


def _device() -> Finding:
    from worldenv.evaluators.backbones.device import VARIABLE, device_name
    from worldenv.world import Unsupported

    try:
        chosen = device_name()
    except Unsupported as error:
        return Finding("networks run on", "problem", str(error))
    if importlib.util.find_spec("torch") is None:
        return Finding("networks run on", "note", f"{chosen}; torch is absent")
    why = f"by {VARIABLE}" if os.environ.get(VARIABLE) else "the best there is"
    return Finding("networks run on", "ok", f"{chosen}, {why}")


def _weights() -> Finding:
    from worldenv import weights
    from worldenv.evaluators.profiles import weights_of

    wanted = weights_of("light")
    states = {name: weights.state(name) for name in wanted}
    lacking = [f"{name} {state}" for name, state in states.items() if state != "here"]
    if not lacking:
        return Finding("weights of light", "ok", f"all here: {weights.weights_folder()}")
    here = f"{len(wanted) - len(lacking)} of {len(wanted)} here in {weights.weights_folder()}"
    listed = f" ({', '.join(lacking)})" if len(lacking) < len(wanted) else ""
    return Finding("weights of light", "note", f"{here}{listed}; worldenv weights fetch light")


def _codec() -> Finding:
    import imageio_ffmpeg

    try:
        binary = imageio_ffmpeg.get_ffmpeg_exe()
        listed = subprocess.run(
            [binary, "-hide_banner", "-encoders"], capture_output=True, text=True, timeout=30
        ).stdout
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return Finding("video codec", "problem", f"ffmpeg does not run ({error})")
    if " ffv1 " not in listed:
        return Finding("video codec", "problem", f"{binary} has no FFV1 encoder")
    return Finding("video codec", "ok", "FFV1")


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    state: Literal["ok", "note"] = "ok" if free > 5 else "note"
    return Finding("free disk here", state, f"{free:.1f} GB; the quick bench takes about 1 GB")


def _display() -> Finding:
    from worldenv.viewer import why_not

    reason = why_not()
    if reason is None:
        return Finding("human rendering", "ok", "tkinter, Pillow and a display are there")
    return Finding("human rendering", "note", reason)


def _reference() -> Finding:
    from worldenv.world import Start, WorldEnvError
    from worldenv.worlds import load_world

    start = time.perf_counter()
    try:
        world = load_world("Reference-v0", size=(64, 64))
        frame = world.reset(Start(), seed=0, plan=None).frames[0]
        world.close()
    except (WorldEnvError, OSError) as error:
        return Finding("Reference-v0", "problem", str(error))
    seconds = time.perf_counter() - start
    if frame.std() < 1:
        return Finding("Reference-v0", "problem", "rendered a blank frame; please report it")
    return Finding("Reference-v0", "ok", f"first frame after {seconds:.1f} s")
