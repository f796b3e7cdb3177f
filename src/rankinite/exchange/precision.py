"""Thresholds in single and in double precision that part the same rows."""

from __future__ import annotations

import numpy as np

# What comes after the largest float32, in steps of its last place.
_BEYOND = 2.0**128


def single_thresholds(thresholds: np.ndarray) -> np.ndarray:
    """The largest float32 up to each threshold, shape (n,): x ≤ t is the same for any float32 x."""
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
    above = single > thresholds
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single


def double_thresholds(thresholds: np.ndarray) -> np.ndarray:
    """For rows that are not rounded: x ≤ result if and only if float32(x) ≤ threshold.

    A double between two neighbouring float32 is rounded to the nearer one, and from the middle to
    the even one. So the result is the middle above the threshold, or the double below it.
    """
    low = single_thresholds(thresholds)
    with np.errstate(over="ignore"):
        high = np.nextafter(low, np.float32(np.inf))
    middle = (_in_steps(low) + _in_steps(high)) / 2
    with np.errstate(over="ignore"):
        goes_up = middle.astype(np.float32) > low
    middle[goes_up] = np.nextafter(middle[goes_up], -np.inf)
    return np.where(low == np.inf, np.inf, middle)


def _in_steps(single: np.ndarray) -> np.ndarray:
    """As float64, with infinity where rounding takes it to begin."""
    return np.clip(single.astype(np.float64), -_BEYOND, _BEYOND)
