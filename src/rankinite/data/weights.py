"""What weights mean: 0 is absent, and only their ratio counts."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from rankinite.errors import DataError

# A weight times that of its query must stay a number, also the smallest beside the largest.
_SMALLEST_SHARE = 1e-150
_LARGEST_EXPONENT = 450


def rows_that_count(
    weight: np.ndarray | None, query_weight: np.ndarray | None, sizes: np.ndarray
) -> np.ndarray | None:
    """Which rows weigh more than nothing: bool, shape (n_rows,); None if all of them do.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_rows,), or None
    query_weight : ndarray of float64, shape (n_queries,), or None
    sizes : ndarray of int64, shape (n_queries,)
        Number of rows of each query.
    """
    counts = np.ones(sizes.sum(), bool) if weight is None else weight > 0
    if query_weight is not None:
        counts &= np.repeat(query_weight > 0, sizes)
    return None if counts.all() else counts


def on_common_scale(weight: np.ndarray | None, what: str) -> np.ndarray | None:
    """Weights above 0 in units of a power of two, so that the largest lies between 1 and 2.

    Weights that are all the same are no weights: None. `what` is their name in messages.
    """
    if weight is None or len(weight) == 0:
        return None
    low, high = float(weight.min()), float(weight.max())
    if low == high:
        return None
    if low < high * _SMALLEST_SHARE:
        raise DataError(
            f"{what} goes from {low:g} to {high:g}, too far apart to be added up: "
            "give what is to count so little a weight of 0"
        )
    return np.ldexp(weight, 1 - math.frexp(high)[1])


@overload
def in_range(weight: np.ndarray) -> np.ndarray: ...
@overload
def in_range(weight: None) -> None: ...


def in_range(weight: np.ndarray | None) -> np.ndarray | None:
    """Weights whose sums and products stay numbers: in other units if they are huge or tiny.

    Others are left alone, so that parts of the data that are measured apart keep one unit.
    """
    if weight is None:
        return None
    exponent = math.frexp(float(weight.max(initial=0.0)))[1]
    return weight if abs(exponent) < _LARGEST_EXPONENT else np.ldexp(weight, -exponent)
