"""The best weight between two rankers, found exactly (Wu et al. 2008, section 3).

With α every document's score moves along a line, and a ranking changes only where two lines cross.
So a measure is constant between crossings: all crossings of all queries are visited in order, and
the middle of the best interval is taken. What happens at a crossing itself is no candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.data import Queries
from rankinite.errors import DataError, ParameterError
from rankinite.linesearch._crossing_kernels import CANCELLED, OWN, sweep_queries
from rankinite.linesearch._curve_kernels import add_up
from rankinite.linesearch._start_kernels import SAME, order_queries
from rankinite.measures.evaluation import Evaluator, MeasureLike, mean_value
from rankinite.measures.judged import Judged
from rankinite.measures.pair_measures import PairMeasure
from rankinite.measures.values import KERNELS
from rankinite.models.scores import as_scores, scores_of

MODES = {"convex": (0.0, 1.0), "additive": (0.1, 100.0)}
"""The ways to combine, and the bounds of α in each; the second are those of Wu et al. 2008."""

EQUAL_VALUES = 1e-13
"""Means that differ by less than this part of the largest are equal."""

EQUAL_WIDTHS = 1e-9
"""Intervals whose widths differ by less than this part are equally wide."""

LARGEST_SCORE = 2.0**1000
"""Larger scores are scaled down first, so that no difference of two overflows."""


class Curve(NamedTuple):
    """The mean of a measure over α; ``plt.stairs(curve.values, curve.edges)`` draws it.

    Attributes
    ----------
    edges : ndarray of float64, shape (n_intervals + 1,)
        The low bound, every α at which the measure of a query changes, the high bound.
    values : ndarray of float64, shape (n_intervals,)
        The mean in the open interval between two edges.
    """

    edges: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class LineSearch:
    """What a line search found.

    Attributes
    ----------
    alpha : float
        The middle of the best interval.
    value : float
        The mean measure there.
    interval : tuple of float
        The open interval in which the mean is the same for all α. Of several that are equally
        good it is the widest, and of equally wide ones the lowest.
    curve : Curve
        The mean measure for all α.
    """

    alpha: float
    value: float
    interval: tuple[float, float]
    curve: Curve = field(repr=False)


def line_search(
    scores_a: Any,
    scores_b: Any,
    dataset: Queries,
    measure: MeasureLike = "ndcg@10",
    mode: str = "convex",
    bounds: tuple[float, float] | None = None,
) -> LineSearch:
    """Find the weight with which two rankers are best combined.

    The answer is exact: it is the best of all α, not of a grid. Tied documents count in
    expectation over their orders.

    Parameters
    ----------
    scores_a, scores_b : array, ranker, model or function
        Scores in the caller's row order, or anything that computes them: an object with
        ``predict``, or a function of the feature matrix.
    dataset : Dataset or Queries
        With labels; queries without features are enough for scores.
    measure : str or Measure
        Its mean is taken over the queries that are not blank, weighted by the query weights.
    mode : {"convex", "additive"}
        Combine as (1 − α)·a + α·b, or as a + α·b.
    bounds : pair of float, optional
        α lies between these: inside 0 and 1 for a convex combination, which are the default
        there; any for an additive one, and by default 0.1 and 100.

    Returns
    -------
    LineSearch

    Examples
    --------
    >>> from rankinite import Dataset
    >>> data = Dataset([[0.0, 3.0], [2.0, 0.0], [3.0, 2.0]], [0, 1, 2], qid=[7, 7, 7])
    >>> line_search(data.X[:, 0], data.X[:, 1], data, "ndcg")
    LineSearch(alpha=0.2, value=1.0, interval=(0.0, 0.4))
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise ParameterError(f"mode must be 'convex' or 'additive', got {mode!r}")
    if not isinstance(dataset, Queries):
        raise DataError(f"the data must be a Dataset, got a {type(dataset).__name__}")
    low, high = MODES[mode] if bounds is None else _pair(bounds)
    searcher = LineSearcher(measure, dataset)
    a, b = scores_of(scores_a, dataset), scores_of(scores_b, dataset)
    return searcher.search(a, b, low, high, convex=mode == "convex")


