"""Documents drawn for a tree: those of some queries, and of these the ones that pull most.

Drawing by importance is the idea of Ibragimov and Gusev, "Minimal variance sampling in stochastic
gradient boosting" (2019): a document that hardly pulls is drawn seldom, and counts the more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankinite._numba import parts_of_rows
from rankinite.boosting._importance_kernels import (
    CLASS_SHIFT,
    N_CLASSES,
    count_importances,
    draw_important,
)
from rankinite.boosting.query_sample import QuerySample
from rankinite.distributed import Communicator, total
from rankinite.order.seeds import derive_seed
from rankinite.trees import Gradients, gradients

# How much w counts beside |λ|, both in units of their means: a document that is pulled up as much
# as down has no λ, and yet something to say.
WEIGHT_OF_W = 0.3
# Of the unit of w.
LARGEST_EXPONENT = 900


class Drawn(NamedTuple):
    """What a tree is grown on.

    Attributes
    ----------
    rows : ndarray of uint32
        Of this worker, ascending.
    lam, w : Gradients
        Their λ and w as a tree is to see them.
    n_meant : int
        Rows that they stand for, over all workers: those of the queries that were drawn.
    """

    rows: np.ndarray
    lam: Gradients
    w: Gradients
    n_meant: int


class RowSample:
    """Draws the rows that a tree is grown on.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_rows,)
        The rows' own random numbers (`rankinite.order.row_keys`).
    communicator : Communicator
    importance_fraction : float
        Share of the rows of the queries that are drawn.
    queries : QuerySample, optional
        Draws queries; all by default.
    """

    def __init__(
        self,
        keys: np.ndarray,
        communicator: Communicator,
        importance_fraction: float = 1.0,
        queries: QuerySample | None = None,
    ) -> None:
        self._keys = keys
        self._communicator = communicator
        self._fraction = importance_fraction
        self._queries = queries
        self._all = np.arange(len(keys), dtype=np.uint32)

    def draw(self, lam: Gradients, w: Gradients, seed: int, round_number: int) -> Drawn:
        """The rows of a round, with the λ and w that make up for those that are not drawn."""
        rows = self._all
        if self._queries is not None:
            rows = self._queries.rows(_seed_of_queries(seed, round_number))
        n_meant = total(len(rows), self._communicator)
        if self._fraction == 1.0:
            return self._drawn(rows, n_meant, lam.values[rows], w.values[rows])
        units = _units(lam, w)
        n_parts = parts_of_rows()
        counts = np.zeros((n_parts, N_CLASSES), np.int64)
        count_importances(rows, lam.values, w.values, *units, counts)
        drawn, weighted = np.empty_like(rows), np.empty((2, len(rows)))
        n_drawn = draw_important(
            rows,
            lam.values,
            w.values,
            *units,
            factor_for(self._communicator.sum(counts.sum(axis=0)), self._fraction * n_meant),
            self._keys,
            derive_seed(seed, round_number, "importance"),
            np.empty(n_parts, np.int64),
            drawn,
            weighted,
        )
        return self._drawn(drawn[:n_drawn], n_meant, *weighted[:, :n_drawn])

    def held_out(self, seed: int, round_number: int) -> np.ndarray | None:
        """Whether each row is of a query that the round has not drawn; None if all are drawn."""
        if self._queries is None:
            return None
        return self._queries.held_out(_seed_of_queries(seed, round_number))

    def _drawn(self, rows: np.ndarray, n_meant: int, lam: np.ndarray, w: np.ndarray) -> Drawn:
        forces, bends = (gradients(values, self._communicator) for values in (lam, w))
        return Drawn(rows, forces, bends, n_meant)


def _seed_of_queries(seed: int, round_number: int) -> np.uint64:
    return derive_seed(seed, round_number, "queries")


def _units(lam: Gradients, w: Gradients) -> tuple[float, float]:
    """What |λ| and w are multiplied by, so that neither their scale nor that of the labels counts.

    The first is a power of two.
    """
    (lam_sum, lam_exponent), (w_sum, w_exponent) = lam.size(), w.size()
    share = WEIGHT_OF_W * lam_sum / w_sum if w_sum > 0.0 else 0.0
    # Not so large that it would be no number: w that small may count for nothing.
    return math.ldexp(1.0, -lam_exponent), math.ldexp(share, min(-w_exponent, LARGEST_EXPONENT))


def factor_for(counts: np.ndarray, wanted: float) -> float:
    """The c with which Σ min(1, c · importance) is `wanted`, as far as classes tell.

    Parameters
    ----------
    counts : ndarray of int64, shape (N_CLASSES,)
        Rows in each class of importance, over all workers.
    """
    present = np.flatnonzero(counts[1:])[::-1] + 1
    if len(present) == 0:
        return 1.0
    middle = (2 * present.astype(np.uint64) + np.uint64(1)) << (CLASS_SHIFT - np.uint64(1))
    values, counts = middle.view(np.float64), counts[present]
    # The k most important classes are drawn whole, and the others in proportion.
    whole = np.cumsum(counts) - counts
    others = np.cumsum((counts * values)[::-1])[::-1]
    factors = (wanted - whole) / others
    fitting = np.flatnonzero(factors * values <= 1.0)
    factor = factors[fitting[0]] if len(fitting) else 0.0
    # All of them, if fewer have any importance than are wanted.
    return float(factor) if factor > 0.0 else 2.0 / float(values[-1])
