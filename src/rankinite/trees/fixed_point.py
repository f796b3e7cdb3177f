"""Gradients in fixed point: integer sums do not depend on the order of the additions.

This is what makes a model the same, byte for byte, on any number of threads and workers. The
gradients of a tree are rounded once to integers on a common scale, a power of two. A cell of a
histogram is one int64 with the sum of the integers in its upper bits and the number of rows in
its lower bits; sums and differences of cells are sums and differences of both at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankinite.distributed import Communicator
from rankinite.trees._fixed_point_kernels import (
    largest_magnitude,
    leaf_sums,
    pack,
    sum_of_magnitudes,
)

# A cell is a signed 64-bit integer, so this many bits hold the magnitude of the sum and the count.
CELL_BITS = 63
# Sums up to this many bits are exact as float64, so that the means of the two sides of a split are
# equal wherever all rows are equal, and rounding never looks like a gain.
EXACT_BITS = 53
# Of a power of two in float64.
LARGEST_EXPONENT = 1023


@dataclass(frozen=True)
class Packed:
    """The gradients of all rows as integers, ready to be summed into cells.

    Attributes
    ----------
    cells : ndarray of int64, shape (n_rows,)
        ``q·2^count_bits + 1``, or q alone when `count_bits` is 0.
    scale : float
        q = rint(value·scale), a power of two.
    count_bits : int
    """

    cells: np.ndarray
    scale: float
    count_bits: int


def count_bits_for(n_rows: int) -> int:
    """Bits that hold any count up to `n_rows`."""
    return int(n_rows).bit_length()


def scale_for(values: np.ndarray, n_rows: int, free_bits: int, communicator: Communicator) -> float:
    """The largest power of two at which no sum of rounded values outgrows `free_bits` bits.

    Parameters
    ----------
    values : ndarray of float64
        This worker's share of the values.
    n_rows : int
        Number of values over all workers.
    free_bits : int
        Bits for the magnitude of a sum.
    """
    largest = float(communicator.max(np.array([largest_magnitude(values)]))[0])
    if largest == 0.0:
        return 1.0
    # A first scale from the largest value leaves room for n_rows of it. Few rows have gradients
    # that large, so their integer sum on that scale says how many more bits can be had.
    exponent = math.frexp(largest)[1]
    first = min(CELL_BITS - 1 - count_bits_for(n_rows) - exponent, LARGEST_EXPONENT)
    magnitudes = sum_of_magnitudes(values, math.ldexp(1.0, first))
    total = int(communicator.sum(np.array([magnitudes]))[0])
    # |Σq| ≤ Σ|q| ≤ total·scale/2^first + n_rows/2 < 2^free_bits
    bits = free_bits - 1 - total.bit_length()
    # A single value must fit too, and 52 bits are all that a float64 has to give.
    return math.ldexp(1.0, min(first + bits, 52 - exponent, LARGEST_EXPONENT))


def pack_gradients(
    values: np.ndarray, n_rows: int, with_counts: bool, communicator: Communicator
) -> Packed:
    """Round `values` (float64) to the cells of one tree; see `Packed`."""
    count_bits = count_bits_for(n_rows) if with_counts else 0
    free_bits = min(CELL_BITS - 1 - count_bits, EXACT_BITS)
    scale = scale_for(values, n_rows, free_bits, communicator)
    cells = np.empty(len(values), np.int64)
    pack(values, scale, count_bits, cells)
    return Packed(cells, scale, count_bits)


def sums_over_leaves(
    values: np.ndarray,
    rows: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    n_rows: int,
    communicator: Communicator,
) -> np.ndarray:
    """Σ values over the rows of each leaf, as float64, from integers of the full width.

    ``rows[starts[l]:stops[l]]`` are the rows of leaf l.
    """
    scale = scale_for(values, n_rows, CELL_BITS - 1, communicator)
    sums = np.empty(len(starts), np.int64)
    leaf_sums(values, scale, rows, starts, stops, sums)
    return communicator.sum(sums) / scale
