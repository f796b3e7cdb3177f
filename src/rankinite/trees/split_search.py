"""The search for the best splits of nodes, in histograms that are summed over all workers.

Every worker adds up the rows that it has, for all features. The histograms are then reduced and
scattered: each worker gets the sums over all of a few blocks of features, its own, and looks for
the best split in these. So a node costs a worker the bytes of one histogram to send, however many
rows there are, and of the search only its share; and what is kept for a node is that share too.
At last the workers tell each other the best that they have found.

Where all workers have the same rows, nothing is to be summed: each counts the rows in its own
blocks of features only (Svore and Burges 2012, algorithm 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from rankinite.binning import BinnedMatrix
from rankinite.distributed import Communicator, share_of
from rankinite.trees._histogram_kernels import N_BINS, build_histogram
from rankinite.trees._split_kernels import N_SCRATCH, Limits, best_splits
from rankinite.trees.fixed_point import MASS_BITS

# Below this many rows the parts of a node are not worth a second thread.
ROWS_A_PART = 4096
# Parts of the search for splits, for each thread: they are not equally long.
SEARCHES_A_THREAD = 4
MASS_MASK = (1 << MASS_BITS) - 1


class Split(NamedTuple):
    """The best split of a node; a `gain` of 0 says that there is none.

    `left_is_lighter` says that the left side has at most half of the node's mass; it is only found
    out where rows are on several workers.
    """

    gain: float
    feature: int
    bin: int
    missing_left: bool
    left_is_lighter: bool


NO_SPLIT = Split(0.0, -1, 0, False, False)


class SplitSearch:
    """Histograms and best splits of the nodes of one matrix; scratch memory is kept between trees.

    Parameters
    ----------
    binned : BinnedMatrix
        This worker's rows.
    communicator : Communicator
        Of the workers that have other rows; its `job` shares out the features.

    Attributes
    ----------
    own_shape : tuple of int
        Of a histogram.
    first_feature : int
        The features of this worker begin there.
    n_bins : ndarray of int64
        Of its features.
    """

    def __init__(self, binned: BinnedMatrix, communicator: Communicator) -> None:
        n_blocks, _, width = binned.blocks.shape
        self._communicator, self._workers = communicator, communicator.job
        first, last = share_of(n_blocks, self._workers.rank, self._workers.size)
        # The blocks that are counted here, and this worker's features.
        same_rows = self._workers is not communicator
        self._counted = slice(first, last) if same_rows else slice(0, n_blocks)
        self.first_feature = first * width
        self._last = min(last * width, binned.n_features)
        self.n_bins = binned.mapper.n_bins[self.first_feature : self._last]
        n_threads = numba.get_num_threads()
        shape = (self._counted.stop - self._counted.start, width * N_BINS)
        self.own_shape = (last - first, width * N_BINS)
        self._partial = np.empty((n_threads, *shape), np.int64)
        # Of this worker's rows. If they are all there are, they need no second place.
        self._local = None if communicator.size == 1 else np.empty(shape, np.int64)
        self._free: list[np.ndarray] = []
        self._scratch = np.empty((SEARCHES_A_THREAD * n_threads, N_SCRATCH, N_BINS))
        n_own = len(self.n_bins)
        self._gains = np.empty((2, n_own))
        self._bins = np.empty((2, n_own), np.uint8)
        self._missing_left = np.empty((2, n_own), np.bool_)
        self._features = np.empty(2, np.int64)

    def n_parts(self, n_rows: int) -> int:
        """How many parts of a node's rows are worth working on at the same time."""
        return max(1, min(len(self._partial), n_rows // ROWS_A_PART))

    def histogram(
        self, words: np.ndarray, rows: np.ndarray, cells: np.ndarray, gathered: np.ndarray
    ) -> np.ndarray:
        """This worker's blocks of the histogram of a node over all workers.

        Parameters
        ----------
        words, rows, cells, gathered
            As in `build_histogram`.
        """
        histogram = self._free.pop() if self._free else np.empty(self.own_shape, np.int64)
        return self.count(words, rows, cells, gathered, histogram)

    def count(
        self,
        words: np.ndarray,
        rows: np.ndarray,
        cells: np.ndarray,
        gathered: np.ndarray,
        histogram: np.ndarray,
    ) -> np.ndarray:
        """As `histogram`, which is written to an array of the shape `own_shape`."""
        local = histogram if self._local is None else self._local
        n_parts = self.n_parts(len(rows))
        partial = local[np.newaxis] if n_parts == 1 else self._partial[:n_parts]
        build_histogram(words[self._counted], rows, cells, gathered, partial, local)
        return self._communicator.reduce_scatter(local, histogram)

    def release(self, histogram: np.ndarray) -> None:
        """Take back the memory of a histogram."""
        self._free.append(histogram)

    def best(
        self, histograms: list[np.ndarray], subtract: bool, allowed: np.ndarray, limits: Limits
    ) -> list[Split]:
        """The best split of a node, or of each of two siblings.

        Parameters
        ----------
        histograms : list of ndarray
            What `histogram` gave.
        subtract : bool
            The second holds the parent of both: make it the sibling by taking the first away.
        allowed : ndarray of bool, shape (2, n_features)
            The features that may split each node.
        limits : Limits
        """
        own = [NO_SPLIT] * len(histograms)
        if len(self.n_bins):
            best_splits(
                histograms[0],
                histograms[-1],
                len(histograms),
                subtract,
                self.n_bins,
                self.own_features(allowed),
                limits,
                self._scratch,
                self._gains,
                self._bins,
                self._missing_left,
                self._features,
            )
            own = [self._own_best(k, histogram) for k, histogram in enumerate(histograms)]
        return self.best_of_workers(own)

    def own_features(self, of_features: np.ndarray) -> np.ndarray:
        """Of what is known of every feature (the last axis) that of this worker's own."""
        return np.ascontiguousarray(of_features[..., self.first_feature : self._last])

    def _own_best(self, k: int, histogram: np.ndarray) -> Split:
        """The best split of a node among this worker's features."""
        feature = int(self._features[k])
        gain, split_bin = float(self._gains[k, feature]), int(self._bins[k, feature])
        missing_left = bool(self._missing_left[k, feature])
        is_lighter = False
        if self._communicator.size > 1:
            cells = histogram.reshape(-1, N_BINS)[feature]
            left = cells[: split_bin + 1].sum() + (cells[-1] if missing_left else 0)
            is_lighter = 2 * (int(left) & MASS_MASK) <= int(cells.sum()) & MASS_MASK
        return Split(gain, self.first_feature + feature, split_bin, missing_left, is_lighter)

    def best_of_workers(self, own: list[Split]) -> list[Split]:
        """Of what each worker has found, the best of each node."""
        if self._workers.size == 1:
            return own
        found = np.zeros((self._workers.size, len(own), len(Split._fields)))
        found[self._workers.rank] = own
        found = self.told_by_owner(found)
        # Of equal gains that of the first feature: features go by the ranks of their workers.
        best = found[:, :, 0].argmax(axis=0)
        return [_split(found[rank, k]) for k, rank in enumerate(best)]

    def told_by_owner(self, numbers: np.ndarray) -> np.ndarray:
        """What is known to one worker each, the others having 0 there: no sum is rounded."""
        return numbers if self._workers.size == 1 else self._workers.sum(numbers)


def _split(numbers: np.ndarray) -> Split:
    gain, feature, split_bin, missing_left, is_lighter = numbers.tolist()
    return Split(gain, int(feature), int(split_bin), bool(missing_left), bool(is_lighter))
