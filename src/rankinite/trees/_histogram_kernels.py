"""Kernels that sum cells by bin: the inner loop of training."""

import numpy as np
from numba import prange

from rankinite._numba import parallel_kernel

N_BINS = 256


@parallel_kernel()
def build_histogram(blocks, rows, cells, partial, histogram):
    """Sum the cells of `rows` by bin, for every feature.

    Parameters
    ----------
    blocks : ndarray of uint8, shape (n_blocks, n_all_rows, 16)
    rows : ndarray of int32
        The rows of the node, ascending; as many as there are rows means all of them.
    cells : ndarray of int64, shape (n_all_rows,)
    partial : ndarray of int64, shape (n_parts, n_blocks, 16 * 256)
        Scratch: the rows are cut into this many parts for each block, so that the work divides
        evenly between threads whatever the number of blocks.
    histogram : ndarray of int64, shape (n_blocks, 16 * 256)
        Output.
    """
    n_parts, n_blocks, width = partial.shape
    n = rows.shape[0]
    everything = n == blocks.shape[1]
    for unit in prange(n_parts * n_blocks):
        part = unit % n_parts
        block = blocks[unit // n_parts]
        sums = partial[part, unit // n_parts]
        sums[:] = 0
        first = part * n // n_parts
        last = (part + 1) * n // n_parts
        if everything:
            for row in range(first, last):
                cell = cells[row]
                for column in range(16):
                    sums[column * N_BINS + np.intp(block[row, column])] += cell
        else:
            for i in range(first, last):
                row = rows[i]
                cell = cells[row]
                for column in range(16):
                    sums[column * N_BINS + np.intp(block[row, column])] += cell
    for unit in prange(n_blocks):
        for k in range(width):
            total = np.int64(0)
            for part in range(n_parts):
                total += partial[part, unit, k]
            histogram[unit, k] = total
