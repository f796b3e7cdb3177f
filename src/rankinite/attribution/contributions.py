"""Scores shared out to the features: exactly, and so that the shares add up to the score."""

from __future__ import annotations

import numba
import numpy as np

from rankinite._numba import in_threads
from rankinite.attribution._contribution_kernels import WIDTH, add_contributions
from rankinite.attribution.leaves import leaves
from rankinite.attribution.paths import paths_of, points_up_to
from rankinite.errors import DataError, ParameterError
from rankinite.exchange.plain import Plain, PlainClasses, PlainForest, PlainLinear, PlainNet

# Parts of a batch that each thread takes, so that a slow one does not hold up the rest.
_PARTS_A_THREAD = 4


def contributions(plain: Plain, X: np.ndarray, background: np.ndarray | None = None) -> np.ndarray:
    """What each feature adds to the scores, and what they begin with.

    For trees these are the Shapley values of path-dependent TreeSHAP, as in LightGBM's
    ``pred_contrib``. For a linear model it is weight times value, and for one of standardised
    features weight times the distance from the feature's mean in training.

    Parameters
    ----------
    plain : Plain
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    background : ndarray, shape (any, n_features), optional
        Rows that are counted in the leaves, instead of those of the training.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_features + 1)
        The last column is the same for all rows: the mean score over the training rows, or that
        of a document whose features are all 0 (or average). A row's sum is its score.
    """
    check_attributable(plain)
    if isinstance(plain, PlainForest):
        return _of_forest(plain, X, background)
    if background is not None:
        raise ParameterError(
            "background counts rows in the leaves of trees, and a linear ranker has none: leave "
            "it out"
        )
    out = np.empty((len(X), plain.n_features + 1))
    if isinstance(plain, PlainLinear):
        np.multiply(np.where(np.isnan(X), 0.0, X), plain.weights, out=out[:, :-1])
        out[:, -1] = plain.intercept
    elif isinstance(plain, PlainNet):
        np.multiply(plain.standardised(X), plain.output, out=out[:, :-1])
        out[:, -1] = plain.output_bias
    return out


def check_attributable(plain: Plain) -> None:
    """Refuse a model whose score is no sum, so that no feature has a share of its own in it."""
    why = None
    if isinstance(plain, PlainClasses):
        why = "a mean of grades by their chances, to which trees do not add"
    elif isinstance(plain, PlainNet) and plain.hidden is not None:
        why = "that of a net with hidden units"
    if why is not None:
        raise ParameterError(
            f"exact contributions are those of sums of trees and of linear rankers, and this score "
            f"is {why}: distil it to a LambdaMART or MART, and explain that"
        )


def _of_forest(plain: PlainForest, X: np.ndarray, background: np.ndarray | None) -> np.ndarray:
    cover = plain.leaf_cover if background is None else _counted(plain, background)
    _check_cover(plain, cover, background is not None)
    used, trees, paths, expected = paths_of(plain.forest, cover)
    points = points_up_to(int(paths.n_points.max(initial=0)))
    rows = np.ascontiguousarray(plain.rows(X), np.float64)
    out = np.zeros((len(rows), plain.n_features + 1))
    n_nodes = max(0, plain.forest.most_leaves - 1)
    # Whole batches: a row's shares do not depend on those beside it, but a part of one wastes time.
    step = WIDTH * max(1, -(-len(rows) // (WIDTH * _PARTS_A_THREAD * numba.get_num_threads())))
    blocks = np.append(np.arange(0, len(rows), step), len(rows))
    in_threads(add_contributions, blocks, rows, used, trees, paths, points, n_nodes, out)
    factor = plain.scale / plain.divisor
    if factor != 1.0:
        out *= factor
    out[:, -1] = (plain.start + expected.sum()) * factor + plain.bias
    return out


def _counted(plain: PlainForest, background: np.ndarray) -> np.ndarray:
    """How many rows end in each leaf, float64 of shape (n_leaves,)."""
    if len(background) == 0:
        raise DataError("background has no rows: pass data like that of the training")
    counts = np.zeros(len(plain.forest.value))
    found = leaves(plain, background)
    for tree, first in enumerate(plain.forest.leaf_offsets[:-1]):
        own = np.bincount(found[:, tree])
        counts[first : first + len(own)] += own
    return counts


def _check_cover(plain: PlainForest, cover: np.ndarray, is_counted: bool) -> None:
    """Refuse trees of which nobody knows what came where in training."""
    offsets = plain.forest.leaf_offsets
    splits = np.diff(offsets) > 1
    totals = np.add.reduceat(cover, offsets[:-1]) if len(splits) else np.empty(0)
    unknown = np.flatnonzero(splits & ~(totals > 0))
    if len(unknown) and not is_counted:
        raise ParameterError(
            f"tree {unknown[0]} does not say how many training rows came to its leaves (some files "
            "of other engines do not): pass background=<data like that of the training>"
        )
    bad = np.flatnonzero(~(cover >= 0) | np.isinf(cover))
    if len(bad):
        tree = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise ParameterError(
            f"leaf {bad[0] - offsets[tree]} of tree {tree} has the cover {cover[bad[0]]:g}, and it "
            "must be 0 or more: pass background=<data like that of the training>"
        )
