"""Nodes of few rows, several at once: a thread divides one, and searches its children."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import BLOCK
from rankinite.trees._histogram_kernels import N_BINS, add_part, gather
from rankinite.trees._partition_kernels import partition_alone, sides_of_bins
from rankinite.trees._split_kernels import scan


@parallel_kernel()
def divide_and_search(
    words,
    blocks,
    rows,
    cells,
    starts,
    stops,
    features,
    bins,
    missing_left,
    n_bins,
    limits,
    left,
    right,
    gathered,
    sums,
    scratch,
    n_left,
    child_gains,
    child_features,
    child_bins,
    child_missing_left,
):
    """Divide the rows of nodes between their children, and find the best split of each child.

    The rows of both children are counted, and no histogram is kept: for so few rows that takes no
    longer than to fetch the histogram of the parent, which has long left the caches.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_blocks, n_all_rows, 2)
    blocks : ndarray of uint8, shape (n_blocks, n_all_rows, 16)
        The same bytes, as bins.
    rows : ndarray of uint32, shape (n_all_rows,)
        Node k has ``rows[starts[k]:stops[k]]``; those are reordered as in `partition_rows`.
    cells : ndarray of int64, shape (n_all_rows,)
    starts, stops, features, bins, missing_left : ndarrays of shape (n_nodes,)
        The nodes, and how each is split.
    n_bins : ndarray of int64, shape (n_features,)
    limits : Limits
    left, right, gathered : ndarrays of shape (≥ n_all_rows,)
        Scratch, of uint32, uint32 and int64.
    sums, scratch : ndarrays of shape (≥ n_nodes, 16 * 256) and (≥ n_nodes, 2, 256)
        Scratch, of int64 and float64.
    n_left : ndarray of int64, shape (≥ n_nodes,)
        Output: the number of rows that go left.
    child_gains, child_features, child_bins, child_missing_left : ndarrays, shape (≥ n_nodes, 2)
        Output: the best splits of the left child and of the right one, as `best_splits` finds them.
    """
    for k in prange(starts.shape[0]):
        own = slice(starts[k], stops[k])
        block, column = features[k] // BLOCK, features[k] % BLOCK
        sides = sides_of_bins(bins[k], missing_left[k])
        n_left[k] = partition_alone(blocks[block], column, sides, rows[own], left[own], right[own])
        gather(cells, rows[own], gathered[own])
        middle = starts[k] + n_left[k]
        for side in range(2):
            child = slice(starts[k], middle) if side == 0 else slice(middle, stops[k])
            best = _best_split(
                words, rows[child], gathered[child], n_bins, limits, sums[k], scratch[k]
            )
            child_gains[k, side] = best[0]
            child_features[k, side] = best[1]
            child_bins[k, side] = best[2]
            child_missing_left[k, side] = best[3]


@kernel()
def _best_split(words, rows, cells, n_bins, limits, sums, scratch):
    """The best split of a node: (gain, feature, bin, whether missing rows go left).

    Of features with equal gains the first one, as in `best_splits`: gains are equal if they are so
    with their factor 1/M.
    """
    total = np.int64(0)
    for i in range(cells.shape[0]):
        total += cells[i]
    mass = float(np.int32(total)) + limits.l2
    best = (0.0, 0, 0, False)
    to_beat = 0.0
    if float(np.int32(total)) < 2.0 * limits.min_mass:  # too light for two sides
        return best
    for feature in range(n_bins.shape[0]):
        at = feature % BLOCK * N_BINS
        if at == 0:
            add_part(words[feature // BLOCK], rows, cells, sums)
        gain, b, goes_left = scan(
            sums[at : at + N_BINS], n_bins[feature], total, limits, to_beat, scratch
        )
        to_beat = max(to_beat, gain)
        if gain / mass > best[0]:
            best = (gain / mass, feature, b, goes_left)
    return best
