"""How far an engine's scores may be from ours, because it adds otherwise than we do.

Adding n numbers one after the other in an arithmetic with unit roundoff u is off by at most
n·u·Σ|v| (1 + O(n·u)) (Higham 2002, §4.2); rounding the numbers beforehand adds u·Σ|v|.
"""

from __future__ import annotations

import numpy as np

from rankinite.exchange.plain import Plain, PlainForest, PlainLinear
from rankinite.exchange.writers.folding import largest_sum

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53


def double_bound(plain: Plain, X: np.ndarray) -> np.ndarray:
    """The bound for an engine that adds in double precision, as we do.

    It is 0 unless the model has a factor, which goes into the leaves, or adds in single precision.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)

    Returns
    -------
    ndarray of float64, shape (n_rows,)
    """
    if isinstance(plain, PlainForest):
        bound = _of_trees(plain, _DOUBLE) if plain.scale != 1.0 or plain.divisor != 1 else 0.0
        if plain.single_sums:
            bound += _of_trees(plain, _SINGLE)
        return np.full(len(X), bound)
    return _of_products(plain, X, _DOUBLE)


def single_bound(plain: Plain, X: np.ndarray) -> np.ndarray:
    """The same for an engine whose leaves or weights, and sums, are in single precision."""
    if isinstance(plain, PlainForest):
        return np.full(len(X), _of_trees(plain, _SINGLE))
    return _of_products(plain, X, _SINGLE)


def _of_trees(plain: PlainForest, unit: float) -> float:
    # One rounding a leaf, one an addition, and one for each of start and bias; ours on top.
    n = plain.forest.n_trees + 4
    return 1.01 * n * unit * largest_sum(plain) + n * float(np.finfo(np.float32).smallest_subnormal)


def _of_products(plain: Plain, X: np.ndarray, unit: float) -> np.ndarray:
    if not isinstance(plain, PlainLinear):
        raise TypeError(f"no bound is known for {type(plain).__name__}")
    sizes = np.abs(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf)) @ np.abs(plain.weights)
    # Weight, feature and product are rounded before the sum.
    return 1.01 * (plain.n_features + 4) * unit * (sizes + abs(plain.intercept))
