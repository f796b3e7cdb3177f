"""Rows on which two plain models are compared: where a model's own thresholds are.

A value on a threshold, and the float32 next to it on either side, tell whether a file has the same
splits. Values are float32, which all engines keep.
"""

from __future__ import annotations

import numpy as np

from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet
from rankinite.exchange.writers.thresholds import single_at_most
from rankinite.trees import Forest

N_ROWS = 1000
# A row for each leaf, and for each value of a feature, as long as there are not more.
_MOST_ROWS = 4000
# Fewer rows of very many features.
_MOST_VALUES = 2**22
_SEED = 20100623
# One value in so many is missing.
_MISSING = 10
_NOTHING = np.float32(1e-34)
# As far as values go.
_FAR = np.float32(1e30)


def probing_rows(plain: Plain, missing: bool) -> np.ndarray:
    """Rows for a comparison, the same for the same model.

    Parameters
    ----------
    missing : bool
        Whether some values are missing.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_features)
        At least `N_ROWS` rows, fewer only of thousands of features, of finite values: not
        all engines can say infinity.
    """
    rng = np.random.default_rng(_SEED)
    if isinstance(plain, PlainForest | PlainClasses):
        outputs = [plain] if isinstance(plain, PlainForest) else plain.outputs
        forest = Forest.concatenated([output.forest for output in outputs])
        rows = _rows_of_forest(forest, plain.n_features, rng)
    else:
        rows = _rows_of_numbers(plain, rng)
    # LightGBM takes such values for zeros, and no feature has them.
    rows[np.abs(rows) <= _NOTHING] = 0.0
    if missing:
        rows[rng.integers(_MISSING, size=rows.shape) == 0] = np.nan
    return rows


def _rows_of_forest(forest: Forest, n_features: int, rng: np.random.Generator) -> np.ndarray:
    values = {j: _values(forest.threshold[forest.feature == j]) for j in np.unique(forest.feature)}
    n_leaves = len(forest.value)
    wanted = max(N_ROWS, n_leaves, *(len(own) for own in values.values()))
    n_rows = min(wanted, _MOST_ROWS, _most_rows_of(n_features))
    rows = rng.choice(_values(np.empty(0)), (n_rows, n_features))
    for j, own in values.items():
        # Each value about as often as any other.
        rows[:, j] = rng.permutation(np.resize(rng.permutation(own), len(rows)))
    leaves = np.linspace(0, n_leaves - 1, min(n_leaves, len(rows)), dtype=np.int64)
    for row, leaf in zip(rows, leaves.tolist(), strict=False):
        _lead_to(forest, leaf, row, rng)
    return rows


def _most_rows_of(n_features: int) -> int:
    return max(1, _MOST_VALUES // max(1, n_features))


def _values(thresholds: np.ndarray) -> np.ndarray:
    """Values at the thresholds of a feature and next to them, and some that are special."""
    at = np.unique(single_at_most(thresholds))
    at = at[np.abs(at) < _FAR]
    beside = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([0.0, -0.0, 1e-38, -1e-36, 1.0, -_FAR, _FAR], np.float32)
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
        at = single_at_most(forest.threshold[first + child : first + child + 1])[0]
        if is_left:
            most[j] = min(at, most.get(j, at))
        else:
            above[j] = max(at, above.get(j, at))
    for j in above.keys() | most.keys():
        low = np.nextafter(above.get(j, -_FAR), np.float32(np.inf))
        at = most[j] if j in most and (j not in above or rng.integers(2)) else low
        # Some splits part nothing but missing values from the others.
        row[j] = np.clip(at, -_FAR, _FAR)


def _rows_of_numbers(plain: PlainLinear | PlainNet, rng: np.random.Generator) -> np.ndarray:
    n_rows = min(N_ROWS, _most_rows_of(plain.n_features))
    rows = rng.standard_normal((n_rows, plain.n_features))
    if isinstance(plain, PlainNet):
        varies = plain.scale > 0
        deviation = np.divide(1.0, plain.scale, out=np.ones_like(plain.scale), where=varies)
        rows = plain.mean + rows * deviation
    rows[:: plain.n_features + 1] = 0.0
    return rows.astype(np.float32)
