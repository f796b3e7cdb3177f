"""Workers as threads of one process, for what must come out the same on any number of them."""

import numpy as np

from rankinite.distributed.threads import on_threads


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
    return on_threads(len(dealt), lambda communicator: work(communicator, dealt[communicator.rank]))
