"""What a net learns: the λs of a measure (LambdaRank) or of all pairs of labels (RankNet)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankinite.data.preferences import Preferences
from rankinite.lambdas import LambdaGradients
from rankinite.measures import Measure
from rankinite.measures._pair_measure_kernels import pair_masses
from rankinite.measures.evaluation import Evaluator, mean_value
from rankinite.nets._epoch_kernels import (
    lambda_epoch,
    pairwise_epoch,
    preference_epoch,
    ranknet_epoch,
)
from rankinite.nets._net_kernels import add_gradient, add_start, score_documents
from rankinite.nets.net import score_standardized, width_of
from rankinite.order.canonical import Canonical
from rankinite.order.seeds import derive_seed


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training data as nets see it.

    Attributes
    ----------
    order : Canonical
    Z : ndarray of float64, shape (n_rows, n_features)
        Standardised features, in canonical order.
    start : ndarray of float64, shape (n_rows,)
        Scores of the base model, in canonical order.
    n_hidden : int
    seed : int
    """

    order: Canonical
    Z: np.ndarray
    start: np.ndarray
    n_hidden: int
    seed: int

    def factor(self) -> np.ndarray:
        """What multiplies the λ of each document: its weight and its query's."""
        sizes = np.diff(self.order.offsets)
        return self.order.weight * np.repeat(self.order.query_weight, sizes)

    def queries_of(self, epoch: int, useful: np.ndarray) -> np.ndarray:
        """The queries of an epoch in their order; `useful` are those that teach something."""
        return self.order.shuffled(useful, derive_seed(self.seed, epoch, "queries"))

    def arguments(self, queries: np.ndarray, factor: np.ndarray) -> tuple:
        """The first arguments of all kernels of epochs."""
        flat = self.Z.reshape(-1)
        return (queries, self.order.offsets, flat, self.Z.shape[1], self.start, factor)


class NetObjective(Protocol):
    """What the training asks."""

    def learn(self, weights: np.ndarray, rate: float, epoch: int) -> float:
        """Change the weights by an epoch; returns its cost, NaN if scores are no numbers."""


class RankNetObjective:
    """Cross-entropy of pairs (Burges 2010, section 2): of different labels, or of preferences.

    The λs are divided by the mean weight of the pairs of a query (their number, with labels), so
    that one learning rate serves short and long queries. The cost of an epoch is the mean over its
    pairs, each taken just before its query's step.
    """

    def __init__(self, rows: TrainingRows, sigma: float, mode: str) -> None:
        self._rows = rows
        n_queries = rows.order.n_queries
        self._costs = np.zeros(n_queries)
        if rows.order.preferences is None:
            masses, lower = _label_pairs(rows.order)
            self._epoch: Callable = pairwise_epoch if mode == "pairwise" else ranknet_epoch
            self._pairs: tuple = (lower, sigma, self._costs)
        else:
            masses, pairs = _preference_pairs(rows.order.preferences)
            self._epoch = preference_epoch
            self._pairs = (*pairs, sigma, self._costs)
        self._useful = np.flatnonzero(masses)
        masses = masses[self._useful]
        self._factor = rows.factor()
        if len(self._useful):
            self._factor /= math.fsum(masses) / len(masses)
        self._mass = math.fsum(rows.order.query_weight[self._useful] * masses)

    def learn(self, weights: np.ndarray, rate: float, epoch: int) -> float:
        """One step a query."""
        rows, useful = self._rows, self._useful
        queries = rows.queries_of(epoch, useful)
        good = self._epoch(
            *rows.arguments(queries, self._factor),
            rate,
            weights,
            width_of(rows.n_hidden),
            *self._pairs,
        )
        if not good:
            return math.nan
        total = math.fsum(rows.order.query_weight[useful] * self._costs[useful])
        return total / self._mass if len(useful) else 0.0


