"""Thresholds for engines that see other numbers, or compare in another way, than we do.

We send x ≤ t to the left, in double precision. Each move here keeps every value that the engine can
have on its side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite.exchange.plain import PlainForest
from rankinite.trees import Forest

# What a number beyond float32 rounds to infinity from: half a step above the largest.
_BEYOND_SINGLE = 2.0**128


def single_at_most(threshold: np.ndarray) -> np.ndarray:
    """The largest float32 that is not above each threshold: no float32 lies between the two."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single > threshold
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single


def for_doubles(plain: PlainForest) -> np.ndarray:
    """Thresholds for an engine that compares doubles as they are.

    If the model rounds features to float32 first, a double goes left if it *rounds* to one that
    does: up to half way to the next float32, and half way itself rounds to the even one.
    """
    threshold = plain.forest.threshold
    if not plain.single_features:
        return threshold
    here = single_at_most(threshold)
    after = np.nextafter(here, np.float32(np.inf))
    low, high = (
        np.clip(s.astype(np.float64), -_BEYOND_SINGLE, _BEYOND_SINGLE) for s in (here, after)
    )
    half_way = low + (high - low) / 2
    is_even = (here.view(np.uint32) & 1) == 0
    moved = np.where(is_even, half_way, np.nextafter(half_way, -np.inf))
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
        Whether the format can write infinity. If not, the numbers next to it take its place; then
        infinite values, and the largest number itself, may go another way.
    """
    dtype = threshold.dtype
    swapped = threshold == np.inf
    strict = np.nextafter(threshold, dtype.type(np.inf))
    strict[swapped] = -np.inf
    if not infinite:
        limits = np.finfo(dtype)
        strict = np.clip(strict, limits.min, limits.max)
    return Strict(
        strict,
        np.where(swapped, forest.right, forest.left),
        np.where(swapped, forest.left, forest.right),
        forest.missing_left ^ swapped,
    )
