"""Growing trees on rows of which many are the same documents.

Rows by number (`BinnedRows`) that stand for one row of the matrix have the same bins, so they end
in the same leaf, whatever their gradients are. Their cells are integers: added up beforehand they
give the same histograms as one by one, bit for bit. So a tree is grown on the rows of the matrix,
each with the sum of its cells, and takes no longer than a tree on these rows alone would.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from rankinite._ranges import ranges
from rankinite.binning import BinnedMatrix, BinnedRows, Bins
from rankinite.distributed import Communicator
from rankinite.trees._histogram_kernels import add_cells
from rankinite.trees.fixed_point import Packed
from rankinite.trees.grower import Grower
from rankinite.trees.growth import GrowthParameters
from rankinite.trees.node import Node
from rankinite.trees.tree import GrownTree, Tree


def grower_of(
    binned: Bins,
    parameters: GrowthParameters,
    keys: np.ndarray,
    n_rows: int,
    communicator: Communicator,
) -> Grower:
    """What grows trees on these rows; see `Grower`."""
    if isinstance(binned, BinnedMatrix):
        return Grower(binned, parameters, keys, n_rows, communicator)
    return RepeatedRowsGrower(binned, parameters, keys, n_rows, communicator)


class RepeatedRowsGrower(Grower):
    """Grows trees on rows of a binned matrix, by number.

    Parameters
    ----------
    binned : BinnedRows
        This worker's rows.
    parameters, keys, n_rows, communicator
        As for `Grower`; rows are those by number.
    """

    binned: BinnedRows

    def __init__(
        self,
        binned: BinnedRows,
        parameters: GrowthParameters,
        keys: np.ndarray,
        n_rows: int,
        communicator: Communicator,
    ) -> None:
        super().__init__(binned.matrix, parameters, keys, n_rows, communicator)
        self.binned = binned

    def grow(
        self,
        packed: Packed,
        seed: np.uint64,
        drawn: np.ndarray | None = None,
        n_meant: int | None = None,
        growth: str | None = None,
    ) -> GrownTree:
        """Grow a tree on the packed gradients of rows by number; see `Grower.grow`."""
        rows = self.binned.rows if drawn is None else self.binned.rows[drawn]
        cells = np.zeros(self.matrix.n_rows, np.int64)
        add_cells(packed.cells, rows, cells)
        # A row that comes has a mass of 1 at least. The others may be looked at, for they add
        # nothing, unless they are so many that it is worth a copy to do without them.
        seen = np.flatnonzero(cells)
        if 2 * len(seen) >= len(cells):
            seen = np.arange(len(cells))
        self._given = _Given(
            packed.cells, rows, seen, self.keys if drawn is None else self.keys[drawn]
        )
        sums = replace(packed, cells=cells[seen])
        all_seen = len(seen) == len(cells)
        drawn = None if all_seen else seen.astype(np.uint32)
        return super().grow(sums, seed, drawn, n_meant, growth)

    def _grown(
        self, tree: Tree, leaf_of: np.ndarray, counts: np.ndarray | None = None
    ) -> GrownTree:
        return super()._grown(tree, leaf_of[self.binned.rows])

    def _see_keys(self, drawn: np.ndarray | None) -> None:
        """Rows of the matrix have no keys; those by number have."""

    def counted(
        self, node: Node, rows: np.ndarray, packed: Packed, seed: np.uint64
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """As `Grower.counted`; it is rows by number that are drawn and counted."""
        own, given = rows[node.start : node.stop], self._given
        if self.parameters.row_fraction == 1.0:
            return own, packed.cells, len(given.cells)
        # Every row by number is drawn by itself.
        drawn = self._drawn(given.numbers_of(own), given.keys, node, seed)
        cells = np.zeros(len(packed.cells), np.int64)
        add_cells(given.cells[drawn], given.places[drawn], cells)
        return own[cells[own] != 0], cells, len(drawn)


class _Given:
    """The rows by number that a tree is grown on.

    Parameters
    ----------
    cells, rows, keys : ndarray, shape (n,)
        Of each the cell, the row of the matrix and the key.
    seen : ndarray of int64
        The rows of the matrix that are looked at, ascending.
    """

    def __init__(
        self, cells: np.ndarray, rows: np.ndarray, seen: np.ndarray, keys: np.ndarray
    ) -> None:
        self.cells, self.keys = cells, keys
        self._rows, self._seen = rows, seen

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each among the rows that are looked at."""
        return np.searchsorted(self._seen, self._rows)

    @cached_property
    def _by_place(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.places, kind="stable").astype(np.uint32)
        return order, np.searchsorted(self.places[order], np.arange(len(self._seen) + 1))

    def numbers_of(self, places: np.ndarray) -> np.ndarray:
        """Which of them are at some places, of uint32."""
        order, starts = self._by_place
        first = starts[places]
        return order[ranges(first, starts[places + 1] - first)]
