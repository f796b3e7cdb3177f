"""The squared error of the labels beside the λs of a measure.

Where labels are noisy, λs learn slowly what squares learn at once: they look at pairs whose order
counts, squares at all documents and at how far apart their labels are. Both together are Sculley's
"Combined Regression and Ranking" (2010). With the scores u = σs and labels t of a query, both less
their means in the query and the labels with a spread of 1 over all, the cost

    ½ β (1 − ρ²) w̄ Σ (t − a u)²

is added to that of the λs. w̄ is the mean w of the query, so that β says how much the labels count
beside the λs, whatever the measure. a is the slope of t over u on all documents, and ρ their
correlation: scores may be as large as the λs make them, for it is only their direction that labels
pull at, and the better it fits the less they pull.
"""

from __future__ import annotations

import math

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.boosting._square_kernels import (
    LabelledQueries,
    add_squares,
    write_label_moments,
    write_score_moments,
)
from rankinite.data import Queries
from rankinite.distributed import Communicator
from rankinite.distributed.exact_sums import each_rounded_once

# The first scores are too small for their labels by far; a slope that follows would leave nothing
# of the λs.
STEEPEST = 1.0
# Scores that have nothing to do with the labels, or are against them, count as if they had so much.
LEAST_CORRELATION = 0.1


class LabelSquares:
    """Adds the squared error of labels to λ and w.

    Parameters
    ----------
    queries : Queries
    blank : ndarray of bool, shape (n_queries,)
        Queries that take no part.
    factor : ndarray of float64, shape (n_rows,), optional
        The weights of the documents.
    strength : float
        β.
    sigma : float
    communicator : Communicator
    """

    def __init__(
        self,
        queries: Queries,
        blank: np.ndarray,
        factor: np.ndarray | None,
        strength: float,
        sigma: float,
        communicator: Communicator,
    ) -> None:
        means, masses, spreads = np.empty((3, queries.n_queries))
        self._queries = LabelledQueries(queries.offsets, queries.labels, means, masses)
        self._factor, self._strength, self._sigma = factor, strength, sigma
        self._communicator = communicator
        self._blocks = query_blocks(queries.offsets)
        in_threads(write_label_moments, self._blocks, factor, blank, self._queries, spreads)
        self._mass, spread = each_rounded_once([masses, spreads], communicator)
        self._unit = math.sqrt(self._mass / spread) if spread > 0.0 else 0.0

    def add(self, scores: np.ndarray, lam: np.ndarray, curvature: np.ndarray) -> None:
        """Add their part to λ and w, which have the weights of the documents already."""
        if self._unit == 0.0:
            return
        moments = np.empty((4, len(self._queries.means)))
        common = (self._factor, self._queries, self._unit, self._sigma, scores)
        in_threads(write_score_moments, self._blocks, *common, curvature, moments)
        slope, unexplained = self._fit(*each_rounded_once(list(moments[1:3]), self._communicator))
        if slope > 0.0:
            strength = self._strength * unexplained
            in_threads(add_squares, self._blocks, *common, moments, slope, strength, lam, curvature)

    def _fit(self, product: float, square: float) -> tuple[float, float]:
        """The slope a, and 1 − ρ², from Σ t u and Σ u²; the slope is 0 if they are no numbers."""
        if square == 0.0:
            return STEEPEST, 1.0
        if not (math.isfinite(product) and math.isfinite(square)):
            return 0.0, 0.0
        spread = math.sqrt(self._mass / square)
        correlation = min(product / square / spread, 1.0)
        correlation = max(correlation, LEAST_CORRELATION)
        return min(correlation * spread, STEEPEST), 1.0 - correlation**2
