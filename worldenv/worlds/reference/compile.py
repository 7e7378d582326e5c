"""Compiles the kernels with a disk cache and shares their work between threads.

All kernels are serial and let go of Python's lock; a loop that is to run on several threads takes
(first, step) and does every step-th piece of work. So one compiled kernel serves any number of
threads, and no thread pool is left behind by a fork.

numba renews a kernel's cache when its own file changes, not when a kernel that it calls from
another file does: after an edit of ``rays.py``, touch ``light.py``.
"""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

__all__ = [
    "cores",
    "default_threads",
    "inner_kernel",
    "kernel",
    "release_memory",
    "share",
    "thread_count",
]

_HOME = os.getpid()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel; division follows IEEE rules, and no unsafe maths is allowed."""
    return _compile(function, no_cfunc_wrapper=True)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call: in less time, without a door to Python."""
    return _compile(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _compile(function: Callable[..., Any], **flags: bool) -> Any:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", **flags}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # numba found no folder that it may write (package, user cache, NUMBA_CACHE_DIR).
        return numba.njit(**options)(function)


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
    """Return ``threads``, or 1 where a fork has left the threads behind."""
    return 1 if forked() else threads


def release_memory() -> None:
    """Hand what was freed back to the system, where the C library can (glibc).

    Building a scene makes and drops many arrays between those that stay; of itself the allocator
    would keep their places, a third of the process.
    """
    # Where there is no such function the memory stays with the process, as it would anyway.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(cores() - 1, 1), thread_name_prefix="worldenv-draw")


def share(threads: int, work: Callable[[int, int], object]) -> None:
    """Call ``work(first, step)`` for each first below step = ``threads``, all at once.

    Returns when all have; the calling thread does one share itself.
    """
    threads = thread_count(threads)
    if threads == 1:
        work(0, 1)
        return
    others = [_pool().submit(work, first, threads) for first in range(1, threads)]
    try:
        work(0, threads)
    finally:
        for other in others:
            other.result()
