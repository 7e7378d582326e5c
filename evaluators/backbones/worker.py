"""Runs inside another environment: estimates poses and depth of stretches of frames on request.

Started as ``python worker.py PROGRAM FOLDER DEVICE PARENT``. A request is a line of JSON with the
paths of an array of frames and of the answer to write; it is answered by a line of JSON. Standard
library, numpy and the program's own package only; Python 3.9.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def da3(folder: str, device: str) -> Callable[[Any], dict[str, Any]]:
    """Load Depth Anything 3 and return frames (n, h, w, 3) uint8 -> poses and depth."""
    api = importlib.import_module("depth_anything_3.api")
    model = api.DepthAnything3.from_pretrained(folder).to(device).eval()

    def estimate(frames: Any) -> dict[str, Any]:
        found = model.inference(list(frames))
        # OpenCV world-to-camera, three rows.
        inverse = np.tile(np.eye(4), (len(frames), 1, 1))
        inverse[:, :3] = np.asarray(found.extrinsics, np.float64)[:, :3]
        depth = np.asarray(found.depth, np.float32)
        return {"poses": np.linalg.inv(inverse), "depth": depth.reshape(-1, *depth.shape[-2:])}

    return estimate


def vipe(folder: str, device: str) -> Callable[[Any], dict[str, Any]]:
    """Find ViPE's command and return frames (n, h, w, 3) uint8 -> poses."""
    command = Path(sys.executable).with_name("vipe")
    if not command.exists():
        raise ImportError(f"there is no {command}")
    cv2 = importlib.import_module("cv2")
    settings = dict(os.environ)
    if device.startswith("cuda:"):
        settings["CUDA_VISIBLE_DEVICES"] = device.partition(":")[2]

    def estimate(frames: Any) -> dict[str, Any]:
        root = Path(tempfile.mkdtemp(prefix="worldenv-vipe-"))
        try:
            (root / "frames").mkdir()
            for k, frame in enumerate(frames):
                cv2.imwrite(str(root / "frames" / f"{k:06d}.png"), frame[..., ::-1])
            line = [str(command), "infer", "--image-dir", str(root / "frames")]
            subprocess.run(
                [*line, "--output", str(root / "out")],
                check=True,
                env=settings,
                stdout=sys.stderr,
            )
            (file,) = (root / "out" / "pose").glob("*.npz")
            with np.load(file) as found:
                order = np.argsort(found["inds"])
                poses = np.asarray(found["data"], np.float64)[order]
        finally:
            shutil.rmtree(root, ignore_errors=True)
        return {"poses": poses}

    return estimate


PROGRAMS = {"da3": da3, "vipe": vipe}


def die_with(parent: int) -> None:
    """Let the system end this process when its parent does."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def serve(load: Callable[[], Callable[[Any], dict[str, Any]]]) -> None:
    """Answer requests until the parent closes its end."""
    answers = sys.stdout
    # What a program prints must not be taken for an answer.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            estimate = load()
        except Exception as error:
            _say(answers, {"error": f"{type(error).__name__}: {error}"})
            return
        _say(answers, {"ready": True})
        for line in sys.stdin:
            request = json.loads(line)
            try:
                found = estimate(np.load(request["frames"], allow_pickle=False))
                np.savez(request["answer"], **found)
                _say(answers, {"done": True})
            except Exception as error:
                _say(answers, {"error": f"{type(error).__name__}: {error}"})


def _say(answers: Any, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    name, at, where, parent = sys.argv[1:5]
    die_with(int(parent))
    # Modules of this folder share names with packages that a program may import.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    serve(lambda: PROGRAMS[name](at, where))
