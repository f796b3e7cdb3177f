"""How kernels are compiled and how many threads they use: decided here, once.

Every kernel is cached on disk and releases the GIL. Floating point stays strict unless a kernel
asks for ``fastmath=SUM_IN_ANY_ORDER``, which lets a reduction be vectorised: the order of the
additions is then fixed by the compiled code, not by the number of threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from pathlib import Path
from typing import Any

import numba

from rankinite._kernel_cache import drop_stale_kernels
from rankinite.errors import ParameterError

SUM_IN_ANY_ORDER = {"reassoc", "nsz", "contract", "arcp"}


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
drop_stale_kernels()


def kernel(**options: Any) -> Callable[[Callable], Callable]:
    """Compile a function that sees arrays and scalars only, and runs on the calling thread."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", **options)


def parallel_kernel(**options: Any) -> Callable[[Callable], Callable]:
    """Compile a function whose ``prange`` loops run on the threads of the current scope."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True, **options)


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
