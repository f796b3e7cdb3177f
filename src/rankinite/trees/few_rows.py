"""Nodes of few rows are opened in batches, each by one thread.

A large tree has mostly such nodes. What a second thread could do for one of them takes about as
long as to call it; but two threads can each do one. Which node is split next is known before its
turn: the leaves with the largest gains. That a leaf is divided early changes nothing in the tree,
for it gets its number, and its children come into question, when it is its turn. A leaf whose turn
never comes was divided for nothing; there are few, and only at the end.
"""

from __future__ import annotations

import numba
import numpy as np

from rankinite.trees._few_rows_kernels import divide_and_search
from rankinite.trees._histogram_kernels import N_BINS
from rankinite.trees._split_kernels import N_SCRATCH, Limits
from rankinite.trees.split_search import Split

# Up to so many rows it takes no longer to count both children than to count one and to subtract it.
FEW_ROWS = 1500
# Nodes that are opened at once, for each thread, so that they do not wait long for the slowest, and
# in all at most: with more of them more are opened in vain.
NODES_A_THREAD, MOST = 2, 8


class FewRows:
    """Divides nodes of few rows, and finds the splits of their children.

    Parameters
    ----------
    n_bins : ndarray of int64, shape (n_features,)
    width : int
        Features of a block.

    Attributes
    ----------
    n_threads : int
        Each takes its share of the nodes, neighbours.
    most : int
        Nodes at once.
    """

    def __init__(self, n_bins: np.ndarray, width: int) -> None:
        self.n_threads = numba.get_num_threads()
        self.most = min(NODES_A_THREAD * self.n_threads, MOST)
        self._n_bins = n_bins
        self._sums = np.empty((self.most, width * N_BINS), np.int64)
        self._scratch = np.empty((self.most, N_SCRATCH, N_BINS))
        self._n_left = np.empty(self.most, np.int64)
        self._gains = np.empty((self.most, 2))
        self._features = np.empty((self.most, 2), np.int64)
        self._bins = np.empty((self.most, 2), np.uint8)
        self._missing_left = np.empty((self.most, 2), np.bool_)

    def divide(
        self,
        words: np.ndarray,
        rows: np.ndarray,
        cells: np.ndarray,
        ranges: list[tuple[int, int]],
        splits: list[Split],
        limits: Limits,
        left: np.ndarray,
        right: np.ndarray,
        gathered: np.ndarray,
    ) -> list[tuple[int, Split, Split]]:
        """Of every node how many rows go left, and the splits of its children.

        Parameters
        ----------
        words, rows, cells, limits, left, right, gathered
            As in `divide_and_search`.
        ranges : list of pairs of int
            Where the rows of each node begin and end.
        splits : list of Split
            How each is divided.
        """
        starts, stops = np.array(ranges, np.int64).T.copy()
        divide_and_search(
            words,
            words.view(np.uint8),
            rows,
            cells,
            starts,
            stops,
            np.array([split.feature for split in splits], np.int64),
            np.array([split.bin for split in splits], np.int64),
            np.array([split.missing_left for split in splits], np.bool_),
            self._n_bins,
            limits,
            left,
            right,
            gathered,
            self._sums,
            self._scratch,
            self._n_left,
            self._gains,
            self._features,
            self._bins,
            self._missing_left,
        )
        return [
            (int(self._n_left[k]), self._split(k, 0), self._split(k, 1)) for k in range(len(splits))
        ]

    def _split(self, k: int, side: int) -> Split:
        return Split(
            float(self._gains[k, side]),
            int(self._features[k, side]),
            int(self._bins[k, side]),
            bool(self._missing_left[k, side]),
            left_is_lighter=False,
        )
