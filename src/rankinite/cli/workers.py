"""A verb that is run by several processes of an MPI job: one speaks, and one error ends all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rankinite.cli.reporting import be_silent
from rankinite.cli.wording import in_options
from rankinite.errors import DeclarationError, ParameterError, RankiniteError

if TYPE_CHECKING:
    from rankinite.distributed import Communicator

# What launchers of MPI tell their processes: how many there are, or at least which one this is.
_SIZES, _RANK = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"), "PMIX_RANK"


@contextmanager
def workers(distribute: str) -> Iterator[Communicator]:
    """The processes that mpiexec has started, or this one alone.

    All but worker 0 are silent. An error that one of them meets inside the block ends the job.

    Parameters
    ----------
    distribute : {"rows", "features", "trees"}
        What they share out. Who has all rows reduces nothing over them.
    """
    from rankinite.distributed import SameRows, Serial, is_everywhere, mpi
    from rankinite.models.parameters import OneOf
    from rankinite.training.distribution import WAYS

    ways = OneOf(WAYS)
    if not _has_company():
        ways.check("distribute", distribute)
        yield Serial()
        return
    communicator = mpi()
    if communicator.rank > 0:
        be_silent()
    try:
        ways.check("distribute", distribute)
        same_rows = distribute == "features" and communicator.size > 1
        yield SameRows(communicator) if same_rows else communicator
    except BaseException as error:
        if communicator.size == 1 or is_everywhere(error):
            raise
        # What a declaration's error names are keys of a file, not options.
        if isinstance(error, RankiniteError) and not isinstance(error, DeclarationError):
            error = RankiniteError(in_options(str(error)))
        communicator.abort(error)


def _has_company() -> bool:
    """Whether a launcher has started more processes than this one, or may have."""
    sizes = [os.environ[name] for name in _SIZES if name in os.environ]
    return any(size != "1" for size in sizes) if sizes else _RANK in os.environ


def refuse_several(communicator: Communicator, **options: object) -> None:
    """Refuse options that only one process can follow; those that are None were not given."""
    for name, value in options.items():
        if communicator.size > 1 and value is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')} needs all documents on one worker: leave it out, or "
                "start without mpiexec"
            )