class LineSearcher:
    """A measure bound to the labels of a dataset, for many line searches.

    Parameters
    ----------
    measure : str or Measure
    dataset : Queries or Dataset
        With labels.
    """

    def __init__(self, measure: MeasureLike, dataset: Queries) -> None:
        self._evaluator = Evaluator(measure, dataset)
        if isinstance(self._evaluator.measure, PairMeasure):
            raise ParameterError(
                f"a line search needs a measure of labels, and {self._evaluator.measure} is one of "
                "preference pairs: name another, for instance 'ndcg@10'"
            )
        self._labels = np.ascontiguousarray(dataset.labels, np.float64)
        self._offsets = np.ascontiguousarray(dataset.offsets, np.int64)
        self._blocks = query_blocks(self._offsets, rows_a_block=2_000)
        self._weights = np.ones(dataset.n_queries)
        if self._evaluator.weight is not None:
            self._weights = np.ascontiguousarray(self._evaluator.weight, np.float64)
        blank = self._evaluator.blank
        if not (self._weights[~blank] > 0).any():
            raise DataError(
                f"{self._evaluator.measure} has no value on this data: no query with a weight has "
                "documents of which some are better than others"
            )

    @property
    def lower_is_better(self) -> bool:
        """Whether the lowest mean is the best."""
        return self._evaluator.measure.lower_is_better

    def value(self, scores: np.ndarray) -> float:
        """The mean measure of scores as they are, ties in expectation; shape (n_rows,)."""
        total, weight = mean_value(self._evaluator.values(scores), "skip", self._weights)
        return total / weight

    def search(
        self, a: np.ndarray, b: np.ndarray, low: float, high: float, *, convex: bool = False
    ) -> LineSearch:
        """Find the best α between `low` and `high`.

        Parameters
        ----------
        a, b : ndarray of float64, shape (n_rows,)
            Finite, in the dataset's stored order.
        low, high : float
        convex : bool
            Combine as (1 − α)·a + α·b, with bounds inside 0 and 1; else as a + α·b.
        """
        _check_bounds(low, high, convex)
        n_rows = len(self._labels)
        a, b = _without_overflow(as_scores(a, n_rows, "a"), as_scores(b, n_rows, "b"))
        line, judged = (convex, float(low), float(high), a, b), self._evaluator.judged
        found = self._events_of_own(*line) if judged is None else self._events(judged, *line)
        values, alphas, changes = found
        total, weight = mean_value(values, "skip", self._weights)
        order = _by_alpha(alphas, changes)
        edges, totals = np.empty(len(alphas) + 2), np.empty(len(alphas) + 1)
        n_steps = add_up(alphas[order], changes[order], total, edges, totals)
        edges[0], edges[n_steps + 1] = low, high
        curve = Curve(edges[: n_steps + 2], totals[: n_steps + 1] / weight)
        return _best(curve, self.lower_is_better)

    def _events(
        self, judged: Judged, convex: bool, low: float, high: float, a: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values of all queries at the low bound, and all α with the changes there."""
        values = np.full(len(self._weights), np.nan)
        start = _Start.of_shape(self._offsets)
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        labels = judged.discounts, judged.norms
        where = self._offsets, judged.blank

        def work(first: int, last: int) -> None:
            order_queries(
                first, last, convex, low, high, a, b, judged.grades, judged.top, *where, *start
            )
            KERNELS[judged.code](first, last, start.ranked, start.ends, *labels, *where, values)
            found[first] = sweep_queries(
                first, last, judged.code, convex, high, a, b, *start, *labels, judged.top,
                *where, self._weights,
            )  # fmt: skip

        in_threads(work, self._blocks)
        events = [found[first] for first in sorted(found)]
        alphas, changes = (np.concatenate(parts) for parts in zip(*events, strict=True))
        return values, alphas, changes

    def _events_of_own(
        self, convex: bool, low: float, high: float, a: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for a measure defined in Python: one call for each different ranking."""
        start = _Start.of_shape(self._offsets)
        blank, longest = self._evaluator.blank, int(np.diff(self._offsets).max())
        where = self._offsets, blank
        n_queries = len(blank)
        order_queries(0, n_queries, convex, low, high, a, b, self._labels, longest, *where, *start)
        values = np.full(n_queries, np.nan)
        alphas, changes = [], []
        for q in np.flatnonzero(~blank).tolist():
            swaps = sweep_queries(
                q, q + 1, OWN, convex, high, a, b, *start, np.empty(0), np.empty((0, 0)), longest,
                *where, self._weights,
            )  # fmt: skip
            rows = slice(self._offsets[q], self._offsets[q + 1])
            steps = list(self._replay(q, start.ranked[rows], start.ends[rows], *swaps))
            values[q] = steps[0][1]
            for (_, before), (alpha, after) in pairwise(steps):
                if abs(after - before) > CANCELLED * max(abs(after), abs(before)):
                    alphas.append(alpha)
                    changes.append(self._weights[q] * (after - before))
        return values, np.array(alphas, np.float64), np.array(changes, np.float64)

    def _replay(
        self,
        query: int,
        labels: np.ndarray,
        ends: np.ndarray,
        alphas: np.ndarray,
        slots: np.ndarray,
    ) -> Iterator[tuple[float, float]]:
        """Where a query's ranking changes, and its value from there on; first the start."""
        bundles = []
        at = 0
        while at < len(labels):
            bundles.append(labels[at : ends[at]])
            at = int(ends[at])
        known: dict[bytes, float] = {}
        yield -math.inf, self._own_value(query, bundles, known)
        is_last = np.diff(alphas, append=np.inf) > SAME * np.abs(alphas)
        for alpha, slot, last in zip(alphas, slots.astype(np.int64), is_last, strict=True):
            bundles[slot], bundles[slot + 1] = bundles[slot + 1], bundles[slot]
            if last:
                yield float(alpha), self._own_value(query, bundles, known)

    def _own_value(self, query: int, bundles: list[np.ndarray], known: dict[bytes, float]) -> float:
        """Value of a ranking of bundles, looked up if it is known."""
        ranked = np.concatenate(bundles)
        scores = -np.repeat(np.arange(float(len(bundles))), [len(some) for some in bundles])
        key = ranked.tobytes() + scores.tobytes()
        if key not in known:
            known[key] = self._evaluator.value_of_own(query, scores, ranked)
        return known[key]


class _Start(NamedTuple):
    """The documents by rank right of the low bound, as `order_queries` writes them."""

    order: np.ndarray
    ranked: np.ndarray
    ends: np.ndarray
    kept: np.ndarray

    @classmethod
    def of_shape(cls, offsets: np.ndarray) -> _Start:
        n_rows = offsets[-1]
        return cls(
            np.empty(n_rows, np.int32),
            np.empty(n_rows),
            np.empty(n_rows, np.int64),
            np.zeros(len(offsets) - 1, np.int64),
        )


def _by_alpha(alphas: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """The order of events by α, and of those at the same α by change.

    So the rounding of sums does not depend on the order of the queries: scores of trees have few
    values, and many queries change at the same α.
    """
    order = np.argsort(alphas)
    tied = np.zeros(len(order) + 1, bool)
    tied[1:-1] = alphas[order[1:]] == alphas[order[:-1]]
    tied = tied[1:] | tied[:-1]
    some = order[tied]
    order[tied] = some[np.lexsort((changes[some], alphas[some]))]
    return order


def _best(curve: Curve, lower_is_better: bool) -> LineSearch:
    """The middle of the best interval: the widest of those, and then the lowest."""
    edges, values = curve
    slack = EQUAL_VALUES * np.abs(values).max()
    good = values <= values.min() + slack if lower_is_better else values >= values.max() - slack
    widths = np.where(good, np.diff(edges), 0.0)
    best = int(np.argmax(widths >= (1.0 - EQUAL_WIDTHS) * widths.max()))
    low, high = float(edges[best]), float(edges[best + 1])
    return LineSearch(low + 0.5 * (high - low), float(values[best]), (low, high), curve)


def _without_overflow(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both scores, scaled by the same power of two if they are huge, which moves no crossing."""
    largest = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return (a * 2.0**-30, b * 2.0**-30) if largest > LARGEST_SCORE else (a, b)


def _pair(bounds: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"bounds must be two numbers, got {bounds!r}") from None
    return low, high


def _check_bounds(low: float, high: float, convex: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ParameterError(f"bounds must be finite, got {low:g} and {high:g}")
    if not low + SAME * abs(low) < high - SAME * abs(high):
        raise ParameterError(
            f"bounds must be a lower number and a higher one, got {low:g} and {high:g}"
        )
    if convex and not (low >= 0.0 and high <= 1.0):
        raise ParameterError(
            f"bounds of a convex combination must lie between 0 and 1, got {low:g} and {high:g}: "
            "use mode='additive' for other weights"
        )
