"""Scoring with a forest: raw features, binned rows, training rows."""

from __future__ import annotations

import numpy as np

from rankinite.data.binning import BinMapper, BinnedMatrix
from rankinite.errors import DataError
from rankinite.trees._predict_kernels import (
    add_leaf_values,
    add_tree_to_binned,
    score_parallel,
    score_serial,
)
from rankinite.trees.grower import GrownTree
from rankinite.trees.tree import Forest, Tree

# Smaller batches are scored on the calling thread: waking others would cost more.
SERIAL_ROWS = 256


def score_features(forest: Forest, X: np.ndarray, start: np.ndarray | float = 0.0) -> np.ndarray:
    """Score raw features: `start` plus the value of every tree, added in the trees' order.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Bit for bit the scores that training had for these rows.
    """
    scores = np.empty(len(X))
    scores[:] = start
    score = score_serial if len(X) <= SERIAL_ROWS else score_parallel
    score(
        X,
        forest.feature,
        forest.threshold,
        forest.missing_left,
        forest.left,
        forest.right,
        forest.value,
        forest.node_offsets,
        forest.leaf_offsets,
        scores,
    )
    return scores


def score_binned(
    forest: Forest, binned: BinnedMatrix, start: np.ndarray | float = 0.0
) -> np.ndarray:
    """Score binned rows; every threshold of the forest must be an edge of the bins."""
    scores = np.empty(binned.n_rows)
    scores[:] = start
    for tree in forest.trees(bins_of_thresholds(forest, binned.mapper)):
        add_tree(tree, binned, scores)
    return scores


def add_tree(tree: Tree, binned: BinnedMatrix, scores: np.ndarray) -> None:
    """Add one tree to the scores of rows in the bins it was grown on."""
    add_tree_to_binned(
        binned.blocks,
        tree.feature,
        tree.bin,
        tree.missing_left,
        tree.left,
        tree.right,
        tree.value,
        scores,
    )


def add_grown_tree(grown: GrownTree, value: np.ndarray, scores: np.ndarray) -> None:
    """Add leaf values to the scores of a tree's own training rows, whose leaves are known."""
    add_leaf_values(grown.rows, grown.starts, grown.stops, value, scores)


def bins_of_thresholds(forest: Forest, mapper: BinMapper) -> np.ndarray:
    """Every split of a forest as a bin of `mapper`; a threshold between its edges is an error."""
    bins = np.empty(len(forest.feature), np.uint8)
    for feature in np.unique(forest.feature):
        nodes = np.flatnonzero(forest.feature == feature)
        edges = np.append(mapper.feature_edges(feature), np.inf)
        found = np.searchsorted(edges, forest.threshold[nodes], side="left")
        if not np.array_equal(edges[np.minimum(found, len(edges) - 1)], forest.threshold[nodes]):
            raise DataError(
                f"this dataset holds only bins, and those of feature {feature} are not the bins "
                "the model was trained on: save it with like=<the training data>, "
                "or score it from its features"
            )
        bins[nodes] = found
    return bins
