"""Workers as threads of one process, for what must come out the same on any number of them."""

import threading

import numpy as np


class Workers:
    """Each reduction waits for all of them."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size)
        self.arrays = [None] * size

    def reduce(self, rank, array, how):
        self.arrays[rank] = array.copy()
        self.barrier.wait(timeout=60)
        array[:] = how.reduce(self.arrays)
        self.barrier.wait(timeout=60)
        return array


class Worker:
    """The communicator of one of them."""

    def __init__(self, workers, rank):
        self.workers, self.rank, self.size = workers, rank, workers.size

    def sum(self, array):
        return self.workers.reduce(self.rank, array, np.add)

    def max(self, array):
        return self.workers.reduce(self.rank, array, np.maximum)


def deals(n):
    """Rows dealt to one worker and to several, some of which have hardly any, or none."""
    return [
        [np.arange(n)],
        *([np.arange(rank, n, size) for rank in range(size)] for size in (2, 3)),
        np.split(np.arange(n), [1, 2, 2]),
    ]


def found_by_workers(dealt, work):
    """What ``work(communicator, rows)`` returns on each worker, by rank."""
    workers, found = Workers(len(dealt)), {}

    def job(rank):
        found[rank] = work(Worker(workers, rank), dealt[rank])

    jobs = [threading.Thread(target=job, args=(rank,)) for rank in range(len(dealt))]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    # One that failed has said why.
    assert sorted(found) == list(range(len(dealt)))
    return [found[rank] for rank in range(len(dealt))]
