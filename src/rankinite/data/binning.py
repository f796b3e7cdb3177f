"""Binning: every feature becomes at most 255 ordered bins and one for missing values.

Bins are stored in blocks of sixteen features, ``(n_blocks, n_rows, 16)`` bytes, because the
histograms of one block then fit in the first-level cache while the rows stream by.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from rankinite._numba import even_blocks, in_threads
from rankinite.data._binning_kernels import (
    BLOCK,
    COMPARED_LEVELS,
    MISSING_BIN,
    ROWS_AT_ONCE,
    TREE,
    assign_bins,
    choose_edges,
    gather_columns,
    plant_tree,
)
from rankinite.data.grouping import ranges
from rankinite.data.sampling import sampled_queries
from rankinite.errors import DataError, ParameterError

# Columns of the sample that are copied out and sorted together: float32 fills a cache line.
_COLUMNS_AT_ONCE = 16


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

    def widened(self, n_features: int) -> BinMapper:
        """The same with further features that have one bin each."""
        ends = np.full(n_features - self.n_features, self.edge_offsets[-1])
        return BinMapper(self.edges, np.concatenate([self.edge_offsets, ends]), self.max_bins)

    def search_trees(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The edges as search trees for values of `dtype`, and the number of levels of each.

        A value of a narrower type than the edges lies above an edge if and only if it lies above
        the largest value of its own type that is not above the edge.
        """
        with np.errstate(over="ignore"):  # an infinity is above the edge too
            edges = self.edges.astype(dtype)
        above = edges > self.edges
        edges[above] = np.nextafter(edges[above], dtype.type(-np.inf))
        depths = np.maximum(np.ceil(np.log2(self.n_bins)).astype(np.int64), COMPARED_LEVELS)
        trees = np.full((self.n_features, TREE), np.inf, dtype)
        for feature, depth in enumerate(depths):
            own = edges[self.edge_offsets[feature] : self.edge_offsets[feature + 1]]
            plant_tree(own, depth, trees[feature])
        return trees, depths


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


class Sample(NamedTuple):
    """Rows to learn the edges from, in pieces.

    Attributes
    ----------
    pieces : list of (ndarray, ndarray of int64)
        Matrices, and the rows of each that belong to the sample. A matrix may lack the last
        features: they are 0 there.
    n_features : int
    dtype : dtype
        float32 or float64: the precision of the edges.
    """

    pieces: list[tuple[np.ndarray, np.ndarray]]
    n_features: int
    dtype: np.dtype

    def columns(self, first: int, last: int) -> np.ndarray:
        """The values of the features ``first:last``, shape (last - first, n_sampled)."""
        ends = np.cumsum([0, *(len(rows) for _, rows in self.pieces)])
        values = np.zeros((last - first, ends[-1]), self.dtype)
        for (X, rows), start, end in zip(self.pieces, ends[:-1], ends[1:], strict=True):
            width = min(last, X.shape[1]) - first
            if width > 0:
                gather_columns(X, rows, first, values[:width, start:end])
        return values


def bin_matrix(X: np.ndarray, max_bins: int, offsets: np.ndarray) -> BinnedMatrix:
    """Learn the edges from X and bin it.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    max_bins : int
        2 to 255 bins a feature, besides the one for missing values.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Where queries begin: beyond 200,000 rows the edges come from whole queries drawn at
        random, so they do not depend on the order of the documents in a query.
    """
    return apply_mapper(X, learn_mapper(X, max_bins, offsets))


def learn_mapper(X: np.ndarray, max_bins: int, offsets: np.ndarray) -> BinMapper:
    """Choose the edges of every feature from the quantiles of its values; see `bin_matrix`."""
    sizes = np.diff(offsets)
    drawn = sampled_queries(sizes)
    rows = ranges(offsets[drawn], sizes[drawn])
    return mapper_from_sample(Sample([(X, rows)], X.shape[1], X.dtype), max_bins)


def mapper_from_sample(sample: Sample, max_bins: int) -> BinMapper:
    """Choose the edges of every feature from the quantiles of a sample of rows."""
    check_max_bins(max_bins)

    def edges_of(first: int) -> list[np.ndarray]:
        values = sample.columns(first, min(first + _COLUMNS_AT_ONCE, sample.n_features))
        values.sort(axis=1)  # NaN comes last
        return [_edges(column, max_bins) for column in values]

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        starts = range(0, sample.n_features, _COLUMNS_AT_ONCE)
        per_feature = [edges for group in pool.map(edges_of, starts) for edges in group]
    lengths = [len(edges) for edges in per_feature]
    return BinMapper(
        # Adding 0 turns −0 into 0: which of the two stands for both depends on the order of rows.
        np.concatenate([np.empty(0), *per_feature]) + 0.0,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        int(max_bins),
    )


def check_max_bins(max_bins: int) -> None:
    """Refuse a number of bins that a byte cannot hold."""
    if isinstance(max_bins, bool) or not 2 <= max_bins <= MISSING_BIN:
        raise ParameterError(f"max_bins must be between 2 and {MISSING_BIN}, got {max_bins!r}")


def _edges(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Edges of one feature from its ascending values."""
    n_known = np.searchsorted(values, values.dtype.type(np.nan))
    edges = np.empty(max_bins - 1, values.dtype)
    return edges[: choose_edges(values[:n_known], max_bins, edges)]


class Binner:
    """Bins rows by edges that were learned before, a few at a time."""

    def __init__(self, mapper: BinMapper) -> None:
        self.mapper = mapper
        self._trees: dict[np.dtype, tuple[np.ndarray, np.ndarray]] = {}

    def bin_rows(self, X: np.ndarray, blocks: np.ndarray, first_row: int) -> None:
        """Write the bins of X (n_rows, n_features) into `blocks`, from row `first_row` on."""
        if X.dtype not in self._trees:
            self._trees[X.dtype] = self.mapper.search_trees(X.dtype)
        trees, depths = self._trees[X.dtype]
        steps = even_blocks(-(-len(X) // ROWS_AT_ONCE))
        in_threads(assign_bins, steps, X, trees, depths, blocks, first_row)


def empty_blocks(n_features: int, n_rows: int) -> np.ndarray:
    """Room for bins, all 0: uint8, shape (n_blocks, n_rows, 16)."""
    return np.zeros((-(-n_features // BLOCK), n_rows, BLOCK), np.uint8)


def apply_mapper(X: np.ndarray, mapper: BinMapper) -> BinnedMatrix:
    """Bin X by edges that were learned before."""
    n_rows, n_features = X.shape
    if n_features != mapper.n_features:
        raise DataError(
            f"the data has {n_features} features, but the bins were made for {mapper.n_features}"
        )
    blocks = empty_blocks(n_features, n_rows)
    Binner(mapper).bin_rows(X, blocks, 0)
    return BinnedMatrix(blocks, n_features, mapper)
