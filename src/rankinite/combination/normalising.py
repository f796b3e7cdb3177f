"""Scores of different rankers on one scale (Burges et al. 2011, sections 4.2 and 4.3).

First, if asked for, the scores of each query by themselves; then all scores of a ranker, by the
mean and the variance that they had on the data of ``fit``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankinite.data import Dataset
from rankinite.errors import DataError
from rankinite.models.file import Arrays
from rankinite.models.standardizing import Standardizer

NORMALIZATIONS = ("data", "query", "query_max", "none")
"""What `normalize` may be; see `Combination`."""

_BY_QUERY = ("query", "query_max")


def needs_queries(kind: str) -> bool:
    """Whether scores can only be normalised if it is known which documents belong together."""
    return kind in _BY_QUERY


@dataclass(frozen=True, eq=False)
class Normalizer:
    """How the scores of some rankers come to one scale.

    Attributes
    ----------
    kind : str
        One of `NORMALIZATIONS`.
    names : sequence of str
        What the rankers are called.
    standardizer : Standardizer
        Mean and scale of each ranker.
    """

    kind: str
    names: Sequence[str]
    standardizer: Standardizer

    @classmethod
    def learn(cls, kind: str, names: Sequence[str], table: Dataset) -> Normalizer:
        """Take means and variances of scores.

        Parameters
        ----------
        kind, names
            See the attributes.
        table : Dataset
            Its features are the scores of the rankers; its rows lie in the order of their content.
        """
        values = by_query(kind, names, table.X, table.offsets)
        learned = Standardizer.learn(values, np.arange(table.n_rows))
        if kind == "none":
            zero, one = np.zeros(len(names)), np.ones(len(names))
            learned = Standardizer(zero, one, learned.low, learned.high)
        return cls(kind, names, learned)

    def transform(self, scores: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        """Normalised scores, float64 of shape (n_rows, n_rankers).

        Parameters
        ----------
        scores : ndarray of float64, shape (n_rows, n_rankers)
        offsets : ndarray of int64, shape (n_queries + 1,), optional
            Where the queries begin; needed where each is normalised by itself.
        """
        return self.standardizer.transform(by_query(self.kind, self.names, scores, offsets))

    def to_arrays(self) -> Arrays:
        """What `from_arrays` takes."""
        return self.standardizer.to_arrays()

    @classmethod
    def from_arrays(cls, kind: str, names: Sequence[str], arrays: Arrays) -> Normalizer:
        """The normaliser of the arrays of a model file, after a check."""
        return cls(kind, names, Standardizer.from_arrays(arrays, len(names)))


def by_query(
    kind: str, names: Sequence[str], scores: np.ndarray, offsets: np.ndarray | None
) -> np.ndarray:
    """Scores of shape (n_rows, n_rankers), normalised query by query if the kind says so."""
    if not needs_queries(kind):
        return scores
    if offsets is None:
        raise DataError(
            f"normalize={kind!r} takes the scores of each query together, and a matrix does not "
            "say which rows belong to a query: pass a Dataset"
        )
    starts, sizes = offsets[:-1][np.diff(offsets) > 0], np.diff(offsets)[np.diff(offsets) > 0]
    normalised = np.empty_like(scores)
    for j, name in enumerate(names):
        column = np.ascontiguousarray(scores[:, j])
        if kind == "query":
            normalised[:, j] = _unit_variance(column, starts, sizes)
        else:
            normalised[:, j] = _below_the_best(column, starts, sizes, name)
    return normalised


def _unit_variance(scores: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 in each query; 0 where all scores of a query are the same."""
    query = np.repeat(np.arange(len(sizes)), sizes)
    # By size, so that sums do not depend on the order of the rows.
    order = np.lexsort((scores, query))
    values = scores[order]
    low, high = values[starts], values[starts + sizes - 1]
    # In units of a power of two near the largest score nothing overflows.
    exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
    values = np.ldexp(values, -exponent[query])
    values -= (np.add.reduceat(values, starts) / sizes)[query]
    deviation = np.sqrt(np.add.reduceat(values * values, starts) / sizes)
    factor = np.divide(1.0, deviation, out=np.zeros(len(sizes)), where=low < high)
    result = np.empty_like(scores)
    result[order] = values * factor[query]
    return result


def _below_the_best(
    scores: np.ndarray, starts: np.ndarray, sizes: np.ndarray, name: str
) -> np.ndarray:
    """P_max · (1 + P − P_max) of each query: in queries of low scores these vary less."""
    lowest = scores.min(initial=0.0)
    if lowest < 0:
        raise DataError(
            f"normalize='query_max' is for scores from 0 on, such as probabilities, and the ranker "
            f"{name!r} gives {lowest:g}: use normalize='query'"
        )
    best = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    return best * (1.0 + scores - best)
