"""How many threads PyTorch has while a net is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

# Multiplications of a step up to which one thread does it: about a millisecond. More threads wait
# for each other longer than that on a busy machine, and may add up in another order.
SMALL_STEP = 10**7

_lock = Lock()
_inside: list[int] = []  # one entry a scope: the number of threads before it


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
