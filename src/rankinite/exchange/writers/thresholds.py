"""Thresholds for engines that see other numbers, or compare in another way, than we do.

We send x ≤ t to the left, in double precision. Each move here keeps every value that the engine can
have on its side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import PlainForest
from rankinite.trees import Forest

# What a number beyond float32 rounds to infinity from: half a step above the largest.
_BEYOND_SINGLE = 2.0**128


def single_at_most(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 that is not above each threshold: no float32 lies between the two."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single > threshold
    single[above] = next_number(single[above], -np.inf)
    return single


def next_number(numbers: np.ndarray, towards: float) -> np.ndarray:
    """The next numbers of the same type; past the largest comes infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(numbers, numbers.dtype.type(towards))


def for_doubles(plain: PlainForest) -> np.ndarray:
    """Thresholds for an engine that compares doubles as they are.

    If the model rounds features to float32 first, a double goes left if it *rounds* to one that
    does: up to half way to the next float32, and half way itself rounds to the even one.
    """
    threshold = plain.forest.threshold
    if not plain.single_features:
        return threshold
    here = single_at_most(threshold)
    after = next_number(here, np.inf)
    low, high = (
        np.clip(s.astype(np.float64), -_BEYOND_SINGLE, _BEYOND_SINGLE) for s in (here, after)
    )
    half_way = low + (high - low) / 2
    is_even = (here.view(np.uint32) & 1) == 0
    moved = np.where(is_even, half_way, next_number(half_way, -np.inf))
    return np.where(here == np.inf, np.inf, moved)


class Strict(NamedTuple):
    """Splits that send x < threshold to the left; arrays of shape (n_inner,), as in `Forest`."""

    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray


def strictly_below(forest: Forest, threshold: np.ndarray, infinite: bool = True) -> Strict:
    """Turn x ≤ t into x < the next number above t.

    Above +∞, which parts the values that are there from the missing ones, is no number: there the
    children change places, and x < −∞ is never true.

    Parameters
    ----------
    threshold : ndarray of float32 or float64, shape (n_inner,)
        Those of the forest in the precision of the engine.
    infinite : bool
        Whether the format can write infinity. If not, x < the lowest number takes the place of
        x < −∞, so that −∞ goes where missing values go; above the largest number nothing helps.
    """
    dtype = threshold.dtype
    swapped = threshold == np.inf
    strict = next_number(threshold, np.inf)
    strict[swapped] = -np.inf
    if not infinite:
        if (strict == np.inf).any():
            raise ExportError(
                f"a split by x ≤ {threshold[strict == np.inf][0]:.3g} would need x < infinity, "
                "which the format cannot say"
            )
        strict = np.maximum(strict, np.finfo(dtype).min)
    return Strict(
        strict,
        np.where(swapped, forest.right, forest.left),
        np.where(swapped, forest.left, forest.right),
        forest.missing_left ^ swapped,
    )
