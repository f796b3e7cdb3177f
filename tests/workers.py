"""Workers as threads of one process, for what must come out the same on any number of them."""

import threading

import numpy as np

from rankinite.distributed import Communicator, is_everywhere, share_of


class Workers:
    """What each has brought is there for all when the last has come."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size)
        self.brought = [None] * size
        self.error = None

    def bring(self, rank, value):
        self.brought[rank] = value
        self.barrier.wait(timeout=120)
        found = list(self.brought)
        self.barrier.wait(timeout=120)
        return found


class AbortedError(Exception):
    """What ends the other workers is the error of one."""


class Worker(Communicator):
    """The communicator of one of them."""

    def __init__(self, workers, rank):
        super().__init__()
        self.workers, self.rank, self.size = workers, rank, workers.size

    def abort(self, error):
        if self.workers.error is None and not isinstance(error, threading.BrokenBarrierError):
            self.workers.error = error
        self.workers.barrier.abort()
        raise AbortedError(self.rank) from error

    def _broadcast(self, array, root):
        return self.workers.bring(self.rank, array)[root].copy()

    def _gather(self, array, root):
        assert array.ndim == 1
        found = self.workers.bring(self.rank, array.copy())
        return found if root in (None, self.rank) else []

    def _sum(self, array):
        array[...] = np.add.reduce(self.workers.bring(self.rank, array.copy()))
        return array

    def _max(self, array):
        array[...] = np.maximum.reduce(self.workers.bring(self.rank, array.copy()))
        return array

    def _reduce_scatter(self, array, own):
        first, last = share_of(len(array), self.rank, self.size)
        own[...] = np.add.reduce(self.workers.bring(self.rank, array.copy()))[first:last]
        return own


def deals(n):
    """Rows dealt to one worker and to several, some of which have hardly any, or none."""
    return [
        [np.arange(n)],
        *([np.arange(rank, n, size) for rank in range(size)] for size in (2, 3)),
        np.split(np.arange(n), [1, 2, 2]),
    ]


def found_by_workers(dealt, work):
    """What ``work(communicator, rows)`` returns on each worker, by rank.

    The error that one of them has met is raised, and so is one that all have met.
    """
    workers, found, errors = Workers(len(dealt)), {}, {}

    def job(rank):
        try:
            found[rank] = work(Worker(workers, rank), dealt[rank])
        except BaseException as error:
            errors[rank] = error
            if not is_everywhere(error):
                workers.barrier.abort()

    jobs = [threading.Thread(target=job, args=(rank,)) for rank in range(len(dealt))]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    if workers.error is not None:
        raise workers.error
    for error in errors.values():
        raise error
    return [found[rank] for rank in range(len(dealt))]
