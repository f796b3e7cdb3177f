"""How many threads a worker has, where several workers share a machine."""

from __future__ import annotations

import os
import socket
import warnings

from rankinite.distributed.communicator import Communicator
from rankinite.distributed.telling import told_by_all
from rankinite.errors import RankiniteWarning


def threads_of_worker(n_threads: int | None, communicator: Communicator) -> int | None:
    """The number of threads of this worker: as asked for, or its share of the machine's cores.

    A warning tells if the process may not use as many cores: Open MPI binds each of its processes
    to one, unless it is told otherwise.
    """
    if communicator.size == 1:
        return n_threads
    n_here = told_by_all(socket.gethostname(), communicator).count(socket.gethostname())
    share = max(1, (os.cpu_count() or 1) // n_here)
    wanted = share if n_threads is None else n_threads
    usable = cores()
    if wanted > usable:
        warnings.warn(
            f"worker {communicator.rank} is to have {wanted} threads, but may use {usable} of the "
            f"{os.cpu_count()} cores of its machine: start it with mpiexec --bind-to none, or ask "
            f"for n_threads={usable}",
            RankiniteWarning,
            stacklevel=4,  # the caller of fit
        )
    return min(wanted, usable)


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
