"""What a net learns: the λs of a measure (LambdaRank) or of all pairs of labels (RankNet)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankinite.data.preferences import Preferences
from rankinite.lambdas import LambdaGradients
from rankinite.lambdas._preference_gradient_kernels import PairArrays
from rankinite.lambdas._query_kernels import Round
from rankinite.measures import Measure
from rankinite.measures._pair_measure_kernels import pair_masses
from rankinite.measures.evaluation import Evaluator, mean_value
from rankinite.measures.resolving import resolved
from rankinite.nets._epoch_kernels import (
    IN_ORDER,
    NetWeights,
    Rows,
    features_of,
    lambda_epoch,
    pairwise_epoch,
    preference_epoch,
    ranknet_epoch,
    room_for_query,
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
        Standardised features, in canonical order if there are no `places`.
    start : ndarray of float64, shape (n_rows,)
        Scores of the base model, in canonical order.
    n_hidden : int
    seed : int
    places : ndarray of int64, shape (n_rows,), optional
        The row of `Z` that each document has, if several have the same.
    """

    order: Canonical
    Z: np.ndarray
    start: np.ndarray
    n_hidden: int
    seed: int
    places: np.ndarray | None = None

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Scores of all rows at these weights, in canonical order."""
        if self.places is None:
            return score_standardized(self.Z, weights, self.n_hidden, self.start)
        own = score_standardized(self.Z, weights, self.n_hidden, np.zeros(len(self.Z)))
        return own[self.places] + self.start

    def factor(self) -> np.ndarray:
        """What multiplies the λ of each document: its weight and its query's."""
        sizes = np.diff(self.order.offsets)
        return self.order.weight * np.repeat(self.order.query_weight, sizes)

    def queries_of(self, epoch: int, useful: np.ndarray) -> np.ndarray:
        """The queries of an epoch in their order; `useful` are those that teach something."""
        return self.order.shuffled(useful, derive_seed(self.seed, epoch, "queries"))

    def for_kernels(self, factor: np.ndarray) -> Rows:
        """The rows as the kernels of epochs take them, with these factors of the λs."""
        flat = self.Z.reshape(-1)
        places = IN_ORDER if self.places is None else self.places
        return Rows(self.order.offsets, flat, self.Z.shape[1], self.start, factor, places)

    def net(self, weights: np.ndarray) -> NetWeights:
        """The net of these weights."""
        return NetWeights(weights, width_of(self.n_hidden))


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
            self._pairs = (pairs, sigma, self._costs)
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
            queries, rows.for_kernels(self._factor), rows.net(weights), rate, *self._pairs
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
            resolved(measure, order.labels),
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
        scores = rows.scores(weights)
        if not np.isfinite(scores).all():
            return math.nan
        weight = rows.order.query_weight
        total, mass = mean_value(self._evaluator.values(scores), "skip", weight)
        return 1.0 - total / mass

    def epoch(self, queries: np.ndarray, weights: np.ndarray, rate: float, number: int) -> bool:
        """One step for each of these queries; whether all scores were numbers."""
        rows, net = self._rows.for_kernels(self._factor), self._rows.net(weights)
        at = self._lambdas.round(self._scores, number, self._lam, self._curvature)
        if self._lambdas.setup is None:
            return self._by_python(queries, rows, net, rate, at)
        return lambda_epoch(queries, rows, net, rate, self._lambdas.setup, at)

    def _by_python(
        self, queries: np.ndarray, rows: Rows, net: NetWeights, rate: float, at: Round
    ) -> bool:
        """`lambda_epoch` with a measure that is written in Python."""
        offsets, n_features, start, factor = rows.offsets, rows.n_features, rows.start, rows.factor
        weights, width = net
        room = room_for_query(queries, rows)
        hidden, deltas = np.empty((2, int(np.diff(offsets).max()) * width))
        for query in queries:
            first, last = int(offsets[query]), int(offsets[query + 1])
            n, scores = last - first, at.scores[first:last]
            x, place = features_of(query, rows, room)
            score_documents(x, n_features, place, n, weights, width, hidden, scores)
            if not add_start(start[first:last], scores):
                return False
            self._lambdas.write_query(query, at)
            lam = at.lam[first:last]
            lam *= factor[first:last]
            add_gradient(
                x, n_features, place, n, lam, weights, width, rate, hidden, deltas, weights
            )
        return True


def _label_pairs(order: Canonical) -> tuple[np.ndarray, np.ndarray]:
    """The number of pairs of each query, and for each document where worse labels begin."""
    sizes = np.diff(order.offsets)
    lower = _first_worse(order.labels, order.offsets)
    n_worse = np.repeat(sizes, sizes) - lower
    return np.add.reduceat(n_worse, order.offsets[:-1]).astype(np.float64), lower


def _preference_pairs(preferences: Preferences) -> tuple[np.ndarray, PairArrays]:
    """The weight of the pairs of each query, and the pairs as the kernels take them."""
    pairs = PairArrays.of(preferences)
    masses = np.empty(len(pairs.offsets) - 1)
    pair_masses(0, len(masses), pairs.weight, pairs.probability, False, pairs.offsets, masses)
    return masses, pairs


def _first_worse(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """For each document, the place in its query where labels worse than its own begin.

    The documents of each query come from the best label down.
    """
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    change = np.flatnonzero((np.diff(labels) != 0) | (np.diff(query) != 0)) + 1
    borders = np.concatenate([[0], change, [len(labels)]]).astype(np.int64)
    return np.repeat(borders[1:], np.diff(borders)) - np.repeat(offsets[:-1], sizes)
