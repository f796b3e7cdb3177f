"""The rounds of a training: one loop for all learners.

A learner prepares its `Rounds` from the data. `train` goes through them: learn, score the sets that
are watched, measure, keep, tell the callbacks.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from rankinite.distributed import Communicator, Serial, on_any
from rankinite.errors import RankiniteWarning
from rankinite.training.run import Callback, Run
from rankinite.training.watching import Watched, WatchedSets


class DivergedError(Exception):
    """A round has left the range of numbers; the text tells a user what to do."""


class Rounds(ABC):
    """How one learner learns from one set of data, round by round, and what it has learned so far.

    Attributes
    ----------
    fingerprint : str
        Tells this training data, with its weights and base scores, from other data.
    """

    fingerprint: str

    @abstractmethod
    def learn(self, number: int) -> Any:
        """Learn the next round, `number` from 0 on; what comes out is not kept yet."""

    @abstractmethod
    def scores(self, learned: Any, watched: Watched) -> np.ndarray:
        """Scores of a watched set's rows after the round that `learn` has just learned."""

    @abstractmethod
    def keep(self, learned: Any, merit: float | None, n_done: int) -> None:
        """Make a round a part of what has been learned.

        Parameters
        ----------
        learned : what `learn` returned
        merit : float, optional
            How good the round is by the leading set; None without one, NaN without a value.
        n_done : int
            Rounds with this one.
        """

    def take_over(self, earlier: Any, run: Run, sets: WatchedSets, ends: Ends) -> bool:
        """Put an interrupted run's rounds into this run; whether one of them ends it.

        Parameters
        ----------
        earlier : what the learner found in the checkpoint
        run : Run
            Without rounds. It gets all of them at once, at the end, so that an interrupt in
            between finds it empty, and no part of a run replaces the checkpoint of the whole.
        ends : function
            Whether a callback would have ended a run there.
        """
        raise NotImplementedError("the learner of these rounds refuses to resume")

    def learned_nothing(self) -> bool:
        """Whether what has been learned ranks every two documents as before the first round."""
        return False

    def training_cost(self, learned: Any) -> float | None:
        """What the round's history tells of the training data; None is nothing."""
        return None

    def scope(self) -> AbstractContextManager[None]:
        """What must hold while rounds are learned."""
        return nullcontext()


Ends = Callable[[Run], bool]


def train(
    run: Run,
    rounds: Rounds,
    sets: WatchedSets,
    callbacks: Sequence[Callback] = (),
    earlier: Any = None,
    communicator: Communicator | None = None,
) -> None:
    """Learn round after round, until the run has all of them or something ends it.

    Parameters
    ----------
    earlier : any
        The rounds of an interrupted run, for `Rounds.take_over`; None to begin anew.
    communicator : Communicator, optional
        Of the workers that learn the same rounds: a callback on one of them ends the run on all.
    """
    communicator = Serial() if communicator is None else communicator

    def ends(run: Run) -> bool:
        return any(callback.ends(run) for callback in callbacks if hasattr(callback, "ends"))

    try:
        with rounds.scope():
            stop = earlier is not None and rounds.take_over(earlier, run, sets, ends)
            started = time.perf_counter()
            while run.n_done < run.n_rounds and not stop:
                add_round(run, rounds, sets, rounds.learn(run.n_done))
                run.seconds = time.perf_counter() - started
                # Every callback sees every round, also the last one.
                verdicts = [callback.after_round(run) for callback in callbacks]
                stop = on_any(any(verdicts), communicator)
    except DivergedError as error:
        run.diverged = str(error)
    except BaseException:
        # What has ended the run matters more than a callback that fails at the end.
        for failure in _finish(callbacks, run):
            warnings.warn(
                f"a callback failed at the end of the training: {failure!r}",
                RankiniteWarning,
                stacklevel=2,
            )
        raise
    for failure in _finish(callbacks, run):
        raise failure


def _finish(callbacks: Sequence[Callback], run: Run) -> list[BaseException]:
    """Let every callback finish, whatever the others do; what went wrong."""
    failures: list[BaseException] = []
    for callback in callbacks:
        try:
            callback.finish(run)
        except BaseException as failure:
            failures.append(failure)
    return failures


def add_round(run: Run, rounds: Rounds, sets: WatchedSets, learned: Any) -> None:
    """Measure the sets after a round, then keep it and note the measures together."""
    cost = rounds.training_cost(learned)
    values: dict[str, dict[str, float]] = {} if cost is None else {"train": {"cost": cost}}
    for watched in sets:
        measured = watched.evaluate(rounds.scores(learned, watched))
        values.setdefault(watched.name, {}).update(measured)
    rounds.keep(learned, sets.merit(values), run.n_done + 1)
    run.note(values)
