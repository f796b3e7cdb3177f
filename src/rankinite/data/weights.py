"""What weights mean: 0 is absent, and only their ratio counts."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from rankinite.distributed import Communicator, Serial, everywhere
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


def on_common_scale(
    weight: np.ndarray | None, what: str, communicator: Communicator | None = None
) -> np.ndarray | None:
    """Weights above 0 in units of a power of two, so that the largest lies between 1 and 2.

    Weights that are all the same are no weights: None. `what` is their name in messages. With a
    `communicator` those of all workers are looked at.
    """
    if weight is None:
        return None
    communicator = Serial() if communicator is None else communicator
    ends = np.array([-weight.min(initial=np.inf), weight.max(initial=-np.inf)])
    low, high = (communicator.max(ends) * (-1, 1)).tolist()
    if low >= high:  # or there are none
        return None
    if low < high * _SMALLEST_SHARE:
        raise everywhere(
            DataError(
                f"{what} goes from {low:g} to {high:g}, too far apart to be added up: "
                "give what is to count so little a weight of 0"
            )
        )
    return np.ldexp(weight, 1 - math.frexp(high)[1])


@overload
def in_range(weight: np.ndarray, communicator: Communicator | None = None) -> np.ndarray: ...
@overload
def in_range(weight: None, communicator: Communicator | None = None) -> None: ...


def in_range(
    weight: np.ndarray | None, communicator: Communicator | None = None
) -> np.ndarray | None:
    """Weights whose sums and products stay numbers: in other units if they are huge or tiny.

    Others are left alone, so that parts of the data that are measured apart keep one unit. With a
    `communicator` the unit is that of all workers.
    """
    if weight is None:
        return None
    communicator = Serial() if communicator is None else communicator
    largest = communicator.max(np.array([weight.max(initial=0.0)]))
    exponent = math.frexp(float(largest[0]))[1]
    return weight if abs(exponent) < _LARGEST_EXPONENT else np.ldexp(weight, -exponent)
