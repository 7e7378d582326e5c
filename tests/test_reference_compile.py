"""Kernels compile without a cache folder; children default to one thread."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from worldenv.camera import walk
from worldenv.worlds.reference import compile, plain
from worldenv.worlds.reference.lit import build_light
from worldenv.worlds.reference.renderer import Renderer


def test_without_a_writable_folder_kernels_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit
    tried: list[bool] = []

    def refusing(*args: Any, cache: bool = False, **options: Any) -> Any:
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(numba, "njit", refusing)

    def double(x: int) -> int:
        return 2 * x

    assert compile.kernel(double)(21) == 42
    assert tried[:2] == [True, False]


def _threads(queue: Any) -> None:
    queue.put(compile.default_threads())


@pytest.mark.parametrize("method", sorted(multiprocessing.get_all_start_methods()))
def test_children_default_to_one_thread(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    child = context.Process(target=_threads, args=(queue,))
    child.start()
    try:
        assert queue.get() == 1
    finally:
        child.join(60)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_bare_fork_is_a_child_too() -> None:
    child = os.fork()
    if child == 0:
        fine = compile.default_threads() == 1 and compile.thread_count(8) == 1
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert compile.default_threads() == compile.cores()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_shares_cover_all_work_once(threads: int) -> None:
    done = np.zeros(17, int)

    def work(first: int, step: int) -> None:
        done[first::step] += 1

    compile.share(threads, work)
    assert (done == 1).all()


def test_errors_of_a_share_are_raised() -> None:
    def work(first: int, step: int) -> None:
        if first == step - 1:
            raise ValueError(first)

    with pytest.raises(ValueError):
        compile.share(2, work)


def test_draws_of_several_python_threads_do_not_mix() -> None:
    lit = build_light(plain.build(0), 1, cache=False)
    poses = [
        lit.scene.views[0].pose @ walk(np.zeros((1, 3)), np.array([y]), np.zeros(1))[0]
        for y in (0.0, 90.0, 180.0, 270.0)
    ]
    renderers = [Renderer(lit, size=(64, 48), threads=2) for _ in poses]
    with ThreadPoolExecutor(len(poses)) as pool:
        frames = list(pool.map(lambda r, p: [r.draw(p).frame for _ in range(5)], renderers, poses))
    for renderer, pose, got in zip(renderers, poses, frames, strict=True):
        for frame in got:
            np.testing.assert_array_equal(frame, renderer.draw(pose).frame)
