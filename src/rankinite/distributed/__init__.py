"""The communicator: how workers reduce what each has seen of the data."""

from rankinite.distributed.about import About
from rankinite.distributed.collective import Collective, LostWorkersError, collective
from rankinite.distributed.communicator import (
    Communicator,
    Count,
    SameRows,
    Serial,
    Traffic,
    on_any,
    share_of,
    total,
)
from rankinite.distributed.faults import alone, everywhere, failing_together, is_everywhere
from rankinite.distributed.mpi import Mpi, mpi
from rankinite.distributed.telling import told_by, told_by_all
from rankinite.distributed.tracker import Tracker

__all__ = [
    "About",
    "Collective",
    "Communicator",
    "Count",
    "LostWorkersError",
    "Mpi",
    "SameRows",
    "Serial",
    "Tracker",
    "Traffic",
    "alone",
    "collective",
    "everywhere",
    "failing_together",
    "is_everywhere",
    "mpi",
    "on_any",
    "share_of",
    "told_by",
    "told_by_all",
    "total",
]