class LambdaRankObjective:
    """The λs of a measure (Burges 2010, section 4); the cost is 1 less its mean after an epoch."""

    def __init__(
        self,
        rows: TrainingRows,
        measure: Measure,
        sigma: float,
        truncation: int | None,
        normalize: bool,
    ) -> None:
        self._rows = rows
        order = rows.order
        self._lambdas = LambdaGradients(
            measure.resolve(order.labels),
            order.labels,
            order.offsets,
            order.keys,
            sigma=sigma,
            truncation=truncation,
            normalize=normalize,
            seed=rows.seed,
        )
        self._useful = np.flatnonzero(~self._lambdas.blank)
        self._evaluator = Evaluator(measure, order.judged)
        self._factor = rows.factor()
        self._scores, self._lam, self._curvature = np.zeros((3, order.n_rows))

    def learn(self, weights: np.ndarray, rate: float, epoch: int) -> float:
        """One step a query, then the measure on all of them."""
        if len(self._useful) == 0:
            return 0.0
        rows = self._rows
        if not self.epoch(rows.queries_of(epoch, self._useful), weights, rate, epoch):
            return math.nan
        scores = score_standardized(rows.Z, weights, rows.n_hidden, rows.start)
        if not np.isfinite(scores).all():
            return math.nan
        weight = rows.order.query_weight
        total, mass = mean_value(self._evaluator.values(scores), "skip", weight)
        return 1.0 - total / mass

    def epoch(self, queries: np.ndarray, weights: np.ndarray, rate: float, number: int) -> bool:
        """One step for each of these queries; whether all scores were numbers."""
        run = self._by_kernel if self._lambdas.has_kernel else self._by_python
        return run(queries, weights, rate, number)

    def _by_kernel(self, queries: np.ndarray, weights: np.ndarray, rate: float, epoch: int) -> bool:
        rows = self._rows
        return lambda_epoch(
            *rows.arguments(queries, self._factor),
            rate,
            weights,
            width_of(rows.n_hidden),
            self._scores,
            self._lam,
            self._lambdas.arguments(self._scores, epoch, self._lam, self._curvature),
        )

    def _by_python(self, queries: np.ndarray, weights: np.ndarray, rate: float, epoch: int) -> bool:
        """The same with a measure that is written in Python."""
        rows, offsets = self._rows, self._rows.order.offsets
        width, n_features = width_of(rows.n_hidden), rows.Z.shape[1]
        flat = rows.Z.reshape(-1)
        hidden, deltas = np.empty((2, int(np.diff(offsets).max()) * width))
        for query in queries:
            first, last = int(offsets[query]), int(offsets[query + 1])
            n, scores = last - first, self._scores[first:last]
            score_documents(flat, n_features, first, n, weights, width, hidden, scores)
            if not add_start(rows.start[first:last], scores):
                return False
            self._lambdas.of_own_measure(query, self._scores, epoch, self._lam, self._curvature)
            lam = self._lam[first:last]
            lam *= self._factor[first:last]
            add_gradient(
                flat, n_features, first, n, lam, weights, width, rate, hidden, deltas, weights
            )
        return True


def _label_pairs(order: Canonical) -> tuple[np.ndarray, np.ndarray]:
    """The number of pairs of each query, and for each document where worse labels begin."""
    sizes = np.diff(order.offsets)
    lower = _first_worse(order.labels, order.offsets)
    n_worse = np.repeat(sizes, sizes) - lower
    return np.add.reduceat(n_worse, order.offsets[:-1]).astype(np.float64), lower


def _preference_pairs(pairs: Preferences) -> tuple[np.ndarray, tuple]:
    """The weight of the pairs of each query, and what the kernels ask of the pairs."""
    masses = np.empty(len(pairs.offsets) - 1)
    pair_masses(0, len(masses), pairs.weight, pairs.probability, False, pairs.offsets, masses)
    arrays = (pairs.first, pairs.other, pairs.probability, pairs.weight, pairs.offsets)
    return masses, arrays


def _first_worse(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """For each document, the place in its query where labels worse than its own begin.

    The documents of each query come from the best label down.
    """
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    change = np.flatnonzero((np.diff(labels) != 0) | (np.diff(query) != 0)) + 1
    borders = np.concatenate([[0], change, [len(labels)]]).astype(np.int64)
    return np.repeat(borders[1:], np.diff(borders)) - np.repeat(offsets[:-1], sizes)
