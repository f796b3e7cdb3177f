"""Binning: every feature becomes at most 255 ordered bins and one for missing values.

Bins are stored in blocks of sixteen features, ``(n_blocks, n_rows, 16)`` bytes, because the
histograms of one block then fit in the first-level cache while the rows stream by.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np

from rankinite.data._binning_kernels import (
    BLOCK,
    MISSING_BIN,
    TABLE,
    assign_bins,
    choose_edges,
)
from rankinite.errors import DataError, ParameterError

# Quantiles of this many rows are as good as those of all; whole queries are drawn.
SAMPLE_ROWS = 200_000


@dataclass(frozen=True)
class BinMapper:
    """The edges between the bins of every feature.

    Attributes
    ----------
    edges : ndarray of float64
        The upper edges of all features, one feature after the other, ascending in each.
    edge_offsets : ndarray of int64, shape (n_features + 1,)
        Feature f has the edges ``edges[edge_offsets[f]:edge_offsets[f + 1]]`` and one bin more.
    max_bins : int
        The number of bins that was asked for.
    """

    edges: np.ndarray
    edge_offsets: np.ndarray
    max_bins: int

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.edge_offsets) - 1

    @property
    def n_bins(self) -> np.ndarray:
        """Number of bins of every feature, without the one for missing values."""
        return np.diff(self.edge_offsets) + 1

    def feature_edges(self, feature: int) -> np.ndarray:
        """The upper edges of one feature."""
        return self.edges[self.edge_offsets[feature] : self.edge_offsets[feature + 1]]

    def equals(self, other: BinMapper) -> bool:
        """Whether both put every value into the same bin."""
        return np.array_equal(self.edge_offsets, other.edge_offsets) and np.array_equal(
            self.edges, other.edges
        )

    def table(self) -> np.ndarray:
        """Edges as a table (n_features, 256) padded with +inf, for the search without branches."""
        table = np.full((self.n_features, TABLE), np.inf)
        for feature in range(self.n_features):
            edges = self.feature_edges(feature)
            table[feature, : len(edges)] = edges
        return table


@dataclass(frozen=True)
class BinnedMatrix:
    """Features as bins.

    Attributes
    ----------
    blocks : ndarray of uint8, shape (n_blocks, n_rows, 16)
        Feature f is ``blocks[f // 16, :, f % 16]``; 255 is "missing".
    n_features : int
    mapper : BinMapper
    """

    blocks: np.ndarray
    n_features: int
    mapper: BinMapper

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.blocks.shape[1]

    def column(self, feature: int) -> np.ndarray:
        """The bins of one feature, shape (n_rows,)."""
        return self.blocks[feature // BLOCK, :, feature % BLOCK]

    def select_rows(self, rows: np.ndarray) -> BinnedMatrix:
        """The given rows, in the given order."""
        blocks = np.ascontiguousarray(self.blocks[:, rows])
        return BinnedMatrix(blocks, self.n_features, self.mapper)


def bin_matrix(X: np.ndarray, max_bins: int, offsets: np.ndarray) -> BinnedMatrix:
    """Learn the edges from X and bin it.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    max_bins : int
        2 to 255 bins a feature, besides the one for missing values.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Where queries begin: beyond 200,000 rows the edges come from whole queries spread evenly,
        so they do not depend on the order of the documents in a query.
    """
    return apply_mapper(X, learn_mapper(X, max_bins, offsets))


def learn_mapper(X: np.ndarray, max_bins: int, offsets: np.ndarray) -> BinMapper:
    """Choose the edges of every feature from the quantiles of its values; see `bin_matrix`."""
    if isinstance(max_bins, bool) or not 2 <= max_bins <= MISSING_BIN:
        raise ParameterError(f"max_bins must be between 2 and {MISSING_BIN}, got {max_bins!r}")
    sample = _sample_queries(X, offsets)

    def edges_of(feature: int) -> np.ndarray:
        values = sample[:, feature]
        values = np.sort(values[~np.isnan(values)])
        edges = np.empty(max_bins - 1, values.dtype)
        return edges[: choose_edges(values, max_bins, edges)]

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        per_feature = list(pool.map(edges_of, range(X.shape[1])))
    lengths = [len(edges) for edges in per_feature]
    return BinMapper(
        np.concatenate(per_feature).astype(np.float64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        max_bins,
    )


def apply_mapper(X: np.ndarray, mapper: BinMapper) -> BinnedMatrix:
    """Bin X by edges that were learned before."""
    n_rows, n_features = X.shape
    if n_features != mapper.n_features:
        raise DataError(
            f"the data has {n_features} features, but the bins were made for {mapper.n_features}"
        )
    blocks = np.zeros((-(-n_features // BLOCK), n_rows, BLOCK), np.uint8)
    assign_bins(X, mapper.table(), blocks)
    return BinnedMatrix(blocks, n_features, mapper)


def _sample_queries(X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    n_rows, n_queries = X.shape[0], len(offsets) - 1
    if n_rows <= SAMPLE_ROWS:
        return X
    n_drawn = max(1, round(n_queries * SAMPLE_ROWS / n_rows))
    drawn = np.linspace(0, n_queries - 1, n_drawn).astype(np.int64)
    return np.concatenate([X[offsets[query] : offsets[query + 1]] for query in drawn])
