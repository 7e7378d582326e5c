"""Kernels compile without a cache folder; children default to one thread."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

import numba
import pytest

from worldenv.worlds.reference import compile


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


def test_the_thread_count_is_put_back() -> None:
    before = numba.get_num_threads()
    with compile.running(1):
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
