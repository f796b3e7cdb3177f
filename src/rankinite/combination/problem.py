"""What the methods of combination look at: normalised scores, and how good weights are."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rankinite.data import Dataset
from rankinite.errors import DataError
from rankinite.linesearch import LineSearcher
from rankinite.measures import Measure
from rankinite.measures.evaluation import Evaluator, mean_value
from rankinite.models.linear import weighted_sum
from rankinite.training.callbacks import show_line


class Problem:
    """Normalised scores with labels, and a measure of how well weights combine them.

    Parameters
    ----------
    data : Dataset
        Its features are the normalised scores of the rankers; its rows and queries lie in the
        order of their content.
    measure : Measure
    verbose : int
        Above 0, what is noted is also printed to standard error.

    Attributes
    ----------
    history : list of float
        Means of the measure, which the methods note as they go.
    """

    def __init__(self, data: Dataset, measure: Measure, verbose: int = 0) -> None:
        self.data, self.Z, self.measure = data, data.X, measure
        self.history: list[float] = []
        self._verbose = verbose
        self._sign = -1.0 if measure.lower_is_better else 1.0
        self._evaluator = Evaluator(measure, data)
        if not self._evaluator.can_tell():
            raise DataError(
                f"{measure} has no value on this data, so no weights can be learned: no query with "
                "a weight has documents of which some are better than others"
            )

    @property
    def n_rankers(self) -> int:
        """Number of rankers whose scores vary."""
        return self.Z.shape[1]

    @property
    def blank(self) -> np.ndarray:
        """Queries from which nothing can be learned: ndarray of bool, shape (n_queries,)."""
        return self._evaluator.blank

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Combined scores, shape (n_rows,)."""
        return weighted_sum(self.Z, weights)

    def goodness(self, weights: np.ndarray) -> float:
        """The mean of the measure; more is better, whatever the measure."""
        values = self._evaluator.values(self.scores(weights))
        total, mass = mean_value(values, "skip", self._evaluator.weight)
        return self._sign * total / mass if mass > 0 else float("nan")

    @cached_property
    def _searcher(self) -> LineSearcher:
        return LineSearcher(self.measure, self.data)

    def search(
        self, a: np.ndarray, b: np.ndarray, low: float, high: float, *, convex: bool
    ) -> tuple[float, float]:
        """The best α between two vectors of scores, and how good it is there."""
        found = self._searcher.search(a, b, low, high, convex=convex)
        return found.alpha, self._sign * found.value

    def note(self, goodness: float) -> None:
        """Write down how good the weights are by now."""
        self.history.append(self._sign * goodness)
        if self._verbose:
            show_line(f"{self.measure} {self.history[-1]:.4f}")

    def best_start(self) -> np.ndarray:
        """Equal weights, or the one ranker that is better by itself than these."""
        n = self.n_rankers
        starts = [np.full(n, 1.0 / n), *np.eye(n)]
        return max(starts, key=self.goodness)
