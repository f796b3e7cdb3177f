"""Gradients in fixed point: integer sums do not depend on the order of the additions.

This is what makes a model the same, byte for byte, on any number of threads and workers. The
gradients of a tree are rounded once to integers on common scales, powers of two. The cell of a row
is one int64 with the integers and a count of 1 side by side, so that one addition sums them all:

    least squares    | Σλ                    | count |        any number of rows
    Newton           | Σλ        | Σw        | count |        up to `ROWS_AT_MOST` rows

Three fields have no room for the sums of many rows: those are added up in pieces, each of which is
then unpacked into a histogram of two channels, Σλ with the count, and Σw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankinite.distributed import Communicator
from rankinite.errors import DataError
from rankinite.trees._fixed_point_kernels import (
    N_EXPONENTS,
    exponent_counts,
    leaf_sums,
    pack_one,
    pack_two,
)

# Magnitudes that a signed 64-bit integer holds.
CELL_BITS = 63
# Sums up to this many bits are exact as float64, so that the means of the two sides of a split are
# equal wherever all rows are equal, and rounding never looks like a gain.
EXACT_BITS = 53
# A value alone is worth no more bits than a float64 has.
VALUE_BITS = 52
# A value with the stored exponent e is below 2^(e − this).
EXPONENT_OFFSET = 1022
# Of a scale: values below float64's normal range, which have no exponent, still round to 0.
LARGEST_EXPONENT = 1021
# Cells of three fields that are added before they are unpacked: 13 bits for their count leave 25
# for Σλ and for Σw each.
ROWS_AT_MOST = 4096
# Parts of the rows that a reduction works on, more than there are threads.
N_PARTS = 32


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
        # |Σq| ≤ Σ|q| ≤ bound·scale + n_terms/2, and each of the two stays below 2^(free_bits − 1).
        largest = min(
            free_bits - 1 - (bound - 1).bit_length() - (lowest - EXPONENT_OFFSET),
            VALUE_BITS - (int(present[-1]) - EXPONENT_OFFSET),
            LARGEST_EXPONENT,
        )
        return math.ldexp(1.0, largest)


def gradients(values: np.ndarray, communicator: Communicator) -> Gradients:
    """Count the exponents of `values` (float64) over all workers."""
    counts = np.zeros((N_PARTS, N_EXPONENTS), np.int64)
    exponent_counts(values.view(np.uint64), counts)
    exponents = communicator.sum(counts.sum(axis=0))
    if exponents[N_EXPONENTS - 1] > 0:
        raise DataError(
            f"{exponents[N_EXPONENTS - 1]} gradients are infinite or not numbers: look at the "
            "weights, the labels, and a measure of your own if there is one"
        )
    return Gradients(values, exponents)


@dataclass(frozen=True)
class Packed:
    """The gradients of all rows as cells; see the module's drawing.

    Attributes
    ----------
    cells : ndarray of int64, shape (n_rows,)
        ``(q·2^w_bits + v)·2^cell_count_bits + 1`` with q = rint(λ·lam_scale), v = rint(w·w_scale).
    lam_scale, w_scale : float
        Powers of two; `w_scale` is 1 for least squares.
    w_bits : int
        Width of the field of w; 0 for least squares.
    cell_count_bits : int
        Width of the count in the cell of a row, and in sums of such cells.
    count_bits : int
        Width of the count in a histogram.
    """

    cells: np.ndarray
    lam_scale: float
    w_scale: float
    w_bits: int
    cell_count_bits: int
    count_bits: int

    @property
    def n_channels(self) -> int:
        """Channels of a histogram: Σλ with the count, and Σw for Newton."""
        return 2 if self.w_bits else 1


def count_bits_for(n_rows: int) -> int:
    """Bits that hold any count up to `n_rows`."""
    return int(n_rows).bit_length()


def pack_least_squares(lam: Gradients, n_rows: int) -> Packed:
    """The cells of one tree with least-squares splits; `n_rows` is over all workers."""
    count_bits = count_bits_for(n_rows)
    scale = lam.scale(n_rows, _bits_of_sum(count_bits))
    cells = np.empty(len(lam.values), np.int64)
    pack_one(lam.values, scale, count_bits, cells)
    return Packed(cells, scale, 1.0, 0, count_bits, count_bits)


def pack_newton(lam: Gradients, w: Gradients, n_rows: int) -> Packed:
    """The cells of one tree with Newton splits; `n_rows` is over all workers."""
    count_bits = count_bits_for(n_rows)
    together = min(n_rows, ROWS_AT_MOST)
    cell_count_bits = count_bits_for(together)
    w_bits = (CELL_BITS - cell_count_bits) // 2
    lam_bits = CELL_BITS - cell_count_bits - w_bits
    # A field must hold the largest cells that can come together, a histogram the sum of all.
    lam_scale = min(lam.scale(together, lam_bits), lam.scale(n_rows, _bits_of_sum(count_bits)))
    w_scale = min(w.scale(together, w_bits), w.scale(n_rows, EXACT_BITS))
    cells = np.empty(len(lam.values), np.int64)
    pack_two(lam.values, lam_scale, w.values, w_scale, w_bits, cell_count_bits, cells)
    return Packed(cells, lam_scale, w_scale, w_bits, cell_count_bits, count_bits)


def _bits_of_sum(count_bits: int) -> int:
    """Bits for the magnitude of Σλ above a count."""
    return min(CELL_BITS - count_bits, EXACT_BITS)


def sums_over_leaves(
    terms: Gradients,
    rows: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    n_rows: int,
    communicator: Communicator,
) -> np.ndarray:
    """Σ terms over the rows of each leaf, as float64, from integers of the full width.

    ``rows[starts[l]:stops[l]]`` are the rows of leaf l.
    """
    scale = terms.scale(n_rows, CELL_BITS)
    sums = np.empty((N_PARTS, len(starts)), np.int64)
    leaf_sums(terms.values, scale, rows, starts, stops, sums)
    return communicator.sum(sums.sum(axis=0)) / scale
