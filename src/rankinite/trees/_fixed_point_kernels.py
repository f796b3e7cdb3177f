"""Kernels that turn gradients into integers."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel

# Parts of the rows that a reduction works on, more than there are threads.
N_PARTS = 32
# Exponents that a float64 can have, as they are stored: 11 bits.
N_EXPONENTS = 2048


@parallel_kernel()
def exponent_counts(patterns):
    """How many values have each exponent; `patterns` are the bits of float64 as uint64."""
    n = patterns.shape[0]
    counts = np.zeros((N_PARTS, N_EXPONENTS), np.int64)
    for part in prange(N_PARTS):
        _count_exponents(patterns[part * n // N_PARTS : (part + 1) * n // N_PARTS], counts[part])
    return counts


@kernel()
def _count_exponents(patterns, counts):
    for i in range(patterns.shape[0]):
        counts[(patterns[i] >> np.uint64(52)) & np.uint64(N_EXPONENTS - 1)] += 1


@parallel_kernel()
def pack_one(values, scale, count_bits, cells):
    """Cells q·2^count_bits + 1 of q = rint(value·scale): the sum above, the count below."""
    for i in prange(values.shape[0]):
        cells[i] = (np.int64(np.rint(values[i] * scale)) << count_bits) + 1


@parallel_kernel()
def pack_two(lam, lam_scale, w, w_scale, w_bits, count_bits, cells):
    """Cells of three fields: rint(λ·scale) above, rint(w·scale) in the middle, 1 below."""
    for i in prange(lam.shape[0]):
        upper = np.int64(np.rint(lam[i] * lam_scale)) << w_bits
        cells[i] = ((upper + np.int64(np.rint(w[i] * w_scale))) << count_bits) + 1


@parallel_kernel()
def leaf_sums(values, scale, rows, starts, stops):
    """Σ rint(value·scale) over the rows of each leaf, in integers, by parts of the rows.

    Returns
    -------
    ndarray of int64, shape (N_PARTS, n_leaves)
    """
    n = rows.shape[0]
    sums = np.zeros((N_PARTS, starts.shape[0]), np.int64)
    for part in prange(N_PARTS):
        first, last = part * n // N_PARTS, (part + 1) * n // N_PARTS
        for leaf in range(starts.shape[0]):
            own = rows[max(first, starts[leaf]) : max(first, min(last, stops[leaf]))]
            sums[part, leaf] = _rounded_sum(values, scale, own)
    return sums


@kernel()
def _rounded_sum(values, scale, rows):
    total = np.int64(0)
    for row in rows:
        total += np.int64(np.rint(values[row] * scale))
    return total
