"""The tracker of a collective: it tells the workers of each other when they meet."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any


class Tracker:
    """Listens on this machine until it is stopped.

    Parameters
    ----------
    n_workers : int
        All of them must come before any of them can begin.
    host : str
        The address of this machine by which the workers reach it.
    """

    def __init__(self, n_workers: int, host: str) -> None:
        from xgboost.tracker import RabitTracker

        self._n_workers = n_workers
        self._tracker = RabitTracker(n_workers=n_workers, host_ip=host, sortby="task")
        self._tracker.start()
        # It waits until the tracker listens: one that is stopped before would never end.
        self._arguments = self._tracker.worker_args()

    def arguments(self, rank: int) -> dict[str, Any]:
        """What `Collective` takes on the worker that is to have this number."""
        # The tracker sorts the workers by these as texts.
        task = str(rank).zfill(len(str(self._n_workers)))
        # It is there already, so nobody has to knock twice; and when it is gone, nobody should.
        return {**self._arguments, "dmlc_task_id": task, "dmlc_retry": 1}

    def stop(self) -> None:
        """Listen no longer; workers that wait for others to come fail then."""
        from xgboost.core import XGBoostError

        # XGBoost complains where not all workers have said goodbye.
        with suppress(XGBoostError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tracker.free()
