"""Toy worlds that misbehave at a given step, to be run in a server; and a running server."""

import contextlib
import copy
import json
import os
import signal
import subprocess
import sys
import time

import toy_world

from worldenv.world import Chunk, Unsupported


class Wayward(toy_world.ToyWorld):
    """Counts its steps and does what it was told at one of them."""

    def __init__(self, spec, at, what, seconds):
        super().__init__(spec)
        self.at, self.what, self.seconds = at, what, seconds
        self.progress = None
        self.steps = 0
        self.device = "toy"

    def reset(self, start, *, seed, plan):
        self.steps, self._short = 0, False
        return super().reset(start, seed=seed, plan=plan)

    def step(self, poses, prompt=None):
        self.steps += 1
        if self.steps == self.at:
            getattr(self, f"_{self.what}")()
        chunk = super().step(poses, prompt)
        chunk.truth["state"] = [
            {"instances": {3: {"category": "step", "variant": self.steps}}, "event": None}
            for _ in poses
        ]
        return chunk._replace(frames=chunk.frames[:-1]) if self._short else chunk

    _short = False

    def snapshot(self):
        return copy.deepcopy((self.steps, self._colours, self._t, self._seen))

    def restore(self, token):
        self.steps, self._colours, self._t, self._seen = copy.deepcopy(token)

    def _nothing(self):
        pass

    def _die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def _hang(self):
        os.kill(os.getpid(), signal.SIGSTOP)
        # The system may need a moment to stop all threads.
        time.sleep(0.5)

    def _refuse(self):
        raise Unsupported("the toy was told to refuse")

    def _break(self):
        raise RuntimeError("the toy was told to break")

    def _shorten(self):
        self._short = True

    def _work(self):
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            if self.progress is not None:
                self.progress(0.5, "half way")
            time.sleep(0.05)


def make(at=0, what="nothing", seconds=0.0, **options):
    made = toy_world.make(**{"size": [32, 24], "image_start": False, **options})
    return Wayward(made.spec, at, what, seconds)


class Summing:
    """A world of several ranks: what it shows is the sum of what its ranks hold, by all-reduce."""

    def __init__(self, at, rank, what):
        import torch.distributed

        self._torch = torch
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo")
        self._rank = torch.distributed.get_rank()
        self._trouble = (at, rank, what)
        self.spec = toy_world.make(size=[32, 24], image_start=False).spec

    def reset(self, start, *, seed, plan):
        self._steps = 0
        return self._chunk([[[1.0 if i == j else 0.0 for j in range(4)] for i in range(4)]])

    def step(self, poses, prompt=None):
        self._steps += 1
        at, rank, what = self._trouble
        if self._steps == at and self._rank == rank:
            if what == "die":
                os._exit(7)
            raise Unsupported("rank told to refuse")
        return self._chunk(poses)

    def _chunk(self, poses):
        import numpy as np

        value = self._torch.tensor([float((self._rank + 1) * (self._steps + 1))])
        self._torch.distributed.all_reduce(value)
        return Chunk(np.full((len(poses), 24, 32, 3), int(value), np.uint8), np.array(poses))

    def close(self):
        pass


def summing(at=0, rank=1, what="die"):
    return Summing(at, rank, what)


@contextlib.contextmanager
def serving(folder, world, *arguments, options=None, environment=None, command=None):
    """Yield (address, process) of a server; it is ended and reaped afterwards."""
    folder.mkdir(exist_ok=True)
    announced = folder / f"address-{time.monotonic_ns()}.json"
    pairs = [f"{key}={json.dumps(value)}" for key, value in (options or {}).items()]
    log = (folder / "log.txt").open("wb")
    process = subprocess.Popen(
        [
            *(command or [sys.executable, "-m", "worldenv.serve"]),
            *(["--world", world] if world else []),
            *(word for pair in pairs for word in ("--world-option", pair)),
            "--announce",
            str(announced),
            "--with-parent",
            *arguments,
        ],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env={**os.environ, "PYTHONPATH": python_path(), **(environment or {})},
    )
    try:
        end = time.monotonic() + 60
        while not announced.exists():
            assert process.poll() is None, (folder / "log.txt").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)
        yield json.loads(announced.read_text())["address"], process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError("the server did not end when it was told to") from None
        finally:
            process.stdin.close()
            log.close()


def python_path():
    """Where children find these tests and the package."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.pathsep.join([here, os.path.dirname(here)])
