"""λ-gradients of any measure (Burges 2010, section 7; Burges et al. 2011, section 3).

For two documents i ▷ j of a query (i has the better label) with scores s,

    λ_ij = σ |ΔZ_ij| ρ_ij,   w_ij = σ² |ΔZ_ij| ρ_ij (1 − ρ_ij),   ρ_ij = 1 / (1 + e^{σ(s_i − s_j)})

where ΔZ_ij is the change of the measure Z when the two trade their ranks. A document's λ is the
sum over the pairs it wins less the sum over the pairs it loses, so a positive λ pushes it up;
its w is the sum over both. One path serves all measures: the pair loop knows a measure only by
the terms that `rankinite.measures` gives it.

With `normalize` |ΔZ_ij| is divided by 0.01 + σ|s_i − s_j|, and then the λ and w of a query are
multiplied by log2(1 + S) / S with S = Σ|λ_ij|/σ: pairs that the model cannot yet tell apart count
most, and no query drowns the others. This is not in the papers; LightGBM does it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite._ranges import ranges
from rankinite.lambdas._cost_kernels import all_costs, cost_from_deltas
from rankinite.lambdas._lambda_kernels import all_lambdas, lambdas_from_deltas
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.measures import BuiltIn, Judged, Measure
from rankinite.measures.codes import LAYERED, LINEAR
from rankinite.order.canonical import Canonical
from rankinite.order.seeds import derive_seed


class LambdaGradients:
    """The λ-gradients of one measure on one set of labelled queries.

    Parameters
    ----------
    measure : Measure
    labels : ndarray of float64, shape (n_rows,)
    offsets : ndarray of int64, shape (n_queries + 1,)
    keys : ndarray of uint64, shape (n_rows,)
        The documents' own random numbers (`rankinite.order.row_keys`).
    weight : ndarray of float64, shape (n_rows,), optional
        Multiplies a document's λ and w.
    query_weight : ndarray of float64, shape (n_queries,), optional
        Multiplies those of all documents of a query.
    sigma : float
    truncation : int, optional
        Only pairs whose upper document is among the first `truncation` ranks count.
    normalize : bool
    seed : int
        Of the shuffle that orders documents with equal scores.
    """

    def __init__(
        self,
        measure: Measure,
        labels: np.ndarray,
        offsets: np.ndarray,
        keys: np.ndarray,
        *,
        weight: np.ndarray | None = None,
        query_weight: np.ndarray | None = None,
        sigma: float = 1.0,
        truncation: int | None = None,
        normalize: bool = False,
        seed: int = 0,
    ) -> None:
        self.measure = measure
        self.labels = labels
        self.offsets = offsets
        self.keys = keys
        self.sigma = float(sigma)
        self.normalize = bool(normalize)
        self.seed = seed
        sizes = np.diff(offsets)
        self._factor = _document_factor(weight, query_weight, sizes)
        self._orders = (np.arange(len(labels)) - np.repeat(offsets[:-1], sizes)).astype(np.int32)
        self._judged = measure.judge(labels, offsets) if isinstance(measure, BuiltIn) else None
        if self._judged is not None:
            self._prepare(self._judged)
        self._depth = int(sizes.max(initial=0)) if self._judged is None else self._judged.top
        self._top = self._depth if truncation is None else min(self._depth, truncation)

    @classmethod
    def on(cls, measure: Measure, order: Canonical, **options: Any) -> LambdaGradients:
        """Those of the rows in their canonical order, with their weights."""
        return cls(
            measure,
            order.labels,
            order.offsets,
            order.keys,
            weight=order.weight,
            query_weight=order.query_weight,
            **options,
        )

    def _prepare(self, judged: Judged) -> None:
        """Lay out what stays from round to round: the queries in the order of their grades."""
        sizes = np.diff(self.offsets)
        query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        by_grade = np.lexsort((-judged.grades, query))
        self._grades = judged.grades[by_grade]
        self._keys_by_grade = self.keys[by_grade]
        change = np.flatnonzero((np.diff(self._grades) != 0) | (np.diff(query) != 0)) + 1
        # There are as many of these as rows: nothing is kept longer or wider than need be.
        del query
        start = np.repeat(self.offsets[:-1], sizes)
        by_grade -= start
        self._by_grade = by_grade.astype(np.int32)
        del by_grade
        borders = np.concatenate([[0], change, [len(self._grades)]])
        self._own = self._inside(borders[:-1], borders, start)
        self._lower = self._inside(borders[1:], borders, start)
        self._units = np.zeros(len(sizes), np.int64)
        self._blocks = query_blocks(self.offsets, rows_a_block=2_000)

    @staticmethod
    def _inside(rows: np.ndarray, borders: np.ndarray, start: np.ndarray) -> np.ndarray:
        """A row for each run between borders, as a place in its query for each row of the run."""
        places = np.repeat(rows, np.diff(borders))
        places -= start
        return places.astype(np.int32)

    def __call__(self, scores: np.ndarray, round_number: int) -> tuple[np.ndarray, np.ndarray]:
        """λ and w of every document at these scores, each of shape (n_rows,)."""
        lam = np.empty(len(scores))
        curvature = np.empty(len(scores))
        if self._judged is not None:
            in_threads(
                all_lambdas, self._blocks, *self.arguments(scores, round_number, lam, curvature)
            )
        else:
            for query in range(len(self.offsets) - 1):
                self.of_own_measure(query, scores, round_number, lam, curvature)
        if self._factor is not None:
            lam *= self._factor
            curvature *= self._factor
        return lam, curvature

    @property
    def has_kernel(self) -> bool:
        """Whether the measure's λs come from `all_lambdas`; else it is one written in Python."""
        return self._judged is not None

    @property
    def blank(self) -> np.ndarray:
        """Queries without any λ, shape (n_queries,): no order of theirs is better than another."""
        if self._judged is not None:
            blank = self._judged.blank
        else:
            parts = np.split(self.labels, self.offsets[1:-1])
            blank = np.array([self.measure.is_blank(labels) for labels in parts])
        return blank | (np.diff(self.offsets) < 2)

    def arguments(
        self, scores: np.ndarray, round_number: int, lam: np.ndarray, curvature: np.ndarray
    ) -> tuple:
        """What `all_lambdas` takes after the first and last query; without weights."""
        judged = self._judged
        assert judged is not None
        return (
            None if judged.code in (LINEAR, LAYERED) else True,
            judged.code,
            scores,
            self._grades,
            judged.discounts,
            judged.norms,
            judged.blank,
            self.offsets,
            self._keys_by_grade,
            derive_seed(self.seed, round_number, "ties"),
            self._depth,
            self._top,
            self.sigma,
            self.normalize,
            self._by_grade,
            self._lower,
            self._own,
            self._units,
            self._orders,
            lam,
            curvature,
        )

    def of_own_measure(
        self,
        query: int,
        scores: np.ndarray,
        round_number: int,
        lam: np.ndarray,
        curvature: np.ndarray,
    ) -> None:
        """The slow path for a measure defined in Python: one query's λ and w, without weights.

        They are written to the query's places in `lam` and `curvature`.
        """
        inside = slice(self.offsets[query], self.offsets[query + 1])
        labels, order = self.labels[inside], self._orders[inside]
        own = np.zeros((2, len(labels)))
        if len(labels) >= 2 and not self.measure.is_blank(labels):
            seed = derive_seed(self.seed, round_number, "ties")
            spare = np.empty((3, len(labels)), np.int64)
            rank_documents(scores[inside], self.keys[inside], seed, self._depth, order, spare)
            ranked = labels[order]
            deltas = np.ascontiguousarray(self.measure.swap_deltas(ranked), np.float64)
            s = self.sigma * scores[inside][order]
            lambdas_from_deltas(deltas, s, ranked, self._top, self.normalize, own[0], own[1])
        lam[inside][order] = self.sigma * own[0]
        curvature[inside][order] = self.sigma**2 * own[1]

    def costs(self, scores: np.ndarray) -> np.ndarray:
        """C = Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) of every query, shape (n_queries,).

        With |ΔZ| held as it is, −λ is the gradient of this cost (Burges 2010, section 7). Call it
        after the λs at the same scores, whose ranking it takes. Query weights multiply. With
        weights of documents no cost has the gradient −λ; here a pair has the mean of the two.
        """
        costs = np.zeros(len(self.offsets) - 1)
        weight = np.ones(len(scores)) if self._factor is None else self._factor
        judged = self._judged
        if judged is None:
            self._costs_of_own_measure(scores, weight, costs)
            return costs
        in_threads(
            all_costs,
            self._blocks,
            judged.code,
            scores,
            self._grades,
            judged.discounts,
            judged.norms,
            judged.blank,
            self.offsets,
            self._top,
            self.sigma,
            self.normalize,
            self._by_grade,
            self._own,
            self._orders,
            weight,
            costs,
        )
        return costs

    def select(self, queries: np.ndarray) -> LambdaGradients:
        """The λ-gradients of some of the queries alone, whose documents follow each other.

        Labels are not judged anew: a query keeps what all labels together say of it.

        Parameters
        ----------
        queries : ndarray of int64, shape (n_chosen,)
        """
        sizes = self.offsets[queries + 1] - self.offsets[queries]
        rows = ranges(self.offsets[queries], sizes)
        part = copy(self)
        part.offsets = np.concatenate([[0], np.cumsum(sizes)])
        part.labels, part.keys = self.labels[rows], self.keys[rows]
        part._factor = None if self._factor is None else self._factor[rows]
        part._orders = self._orders[rows]
        if self._judged is not None:
            part._judged = replace(
                self._judged, norms=self._judged.norms[queries], blank=self._judged.blank[queries]
            )
            part._grades, part._keys_by_grade = self._grades[rows], self._keys_by_grade[rows]
            part._by_grade = self._by_grade[rows]
            part._own, part._lower = self._own[rows], self._lower[rows]
            part._units = self._units[queries]
            part._blocks = query_blocks(part.offsets, rows_a_block=2_000)
        return part

    def _costs_of_own_measure(
        self, scores: np.ndarray, weight: np.ndarray, costs: np.ndarray
    ) -> None:
        for query, (first, last) in enumerate(pairwise(self.offsets)):
            labels = self.labels[first:last]
            if last - first < 2 or self.measure.is_blank(labels):
                continue
            order = self._orders[first:last]
            ranked = labels[order]
            deltas = np.ascontiguousarray(self.measure.swap_deltas(ranked), np.float64)
            s = self.sigma * scores[first:last][order]
            costs[query] = cost_from_deltas(
                deltas, s, ranked, weight[first:last][order], self._top, self.normalize
            )


def _document_factor(
    weight: np.ndarray | None, query_weight: np.ndarray | None, sizes: np.ndarray
) -> np.ndarray | None:
    if query_weight is None:
        return weight
    spread = np.repeat(query_weight, sizes)
    return spread if weight is None else weight * spread
