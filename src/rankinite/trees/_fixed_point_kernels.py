"""Kernels that turn gradients into integers."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel

# Parts of the rows that a reduction works on, more than there are threads.
N_PARTS = 64


@parallel_kernel()
def sum_of_magnitudes(values, scale):
    """Σ|value·scale| rounded up to integers: the same for any order of the rows."""
    total = np.int64(0)
    for i in prange(values.shape[0]):
        total += np.int64(np.abs(values[i]) * scale) + 1
    return total


@parallel_kernel()
def pack(values, scale, count_bits, packed):
    """Round values·scale to integers q, and write q·2^count_bits + 1: the sum above, a count below.

    With `count_bits` 0 there is no count: the cell is q alone.
    """
    one = np.int64(1 if count_bits > 0 else 0)
    for i in prange(values.shape[0]):
        packed[i] = (np.int64(np.rint(values[i] * scale)) << count_bits) + one


@parallel_kernel()
def leaf_sums(values, scale, rows, starts, stops, sums):
    """Σ rint(value·scale) over the rows of each leaf, in integers."""
    for leaf in prange(starts.shape[0]):
        total = np.int64(0)
        for i in range(starts[leaf], stops[leaf]):
            total += np.int64(np.rint(values[rows[i]] * scale))
        sums[leaf] = total


@parallel_kernel()
def largest_magnitude(values):
    """max|value|, 0 for no values."""
    n = values.shape[0]
    largest = np.zeros(N_PARTS)
    for part in prange(N_PARTS):
        for i in range(part * n // N_PARTS, (part + 1) * n // N_PARTS):
            largest[part] = max(largest[part], abs(values[i]))
    return _largest(largest)


@kernel()
def _largest(values):
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    return largest
