"""Kernels that draw documents by how much they pull at a tree."""

import numpy as np
from numba import prange

from rankinite._hash_kernels import mix
from rankinite._numba import kernel, parallel_kernel

# Of a float64 the exponent and three bits more: importances in one class differ by an eighth.
CLASS_SHIFT = np.uint64(49)
N_CLASSES = 2**14


@kernel(inline="always")
def _importance(lam, w, lam_unit, w_unit):
    return abs(lam) * lam_unit + w * w_unit


@parallel_kernel()
def count_importances(rows, lam, w, lam_unit, w_unit, counts):
    """Add up how many of the rows have an importance |λ|·lam_unit + w·w_unit of each class.

    `counts` (n_parts, N_CLASSES), of int64 and zero before, is the output.
    """
    n, n_parts = rows.shape[0], counts.shape[0]
    for part in prange(n_parts):
        own = rows[part * n // n_parts : (part + 1) * n // n_parts]
        _count(own, lam, w, lam_unit, w_unit, counts[part])


@kernel()
def _count(rows, lam, w, lam_unit, w_unit, counts):
    for row in rows:
        importance = np.float64(_importance(lam[row], w[row], lam_unit, w_unit))
        counts[importance.view(np.uint64) >> CLASS_SHIFT] += 1


@parallel_kernel()
def draw_important(rows, lam, w, lam_unit, w_unit, factor, keys, seed, n_drawn, drawn, weighted):
    """Draw each row with the probability p = min(1, factor · importance); returns how many.

    Whether a row is drawn depends on its own key. What is drawn counts 1/p times, so that sums
    over the drawn rows are, on average, those over all.

    Parameters
    ----------
    rows : ndarray of uint32
        Those to draw from, ascending.
    lam, w : ndarray of float64, shape (n_all_rows,)
    keys : ndarray of uint64, shape (n_all_rows,)
    seed : uint64
    n_drawn : ndarray of int64, shape (n_parts,)
        Scratch: the rows are cut into this many parts.
    drawn : ndarray of uint32, shape (n_rows,)
        Output: the rows that are drawn, ascending, in the first places.
    weighted : ndarray of float64, shape (2, n_rows)
        Output: their λ/p and w/p.
    """
    n, n_parts = rows.shape[0], n_drawn.shape[0]
    for part in prange(n_parts):
        own = slice(part * n // n_parts, (part + 1) * n // n_parts)
        n_drawn[part] = _draw(
            rows[own],
            lam,
            w,
            lam_unit,
            w_unit,
            factor,
            keys,
            seed,
            drawn[own],
            weighted[0, own],
            weighted[1, own],
        )
    total = np.int64(0)
    for part in range(n_parts):
        first = part * n // n_parts
        # To the left, and from left to right: nothing is overwritten that is still to be moved.
        for i in range(n_drawn[part]):
            drawn[total + i] = drawn[first + i]
            weighted[0, total + i] = weighted[0, first + i]
            weighted[1, total + i] = weighted[1, first + i]
        total += n_drawn[part]
    return total


@kernel()
def _draw(rows, lam, w, lam_unit, w_unit, factor, keys, seed, drawn, weighted_lam, weighted_w):
    n = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        force, bend = lam[row], w[row]
        p = min(1.0, factor * _importance(force, bend, lam_unit, w_unit))
        drawn[n] = row
        weighted_lam[n] = force / p
        weighted_w[n] = bend / p
        n += np.float64(mix(keys[row] ^ seed) >> np.uint64(11)) * 2.0**-53 < p
    return n
