"""Queries drawn for a tree: stochastic gradient boosting whose unit is the query."""

from __future__ import annotations

import numpy as np

from rankinite.boosting._query_sample_kernels import write_rows
from rankinite.distributed import Communicator, total
from rankinite.trees import draw_rows, share_of_words


class QuerySample:
    """Draws a share of the queries, each by its own random number.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_rows,)
        The rows' own random numbers (`rankinite.order.row_keys`).
    offsets : ndarray of int64, shape (n_queries + 1,)
    fraction : float
    communicator : Communicator
    """

    def __init__(
        self, keys: np.ndarray, offsets: np.ndarray, fraction: float, communicator: Communicator
    ) -> None:
        self._offsets, self._sizes = offsets, np.diff(offsets)
        self._limit = share_of_words(fraction)
        self._communicator = communicator
        # In whatever order the documents of a query are, their sum is the same.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys, dtype=np.uint64)])
        self._keys = sums[offsets[1:]] - sums[offsets[:-1]]

    def rows(self, seed: np.uint64) -> np.ndarray:
        """The rows of the queries that are drawn, of uint32; all rows if no query is."""
        drawn = self._drawn(seed)
        ends = np.cumsum(self._sizes[drawn])
        rows = np.empty(ends[-1] if len(ends) else 0, np.uint32)
        write_rows(drawn, self._offsets, ends, rows)
        return rows

    def held_out(self, seed: np.uint64) -> np.ndarray:
        """Whether each row is of a query that is not drawn."""
        others = np.ones(len(self._keys), np.bool_)
        others[self._drawn(seed)] = False
        return np.repeat(others, self._sizes)

    def _drawn(self, seed: np.uint64) -> np.ndarray:
        queries = np.arange(len(self._keys), dtype=np.uint32)
        scratch = np.empty_like(queries)
        drawn = scratch[: draw_rows(queries, self._keys, seed, self._limit, scratch)]
        if total(len(drawn), self._communicator) == 0:
            drawn = queries
        return drawn
