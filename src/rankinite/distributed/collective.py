"""Workers that talk by the collective of XGBoost: on Dask, or by a launcher that sets ``DMLC_*``.

It has two verbs, a broadcast and an all-reduce; the others are made of them. A tracker tells the
workers of each other (``xgboost.tracker.RabitTracker``); from then on each has a connection to
every other. XGBoost binds a worker's connections to the thread that has made them, so a thread of
the communicator's own calls its verbs.

A verb of XGBoost 3.2 may never return after another worker has gone: if the end of a connection
is seen between two rounds of a ring, its `Loop::Block` ends the thread that serves the connections
and then waits for it. So whoever waits for a verb looks at times whether its threads are there.
The connections of one to which this has happened stay open until its process ends; others that
wait for it learn of it by their timeout.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from rankinite.distributed.communicator import Communicator, share_of
from rankinite.distributed.own_thread import OwnThread
from rankinite.errors import ParameterError, WorkerError

# Seconds without a word of the others after which they count as lost. It must be longer than the
# longest that a worker is silent, while it compiles kernels or bins its rows.
TIMEOUT = 300
# Seconds between two looks at a verb that has not returned, and those to say goodbye.
_LOOK = 0.25
_GOODBYE = 5.0
_NEEDED = ("dmlc_tracker_uri", "dmlc_tracker_port")
_FROM_LAUNCHERS = (*_NEEDED, "dmlc_task_id")


class LostWorkersError(WorkerError):
    """Other workers cannot be reached any more; whatever has ended them is told elsewhere."""


class Collective(Communicator):
    """The communicator of a worker of an XGBoost collective.

    Parameters
    ----------
    arguments : mapping
        Those of ``xgboost.collective.init``, as a tracker's ``worker_args`` gives them, and
        ``dmlc_task_id``: a tracker that sorts by task numbers the workers in the order of these.
    timeout : int
        Seconds without a word of the others after which they count as lost.
    """

    def __init__(self, arguments: Mapping[str, Any], timeout: int = TIMEOUT) -> None:
        from xgboost import collective
        from xgboost.core import XGBoostError

        super().__init__()
        self._collective, self._error, self._timeout = collective, XGBoostError, timeout
        self._is_open = False
        self.rank, self.size = 0, 0
        self._thread = OwnThread()
        try:
            self._try(collective.init, **{"dmlc_timeout": timeout, **arguments})
        except BaseException:
            self._thread.end()
            raise
        self._is_open = True
        self._n_threads = self._thread.n_threads()
        self.rank = self._try(collective.get_rank)
        self.size = self._try(collective.get_world_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._hang_up()

    def close(self) -> None:
        """Leave the others, when all of them have come so far."""
        if not self._is_open:
            return
        # Whoever hears from all others here knows that they have nothing left to read but this,
        # and may go: one that is not heard to the end then fails here, where it means nothing.
        with suppress(LostWorkersError):
            self._all_reduced(np.zeros(1, np.uint8), self._collective.Op.MAX)
        self._hang_up()

    def abort(self, error: BaseException) -> NoReturn:
        """Hang up and raise the error: the others fail at their next verb, wherever they are.

        The process goes on. A script that does not catch the error ends by it, as usual.
        """
        self._hang_up()
        raise error

    def _hang_up(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        waits = not self._thread.is_busy  # one that is may be so for ever
        goodbye = self._thread.ask(self._collective.finalize)
        self._thread.end()
        # The tracker, which wants to be told, may be gone; the connections are closed anyway.
        with suppress(self._error, TimeoutError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            goodbye.result(_GOODBYE if waits else 0)

    def _try(self, verb: Any, *values: Any, **options: Any) -> Any:
        answer = self._thread.ask(partial(verb, *values, **options))
        # Each of its waits is limited by the timeout; more than two of them in a row are too many.
        deadline = time.monotonic() + 2 * self._timeout
        has_ended = False
        while True:
            try:
                return answer.result(_LOOK)
            except self._error as error:
                text = str(error).lower()
                raise self._lost(late="timeout" in text or "timed out" in text) from None
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise self._lost(late=True) from None
                if has_ended:
                    raise self._lost(late=False) from None
                has_ended = self._is_open and self._thread.n_threads() < self._n_threads

    def _lost(self, *, late: bool) -> LostWorkersError:
        what = (
            f"has not heard of the others for {self._timeout} seconds: one of them is stopped "
            "or has too much to do, or the network is down; give more time by timeout="
            if late
            else "has lost the others: one of them has failed or was ended"
        )
        who = f"worker {self.rank} of {self.size}" if self.size else "this worker"
        return LostWorkersError(f"{who} {what}")

    def _all_reduced(self, array: np.ndarray, operation: Any) -> np.ndarray:
        """The flat array of all workers' elements; `array` may lie in memory as it likes."""
        return self._try(self._collective.allreduce, array, operation)

    def _broadcast(self, array: np.ndarray | None, root: int) -> np.ndarray:
        mine = self.rank == root and array is not None
        sent = np.ascontiguousarray(array) if mine else None
        return self._try(self._collective.broadcast, sent, root)

    def _gather(self, array: np.ndarray, root: int | None) -> list[np.ndarray]:
        """Every worker fills in its part of the whole; a sum with zeros changes no byte."""
        operation = self._collective.Op.SUM
        own = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        sizes = np.zeros(self.size, np.int64)
        sizes[self.rank] = len(own)
        sizes = self._all_reduced(sizes, operation)
        ends = np.cumsum(sizes)
        words = np.zeros(-(-int(ends[-1]) // 8), np.uint64)
        if len(words):
            words.view(np.uint8)[ends[self.rank] - len(own) : ends[self.rank]] = own
            words = self._all_reduced(words, operation)
        if root not in (None, self.rank):
            return []
        content = words.view(np.uint8)
        parts = (content[end - size : end] for size, end in zip(sizes, ends, strict=True))
        return [np.frombuffer(part.tobytes(), array.dtype).copy() for part in parts]

    def _sum(self, array: np.ndarray) -> np.ndarray:
        return self._in_place(array, "SUM")

    def _max(self, array: np.ndarray) -> np.ndarray:
        return self._in_place(array, "MAX")

    def _in_place(self, array: np.ndarray, operation: str) -> np.ndarray:
        if array.size:
            array[...] = self._reduced(array, operation)
        return array

    def _reduced(self, array: np.ndarray, operation: str) -> np.ndarray:
        values = array
        if array.dtype == np.bool_:  # the sum of these is whether one of them holds
            values, operation = array.astype(np.uint8), "MAX"
        found = self._all_reduced(values, self._collective.Op[operation])
        return found.reshape(array.shape).astype(array.dtype, copy=False)

    def _reduce_scatter(self, array: np.ndarray, own: np.ndarray) -> np.ndarray:
        if own is array:  # all of it is that of a single worker
            return own
        if array.size:
            first, last = share_of(len(array), self.rank, self.size)
            own[...] = self._reduced(array, "SUM")[first:last]
        return own


def collective(arguments: Mapping[str, Any] | None = None, *, timeout: int = TIMEOUT) -> Collective:
    """The workers of an XGBoost collective, for ``fit(..., communicator=rankinite.collective())``.

    To be called by each of them. An error on one ends the training on all; so does a worker that
    is killed.

    Parameters
    ----------
    arguments : mapping, optional
        ``dmlc_tracker_uri``, ``dmlc_tracker_port`` and ``dmlc_task_id``, as a tracker gives them;
        by default the environment variables of these names in capitals, which launchers set.
    timeout : int
        Seconds without a word of the others after which they count as lost: more than the longest
        that one of them may be silent.

    Examples
    --------
    On each worker::

        with rk.collective() as comm:
            model = rk.LambdaMART().fit(share, communicator=comm)
    """
    try:
        import xgboost  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            f"workers by a collective need XGBoost ({error}): pip install 'rankinite[dask]'"
        ) from None
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 1:
        raise ParameterError(
            f"timeout must be a whole number of seconds at least 1, got {timeout!r}"
        )
    environment = {name: os.environ.get(name.upper()) for name in _FROM_LAUNCHERS}
    found: dict[str, Any] = {k: value for k, value in environment.items() if value is not None}
    found |= {name: value for name, value in (arguments or {}).items() if value is not None}
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise ParameterError(
            f"workers by a collective need a tracker, and nobody says where it is: set "
            f"{missing[0].upper()} in the environment, or pass {missing[0]} in arguments"
        )
    try:
        found["dmlc_tracker_port"] = int(found["dmlc_tracker_port"])
    except ValueError:
        raise ParameterError(
            f"the port of the tracker must be a number, got {found['dmlc_tracker_port']!r}"
        ) from None
    return Collective(found, timeout)
