"""A training as the client sees it: bring the data, start the workers, wait, and try again."""

from __future__ import annotations

import logging
import threading
import time
import uuid
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from distributed import Client, Future, Lock
from distributed.comm import get_address_host

from rankinite.dask.crew import Crew, lost, wait_a_while
from rankinite.dask.failures import Failure, LostError
from rankinite.dask.partitions import Table
from rankinite.dask.placement import Shares, shares
from rankinite.dask.work import Outcome, Place, Plan, stamp, start_tracker, stop_tracker, work
from rankinite.distributed import Traffic
from rankinite.errors import RankiniteError
from rankinite.training import Learner

log = logging.getLogger("rankinite.dask")

# Seconds that workers have to end after one of them has failed.
GRACE = 15.0
# Seconds to wait for workers where there are none, and for what they have found.
PATIENCE = 30.0


@dataclass
class Job:
    """A training on all workers of a cluster.

    Attributes
    ----------
    plan : Plan
    rows : Table
        The training data.
    sets : dict of Table
        Those that are watched.
    query_weight : mapping or None
    retries : int
        How often to try again after a worker was lost.
    n_moved : int
        Rows that were moved to bring queries together, in the last try.
    """

    plan: Plan
    rows: Table
    sets: dict[str, Table]
    query_weight: Mapping[Any, float] | None = None
    retries: int = 0
    n_moved: int = 0

    def run(self, client: Client) -> tuple[Learner, Traffic]:
        """Train, and try again from the last checkpoint after a worker was lost."""
        silent: set[str] = set()
        before = None
        for left in reversed(range(self.retries + 1)):
            crew = _crew(client, silent)
            try:
                if self.plan.checkpoint is not None:
                    (now,) = crew.results([crew.submit(0, stamp, self.plan.checkpoint)])
                    if left == self.retries:
                        before = now
                    elif now not in (None, before):  # it was written by this run
                        self.plan = replace(self.plan, resume=self.plan.checkpoint)
                return self._tried(crew)
            except LostError as error:
                if left == 0:
                    raise _advised(error, self.plan) from None
                silent.update(error.silent)
                crew.dismiss()
                log.warning("%s; trying again, %d more times at most", error, left - 1)
        raise AssertionError("there is always one try")

    def _tried(self, crew: Crew) -> tuple[Learner, Traffic]:
        """One try on these workers."""
        rows = shares(self.rows, self.query_weight, crew)
        sets = {name: shares(table, None, crew) for name, table in self.sets.items()}
        self.n_moved = rows.n_moved + sum(each.n_moved for each in sets.values())
        # A worker that had a task of each of two trainings would keep both waiting for ever.
        with crew.client.as_current(), Lock("rankinite training"):
            outcomes = _worked(self.plan, rows, sets, crew)
        for kind, text in dict.fromkeys(each for out in outcomes for each in out.told):
            warnings.warn(text, kind, stacklevel=5)  # the caller of fit
        model = outcomes[0].model
        assert model is not None
        return model, outcomes[0].traffic


def _crew(client: Client, silent: set[str]) -> Crew:
    """All workers that there are, but for those that do not answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = [address for address in sorted(client.nthreads()) if address not in silent]
        if found:
            return Crew(client, found)
        if time.monotonic() > deadline:
            raise LostError("there is no worker in the cluster: start some, and try again")
        time.sleep(0.5)


def _worked(plan: Plan, rows: Shares, sets: Mapping[str, Shares], crew: Crew) -> list[Outcome]:
    """Let all workers train together; what each has come to, by rank."""
    job = uuid.uuid4().hex
    trackers: list[dict[str, Any]] = []
    tasks: list[Future] = []
    try:
        if crew.size > 1:
            host = get_address_host(crew.addresses[0])
            (trackers,) = crew.results([crew.submit(0, start_tracker, job, crew.size, host)])
        for rank in range(crew.size):
            place = Place(rank, crew.size, job, trackers)
            own = {name: each.futures[rank] for name, each in sets.items()}
            tasks.append(crew.submit(rank, work, plan, place, rows.futures[rank], own))
        found = _outcomes(tasks, crew, job)
    finally:
        # Also after Ctrl-C: the workers notice after the tree that they are at.
        crew.client.cancel(tasks, force=True)
        if trackers:
            _stop_tracker(crew, job)
    _refuse_failures(found, crew, plan)
    return [found[rank] for rank in range(crew.size)]


def _outcomes(tasks: list[Future], crew: Crew, job: str) -> dict[int, Outcome]:
    """What the workers have come to; those that are gone, or stay silent, are not in it.

    After the first failure the others end at their next word to each other. The tasks of workers
    that are gone stay pending in Dask, so that nobody must wait for them.
    """
    found: dict[int, Outcome] = {}
    deadline = 0.0
    while True:
        found |= _ended(tasks, found)
        gone = crew.gone()
        waiting = set(range(crew.size)) - set(found) - set(gone)
        if not waiting:
            return found
        if gone or any(outcome.failure for outcome in found.values()):
            if not deadline:
                deadline = time.monotonic() + GRACE
                _stop_tracker(crew, job)
            elif time.monotonic() > deadline:
                return found
        wait_a_while([tasks[rank] for rank in waiting])


def _ended(tasks: list[Future], known: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """Outcomes that are new."""
    found: dict[int, Outcome] = {}
    for rank, task in enumerate(tasks):
        if rank in known or task.status not in ("finished", "error"):
            continue
        # The worker may go before its answer has arrived.
        with suppress(TimeoutError):
            error = task.exception(timeout=PATIENCE)
            found[rank] = (
                task.result(timeout=PATIENCE) if error is None else Outcome(None, Failure.of(error))
            )
    return found


def _stop_tracker(crew: Crew, job: str) -> None:
    """End the tracker; workers that still wait for one that will not come fail then."""
    if 0 in crew.gone():
        return

    # Not as a task, for which the worker may have no thread left.
    def stop() -> None:
        with suppress(Exception):
            crew.client.run(stop_tracker, job, workers=[crew.addresses[0]], on_error="ignore")

    # A worker that is stopped never answers.
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(PATIENCE / 10)


def _refuse_failures(found: Mapping[int, Outcome], crew: Crew, plan: Plan) -> None:
    """Raise what has ended the job: an error of a worker's own before what the others noticed."""
    failures = {rank: out.failure for rank, out in sorted(found.items()) if out.failure}
    for rank, failure in failures.items():
        if not failure.is_lost:
            log.debug("%s:\n%s", crew.named(rank), failure.traceback)
            raise failure.error(f"worker {rank} of {crew.size}")
    gone = [rank for rank in crew.gone() if rank not in found]
    if gone:
        raise LostError(lost(crew, gone))
    silent = [rank for rank in range(crew.size) if rank not in found]
    if silent:
        who = ", ".join(crew.named(rank) for rank in silent)
        raise LostError(
            f"{who} did not answer for {plan.timeout} seconds",
            [crew.addresses[rank] for rank in silent],
        )
    for rank, failure in failures.items():
        raise LostError(failure.text.replace(f"worker {rank} of {crew.size}", crew.named(rank)))


def _advised(error: LostError, plan: Plan) -> RankiniteError:
    """The error with what can be done."""
    what = (
        f"go on from the checkpoint by resume={plan.checkpoint!r}, or pass retries="
        if plan.checkpoint is not None
        else "train again, or let it be tried again by retries=, and checkpoint= to go on from"
    )
    return type(error)(f"{error}; {what}")
