"""What the two forms of LightGBM's models share: missing values, means of trees, classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.exchange.faults import BeyondError
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import ZERO, PlainForest

# What a split takes for missing, by LightGBM's numbers: nothing, so that NaN counts as 0; NaN and
# zero; NaN.
MISSING_KINDS = ("None", "Zero", "NaN")
_NOTHING, _ZERO, _NAN = range(3)


def refuse_classes(number: int) -> None:
    """Refuse a model with several scores a row, or with none."""
    if number != 1:
        raise BeyondError(f"it has {number} scores a row, and a ranker has one")


def forest_with_missing(
    trees: Sequence[Nodes],
    kinds: Sequence[np.ndarray],
    n_features: int,
    feature_names: list[str] | None,
    averages: bool,
) -> PlainForest:
    """A model of trees whose splits say what is missing to them.

    Parameters
    ----------
    kinds : sequence of ndarray of int64
        For the splits of each tree, which are its first nodes, a number in `MISSING_KINDS`.
    averages : bool
        Whether the score is the mean of the trees.
    """
    kind = np.concatenate([np.zeros(0, np.int64), *kinds])
    inner = [tree.left >= 0 for tree in trees]
    feature = np.concatenate(
        [np.zeros(0, np.int64), *(t.feature[i] for t, i in zip(trees, inner, strict=True))]
    )
    # A feature out of range is refused below, with the tree it is in.
    in_range = (feature >= 0) & (feature < n_features)
    zero_is_missing = np.zeros(n_features, bool)
    zero_is_missing[feature[in_range & (kind == _ZERO)]] = True
    if (zero_is_missing[feature[in_range & (kind != _ZERO)]]).any():
        raise BeyondError(
            "a feature's zeros are missing values in some of its splits and not in others"
        )
    forest, _ = forest_of(
        [_as_nan(tree, own) for tree, own in zip(trees, kinds, strict=True)], n_features
    )
    return PlainForest(
        forest,
        n_features,
        feature_names,
        divisor=len(trees) if averages else 1,
        zero_is_missing=zero_is_missing if zero_is_missing.any() else None,
    )


def _as_nan(tree: Nodes, kind: np.ndarray) -> Nodes:
    """The tree with the way of NaN in place of that of missing values.

    LightGBM takes values up to 1e-35 in size for zeros when it is given rows. So a threshold among
    them parts all of these from what lies above, or below.
    """
    missing_left = tree.missing_left.astype(bool)
    n_inner = len(kind)
    near = np.where(tree.threshold < 0.0, np.nextafter(-ZERO, -np.inf), ZERO)
    tree = tree._replace(threshold=np.where(np.abs(tree.threshold) <= ZERO, near, tree.threshold))
    missing_left[:n_inner] = np.where(
        kind == _NOTHING, tree.threshold[:n_inner] >= 0.0, missing_left[:n_inner]
    )
    return tree._replace(missing_left=missing_left)
