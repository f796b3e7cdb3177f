"""What a trial does: a ranker with its parameters, cross-validated by query."""

from __future__ import annotations

import time
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite.data import Dataset
from rankinite.errors import RankiniteError, RankiniteWarning
from rankinite.measures import Evaluator, Measure, mean_value
from rankinite.models.scores import scores_of
from rankinite.sweeping.pruning import Curve, PrunedError
from rankinite.sweeping.trial import COMPLETE, FAILED, PRUNED, Task, Trial
from rankinite.training import Learner
from rankinite.training.cross_validation import Fold, folds_of


class Objective:
    """Runs trials, each a function of its task alone.

    Parameters
    ----------
    ranker : Learner
        With the parameters that are fixed.
    data : Dataset
        Its queries in an order that is made of their content, which the folds then are, too.
    measure : Measure
        What trials are judged by.
    n_folds : int
    seed : int
        Of the folds.
    longest : int
        Most rounds of any trial.
    share : float or None
        Of the rivals that a trial must be behind to be given up; see `Curve`.
    n_threads : int, optional
    """

    def __init__(
        self,
        ranker: Learner,
        data: Dataset,
        measure: Measure,
        n_folds: int,
        seed: int,
        longest: int,
        share: float | None,
        n_threads: int | None = None,
    ) -> None:
        self.ranker, self.data, self.measure = ranker, data, measure
        self.n_folds, self.seed, self.n_threads = n_folds, seed, n_threads
        self.longest, self.share = longest, share

    @cached_property
    def folds(self) -> list[Fold]:
        """Made once: what trees are grown on is binned once a fold, not once a trial."""
        return list(folds_of(self.data, self.n_folds, self.seed))

    @cached_property
    def _sign(self) -> float:
        return -1.0 if self.measure.lower_is_better else 1.0

    def with_params(self, params: dict[str, Any]) -> Learner:
        """The ranker with some more parameters; it watches what it is judged by."""
        ranker = self.ranker.__sklearn_clone__().set_params(**params)
        watched = [] if ranker.valid_measure is None else ranker.watched_measures()
        # The first one decides when to stop; the curve is that of the measure.
        if str(self.measure) not in map(str, watched):
            ranker.valid_measure = [*watched, self.measure]
        ranker.n_threads, ranker.verbose = self.n_threads, 0
        return ranker

    def run(self, task: Task) -> Trial:
        """Train and measure fold by fold, until the end or until the trial is far behind."""
        curve = Curve(
            task.rivals, self.share, self.longest, self.n_folds, str(self.measure), self._sign
        )
        rounds: list[int] = []
        value, state, error = float("nan"), COMPLETE, ""
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(), threads(self.n_threads):
                # What is amiss with a trial is told when its parameters are trained for good.
                warnings.simplefilter("ignore", RankiniteWarning)
                value = self._value(self.with_params(task.params), curve, rounds)
        except PrunedError:
            state = PRUNED
        except RankiniteError as failure:
            state, error = FAILED, str(failure)
        return Trial(
            number=task.number,
            params=task.params,
            state=state,
            value=value,
            folds=curve.folds,
            rounds=rounds,
            seconds=round(time.perf_counter() - started, 3),
            curve=curve.looks,
            error=error,
        )

    def _value(self, ranker: Learner, curve: Curve, rounds: list[int]) -> float:
        evaluator = Evaluator(self.measure, self.data, float(getattr(ranker, "sigma", 1.0)))
        scores = np.zeros(self.data.n_rows)
        for fold in self.folds:
            model = fold.trained(ranker, [curve])
            rows = np.repeat(fold.queries, self.data.query_sizes)
            scores[rows] = scores_of(model, fold.test)
            rounds.append(int(model.n_rounds_))
            curve.end_fold(_mean(evaluator, scores, fold.queries))
        return _mean(evaluator, scores)


def _mean(evaluator: Evaluator, scores: np.ndarray, queries: Any = slice(None)) -> float:
    """The mean over some of the queries; NaN if all of them are blank."""
    weight = None if evaluator.weight is None else evaluator.weight[queries]
    total, mass = mean_value(evaluator.values(scores)[queries], "skip", weight)
    return float(total / mass) if mass > 0 else float("nan")
