"""The workers of a job while they do one thing of many: an error says what it was about."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from rankinite.distributed.communicator import Communicator
from rankinite.errors import RankiniteError


class About(Communicator):
    """The same workers; if one of them ends the job, it says at what.

    Parameters
    ----------
    workers : Communicator
    what : str
        Such as ``"the member a"``.
    """

    def __init__(self, workers: Communicator, what: str) -> None:
        super().__init__()
        self.rank, self.size = workers.rank, workers.size
        self._workers, self._what = workers, what

    def abort(self, error: BaseException) -> NoReturn:
        """End the job on all workers; an error of the caller's is told with what it is about."""
        if isinstance(error, RankiniteError):
            error = RankiniteError(f"{self._what} failed: {error}")
        self._workers.abort(error)

    def _broadcast(self, array: np.ndarray | None, root: int) -> np.ndarray:
        return self._workers.broadcast(array, root)

    def _gather(self, array: np.ndarray, root: int | None) -> list[np.ndarray]:
        return self._workers.gather(array, root)

    def _sum(self, array: np.ndarray) -> np.ndarray:
        return self._workers.sum(array)

    def _max(self, array: np.ndarray) -> np.ndarray:
        return self._workers.max(array)

    def _reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        return self._workers.reduce_scatter(array, own)
