"""The edges between the bins of every feature, and how they are chosen from a sample of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from rankinite.binning._binning_kernels import (
    COMPARED_LEVELS,
    MISSING_BIN,
    TREE,
    choose_edges,
    gather_columns,
    plant_tree,
)
from rankinite.errors import ParameterError

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


class Sample(NamedTuple):
    """Rows to learn the edges from, in pieces.

    Attributes
    ----------
    pieces : list of (ndarray, ndarray of int64)
        Matrices, and the rows of each that belong to the sample. A matrix may lack the last
        features: they are 0 there.
    n_features : int
    dtype : dtype
        float32 or float64: a type that holds the values of all matrices.
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


def learn_mapper(X: np.ndarray, max_bins: int, rows: np.ndarray | None = None) -> BinMapper:
    """Choose the edges of every feature from the quantiles of its values; see `bin_matrix`."""
    rows = np.arange(len(X)) if rows is None else rows
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
    edges = np.empty(max_bins - 1)
    return edges[: choose_edges(values[:n_known], max_bins, edges)]
