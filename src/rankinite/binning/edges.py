"""The edges between the bins of every feature, and how they are chosen from a sample of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
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
from rankinite.distributed import Communicator, Serial, on_any
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
    """This worker's rows to learn the edges from, in pieces.

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


def learn_mapper(
    X: np.ndarray,
    max_bins: int,
    rows: np.ndarray | None = None,
    communicator: Communicator | None = None,
) -> BinMapper:
    """Choose the edges of every feature from the quantiles of its values; see `bin_matrix`."""
    rows = np.arange(len(X)) if rows is None else rows
    sample = Sample([(X, rows)], X.shape[1], X.dtype)
    return mapper_from_sample(sample, max_bins, communicator)


def mapper_from_sample(
    sample: Sample, max_bins: int, communicator: Communicator | None = None
) -> BinMapper:
    """Choose the edges of every feature from the quantiles of a sample of rows.

    The workers take turns at the features: each gets the values that all have of its own, and all
    get the edges.

    Parameters
    ----------
    sample : Sample
        With the same number of features on all workers.
    max_bins : int
    communicator : Communicator, optional
        Of the workers that have the other rows of the sample.
    """
    check_max_bins(max_bins)
    communicator = Serial() if communicator is None else communicator
    # Values of one type can be put together.
    is_wide = on_any(sample.dtype == np.float64, communicator)
    sample = sample._replace(dtype=np.dtype(np.float64 if is_wide else np.float32))
    n_threads = numba.get_num_threads()
    borders = [*range(0, sample.n_features, _COLUMNS_AT_ONCE), sample.n_features]
    groups = list(pairwise(borders))
    # Of which worker each group is: as many in a row as it has threads, on the fewest.
    in_a_row = -int(communicator.max(np.array([-n_threads]))[0])
    own: dict[int, list[np.ndarray]] = {}
    with ThreadPoolExecutor(n_threads) as pool:
        for start in range(0, len(groups), in_a_row):
            turn = range(start, min(start + in_a_row, len(groups)))
            root = start // in_a_row % communicator.size
            columns = pool.map(lambda g: sample.columns(*groups[g]), turn)
            gathered = [communicator.gather(values.reshape(-1), root) for values in columns]
            if communicator.rank == root:
                widths = [groups[g][1] - groups[g][0] for g in turn]
                found = pool.map(lambda told, w: _group_edges(told, w, max_bins), gathered, widths)
                own.update(zip(turn, found, strict=True))
    per_feature = [edges for group in sorted(own) for edges in own[group]]
    features = [f for group in sorted(own) for f in range(*groups[group])]
    return _mapper(per_feature, features, sample.n_features, max_bins, communicator)


def _group_edges(gathered: list[np.ndarray], width: int, max_bins: int) -> list[np.ndarray]:
    """Edges of a few features from the values that all workers have of them."""
    parts = [values.reshape(width, -1) for values in gathered]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    values.sort(axis=1)  # NaN comes last
    return [_edges(column, max_bins) for column in values]


def _mapper(
    per_feature: list[np.ndarray],
    features: list[int],
    n_features: int,
    max_bins: int,
    communicator: Communicator,
) -> BinMapper:
    """The edges of all features, of which this worker has found those of some."""
    lengths = np.zeros(n_features, np.int64)
    lengths[features] = [len(edges) for edges in per_feature]
    offsets = np.concatenate([[0], np.cumsum(communicator.sum(lengths))]).astype(np.int64)
    edges = np.zeros(offsets[-1])
    for feature, found in zip(features, per_feature, strict=True):
        # Adding 0 turns −0 into 0: which of the two stands for both depends on the order of rows.
        edges[offsets[feature] : offsets[feature + 1]] = found + 0.0
    # Nobody else has an edge there: this is no sum that could be rounded.
    return BinMapper(communicator.sum(edges), offsets, int(max_bins))


def check_max_bins(max_bins: int) -> None:
    """Refuse a number of bins that a byte cannot hold."""
    if isinstance(max_bins, bool) or not 2 <= max_bins <= MISSING_BIN:
        raise ParameterError(f"max_bins must be between 2 and {MISSING_BIN}, got {max_bins!r}")


def _edges(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Edges of one feature from its ascending values."""
    n_known = np.searchsorted(values, values.dtype.type(np.nan))
    edges = np.empty(max_bins - 1)
    return edges[: choose_edges(values[:n_known], max_bins, edges)]
