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


@kernel(inline="always")
def _cell(force, scale, mass):
    return (np.int64(np.rint(force * scale)) << 32) + mass


@parallel_kernel()
def pack_rows(lam, scale, cells):
    """Cells of rint(λ·scale) above 1."""
    for i in prange(lam.shape[0]):
        cells[i] = _cell(lam[i], scale, 1)


@parallel_kernel()
def pack_weighted(lam, lam_scale, w, w_scale, cells):
    """Cells of rint(λ·scale) above rint(w·scale), which is at least 1."""
    for i in prange(lam.shape[0]):
        cells[i] = _cell(lam[i], lam_scale, max(np.int64(np.rint(w[i] * w_scale)), 1))


@parallel_kernel()
def leaf_sums(values, scale, leaf_of, apart, sums):
    """Σ rint(value·scale) over the rows of each leaf, in integers, by parts of the rows.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
    scale : float
    leaf_of : ndarray of int32, shape (n_rows,)
    apart : ndarray of bool, shape (n_rows,), or None
        Rows that have sums of their own.
    sums : ndarray of int64, shape (n_parts, 2, n_leaves)
        Output, zero before: those that are not apart, and those that are.
    """
    n = values.shape[0]
    n_parts = sums.shape[0]
    for part in prange(n_parts):
        own = slice(part * n // n_parts, (part + 1) * n // n_parts)
        if apart is None:
            _add_to_leaves(values[own], scale, leaf_of[own], sums[part, 0])
        else:
            _add_to_sides(values[own], scale, leaf_of[own], apart[own], sums[part])


@kernel()
def _add_to_leaves(values, scale, leaf_of, sums):
    for i in range(values.shape[0]):
        sums[leaf_of[i]] += np.int64(np.rint(values[i] * scale))


@kernel()
def _add_to_sides(values, scale, leaf_of, apart, sums):
    for i in range(values.shape[0]):
        sums[np.uint64(apart[i]), leaf_of[i]] += np.int64(np.rint(values[i] * scale))
