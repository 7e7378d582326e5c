"""Compiles the kernels with a disk cache and decides how many threads they may use."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba

__all__ = ["cores", "default_threads", "kernel", "parallel_kernel", "running", "thread_count"]

_HOME = os.getpid()
_LOCK = threading.Lock()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a serial kernel; division follows IEEE rules, and no unsafe maths is allowed."""
    return _compile(function, parallel=False)


def parallel_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose ``prange`` loops run on several threads."""
    return _compile(function, parallel=True)


def _compile(function: Callable[..., Any], parallel: bool) -> Any:
    try:
        return numba.njit(cache=True, parallel=parallel, error_model="numpy")(function)
    except RuntimeError:
        # numba found no folder that it may write (package, user cache, NUMBA_CACHE_DIR).
        return numba.njit(parallel=parallel, error_model="numpy")(function)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return int(getattr(numba.config, "NUMBA_NUM_THREADS"))  # noqa: B009, typed nowhere


def forked() -> bool:
    """Return whether this process was forked after this module was imported."""
    return os.getpid() != _HOME


def default_threads() -> int:
    """Return 1 in any child process, else the number of cores."""
    return 1 if forked() or multiprocessing.parent_process() is not None else cores()


def thread_count(threads: int) -> int:
    """Return ``threads``, or 1 where a fork has left numba's thread pool behind."""
    return 1 if forked() else threads


@contextmanager
def running(threads: int) -> Iterator[None]:
    """Hold numba's thread pool with ``threads`` threads.

    numba's own pool, which is what remains without OpenMP and TBB, breaks when two Python threads
    start kernels at once.
    """
    with _LOCK:
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        try:
            yield
        finally:
            numba.set_num_threads(before)
