"""The communicator: how workers reduce what each has seen of the data."""

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

__all__ = [
    "Communicator",
    "Count",
    "Mpi",
    "SameRows",
    "Serial",
    "Traffic",
    "alone",
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
