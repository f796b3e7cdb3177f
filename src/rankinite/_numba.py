"""How kernels are compiled and how many threads they use: decided here, once.

Every kernel is cached on disk and releases the GIL. Floating point stays strict unless a kernel
asks for ``fastmath=SUM_IN_ANY_ORDER``, which lets a reduction be vectorised: the order of the
additions is then fixed by the compiled code, not by the number of threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise, repeat
from operator import index
from pathlib import Path
from threading import Lock
from typing import Any

import numba
import numpy as np

from rankinite._kernel_cache import keep_on_disk
from rankinite.errors import ParameterError

SUM_IN_ANY_ORDER = {"reassoc", "nsz", "contract", "arcp"}
# Options of a small kernel that makes no arrays: those it is given, and parts of them, are looked
# after by its caller. References are then not counted, which would take longer than a short loop.
BORROWS = {"_nrt": False}


def _choose_threading_layer() -> None:
    """Prefer TBB, which survives concurrent Python threads and forks; OpenMP survives the first.

    numba's own ``workqueue`` aborts the process in both cases (a web server meets both), so it
    is never chosen. The wheel of TBB puts its library where the dynamic linker does not look,
    so it is loaded by its path before numba asks for it. A layer that the user set stays.
    """
    if "NUMBA_THREADING_LAYER" in os.environ:
        return
    names = ("libtbb.so.12", "tbb12.dll", "libtbb.12.dylib")
    folders = (Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin")
    for library in (folder / name for folder in folders for name in names):
        if library.exists():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            numba.config.THREADING_LAYER = "tbb"
            return
    numba.config.THREADING_LAYER = "threadsafe"


_choose_threading_layer()


# No kernel is called from C, and a wrapper for that takes time to compile.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(**options: Any) -> Callable[[Callable], Callable]:
    """Compile a function that sees arrays and scalars only, and runs on the calling thread."""
    return _compiled(options)


def parallel_kernel(**options: Any) -> Callable[[Callable], Callable]:
    """Compile a function whose ``prange`` loops run on the threads of the current scope."""
    return _compiled({"parallel": True, **options})


def _compiled(options: dict[str, Any]) -> Callable[[Callable], Callable]:
    compiled = numba.njit(**_OPTIONS, **options)
    return lambda function: keep_on_disk(compiled(function))


def parts_of_rows() -> int:
    """In how many parts the threads of the scope go through rows.

    A few for each thread, so that a slow one does not hold up the rest.
    """
    return 4 * numba.get_num_threads()


def query_blocks(offsets: np.ndarray, rows_a_block: int = 10_000, most: int = 16) -> np.ndarray:
    """Borders of blocks of whole queries for `in_threads`, of about as many rows each.

    Few enough to be worth a call, and enough to even out queries of different sizes.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
    """
    n_rows = offsets[-1]
    n_blocks = min(1 + n_rows // rows_a_block, most)
    borders = np.searchsorted(offsets, np.linspace(0, n_rows, n_blocks + 1))
    # Queries without rows at the end belong to the last block.
    borders[-1] = len(offsets) - 1
    return borders


def even_blocks(n_steps: int, most: int = 32) -> np.ndarray:
    """Borders of blocks of equally many steps for `in_threads`."""
    return np.linspace(0, n_steps, min(most, max(1, n_steps)) + 1).astype(np.int64)


def in_threads(kernel: Callable, blocks: np.ndarray, *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` for every block, on the threads of the scope.

    For kernels that run for milliseconds and are large: around a large kernel, a ``prange`` takes
    several times as long to compile as the kernel itself, and a thread starts in less than a tenth
    of a millisecond. Threads live for one call, so that nothing has to survive a fork. After a
    failure or Ctrl-C nobody begins another block, and those that were begun are waited for.

    Parameters
    ----------
    kernel : a serial kernel
    blocks : ndarray of int64, shape (n_blocks + 1,)
        Block b goes from ``blocks[b]`` to ``blocks[b + 1]``; empty ones are left out.
    """
    pairs = [pair for pair in pairwise(blocks.tolist()) if pair[0] < pair[1]]
    # A list iterator gives each block to one thread: its step is one operation.
    shared = iter(pairs)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for first, last in shared:
                kernel(first, last, *arguments)
        except BaseException as failure:
            failures.append(failure)
            _exhaust(shared)

    def help_out(end: Lock) -> None:
        work()
        end.release()

    ends = [Lock() for _ in range(min(numba.get_num_threads(), len(pairs)) - 1)]
    for end in ends:
        end.acquire()
    started: list[int] = []
    try:
        # Not threading.Thread: Ctrl-C inside its start() can leave a thread that waits for ever,
        # and a process that waits for it. Here no Ctrl-C falls between a start and its record.
        started.extend(map(start_new_thread, repeat(help_out), zip(ends)))
        work()
        _wait_for(ends)
    finally:
        _exhaust(shared)
        _wait_for(ends[: len(started)])
    if failures:
        raise failures[0]


def _exhaust(blocks: Iterator) -> None:
    for _ in blocks:
        pass


def _wait_for(ends: list[Lock]) -> None:
    for end in ends:
        with end:
            pass


@contextmanager
def threads(n_threads: int | None) -> Iterator[int]:
    """Run kernels on `n_threads` threads inside the block (None: all), and restore the number."""
    wanted = number_of_threads(n_threads)
    before = numba.get_num_threads()
    numba.set_num_threads(wanted)
    try:
        yield wanted
    finally:
        numba.set_num_threads(before)


def number_of_threads(n_threads: int | None) -> int:
    """The number of threads that `n_threads` stands for, after a check."""
    available = numba.config.NUMBA_NUM_THREADS
    try:
        wanted = available if n_threads is None else index(n_threads)
    except TypeError:
        wanted = 0
    if wanted < 1:
        raise ParameterError(f"n_threads must be a positive integer or None, got {n_threads!r}")
    return min(wanted, available)
