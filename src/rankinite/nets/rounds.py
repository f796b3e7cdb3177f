"""The epochs of a net: learning rate, best weights, restarts.

The state after an epoch is all there is: the order of an epoch's queries and the weights of a
restart are pure functions of the seed. So a run that goes on from a saved state ends with the same
bits as one that was never interrupted.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rankinite.errors import DataError
from rankinite.models.standardizing import Standardizer
from rankinite.nets.net import first_weights, score_standardized
from rankinite.nets.objectives import NetObjective
from rankinite.order.canonical import canonical
from rankinite.training import DivergedError, History, Rounds, Run, Watched, WatchedSets

# Weights beyond this are those of a net that diverges: its scores could be no numbers.
_LARGEST = 1e150
# The least rise of the validation measure that counts as progress where restarts are allowed.
ENOUGH = 1e-4


@dataclass(frozen=True)
class NetState:
    """What a run has come to after an epoch.

    Attributes
    ----------
    weights : ndarray of float64
        With which the next epoch starts.
    best : ndarray of float64
        The weights at which the validation measure was best; the last ones without one.
    rate : float
        Learning rate of the next epoch.
    best_value : float
        The validation measure there; turned round if less is better.
    cost : float
        Of the last epoch; infinite at the start of an attempt.
    attempt : int
        How often the net has started anew.
    peak, peak_epoch : float, int
        The last value of this attempt that was progress, and after how many epochs of the run.
    """

    weights: np.ndarray
    best: np.ndarray
    rate: float
    best_value: float = -math.inf
    cost: float = math.inf
    attempt: int = 0
    peak: float = -math.inf
    peak_epoch: int = 0


@dataclass(frozen=True)
class Schedule:
    """How weights, rate and restarts go on from epoch to epoch; see the estimators' parameters."""

    n_features: int
    n_hidden: int
    learning_rate: float
    decay: float
    n_restarts: int
    patience: int
    seed: int

    def first_state(self) -> NetState:
        """Before the first epoch."""
        weights = self._first_weights(0)
        return NetState(weights, weights, self.learning_rate)

    def next_state(
        self, state: NetState, weights: np.ndarray, cost: float, value: float | None, n_done: int
    ) -> NetState:
        """After an epoch that has led to these weights.

        Parameters
        ----------
        value : float, optional
            How good the weights are by the validation measure; NaN if it has no value there.
        n_done : int
            Epochs of the run, with this one.
        """
        rate = state.rate * self.decay if cost > state.cost else state.rate
        state = replace(state, weights=weights, rate=rate, cost=cost)
        if value is None or (math.isnan(value) and state.best_value == -math.inf):
            return replace(state, best=weights)
        if value > state.best_value:
            state = replace(state, best=weights, best_value=value)
        if value > state.peak + ENOUGH:
            return replace(state, peak=value, peak_epoch=n_done)
        if state.attempt < self.n_restarts and n_done - state.peak_epoch >= self.patience:
            attempt = state.attempt + 1
            return replace(
                state,
                weights=self._first_weights(attempt),
                rate=self.learning_rate,
                cost=math.inf,
                attempt=attempt,
                peak=-math.inf,
                peak_epoch=n_done,
            )
        return state

    def _first_weights(self, attempt: int) -> np.ndarray:
        return first_weights(self.n_features, self.n_hidden, self.seed, attempt)


class Epoch(NamedTuple):
    """What an epoch has come to.

    Attributes
    ----------
    number : int
        From 0 on.
    weights : ndarray of float64
    cost : float
        On the training data.
    """

    number: int
    weights: np.ndarray
    cost: float


class Earlier(NamedTuple):
    """What an interrupted run had come to after `n_done` epochs."""

    state: NetState
    history: History
    n_done: int


class NetRounds(Rounds):
    """Epochs of a net.

    Parameters
    ----------
    objective : NetObjective
    schedule : Schedule
    standardizer : Standardizer
        Of the training rows.
    fingerprint : str
        Of the training data.

    Attributes
    ----------
    state : NetState
        What the epochs have come to.
    """

    def __init__(
        self,
        objective: NetObjective,
        schedule: Schedule,
        standardizer: Standardizer,
        fingerprint: str,
    ) -> None:
        self.objective = objective
        self.schedule = schedule
        self.standardizer = standardizer
        self.fingerprint = fingerprint
        self.state = schedule.first_state()
        self._watching = hashlib.sha256()

    @property
    def watching(self) -> str:
        """Tells the validation data from other, in any order of its rows."""
        return self._watching.hexdigest()[:16]

    def note_watched(self, watched: Watched) -> None:
        """Add a set to what `watching` tells."""
        self._watching.update(f"{watched.name} {canonical(watched.data).fingerprint} ".encode())
        if watched.data.preferences is not None:
            pairs = canonical(watched.data, by_pairs=True)
            self._watching.update(f"{pairs.fingerprint} ".encode())

    def learn(self, number: int) -> Epoch:
        """Go through the queries once, from the weights of the state."""
        weights = self.state.weights.copy()
        cost = self.objective.learn(weights, self.state.rate, number)
        if math.isnan(cost) or not np.abs(weights).max() < _LARGEST:
            raise self._diverged(number)
        return Epoch(number, weights, cost)

    def training_cost(self, learned: Epoch) -> float:
        """The epoch's cost."""
        return learned.cost

    def scores(self, learned: Epoch, watched: Watched) -> np.ndarray:
        """Scores at the epoch's weights."""
        n_hidden = self.schedule.n_hidden
        scores = score_standardized(watched.rows, learned.weights, n_hidden, watched.scores)
        if not np.isfinite(scores).all():
            raise self._diverged(learned.number)
        return scores

    def keep(self, learned: Epoch, merit: float | None, n_done: int) -> None:
        """The next state."""
        self.state = self.schedule.next_state(
            self.state, learned.weights, learned.cost, merit, n_done
        )

    def learned_nothing(self) -> bool:
        """Whether the weights are still those of the start, or no feature varies."""
        as_before = np.array_equal(self.state.best, self.schedule.first_state().weights)
        return as_before or not self.standardizer.scale.any()

    def take_over(
        self, earlier: Earlier, run: Run, sets: WatchedSets, ends: Callable[[Run], bool]
    ) -> bool:
        """Begin with the state in which the other run was; the sets must be the same."""
        watched = {(each.name, str(m)) for each in sets for m in each.measures}
        known = {(name, m) for name, measures in earlier.history.items() for m in measures}
        if earlier.n_done and known != watched | {("train", "cost")}:
            raise DataError(
                "the history of the checkpoint is not one of these validation sets and measures: "
                "resume with those of the interrupted run"
            )
        self.state = earlier.state
        run.history = copy.deepcopy(earlier.history)
        run.n_done = run.n_taken_over = earlier.n_done
        return ends(run)

    def _diverged(self, number: int) -> DivergedError:
        return DivergedError(
            f"the net's scores left the range of numbers in epoch {number + 1}, and training ended "
            "with the weights before it: use a learning_rate below "
            f"{self.schedule.learning_rate:g}"
        )
