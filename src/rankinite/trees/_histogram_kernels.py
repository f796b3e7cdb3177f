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
def _unpack(packed, w_bits, cell_count_bits, count_bits, histogram, add):
    """Write sums of three fields to the two channels of a histogram, or add them.

    The fields below Σλ are never negative, so shifting them out leaves Σλ itself.
    """
    counts = (np.int64(1) << cell_count_bits) - 1
    weights = (np.int64(1) << w_bits) - 1
    first, second = histogram[0], histogram[1]
    if add:
        for k in range(packed.shape[0]):
            above = packed[k] >> cell_count_bits
            first[k] += ((above >> w_bits) << count_bits) + (packed[k] & counts)
            second[k] += above & weights
    else:
        for k in range(packed.shape[0]):
            above = packed[k] >> cell_count_bits
            first[k] = ((above >> w_bits) << count_bits) + (packed[k] & counts)
            second[k] = above & weights


@kernel()
def _add_three_fields(
    words, rows, cells, w_bits, cell_count_bits, count_bits, rows_at_most, histogram
):
    """Sum cells of three fields, unpacking them before a field can overflow."""
    packed = np.empty(histogram.shape[1], np.int64)
    n = cells.shape[0]
    # At least once, also without rows.
    for start in range(0, max(n, 1), rows_at_most):
        stop = min(start + rows_at_most, n)
        _clear(packed)
        if rows.shape[0] == 0:
            _add_rows(words[start:stop], cells[start:stop], packed)
        else:
            _add_gathered(words, rows[start:stop], cells[start:stop], packed)
        _unpack(packed, w_bits, cell_count_bits, count_bits, histogram, start > 0)


@kernel()
def _add_up(partial, block, histogram):
    """The sum of the parts of one block, in each channel."""
    for channel in range(histogram.shape[0]):
        sums = histogram[channel]
        for k in range(sums.shape[0]):
            total = np.int64(0)
            for part in range(partial.shape[0]):
                total += partial[part, block, channel, k]
            sums[k] = total


@kernel()
def _add_part(words, rows, cells, w_bits, cell_count_bits, count_bits, rows_at_most, histogram):
    """The histogram of one part of the rows in one block; no `rows` means that all are there."""
    if w_bits > 0:
        _add_three_fields(
            words, rows, cells, w_bits, cell_count_bits, count_bits, rows_at_most, histogram
        )
        return
    _clear(histogram[0])
    if rows.shape[0] == 0:
        _add_rows(words, cells, histogram[0])
    else:
        _add_gathered(words, rows, cells, histogram[0])


@parallel_kernel()
def build_histogram(
    words,
    rows,
    cells,
    w_bits,
    cell_count_bits,
    count_bits,
    rows_at_most,
    gathered,
    partial,
    histogram,
):
    """Sum the cells of `rows` by bin, for every feature.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_blocks, n_all_rows, 2)
        The blocks of bins, eight bins in a word.
    rows : ndarray of uint32
        The rows of the node, ascending; as many as there are rows means all of them.
    cells : ndarray of int64, shape (n_all_rows,)
        The cells of all rows.
    w_bits, cell_count_bits, count_bits
        The fields of the cells (`rankinite.trees.fixed_point.Packed`).
    rows_at_most : int
        How many cells of three fields may be added before one of them overflows.
    gathered : ndarray of int64, shape (n_all_rows,)
        Scratch: the cells of the node's rows next to each other.
    partial : ndarray of int64, shape (n_parts, n_blocks, n_channels, 16 * 256)
        Scratch: the rows are cut into this many parts for each block, so that the work divides
        evenly between threads whatever the number of blocks. With one part it may be a view of
        `histogram`.
    histogram : ndarray of int64, shape (n_blocks, n_channels, 16 * 256)
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
            w_bits,
            cell_count_bits,
            count_bits,
            rows_at_most,
            partial[part, block],
        )
    if n_parts > 1:
        for block in prange(n_blocks):
            _add_up(partial, block, histogram[block])
