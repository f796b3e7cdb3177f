"""Kernels that sum cells by bin: the inner loop of training."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel

N_BINS = 256
# Rows whose bins are fetched together before they are counted. Fetching alone keeps many cache
# misses in flight; between updates of sixteen histograms there would be room for a few.
ROWS_AT_ONCE = 256


@parallel_kernel()
def gather_cells(cells, rows, n_parts, gathered):
    """Copy the cells of a node's rows next to each other."""
    n = rows.shape[0]
    for part in prange(n_parts):
        for i in range(part * n // n_parts, (part + 1) * n // n_parts):
            gathered[i] = cells[rows[i]]


@kernel()
def _add_rows(words, cells, sums):
    """Add the cells of rows to the histograms of their sixteen bins, eight bins in a word."""
    for row in range(words.shape[0]):
        cell = cells[row]
        low = words[row, 0]
        high = words[row, 1]
        for column in range(8):
            shift = np.uint64(8 * column)
            sums[column * N_BINS + np.intp((low >> shift) & np.uint64(255))] += cell
            sums[(column + 8) * N_BINS + np.intp((high >> shift) & np.uint64(255))] += cell


@kernel()
def _clear(sums):
    for k in range(sums.shape[0]):
        sums[k] = 0


@kernel()
def _add_gathered(words, rows, cells, sums):
    """As `_add_rows`, for scattered rows."""
    fetched = np.empty((ROWS_AT_ONCE, 2), np.uint64)
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        some = rows[start : min(start + ROWS_AT_ONCE, rows.shape[0])]
        for i in range(some.shape[0]):
            fetched[i, 0] = words[some[i], 0]
            fetched[i, 1] = words[some[i], 1]
        _add_rows(fetched[: some.shape[0]], cells[start:], sums)


@kernel()
def _add_up(partial, block, histogram):
    """The sum of the parts of one block."""
    for k in range(histogram.shape[0]):
        total = np.int64(0)
        for part in range(partial.shape[0]):
            total += partial[part, block, k]
        histogram[k] = total


@parallel_kernel()
def build_histogram(words, rows, cells, partial, histogram):
    """Sum the cells of `rows` by bin, for every feature.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_blocks, n_all_rows, 2)
        The blocks of bins, eight bins in a word.
    rows : ndarray of uint32
        The rows of the node, ascending; as many as there are rows means all of them.
    cells : ndarray of int64, shape (len(rows),)
        The cells of these rows.
    partial : ndarray of int64, shape (n_parts, n_blocks, 16 * 256)
        Scratch: the rows are cut into this many parts for each block, so that the work divides
        evenly between threads whatever the number of blocks. With one part it may be a view of
        `histogram`.
    histogram : ndarray of int64, shape (n_blocks, 16 * 256)
        Output.
    """
    n_parts, n_blocks, _ = partial.shape
    n = rows.shape[0]
    for unit in prange(n_parts * n_blocks):
        part = unit % n_parts
        block = words[unit // n_parts]
        sums = partial[part, unit // n_parts]
        _clear(sums)
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        if n == block.shape[0]:
            _add_rows(block[first:last], cells[first:last], sums)
        else:
            _add_gathered(block, rows[first:last], cells[first:last], sums)
    if n_parts > 1:
        for unit in prange(n_blocks):
            _add_up(partial, unit, histogram[unit])
