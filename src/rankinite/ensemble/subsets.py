"""Which members are best without the others, as an average (Burges et al. 2011, Table 3).

A search takes what is best on the queries it looks at, and so looks better on them than it is. Its
true worth is measured on queries that had no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.combination.normalising import Normalizer
from rankinite.data import Dataset
from rankinite.measures.evaluation import Evaluator, MeasureLike, mean_value


def best_subset(table: Dataset, measure: MeasureLike) -> list[int]:
    """The members whose average is best by a search in steps.

    It begins with all members. Each step leaves one out or takes one back, whichever is best, and
    it ends when no step helps.

    Parameters
    ----------
    table : Dataset
        Its features are the scores of the members.

    Returns
    -------
    list of int
        Their columns, ascending.
    """
    goodness = _Goodness(table, measure)
    chosen = frozenset(range(table.n_features))
    best = goodness(chosen)
    while True:
        # Of equals the one that was met first, so that the result is always the same.
        near = [chosen ^ {column} for column in range(table.n_features)]
        tried = [(goodness(each), each) for each in near if each]
        value, other = max(tried, key=lambda pair: pair[0], default=(best, chosen))
        if not value > best:
            return sorted(chosen)
        best, chosen = value, other


def cross_fitted(table: Dataset, measure: MeasureLike, parts: np.ndarray) -> np.ndarray:
    """Scores of all documents, each by the subset that was best on the other parts.

    Parameters
    ----------
    table : Dataset
    measure : str or Measure
    parts : ndarray of int64, shape (n_queries,)
        The part of each query.

    Returns
    -------
    ndarray of float64, shape (n_rows,), in stored order
    """
    scores = np.empty(table.n_rows)
    for part in np.unique(parts):
        here = parts == part
        rest = table.select_queries(~here)
        chosen = best_subset(rest, measure)
        rows = np.repeat(here, table.query_sizes)
        scores[rows] = _normalizer(rest).transform(table.X[rows], None)[:, chosen].mean(axis=1)
    return scores


class _Goodness:
    """The mean of a measure for the average of some members, each computed once."""

    def __init__(self, table: Dataset, measure: MeasureLike) -> None:
        self._evaluator = Evaluator(measure, table)
        self._sign = -1.0 if self._evaluator.measure.lower_is_better else 1.0
        self._Z = _normalizer(table).transform(table.X, None)
        self._known: dict[frozenset[int], float] = {}

    def __call__(self, chosen: frozenset[int]) -> float:
        if chosen not in self._known:
            values = self._evaluator.values(self._Z[:, sorted(chosen)].mean(axis=1))
            total, mass = mean_value(values, "skip", self._evaluator.weight)
            self._known[chosen] = self._sign * total / mass if mass > 0 else -np.inf
        return self._known[chosen]


def _normalizer(table: Dataset) -> Normalizer:
    """Mean 0 and variance 1 of each member; the table lies in the order of its content."""
    names: Sequence[str] = [str(column) for column in range(table.n_features)]
    return Normalizer.learn("data", names, table)
