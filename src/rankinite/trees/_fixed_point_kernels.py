"""Kernels that turn gradients into integers."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel

# Exponents that a float64 can have, as they are stored: 11 bits.
N_EXPONENTS = 2048


@parallel_kernel()
def exponent_counts(patterns, counts):
    """Add up how many values have each exponent, by parts of the rows.

    Parameters
    ----------
    patterns : ndarray of uint64, shape (n_rows,)
        The bits of float64.
    counts : ndarray of int64, shape (n_parts, 2048)
        Output, zero before.
    """
    n = patterns.shape[0]
    n_parts = counts.shape[0]
    for part in prange(n_parts):
        _count_exponents(patterns[part * n // n_parts : (part + 1) * n // n_parts], counts[part])


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
def leaf_sums(values, scale, rows, starts, stops, sums):
    """Σ rint(value·scale) over the rows of each leaf, in integers, by parts of the rows.

    `sums` (n_parts, n_leaves) is the output.
    """
    n = rows.shape[0]
    n_parts = sums.shape[0]
    for part in prange(n_parts):
        first, last = part * n // n_parts, (part + 1) * n // n_parts
        for leaf in range(starts.shape[0]):
            own = rows[max(first, starts[leaf]) : max(first, min(last, stops[leaf]))]
            sums[part, leaf] = _rounded_sum(values, scale, own)


@kernel()
def _rounded_sum(values, scale, rows):
    total = np.int64(0)
    for row in rows:
        total += np.int64(np.rint(values[row] * scale))
    return total
