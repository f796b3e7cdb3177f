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

With `noise` the λs are the mean of those at scores to which random numbers were added: |ΔZ_ij| is
no longer that of the one ranking at hand, but an average over rankings that might as well have
been. So pairs whose order is open count with the ranks that either may come to have (Lyzhin et al.
2023 find that this is what makes YetiRank good).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from rankinite._ranges import ranges
from rankinite.lambdas._query_kernels import Round, Setup
from rankinite.lambdas.built_in import BuiltInLambdas, lay_out
from rankinite.lambdas.options import LambdaOptions
from rankinite.lambdas.own_measure import OwnLambdas
from rankinite.measures import BuiltIn, Measure
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
        Only pairs whose upper document is among the first so many ranks count, and a cut-off of the
        measure that is above is moved there. None: the measure as it stands.
    normalize : bool
    noise : float
        Scale of the Gumbel noise that is added to the scores, in units of 1/σ.
    n_draws : int
        Draws of the noise, over which λ and w are averaged.
    seed : int
        Of the noise, and of the shuffle that orders documents with equal scores.
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
        noise: float = 0.0,
        n_draws: int = 1,
        seed: int = 0,
    ) -> None:
        self.offsets = offsets
        self.seed = seed
        self._factor = _document_factor(weight, query_weight, np.diff(offsets))
        if truncation is not None:
            if isinstance(measure, BuiltIn):
                measure.judge(labels, offsets)  # what is wrong with labels is told of this measure
            measure = measure.deeper(truncation)
        # Without noise all draws are the same.
        draws = int(n_draws) if noise > 0 else 1
        options = LambdaOptions(truncation, float(sigma), bool(normalize), float(noise), draws)
        self._lambdas: BuiltInLambdas | OwnLambdas
        if isinstance(measure, BuiltIn):
            judged = measure.judge(labels, offsets)
            self._lambdas = BuiltInLambdas(lay_out(judged, offsets, keys, options))
        else:
            self._lambdas = OwnLambdas(measure, labels, offsets, keys, options)

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

    def __call__(self, scores: np.ndarray, round_number: int) -> tuple[np.ndarray, np.ndarray]:
        """λ and w of every document at these scores, each of shape (n_rows,)."""
        at = self._new_round(scores, round_number)
        self._lambdas.write(at)
        return self._weighted(at)

    def costs(self, scores: np.ndarray, round_number: int) -> np.ndarray:
        """C = Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) of every query, shape (n_queries,).

        At the scores as they are, without noise. With |ΔZ| held as it is, −λ without noise is the
        gradient of this cost (Burges 2010, section 7). Query weights multiply. With weights of
        documents no cost has the gradient −λ; here a pair has the mean of the two.
        """
        return self._lambdas.costs(scores, self._seed_of(round_number), self._pair_weight(scores))

    def with_costs(
        self, scores: np.ndarray, round_number: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """λ, w and `costs`, of one ranking."""
        at = self._new_round(scores, round_number)
        costs = self._lambdas.write_with_costs(at, self._pair_weight(scores))
        return *self._weighted(at), costs

    @property
    def factor(self) -> np.ndarray | None:
        """What a document's λ and w are multiplied by: its weight times its query's; None: 1."""
        return self._factor

    @property
    def setup(self) -> Setup | None:
        """What the kernel `all_lambdas` takes; None for a measure that is written in Python."""
        return self._lambdas.setup

    def round(
        self, scores: np.ndarray, round_number: int, lam: np.ndarray, curvature: np.ndarray
    ) -> Round:
        """A round at these scores, with these arrays for its λs, which have no weights."""
        return Round(scores, self._seed_of(round_number), lam, curvature)

    def write_query(self, query: int, at: Round) -> None:
        """Write the λs of one query in a round, without weights."""
        self._lambdas.write_query(query, at)

    @property
    def blank(self) -> np.ndarray:
        """Queries without any λ, shape (n_queries,): no order of theirs is better than another."""
        return self._lambdas.blank | (np.diff(self.offsets) < 2)

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
        part._factor = None if self._factor is None else self._factor[rows]
        part._lambdas = self._lambdas.select(queries, part.offsets, rows)
        return part

    def _seed_of(self, round_number: int) -> np.uint64:
        return derive_seed(self.seed, round_number, "ties")

    def _new_round(self, scores: np.ndarray, round_number: int) -> Round:
        return self.round(scores, round_number, np.empty(len(scores)), np.empty(len(scores)))

    def _weighted(self, at: Round) -> tuple[np.ndarray, np.ndarray]:
        lam, curvature = at.lam, at.curvature
        if self._factor is not None:
            lam *= self._factor
            curvature *= self._factor
        return lam, curvature

    def _pair_weight(self, scores: np.ndarray) -> np.ndarray:
        return np.ones(len(scores)) if self._factor is None else self._factor


def _document_factor(
    weight: np.ndarray | None, query_weight: np.ndarray | None, sizes: np.ndarray
) -> np.ndarray | None:
    if query_weight is None:
        return weight
    spread = np.repeat(query_weight, sizes)
    return spread if weight is None else weight * spread
