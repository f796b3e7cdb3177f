"""λs and costs of a measure that is written in Python: the slow path, query by query."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankinite.lambdas._cost_kernels import cost_from_deltas
from rankinite.lambdas._lambda_kernels import lambdas_from_deltas
from rankinite.lambdas._noise_kernels import perturb
from rankinite.lambdas._query_kernels import Round
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.lambdas.options import LambdaOptions
from rankinite.measures import Measure


class _Ranked(NamedTuple):
    """A query in rank order: its rows, σ·scores, labels and the changes under all swaps."""

    rows: np.ndarray
    s: np.ndarray
    labels: np.ndarray
    deltas: np.ndarray


class OwnLambdas:
    """λs and costs of all queries, without weights; what `BuiltInLambdas` does with kernels.

    Parameters
    ----------
    measure : Measure
    labels : ndarray of float64, shape (n_rows,)
    offsets : ndarray of int64, shape (n_queries + 1,)
    keys : ndarray of uint64, shape (n_rows,)
    options : LambdaOptions
    """

    setup = None

    def __init__(
        self,
        measure: Measure,
        labels: np.ndarray,
        offsets: np.ndarray,
        keys: np.ndarray,
        options: LambdaOptions,
    ) -> None:
        self._measure = measure
        self._labels = labels
        self._offsets = offsets
        self._keys = keys
        self._options = options
        longest = int(np.diff(offsets).max(initial=0))
        self._top = longest if options.truncation is None else options.truncation

    @property
    def blank(self) -> np.ndarray:
        """Queries of which no order is better than another, shape (n_queries,)."""
        parts = (self._labels[first:last] for first, last in pairwise(self._offsets))
        return np.array([self._measure.is_blank(labels) for labels in parts], bool)

    def write(self, at: Round) -> None:
        """Write the λs of a round."""
        for query in range(len(self._offsets) - 1):
            self.write_query(query, at)

    def write_query(self, query: int, at: Round) -> None:
        """Write those of one query."""
        inside = slice(self._offsets[query], self._offsets[query + 1])
        at.lam[inside] = at.curvature[inside] = 0.0
        for draw in range(self._options.n_draws):
            scores = at.scores[inside]
            if self._options.noise > 0.0:
                noisy = np.empty_like(scores)
                scale = self._options.noise / self._options.sigma
                perturb(scores, self._keys[inside], at.seed, draw, scale, noisy)
                scores = noisy
            self._add(self._rank(query, scores, at.seed), at)

    def write_with_costs(self, at: Round, weight: np.ndarray) -> np.ndarray:
        """Write the λs of a round; returns the costs of the same ranking, shape (n_queries,)."""
        costs = np.zeros(len(self._offsets) - 1)
        for query in range(len(costs)):
            self.write_query(query, at)
        return self.costs(at.scores, at.seed, weight)

    def costs(self, scores: np.ndarray, seed: np.uint64, weight: np.ndarray) -> np.ndarray:
        """The costs at these scores, shape (n_queries,)."""
        parts = enumerate(pairwise(self._offsets))
        return np.array(
            [self._cost(self._rank(k, scores[a:b], seed), weight) for k, (a, b) in parts]
        )

    def select(self, queries: np.ndarray, offsets: np.ndarray, rows: np.ndarray) -> OwnLambdas:
        """Those of some queries alone, which have these rows and then these offsets."""
        part = copy(self)
        part._labels, part._keys, part._offsets = self._labels[rows], self._keys[rows], offsets
        return part

    def _rank(self, query: int, scores: np.ndarray, seed: np.uint64) -> _Ranked | None:
        """A query in rank order by its scores, or None if it has no pairs."""
        first, last = self._offsets[query], self._offsets[query + 1]
        labels = self._labels[first:last]
        n = len(labels)
        if n < 2 or self._measure.is_blank(labels):
            return None
        order, spare = np.arange(n, dtype=np.int32), np.empty((3, n), np.int64)
        rank_documents(scores, self._keys[first:last], seed, n, order, spare)
        ranked = labels[order]
        deltas = np.ascontiguousarray(self._measure.swap_deltas(ranked), np.float64)
        return _Ranked(first + order, self._options.sigma * scores[order], ranked, deltas)

    def _add(self, ranked: _Ranked | None, at: Round) -> None:
        if ranked is None:
            return
        rows, s, labels, deltas = ranked
        lam, curvature = np.zeros((2, len(rows)))
        lambdas_from_deltas(deltas, s, labels, self._top, self._options.normalize, lam, curvature)
        at.lam[rows] += self._options.sigma * lam / self._options.n_draws
        at.curvature[rows] += self._options.sigma**2 * curvature / self._options.n_draws

    def _cost(self, ranked: _Ranked | None, weight: np.ndarray) -> float:
        if ranked is None:
            return 0.0
        rows, s, labels, deltas = ranked
        return cost_from_deltas(deltas, s, labels, weight[rows], self._top, self._options.normalize)
