"""λs and costs of a built-in measure: by kernels, with the queries laid out by grade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.lambdas._cost_kernels import all_costs
from rankinite.lambdas._lambda_kernels import all_lambdas
from rankinite.lambdas._query_kernels import (
    GradedQueries,
    Kept,
    LambdaSettings,
    Round,
    Setup,
    rank_queries,
)
from rankinite.lambdas.options import LambdaOptions
from rankinite.measures import Judged
from rankinite.measures.codes import LAYERED, LINEAR


class BuiltInLambdas:
    """λs and costs of all queries, without weights.

    Parameters
    ----------
    setup : Setup
        As `lay_out` makes it.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._blocks = query_blocks(setup.queries.offsets, rows_a_block=2_000)

    @property
    def blank(self) -> np.ndarray:
        """Queries of which no order is better than another, shape (n_queries,)."""
        return self.setup.queries.blank

    def write(self, at: Round) -> None:
        """Write the λs of a round."""
        self._run(all_lambdas, *self.setup, at)

    def write_query(self, query: int, at: Round) -> None:
        """Write those of one query."""
        all_lambdas(query, query + 1, *self.setup, at)

    def write_with_costs(self, at: Round, weight: np.ndarray) -> np.ndarray:
        """Write the λs of a round; returns the costs of the same ranking, shape (n_queries,)."""
        self.write(at)
        if self.setup.settings.noise > 0.0:  # the ranking was another
            return self.costs(at.scores, at.seed, weight)
        return self._costs(at.scores, weight)

    def costs(self, scores: np.ndarray, seed: np.uint64, weight: np.ndarray) -> np.ndarray:
        """The costs at these scores, shape (n_queries,)."""
        settings, queries, kept = self.setup
        self._run(rank_queries, queries, settings.depth, kept.orders, scores, seed)
        return self._costs(scores, weight)

    def select(self, queries: np.ndarray, offsets: np.ndarray, rows: np.ndarray) -> BuiltInLambdas:
        """Those of some queries alone, which have these rows and then these offsets."""
        return BuiltInLambdas(self.setup.select(queries, offsets, rows))

    def _run(self, kernel: Callable, *arguments: Any) -> None:
        # A call takes named tuples apart, which costs microseconds: on one thread there is one.
        blocks = self._blocks if numba.get_num_threads() > 1 else self._blocks[[0, -1]]
        in_threads(kernel, blocks, *arguments)

    def _costs(self, scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
        settings, queries, kept = self.setup
        costs = np.empty(len(queries.blank))
        self._run(all_costs, settings, queries, kept.orders, scores, weight, costs)
        return costs


def lay_out(judged: Judged, offsets: np.ndarray, keys: np.ndarray, options: LambdaOptions) -> Setup:
    """Lay out what stays from round to round: the queries in the order of their grades."""
    general = None if judged.code in (LINEAR, LAYERED) else True
    top = judged.top if options.truncation is None else min(judged.top, options.truncation)
    settings = LambdaSettings(
        general,
        judged.code,
        judged.discounts,
        judged.top,
        top,
        options.sigma,
        options.normalize,
        options.noise,
        options.n_draws,
    )
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    order = np.lexsort((-judged.grades, query))
    grades, keys = judged.grades[order], keys[order]
    change = np.flatnonzero((np.diff(grades) != 0) | (np.diff(query) != 0)) + 1
    # There are as many of these as rows: nothing is kept longer or wider than need be.
    del query
    start = np.repeat(offsets[:-1], sizes)
    order -= start
    by_grade = order.astype(np.int32)
    del order
    borders = np.concatenate([[0], change, [len(grades)]])
    lower = _inside(borders[1:], borders, start)
    own = _inside(borders[:-1], borders, start)
    queries = GradedQueries(offsets, judged.blank, judged.norms, grades, keys, by_grade, lower, own)
    orders = (np.arange(len(grades)) - start).astype(np.int32)
    return Setup(settings, queries, Kept(orders, np.zeros(len(sizes), np.int64)))


def _inside(rows: np.ndarray, borders: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A row for each run between borders, as a place in its query for each row of the run."""
    places = np.repeat(rows, np.diff(borders))
    places -= start
    return places.astype(np.int32)
