"""Libraries with OpenMP in a forked process: on one thread, or they wait for ever.

The OpenMP of the parent had threads, and a child that was forked knows of them but does not have
them. So whatever a library would share out there waits for an answer that never comes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


def forked() -> bool:
    """Whether this process was forked from another that had loaded this package."""
    return _forked


@contextmanager
def one_thread_if_forked(library: Any) -> Iterator[None]:
    """Let a library with OpenMP use the calling thread alone inside the block, in a forked process.

    Parameters
    ----------
    library : ctypes.CDLL
        Also what it is linked with is searched, so that it is its own OpenMP that is told.
    """
    if not _forked:
        yield
        return
    before = [(_limit(library, set_it), _number(library, get_it)) for set_it, get_it in _LIMITS]
    for limit, _ in before:
        limit(1)
    try:
        yield
    finally:
        for limit, number in before:
            limit(number)


@contextmanager
def all_on_one_thread_if_forked() -> Iterator[None]:
    """The same for every library with OpenMP that is loaded: for a model that may be of any."""
    with ExitStack() as stack:
        if _forked:
            for library in _loaded():
                stack.enter_context(one_thread_if_forked(library))
        yield


def _loaded() -> Iterator[Any]:
    """The libraries with OpenMP whose packages are imported."""
    for package in ("lightgbm.basic", "xgboost.core"):
        library = getattr(sys.modules.get(package), "_LIB", None)
        if library is not None:
            yield library
    helpers = sys.modules.get("sklearn.utils._openmp_helpers")
    if helpers is not None and helpers.__file__ is not None:
        yield ctypes.CDLL(helpers.__file__)


# How to set and get the number of threads: of OpenMP, and of LightGBM, which keeps one of its own.
_LIMITS = (
    ("omp_set_num_threads", "omp_get_max_threads"),
    ("LGBM_SetMaxThreads", "LGBM_GetMaxThreads"),
)


def _limit(library: Any, name: str) -> Any:
    """The function of a library, or one that does nothing."""
    return getattr(library, name, lambda number: None)


def _number(library: Any, name: str) -> int:
    function = getattr(library, name, None)
    if function is None:
        return 0
    if name.startswith("omp_"):
        return int(function())
    number = ctypes.c_int(0)
    function(ctypes.byref(number))
    return number.value


def _note_fork() -> None:
    global _forked
    _forked = True


_forked = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
