"""Kernels that divide the rows of a node between its children."""

import numpy as np
from numba import prange

from rankinite._hash_kernels import mix
from rankinite._numba import kernel, parallel_kernel
from rankinite.binning._binning_kernels import MISSING_BIN
from rankinite.trees._vector_kernels import prefetch

# Scattered rows are asked for this long before they are copied.
ROWS_AHEAD = 16
# Parts of the rows for each block, so that the work divides evenly between threads.
COPIES_A_BLOCK = 4


@parallel_kernel()
def partition_rows(block, column, threshold, missing_left, rows, n_parts, left, right):
    """Reorder `rows` in place: first those that go left, then the others, both ascending.

        rows   [ part 0 | part 1 | part 2 ]      each part is divided on its own into
        left   [ l l .  | l . .  | l l .  ]      the scratch arrays, and the pieces are
        right  [ r . .  | r r .  | r . .  ]      then copied to where they belong:
        rows   [ l l l l l | r r r r ]

    Returns
    -------
    int
        The number of rows that go left.
    """
    n = rows.shape[0]
    goes_left = sides_of_bins(threshold, missing_left)
    if n_parts == 1:  # to ask other threads for help takes longer than most nodes do
        return partition_alone(block, column, goes_left, rows, left, right)
    left_counts = np.empty(n_parts, np.int64)
    for part in prange(n_parts):
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        left_counts[part] = _divide(
            block, column, goes_left, rows[first:last], left[first:last], right[first:last]
        )
    total_left = _sum_before(left_counts, n_parts)
    for part in prange(n_parts):
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        to_left = _sum_before(left_counts, part)
        to_right = total_left + first - to_left
        _copy(left[first:last], left_counts[part], rows[to_left:])
        _copy(right[first:last], last - first - left_counts[part], rows[to_right:])
    return total_left


@kernel()
def partition_alone(block, column, goes_left, rows, left, right):
    """As `partition_rows`, on the calling thread."""
    n_left = _divide(block, column, goes_left, rows, left, right)
    _copy(left, n_left, rows)
    _copy(right, rows.shape[0] - n_left, rows[n_left:])
    return np.int64(n_left)


@kernel()
def sides_of_bins(threshold, missing_left):
    """Which bins go left, as 0 and 1.

    Looked up, not compared: which way a row goes is a coin toss to the branch predictor.
    """
    goes_left = np.zeros(MISSING_BIN + 1, np.uint32)
    for b in range(threshold + 1):
        goes_left[b] = 1
    goes_left[MISSING_BIN] = missing_left
    return goes_left


@kernel()
def _divide(block, column, goes_left, rows, left, right):
    """Write each row to the end of its side; returns how many go left."""
    n_left = np.uint32(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        left[n_left] = row
        right[np.uint32(i) - n_left] = row
        n_left += goes_left[block[row, column]]
    return n_left


@kernel()
def _sum_before(counts, stop):
    total = np.int64(0)
    for part in range(stop):
        total += counts[part]
    return total


@kernel()
def _copy(source, n, target):
    for i in range(n):
        target[i] = source[i]


@kernel()
def draw_rows(rows, keys, seed, limit, drawn):
    """Keep the rows whose random number is below `limit`; returns how many.

    The number comes from the row's own key, so it does not depend on the order of the rows.
    """
    n = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        drawn[n] = row
        n += mix(keys[row] ^ seed) < limit
    return n


@parallel_kernel()
def copy_rows(words, rows, copied):
    """Write the bins of some rows (ascending), next to each other.

    Parameters
    ----------
    words, copied : ndarray of uint64, shape (n_blocks, n_rows, 2)
    rows : ndarray of uint32
    """
    n, n_blocks = rows.shape[0], words.shape[0]
    for unit in prange(n_blocks * COPIES_A_BLOCK):
        block, part = unit // COPIES_A_BLOCK, unit % COPIES_A_BLOCK
        own = slice(part * n // COPIES_A_BLOCK, (part + 1) * n // COPIES_A_BLOCK)
        _copy_words(words[block], rows[own], copied[block, own])


@kernel()
def _copy_words(words, rows, copied):
    flat = words.reshape(-1)
    last = rows.shape[0] - 1
    for i in range(rows.shape[0]):
        prefetch(flat, 2 * np.int64(rows[min(i + ROWS_AHEAD, last)]))
        row = rows[i]
        copied[i, 0] = words[row, 0]
        copied[i, 1] = words[row, 1]


@parallel_kernel()
def write_leaves(rows, starts, stops, leaf_of):
    """Write the leaf of each row, where leaf l holds ``rows[starts[l]:stops[l]]``."""
    for leaf in prange(starts.shape[0]):
        for i in range(starts[leaf], stops[leaf]):
            leaf_of[rows[i]] = leaf


@kernel()
def count_leaves(first_part, last_part, leaf_of, counts):
    """Count the rows of each leaf, by parts of the rows.

    `counts` (n_parts, n_leaves), of int64 and zero before, is the output.
    """
    n, n_parts = leaf_of.shape[0], counts.shape[0]
    for part in range(first_part, last_part):
        for row in range(part * n // n_parts, (part + 1) * n // n_parts):
            counts[part, leaf_of[row]] += 1
