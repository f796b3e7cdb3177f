"""Workers that are processes of an MPI job (`mpiexec -n 4 python train.py`)."""

from __future__ import annotations

import os
import sys
import time
import traceback
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from rankinite.distributed.communicator import Communicator, share_of
from rankinite.errors import ParameterError, RankiniteError

# Seconds that other workers leave to worker 0, which may have met the same error: it is told once.
_PRECEDENCE = 0.5


class Mpi(Communicator):
    """The communicator of a process of an MPI job.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    """

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        super().__init__()
        self._mpi, self._comm = MPI, comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def abort(self, error: BaseException) -> NoReturn:
        """End all processes of the job; the error is told on standard error.

        An error of the caller's is told in its sentence, and the exit code is 2, as that of the
        command line; anything else is told with its traceback.
        """
        if self.rank > 0:
            time.sleep(_PRECEDENCE)
        is_users, is_error = isinstance(error, RankiniteError), isinstance(error, Exception)
        if is_error and not is_users:
            traceback.print_exception(error)
        # What is no Exception is Ctrl-C, or another signal.
        sentence = (str(error) or type(error).__name__) if is_error else "interrupted"
        print(f"error: worker {self.rank} of {self.size}: {sentence}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        code = 2 if is_users else 1
        self._comm.Abort(code)
        # Some libraries come back from there, and end the process a moment later.
        os._exit(code)

    def _broadcast(self, array: np.ndarray | None, root: int) -> np.ndarray:
        mine = self.rank == root and array is not None
        kind, shape = self._comm.bcast((array.dtype.str, array.shape) if mine else None, root)  # type: ignore[union-attr]
        sent = np.ascontiguousarray(array) if mine else np.empty(shape, np.dtype(kind))
        self._comm.Bcast(sent, root)
        return sent

    def _gather(self, array: np.ndarray, root: int | None) -> list[np.ndarray]:
        array = np.ascontiguousarray(array)
        lengths = np.empty(self.size, np.int64)
        self._comm.Allgather(np.array([len(array)], np.int64), lengths)
        wanted = root is None or root == self.rank
        found = np.empty(lengths.sum() if wanted else 0, array.dtype)
        target = [found, lengths]
        if root is None:
            self._comm.Allgatherv(array, target)
        else:
            self._comm.Gatherv(array, target if wanted else None, root)
        return np.split(found, np.cumsum(lengths)[:-1]) if wanted else []

    def _sum(self, array: np.ndarray) -> np.ndarray:
        self._comm.Allreduce(self._mpi.IN_PLACE, array, self._mpi.SUM)
        return array

    def _max(self, array: np.ndarray) -> np.ndarray:
        self._comm.Allreduce(self._mpi.IN_PLACE, array, self._mpi.MAX)
        return array

    def _reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        if own is array:  # all of it is that of a single worker
            return own
        borders = [share_of(len(array), rank, self.size) for rank in range(self.size)]
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        counts = [(last - first) * width for first, last in borders]
        self._comm.Reduce_scatter(array, own, counts, self._mpi.SUM)
        return own


def mpi(comm: Any = None) -> Mpi:
    """The workers of this MPI job, for ``fit(..., communicator=rankinite.mpi())``.

    From now on an exception that nobody catches ends the whole job: otherwise the other processes
    would wait for ever for the one that has failed.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        Those of this group; all of them by default.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py without an MPI library
        raise ParameterError(
            f"workers by MPI need mpi4py and an MPI library ({error}): pip install "
            "'rankinite[mpi]', and mpich where the machine has no MPI of its own"
        ) from None
    found = Mpi(MPI.COMM_WORLD if comm is None else comm)
    _end_all_on_failure(found)
    return found


def _end_all_on_failure(communicator: Mpi) -> None:
    """Let an exception that reaches the top of this process end the job."""
    if communicator.size == 1 or getattr(sys.excepthook, "ends_all", False):
        return

    def end_all(
        kind: type[BaseException], error: BaseException, where: TracebackType | None
    ) -> None:
        communicator.abort(error)

    end_all.ends_all = True  # type: ignore[attr-defined]
    sys.excepthook = end_all
