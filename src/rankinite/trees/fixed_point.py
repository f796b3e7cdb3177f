"""Gradients in fixed point: integer sums do not depend on the order of the additions.

This is what makes a model the same, byte for byte, on any number of threads and workers. The
gradients of a tree are rounded once to integers on common scales, powers of two. The cell of a row
is one int64 with two integers side by side, so that one addition sums them both:

    | Σλ, 32 bits | Σ mass, 32 bits |

The mass of a row is 1 for least squares, so that its sum counts rows; for Newton it is w, and at
least 1, so that a sum without rows is one without mass. The halves are numbers of 32 bits each,
which a processor turns into float64 many at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankinite._numba import parts_of_rows
from rankinite.distributed import Communicator, everywhere
from rankinite.errors import DataError
from rankinite.trees._fixed_point_kernels import (
    N_EXPONENTS,
    exponent_counts,
    leaf_sums,
    pack_rows,
    pack_weighted,
)

# Bits of the mass in a cell; the sum of λ is above them.
MASS_BITS = 32
# Magnitudes that each half of a cell holds, one of them being signed and the other never negative.
HALF_BITS = 31
# Magnitudes that a signed 64-bit integer holds.
SUM_BITS = 63
# So many rows have room for a mass of 1 each beside the sum that the scale was chosen for.
MAX_ROWS = 2 ** (HALF_BITS - 1)
# A value alone is worth no more bits than a float64 has.
VALUE_BITS = 52
# A value with the stored exponent e is below 2^(e − this).
EXPONENT_OFFSET = 1022
# Of a scale: values below float64's normal range, which have no exponent, still round to 0.
LARGEST_EXPONENT = 1021


@dataclass(frozen=True)
class Gradients:
    """One gradient of every row, and how large those of all workers are.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows,)
        This worker's rows.
    exponents : ndarray of int64, shape (2048,)
        How many values over all workers have each exponent of float64.
    """

    values: np.ndarray
    exponents: np.ndarray

    def scale(self, n_terms: int, free_bits: int) -> float:
        """The largest power of two at which no sum of rounded values outgrows `free_bits` bits.

        At most `n_terms` of the values come together in a sum.
        """
        present = np.flatnonzero(self.exponents[1:]) + 1
        if len(present) == 0:
            return 1.0
        # The n_terms largest of the magnitudes, each rounded up to a power of two.
        bound, left = 0, n_terms
        lowest = int(present[0])
        for exponent in present[::-1].tolist():
            taken = min(left, int(self.exponents[exponent]))
            bound += taken << (exponent - lowest)
            left -= taken
        # |Σq| ≤ Σ|q| ≤ bound·scale + n_terms, and each of the two stays below 2^(free_bits − 1).
        largest = min(
            free_bits - 1 - (bound - 1).bit_length() - (lowest - EXPONENT_OFFSET),
            VALUE_BITS - (int(present[-1]) - EXPONENT_OFFSET),
            LARGEST_EXPONENT,
        )
        return math.ldexp(1.0, largest)

    def size(self) -> tuple[float, int]:
        """Σ|value| over all workers as a float times a power of two, to a quarter or so.

        It comes from the exponents, so it costs nothing and is the same in any order.
        """
        present = np.flatnonzero(self.exponents[1:]) + 1
        if len(present) == 0:
            return 0.0, 0
        highest = min(int(present[-1]) - EXPONENT_OFFSET, LARGEST_EXPONENT)
        sizes = np.ldexp(0.75, present - EXPONENT_OFFSET - highest)
        return float((self.exponents[present] * sizes).sum()), highest


def gradients(values: np.ndarray, communicator: Communicator) -> Gradients:
    """Count the exponents of `values` (float64) over all workers."""
    counts = np.zeros((parts_of_rows(), N_EXPONENTS), np.int64)
    exponent_counts(values.view(np.uint64), counts)
    exponents = communicator.sum(counts.sum(axis=0))
    if exponents[N_EXPONENTS - 1] > 0:
        raise everywhere(
            DataError(
                f"{exponents[N_EXPONENTS - 1]} gradients are infinite or not numbers: look at the "
                "weights, the labels, and a measure of your own if there is one"
            )
        )
    return Gradients(values, exponents)


@dataclass(frozen=True)
class Packed:
    """The gradients of all rows as cells; see the module's drawing.

    Attributes
    ----------
    cells : ndarray of int64, shape (n_rows,)
        ``q·2^32 + m`` with q = rint(λ·lam_scale), and m = 1 or max(rint(w·w_scale), 1).
    lam_scale, w_scale : float
        Powers of two; `w_scale` is 1 for least squares.
    """

    cells: np.ndarray
    lam_scale: float
    w_scale: float


def pack_least_squares(lam: Gradients, n_rows: int) -> Packed:
    """The cells of one tree with least-squares splits; `n_rows` is over all workers."""
    scale = lam.scale(_at_most(n_rows), HALF_BITS)
    cells = np.empty(len(lam.values), np.int64)
    pack_rows(lam.values, scale, cells)
    return Packed(cells, scale, 1.0)


def pack_newton(lam: Gradients, w: Gradients, n_rows: int) -> Packed:
    """The cells of one tree with Newton splits; `n_rows` is over all workers."""
    lam_scale, w_scale = (each.scale(_at_most(n_rows), HALF_BITS) for each in (lam, w))
    cells = np.empty(len(lam.values), np.int64)
    pack_weighted(lam.values, lam_scale, w.values, w_scale, cells)
    return Packed(cells, lam_scale, w_scale)


def _at_most(n_rows: int) -> int:
    if n_rows > MAX_ROWS:
        raise everywhere(
            DataError(
                f"{n_rows:,} rows are more than the {MAX_ROWS:,} that trees can be trained on: "
                "leave some of the queries out"
            )
        )
    return n_rows


def sums_over_leaves(
    terms: Gradients,
    leaf_of: np.ndarray,
    n_leaves: int,
    n_rows: int,
    communicator: Communicator,
    apart: np.ndarray | None = None,
) -> np.ndarray:
    """Σ terms over the rows of each leaf, as float64, from integers of the full width.

    Parameters
    ----------
    terms : Gradients
    leaf_of : ndarray of int32
        The leaf of each of this worker's rows.
    n_leaves : int
    n_rows : int
        Over all workers.
    communicator : Communicator
    apart : ndarray of bool, optional
        Rows that are added up by themselves.

    Returns
    -------
    ndarray, shape (n_leaves,) or (2, n_leaves)
        If some rows are `apart`, the sums of the others, and theirs.
    """
    sums, scale = _local_sums(terms, leaf_of, n_leaves, n_rows, apart)
    return communicator.sum(sums if apart is not None else sums[0]) / scale


def local_sums_over_leaves(
    terms: Gradients, leaf_of: np.ndarray, n_leaves: int, n_rows: int
) -> tuple[np.ndarray, float]:
    """This worker's part of Σ terms, as integers, and the scale that they have on all workers."""
    sums, scale = _local_sums(terms, leaf_of, n_leaves, n_rows, None)
    return sums[0], scale


def _local_sums(
    terms: Gradients, leaf_of: np.ndarray, n_leaves: int, n_rows: int, apart: np.ndarray | None
) -> tuple[np.ndarray, float]:
    scale = terms.scale(n_rows, SUM_BITS)
    sums = np.zeros((parts_of_rows(), 2, n_leaves), np.int64)
    leaf_sums(terms.values, scale, leaf_of, apart, sums)
    return sums.sum(axis=0), scale
