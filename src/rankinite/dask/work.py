"""What one worker does of a training: the task that Dask gives it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from distributed import get_worker

from rankinite.dask.failures import Failure
from rankinite.data import Dataset
from rankinite.distributed import Collective, Communicator, Serial, Tracker, Traffic
from rankinite.distributed.cores import cores
from rankinite.errors import RankiniteWarning, WorkerError
from rankinite.training import Callback, Checkpoint, Learner, Run

# The trackers that this process runs, by the ids of their jobs.
_TRACKERS: dict[str, Tracker] = {}


@dataclass
class Plan:
    """What all workers of a job are told.

    Attributes
    ----------
    learner : Learner
        Not trained.
    callbacks : sequence
    resume : path, model or None
        Of an earlier run.
    checkpoint : str or None
        Where to keep one, on disks that all workers reach.
    every : int
        Rounds between two checkpoints.
    timeout : int
        Seconds without a word of the others.
    """

    learner: Learner
    callbacks: Sequence[Callback] = ()
    resume: Any = None
    checkpoint: str | None = None
    every: int = 50
    timeout: int = 300


@dataclass
class Outcome:
    """What a worker has come to.

    Attributes
    ----------
    model : Learner or None
        Of worker 0, if all went well.
    failure : Failure or None
    told : list of tuples (type, str)
        Warnings that are the user's.
    traffic : Traffic
    """

    model: Learner | None = None
    failure: Failure | None = None
    told: list[tuple[type[Warning], str]] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)


class Place(NamedTuple):
    """Which worker of which job this is, and where the others are."""

    rank: int
    size: int
    job: str
    trackers: list[dict[str, Any]]  # what `Collective` takes, by rank; none for a worker alone


def start_tracker(job: str, size: int, host: str) -> list[dict[str, Any]]:
    """Begin to bring the workers of a job together; what each must know, by rank."""
    tracker = _TRACKERS[job] = Tracker(size, host)
    return [tracker.arguments(rank) for rank in range(size)]


def stop_tracker(job: str) -> None:
    """End the job's tracker, if it runs in this process: whoever still waits for others fails."""
    tracker = _TRACKERS.pop(job, None)
    if tracker is not None:
        # Not on the thread by which the worker talks to the scheduler.
        threading.Thread(target=tracker.stop, daemon=True).start()


def work(plan: Plan, place: Place, share: Dataset | None, sets: Mapping[str, Any]) -> Outcome:
    """Train together with the others; errors are told and not raised.

    Dask would write the traceback of an error into the log of the worker.
    """
    outcome = Outcome()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankiniteWarning)
        try:
            with _communicator(plan, place) as communicator:
                outcome.traffic = communicator.traffic
                model = _train(plan, communicator, share, sets)
            outcome.model = model if place.rank == 0 else None
        except BaseException as error:
            outcome.failure = Failure.of(error)
    for each in caught:
        if issubclass(each.category, RankiniteWarning):
            outcome.told.append((each.category, str(each.message)))
    return outcome


def _communicator(plan: Plan, place: Place) -> AbstractContextManager[Communicator]:
    if place.size == 1:
        return nullcontext(Serial())
    return Collective(place.trackers[place.rank], plan.timeout)


def _train(
    plan: Plan, communicator: Communicator, share: Dataset | None, sets: Mapping[str, Any]
) -> Learner:
    learner = type(plan.learner)(**plan.learner.get_params(deep=False))
    wanted = learner.n_threads
    if wanted is None:
        # The threads that Dask has given this worker are all its training's: it does nothing else.
        learner.set_params(n_threads=min(get_worker().state.nthreads, cores()))
    callbacks = [*plan.callbacks, WhileWanted()]
    if plan.checkpoint is not None:
        callbacks.append(Checkpoint(plan.checkpoint, plan.every))
    learner.fit(
        share,
        valid=sets,
        callbacks=callbacks,
        resume=plan.resume,
        communicator=communicator,
    )
    return learner.set_params(n_threads=wanted)


class WhileWanted:
    """Ends the training when nobody waits for it any more: the client has left, or was stopped."""

    def __init__(self) -> None:
        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def after_round(self, run: Run) -> bool:
        """Fail if Dask has cancelled the task; it cannot end a thread by itself."""
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise WorkerError("the training was cancelled")
        return False

    def finish(self, run: Run) -> None:
        """Nothing to close."""


def stamp(path: str) -> int | None:
    """What changes when a checkpoint is written; None while there is none."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return None
