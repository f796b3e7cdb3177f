"""The training of a net, epoch by epoch: learning rate, best weights, restarts.

The state after an epoch is all there is: the order of an epoch's queries and the weights of a
restart are pure functions of the seed. So a run that goes on from a saved state ends with the same
bits as one that was never interrupted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankinite.errors import RankiniteWarning
from rankinite.nets.net import first_weights, score_standardized
from rankinite.nets.objectives import NetObjective
from rankinite.training import Callback
from rankinite.training.learner import Merit
from rankinite.training.run import Run, run_rounds

# Weights beyond this are those of a net that diverges: its scores could be no numbers.
_LARGEST = 1e150
# The least rise of the validation measure that counts as progress where restarts are allowed.
ENOUGH = 1e-4


@dataclass(frozen=True)
class State:
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


@dataclass
class NetRun(Run):
    """A run with the state it has come to."""

    state: State = field(kw_only=True)
    diverged: bool = False


@dataclass(frozen=True)
class Settings:
    """How to train; see the parameters of the estimators."""

    n_features: int
    n_hidden: int
    learning_rate: float
    decay: float
    n_restarts: int
    patience: int
    seed: int
    # Of the measure that is watched.

    def first_state(self) -> State:
        """Before the first epoch."""
        weights = self._first_weights(0)
        return State(weights, weights, self.learning_rate)

    def next_state(
        self, state: State, weights: np.ndarray, cost: float, value: float | None, n_done: int
    ) -> State:
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


@dataclass(frozen=True, eq=False)
class WatchedRows:
    """A set whose measure is taken after every epoch.

    Attributes
    ----------
    Z : ndarray of float64, shape (n_rows, n_features)
        Standardised features.
    start : ndarray of float64, shape (n_rows,)
        Scores of the base model.
    evaluate : function
        From scores to the mean of each measure.
    """

    Z: np.ndarray
    start: np.ndarray
    evaluate: Callable[[np.ndarray], dict[str, float]]


def train(
    run: NetRun,
    objective: NetObjective,
    settings: Settings,
    watched: dict[str, WatchedRows],
    merit: Merit | None,
    callbacks: Sequence[Callback] = (),
) -> None:
    """Train until the run has `n_rounds` epochs, a callback ends it or the net diverges.

    Parameters
    ----------
    merit : function, optional
        From the measures of an epoch to how good its weights are.
    """
    ends: list[Any] = [callback.ends for callback in callbacks if hasattr(callback, "ends")]

    def learn() -> bool:
        run.diverged = not _epoch(run, objective, settings, watched, merit)
        if run.diverged:
            _warn(run, settings)
        return not run.diverged

    def begin() -> bool:
        return run.n_taken_over > 0 and any(end(run) for end in ends)

    run_rounds(run, callbacks, learn, begin)


def _epoch(
    run: NetRun,
    objective: NetObjective,
    settings: Settings,
    watched: dict[str, WatchedRows],
    merit: Merit | None,
) -> bool:
    """Add an epoch to the run; False leaves it as it was, for the net has diverged."""
    weights = run.state.weights.copy()
    cost = objective.learn(weights, run.state.rate, run.n_done)
    if math.isnan(cost) or not np.abs(weights).max() < _LARGEST:
        return False
    values = {"train": {"cost": cost}}
    for name, rows in watched.items():
        scores = score_standardized(rows.Z, weights, settings.n_hidden, rows.start)
        if not np.isfinite(scores).all():
            return False
        values.setdefault(name, {}).update(rows.evaluate(scores))
    value = None if merit is None else merit(values)
    state = settings.next_state(run.state, weights, cost, value, run.n_done + 1)
    # State and history together, so that neither is ahead of the other.
    run.state = state
    run.note(values)
    return True


def _warn(run: NetRun, settings: Settings) -> None:
    warnings.warn(
        f"the net's scores left the range of numbers in epoch {run.n_done + 1}, and training ended "
        f"with the weights before it: use a learning_rate below {settings.learning_rate:g}",
        RankiniteWarning,
        stacklevel=2,
    )
