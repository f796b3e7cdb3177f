"""Kernels that sum cells by bin: the inner loop of training."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.trees._vector_kernels import prefetch

N_BINS = 256
# Scattered rows are asked for this long before they are counted: the sixteen updates of a row
# leave the processor no room to look so far ahead itself.
ROWS_AHEAD = 32


@kernel()
def _gather(cells, rows, gathered):
    for i in range(rows.shape[0]):
        gathered[i] = cells[rows[i]]


@kernel()
def _add_row(words, cell, sums):
    """Add the cell of a row to the histograms of its sixteen bins, eight bins in a word."""
    low = words[0]
    high = words[1]
    for column in range(8):
        shift = np.uint64(8 * column)
        sums[column * N_BINS + np.intp((low >> shift) & np.uint64(255))] += cell
        sums[(column + 8) * N_BINS + np.intp((high >> shift) & np.uint64(255))] += cell


@kernel()
def _add_rows(words, cells, sums):
    """Add the cells of rows that lie one after the other."""
    for row in range(cells.shape[0]):
        _add_row(words[row], cells[row], sums)


@kernel()
def _clear(sums):
    for k in range(sums.shape[0]):
        sums[k] = 0


@kernel()
def _add_gathered(words, rows, cells, sums):
    """As `_add_rows`, for scattered rows."""
    flat = words.reshape(-1)
    n = rows.shape[0]
    for i in range(min(ROWS_AHEAD, n)):
        prefetch(flat, 2 * np.int64(rows[i]))
    ahead = rows[min(ROWS_AHEAD, n) :]
    for i in range(n):
        if i < ahead.shape[0]:
            prefetch(flat, 2 * np.int64(ahead[i]))
        _add_row(words[rows[i]], cells[i], sums)


@kernel()
def _add_up(partial, block, sums):
    """The sum of the parts of one block."""
    for k in range(sums.shape[0]):
        total = np.int64(0)
        for part in range(partial.shape[0]):
            total += partial[part, block, k]
        sums[k] = total


@kernel()
def _add_part(words, rows, cells, sums):
    """The histogram of one part of the rows in one block; no `rows` means that all are there."""
    _clear(sums)
    if rows.shape[0] == 0:
        _add_rows(words, cells, sums)
    else:
        _add_gathered(words, rows, cells, sums)


@kernel()
def add_cells(cells, rows, sums):
    """Add the cell of each of `rows`, in which a row may come repeatedly, to that row's sum."""
    for i in range(rows.shape[0]):
        sums[rows[i]] += cells[i]


@parallel_kernel()
def build_histogram(words, rows, cells, gathered, partial, histogram):
    """Sum the cells of `rows` by bin, for every feature.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_blocks, n_all_rows, 2)
        The blocks of bins, eight bins in a word.
    rows : ndarray of uint32
        The rows of the node, ascending; as many as there are rows means all of them.
    cells : ndarray of int64, shape (n_all_rows,)
        The cells of all rows.
    gathered : ndarray of int64, shape (≥ n_all_rows,)
        Scratch: the cells of the node's rows next to each other.
    partial : ndarray of int64, shape (n_parts, n_blocks, 16 * 256)
        Scratch: the rows are cut into this many parts for each block, so that the work divides
        evenly between threads whatever the number of blocks. With one part it may be a view of
        `histogram`.
    histogram : ndarray of int64, shape (n_blocks, 16 * 256)
        Output.
    """
    n_parts, n_blocks = partial.shape[:2]
    n = rows.shape[0]
    whole = n == words.shape[1]
    own = cells
    if not whole:
        own = gathered
        for part in prange(n_parts):
            first = part * n // n_parts
            last = (part + 1) * n // n_parts
            _gather(cells, rows[first:last], gathered[first:])
    for unit in prange(n_parts * n_blocks):
        part = unit % n_parts
        block = unit // n_parts
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        _add_part(
            words[block, first if whole else 0 :],
            rows[first : first if whole else last],
            own[first:last],
            partial[part, block],
        )
    if n_parts > 1:
        for block in prange(n_blocks):
            _add_up(partial, block, histogram[block])
