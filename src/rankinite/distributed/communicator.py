"""A handful of verbs between workers; one process is a communicator of size one.

All that training must agree on over workers passes through these verbs: histogram cells, the
sizes of gradients, leaf sums, and the sums behind a measure's mean. Sums are of integers wherever
they decide a model, so the result does not depend on how many workers there are.

Every worker calls the same verbs in the same order, with arrays of the same type and, but for
`gather`, of the same shape.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np


@dataclass
class Count:
    """Calls of a verb, the bytes that this worker put in, and the seconds until they were done."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass
class Traffic:
    """What has passed through a communicator, by verb."""

    by_verb: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))

    @contextmanager
    def of(self, verb: str, n_bytes: int) -> Iterator[None]:
        """Count a call that is made inside the block."""
        started = time.perf_counter()
        yield
        count = self.by_verb[verb]
        count.calls += 1
        count.bytes += n_bytes
        count.seconds += time.perf_counter() - started

    @property
    def total(self) -> Count:
        """All verbs together."""
        counts = self.by_verb.values()
        return Count(
            sum(each.calls for each in counts),
            sum(each.bytes for each in counts),
            sum(each.seconds for each in counts),
        )


class Communicator(ABC):
    """What training asks of its fellow workers.

    Attributes
    ----------
    rank : int
        The number of this worker, from 0. Worker 0 speaks and writes.
    size : int
        Number of workers.
    traffic : Traffic
        What has passed so far.
    """

    rank: int
    size: int

    def __init__(self) -> None:
        self.traffic = Traffic()

    @property
    def job(self) -> Communicator:
        """The workers of the job: these, unless all of them have the same rows (`SameRows`)."""
        return self

    def broadcast(self, array: np.ndarray | None, root: int = 0) -> np.ndarray:
        """The array of worker `root`, on all workers; what the others pass is not looked at."""
        with self.traffic.of("broadcast", array.nbytes if array is not None else 0):
            return self._broadcast(array, root)

    def gather(self, array: np.ndarray, root: int | None = None) -> list[np.ndarray]:
        """The arrays of all workers, by rank, on worker `root`; on all of them without one.

        Arrays have one dimension, and any lengths. Other workers than `root` get an empty list.
        """
        with self.traffic.of("gather", array.nbytes):
            return self._gather(array, root)

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Element by element, the sum over all workers, in place."""
        with self.traffic.of("sum", array.nbytes):
            return self._sum(array)

    def max(self, array: np.ndarray) -> np.ndarray:
        """Element by element, the largest over all workers, in place."""
        with self.traffic.of("max", array.nbytes):
            return self._max(array)

    def reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        """This worker's share of the sum over all workers, written to `own`.

        The shares are parts of the first axis; `share_of` says which.
        """
        with self.traffic.of("reduce_scatter", array.nbytes):
            return self._reduce_scatter(array, own)

    @abstractmethod
    def abort(self, error: BaseException) -> NoReturn:
        """End the job on all workers, because of an error that only this one has met."""

    @abstractmethod
    def _broadcast(self, array: np.ndarray | None, root: int) -> np.ndarray: ...

    @abstractmethod
    def _gather(self, array: np.ndarray, root: int | None) -> list[np.ndarray]: ...

    @abstractmethod
    def _sum(self, array: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _max(self, array: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray: ...


class Serial(Communicator):
    """The communicator of a single process: every reduction is already done."""

    rank = 0
    size = 1

    def broadcast(self, array: np.ndarray | None, root: int = 0) -> np.ndarray:
        """The array itself."""
        assert array is not None
        return array

    def gather(self, array: np.ndarray, root: int | None = None) -> list[np.ndarray]:
        """The array alone."""
        return [array]

    def sum(self, array: np.ndarray) -> np.ndarray:
        """The array as it is."""
        return array

    def max(self, array: np.ndarray) -> np.ndarray:
        """The array as it is."""
        return array

    def reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        """All of it is this worker's; `own` may be the array itself."""
        if own is not array:
            own[:] = array
        return own

    def abort(self, error: BaseException) -> NoReturn:
        """Raise the error: there is nobody else to end."""
        raise error

    _broadcast, _gather, _sum, _max, _reduce_scatter = broadcast, gather, sum, max, reduce_scatter


class SameRows(Serial):
    """What a worker reduces over rows where all workers have the same ones: nothing.

    The workers share out the features of every search for a split instead.

    Parameters
    ----------
    workers : Communicator
    """

    def __init__(self, workers: Communicator) -> None:
        super().__init__()
        self._workers = workers

    @property
    def job(self) -> Communicator:
        """The workers."""
        return self._workers


def share_of(n: int, rank: int, size: int) -> tuple[int, int]:
    """The first of n things that belong to a worker, and the first that no longer does."""
    return rank * n // size, (rank + 1) * n // size


def total(count: int, communicator: Communicator) -> int:
    """The sum of every worker's count."""
    return int(communicator.sum(np.array([count], np.int64))[0])


def on_any(holds: bool, communicator: Communicator) -> bool:
    """Whether something holds on one worker at least."""
    return bool(communicator.max(np.array([holds], np.int64))[0])
