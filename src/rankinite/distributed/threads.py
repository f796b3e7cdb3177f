"""Workers that are threads of one process: what many would do, without a job of many processes.

It takes no less time than one worker would; it is for experiments and tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from rankinite.distributed.communicator import Communicator, share_of
from rankinite.distributed.faults import is_everywhere

T = TypeVar("T")
# After so many seconds without one of them the others give up.
SECONDS = 600


class AbortedError(Exception):
    """What ends the other workers is the error of one."""


class Meeting:
    """Where threads meet: what each has brought is there for all when the last has come."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self.error: BaseException | None = None
        self._brought: list[Any] = [None] * size

    def bring(self, rank: int, value: Any) -> list[Any]:
        """What all have brought, by rank."""
        self._brought[rank] = value
        self.barrier.wait(timeout=SECONDS)
        found = list(self._brought)
        self.barrier.wait(timeout=SECONDS)
        return found


class ThreadWorker(Communicator):
    """The communicator of one of the threads that meet."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        super().__init__()
        self._meeting, self.rank, self.size = meeting, rank, meeting.size

    def abort(self, error: BaseException) -> NoReturn:
        """End all threads of the meeting; `on_threads` raises the error."""
        meeting = self._meeting
        if meeting.error is None and not isinstance(error, threading.BrokenBarrierError):
            meeting.error = error
        meeting.barrier.abort()
        raise AbortedError(self.rank) from error

    def _broadcast(self, array: np.ndarray | None, root: int) -> np.ndarray:
        return self._meeting.bring(self.rank, array)[root].copy()

    def _gather(self, array: np.ndarray, root: int | None) -> list[np.ndarray]:
        assert array.ndim == 1
        found = self._meeting.bring(self.rank, array.copy())
        return found if root in (None, self.rank) else []

    def _sum(self, array: np.ndarray) -> np.ndarray:
        array[...] = np.add.reduce(self._meeting.bring(self.rank, array.copy()))
        return array

    def _max(self, array: np.ndarray) -> np.ndarray:
        array[...] = np.maximum.reduce(self._meeting.bring(self.rank, array.copy()))
        return array

    def _reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        first, last = share_of(len(array), self.rank, self.size)
        own[...] = np.add.reduce(self._meeting.bring(self.rank, array.copy()))[first:last]
        return own


def on_threads(size: int, work: Callable[[Communicator], T]) -> list[T]:
    """What ``work(communicator)`` returns on each of so many workers, by rank.

    The error that one of them has met is raised, and so is one that all have met.
    """
    meeting = Meeting(size)
    found: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def job(rank: int) -> None:
        try:
            found[rank] = work(ThreadWorker(meeting, rank))
        except BaseException as error:
            errors[rank] = error
            if not is_everywhere(error):
                meeting.barrier.abort()

    jobs = [threading.Thread(target=job, args=(rank,)) for rank in range(size)]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    if meeting.error is not None:
        raise meeting.error
    for error in errors.values():
        raise error
    return [found[rank] for rank in range(size)]
