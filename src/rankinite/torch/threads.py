"""How many threads PyTorch has while a net is trained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

# Multiplications of a step up to which one thread does it: about a millisecond. More threads wait
# for each other longer than that on a busy machine, and may add up in another order.
SMALL_STEP = 10**7

_lock = Lock()
_inside: list[int] = []  # one entry a scope: the number of threads before it


def _after_a_fork() -> None:
    """Give a forked process one thread: it would wait forever for those that it does not have.

    OpenMP's threads are not copied. PyTorch does the same in the workers of its data loader.
    """
    global _lock
    _lock = Lock()
    _inside.clear()
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_a_fork)


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """Let PyTorch use one thread for small steps; for others it keeps the number that it has.

    The number is one for the whole process, so scopes on several Python threads share theirs, and
    the last one to end restores what was there before the first.

    Parameters
    ----------
    work : int
        Multiplications of a step, about.
    """
    if work > SMALL_STEP:
        yield
        return
    with _lock:
        _inside.append(_inside[0] if _inside else torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            before = _inside.pop()
            if not _inside:
                torch.set_num_threads(before)
