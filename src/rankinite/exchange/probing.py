"""Rows on which two plain models are compared: where a model's own thresholds are.

A value on a threshold, and the float32 next to it on either side, tell whether a file has the same
splits. Values are float32, which all engines keep.
"""

from __future__ import annotations

import numpy as np

from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet
from rankinite.exchange.precision import single_thresholds
from rankinite.trees import Forest

N_ROWS = 1000
# A row for each leaf, and for each value of a feature, as long as there are not more.
_MOST_ROWS = 4000
_SEED = 20100623
# One value in so many is missing.
_MISSING = 10


def probing_rows(plain: Plain, missing: bool) -> np.ndarray:
    """Rows for a comparison, the same for the same model.

    Parameters
    ----------
    missing : bool
        Whether some values are missing.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_features)
        At least `N_ROWS` rows; infinite values among them if the model is made of trees.
    """
    rng = np.random.default_rng(_SEED)
    if isinstance(plain, PlainForest | PlainClasses):
        outputs = [plain] if isinstance(plain, PlainForest) else plain.outputs
        forest = Forest.concatenated([output.forest for output in outputs])
        rows = _rows_of_forest(forest, plain.n_features, rng)
    else:
        rows = _rows_of_numbers(plain, rng)
    if missing:
        rows[rng.integers(_MISSING, size=rows.shape) == 0] = np.nan
    return rows


def _rows_of_forest(forest: Forest, n_features: int, rng: np.random.Generator) -> np.ndarray:
    values = [_values(forest.threshold[forest.feature == j]) for j in range(n_features)]
    n_leaves = len(forest.value)
    wanted = max(N_ROWS, n_leaves, max(len(own) for own in values))
    rows = np.empty((min(wanted, _MOST_ROWS), n_features), np.float32)
    for j, own in enumerate(values):
        # Each value about as often as any other.
        rows[:, j] = rng.permutation(np.resize(rng.permutation(own), len(rows)))
    leaves = np.linspace(0, n_leaves - 1, min(n_leaves, len(rows)), dtype=np.int64)
    for row, leaf in zip(rows, leaves.tolist(), strict=False):
        _lead_to(forest, leaf, row, rng)
    return rows


def _values(thresholds: np.ndarray) -> np.ndarray:
    """Values at the thresholds of a feature and next to them, and some that are special."""
    at = np.unique(single_thresholds(thresholds))
    with np.errstate(over="ignore"):
        beside = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([0.0, -0.0, 1e-38, -1e-36, 1.0, -np.inf, np.inf], np.float32)
    return np.concatenate([at, *beside, special])


def _lead_to(forest: Forest, leaf: int, row: np.ndarray, rng: np.random.Generator) -> None:
    """Change a row so that it ends in a leaf, one step beside its thresholds or on them."""
    tree = int(np.searchsorted(forest.leaf_offsets, leaf, side="right")) - 1
    first, child = int(forest.node_offsets[tree]), ~(leaf - int(forest.leaf_offsets[tree]))
    own = slice(first, int(forest.node_offsets[tree + 1]))
    above: dict[int, np.float32] = {}
    most: dict[int, np.float32] = {}
    left, right = forest.left[own], forest.right[own]
    while child != 0 and len(left):
        is_left = (left == child).any()
        child = int(np.flatnonzero((left if is_left else right) == child)[0])
        j = int(forest.feature[first + child])
        at = single_thresholds(forest.threshold[first + child : first + child + 1])[0]
        if is_left:
            most[j] = min(at, most.get(j, at))
        else:
            above[j] = max(at, above.get(j, at))
    for j in above.keys() | most.keys():
        low = np.nextafter(above.get(j, np.float32(-np.inf)), np.float32(np.inf))
        # A split at infinity has nothing above it but missing values.
        row[j] = most[j] if j in most and (j not in above or rng.integers(2)) else low


def _rows_of_numbers(plain: PlainLinear | PlainNet, rng: np.random.Generator) -> np.ndarray:
    rows = rng.standard_normal((N_ROWS, plain.n_features))
    if isinstance(plain, PlainNet):
        varies = plain.scale > 0
        deviation = np.divide(1.0, plain.scale, out=np.ones_like(plain.scale), where=varies)
        rows = plain.mean + rows * deviation
    rows[:: plain.n_features + 1] = 0.0
    return rows.astype(np.float32)
