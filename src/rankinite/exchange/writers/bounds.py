"""How far an engine's scores may be from ours, because it adds otherwise than we do.

Adding n numbers one after the other in an arithmetic with unit roundoff u is off by at most
n·u·Σ|v| (1 + O(n·u)) (Higham 2002, §4.2); rounding the numbers beforehand adds u·Σ|v|.
"""

from __future__ import annotations

import numpy as np

from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet
from rankinite.exchange.writers.folding import largest_sum

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53


def double_bound(plain: Plain, X: np.ndarray) -> np.ndarray:
    """The bound for an engine that adds in double precision, as we do.

    It is 0 for a forest unless it has a factor, which goes into the leaves, or adds in single
    precision.

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
    if isinstance(plain, PlainClasses):
        return _of_classes(plain, [double_bound(output, X) for output in plain.outputs], _DOUBLE)
    return _of_products(plain, X, _DOUBLE)


def single_bound(plain: Plain, X: np.ndarray) -> np.ndarray:
    """The same for an engine whose leaves or weights, and sums, are in single precision."""
    if isinstance(plain, PlainForest):
        return np.full(len(X), _of_trees(plain, _SINGLE))
    if isinstance(plain, PlainClasses):
        return _of_classes(plain, [single_bound(output, X) for output in plain.outputs], _SINGLE)
    return _of_products(plain, X, _SINGLE)


def same_order_bound(plain: Plain, X: np.ndarray) -> np.ndarray:
    """The same for code that adds the trees of a forest as we do, in the same precision.

    It is 0 for forests; sums of products it may take in another order.
    """
    if isinstance(plain, PlainForest):
        return np.zeros(len(X))
    if isinstance(plain, PlainClasses):
        return _of_classes(plain, [same_order_bound(o, X) for o in plain.outputs], _DOUBLE)
    return _of_products(plain, X, _DOUBLE)


def _of_trees(plain: PlainForest, unit: float) -> float:
    # One rounding a leaf, one an addition, and one for each of start and bias; ours on top.
    n = plain.forest.n_trees + 4
    return 1.01 * n * unit * largest_sum(plain) + n * float(np.finfo(np.float32).smallest_subnormal)


def _of_products(plain: PlainLinear | PlainNet, X: np.ndarray, unit: float) -> np.ndarray:
    factor = 1.01 * (plain.n_features + 4) * unit
    if isinstance(plain, PlainLinear):
        present = np.abs(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf))
        # Weight, feature and product are rounded before the sum.
        return factor * (present @ np.abs(plain.weights) + abs(plain.intercept))
    # What is subtracted may be far larger than what is left.
    sizes = np.abs(plain.standardised(X)) + 4.0 * np.abs(plain.mean * plain.scale)
    output = np.abs(plain.output)
    if plain.hidden is None or plain.hidden_bias is None:
        return factor * (sizes @ output + abs(plain.output_bias))
    # |tanh| ≤ 1, and it rises by one at most: it passes on what its argument is off by.
    before = sizes @ np.abs(plain.hidden) + np.abs(plain.hidden_bias)
    own = 1.01 * (len(output) + 8) * unit * (output.sum() + abs(plain.output_bias))
    return factor * (before @ output) + own


def _of_classes(plain: PlainClasses, bounds: list[np.ndarray], unit: float) -> np.ndarray:
    """The bound of an expected value whose outputs are off by at most `bounds`.

    With values v_k the expected value changes by P_k (v_k − s) for a unit of output k of a softmax,
    and by at most (v_k − v_{k−1}) / 4 for one of the log-odds of a cut.
    """
    spread = np.abs(np.diff(plain.values)).sum()
    own = (len(plain.values) + 8) * unit * np.abs(plain.values).sum()
    return 1.01 * (spread * np.maximum.reduce(bounds) + own)
