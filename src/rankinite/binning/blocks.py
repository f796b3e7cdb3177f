"""Features as bins: at most 255 ordered ones each, and one for missing values.

Bins are stored in blocks of sixteen features, ``(n_blocks, n_rows, 16)`` bytes, because the
histograms of one block then fit in the first-level cache while the rows stream by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankinite._numba import even_blocks, in_threads
from rankinite.binning._binning_kernels import (
    BLOCK,
    ROWS_AT_ONCE,
    assign_bins,
    has_other_bins,
)
from rankinite.binning.edges import BinMapper, learn_mapper
from rankinite.distributed import Communicator
from rankinite.errors import DataError


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

    def first_wrong(self) -> int | None:
        """A feature, the first of its block, near which is a bin that it does not have."""
        n_blocks, n_rows, _ = self.blocks.shape
        n_bins = np.ones((n_blocks, BLOCK), np.uint8)
        n_bins.reshape(-1)[: self.n_features] = self.mapper.n_bins
        found = np.zeros(n_blocks, bool)
        in_threads(has_other_bins, even_blocks(n_rows), self.blocks, n_bins, found)
        return int(np.argmax(found)) * BLOCK if found.any() else None

    def select_rows(self, rows: np.ndarray) -> BinnedMatrix:
        """The given rows, in the given order."""
        blocks = np.ascontiguousarray(self.blocks[:, rows])
        return BinnedMatrix(blocks, self.n_features, self.mapper)


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows of a binned matrix by their numbers: one may come several times, and none is copied.

    Attributes
    ----------
    matrix : BinnedMatrix
    rows : ndarray of int64, shape (n_rows,)
        Which rows of the matrix these are.
    """

    matrix: BinnedMatrix
    rows: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.matrix.n_features

    @property
    def mapper(self) -> BinMapper:
        """The edges between the bins."""
        return self.matrix.mapper

    @property
    def blocks(self) -> np.ndarray:
        """The bins of the rows as those of a `BinnedMatrix`: a copy, made whenever it is asked for.

        For what needs rows that lie next to each other; what can do without takes `matrix`.
        """
        return self.copied().blocks

    def copied(self) -> BinnedMatrix:
        """The rows next to each other."""
        return self.matrix.select_rows(self.rows)

    def select_rows(self, rows: np.ndarray) -> BinnedRows:
        """The given rows, in the given order."""
        return BinnedRows(self.matrix, self.rows[rows])


Bins = BinnedMatrix | BinnedRows


def bin_matrix(
    X: np.ndarray,
    max_bins: int,
    rows: np.ndarray | None = None,
    communicator: Communicator | None = None,
) -> BinnedMatrix:
    """Learn the edges from X and bin it.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    max_bins : int
        2 to 255 bins a feature, besides the one for missing values.
    rows : ndarray of int64, optional
        The rows whose quantiles are the edges (`rankinite.binning.sampling`); all by default.
    communicator : Communicator, optional
        Of the workers that have other rows, whose values count for the edges too.
    """
    return apply_mapper(X, learn_mapper(X, max_bins, rows, communicator))


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
