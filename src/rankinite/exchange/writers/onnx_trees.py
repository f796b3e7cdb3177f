"""Trees as attributes of ONNX's two operators for them.

``TreeEnsembleRegressor`` numbers inner nodes and leaves of a tree together, and is told in float32.
``TreeEnsemble``, which came later, has leaves apart and a root for each tree, and takes doubles.
Arrays become what the operators want by their types, see `OnnxGraph.add`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankinite.trees import Forest


def regressor(forests: Sequence[Forest], thresholds: Sequence[np.ndarray]) -> dict[str, Any]:
    """Attributes of a ``TreeEnsembleRegressor`` with one target a forest.

    Within a tree the inner nodes come first, so that the root is node 0, and then the leaves.

    Parameters
    ----------
    forests : sequence of Forest
        Each of one tree or more.
    thresholds : sequence of ndarray of float32, each of shape (n_inner,)
        Of the inner nodes of each forest.
    """
    forest, target = _together(forests)
    n_inner, n_leaves = np.diff(forest.node_offsets), np.diff(forest.leaf_offsets)
    first = (forest.node_offsets + forest.leaf_offsets)[:-1]
    inner = _within(n_inner)
    leaf = _within(n_leaves) + np.repeat(n_inner, n_leaves)
    inner_at, leaf_at = inner + np.repeat(first, n_inner), leaf + np.repeat(first, n_leaves)

    def placed(of_inner: Any, of_leaves: Any, dtype: type) -> np.ndarray:
        array: np.ndarray = np.empty(len(inner) + len(leaf), dtype)
        array[inner_at], array[leaf_at] = of_inner, of_leaves
        return array

    def child(number: np.ndarray) -> np.ndarray:
        return placed(np.where(number >= 0, number, np.repeat(n_inner, n_inner) + ~number), 0, int)

    is_leaf = placed(False, True, bool)
    return {
        "n_targets": len(forests),
        "nodes_treeids": np.repeat(np.arange(forest.n_trees), n_inner + n_leaves),
        "nodes_nodeids": placed(inner, leaf, int),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": placed(forest.feature, 0, int),
        "nodes_values": placed(np.concatenate(thresholds), 0.0, np.float32),
        "nodes_truenodeids": child(forest.left),
        "nodes_falsenodeids": child(forest.right),
        "nodes_missing_value_tracks_true": placed(forest.missing_left, 0, int),
        "target_treeids": np.repeat(np.arange(forest.n_trees), n_leaves),
        "target_nodeids": leaf,
        "target_ids": target,
        "target_weights": forest.value.astype(np.float32),
    }


def ensemble(forests: Sequence[Forest], thresholds: Sequence[np.ndarray]) -> dict[str, Any]:
    """Attributes of a ``TreeEnsemble`` of doubles with one target a forest.

    Parameters
    ----------
    forests : sequence of Forest
        Each of one tree or more, and all of them with a split, see `with_splits`.
    thresholds : sequence of ndarray of float64, each of shape (n_inner,)
    """
    forest, target = _together(forests)
    n_inner = np.diff(forest.node_offsets)
    first_node, first_leaf = (
        np.repeat(offsets[:-1], n_inner) for offsets in (forest.node_offsets, forest.leaf_offsets)
    )

    def child(number: np.ndarray) -> np.ndarray:
        return np.where(number >= 0, first_node + number, first_leaf + ~number)

    return {
        "n_targets": len(forests),
        "aggregate_function": 1,
        "post_transform": 0,
        "tree_roots": forest.node_offsets[:-1],
        "nodes_modes": np.zeros(len(forest.feature), np.uint8),
        "nodes_featureids": forest.feature.astype(np.int64),
        "nodes_splits": np.concatenate(thresholds),
        "nodes_truenodeids": child(forest.left),
        "nodes_trueleafs": (forest.left < 0).astype(np.int64),
        "nodes_falsenodeids": child(forest.right),
        "nodes_falseleafs": (forest.right < 0).astype(np.int64),
        "nodes_missing_value_tracks_true": forest.missing_left.astype(np.int64),
        "leaf_targetids": target,
        "leaf_weights": forest.value,
    }


def with_splits(forest: Forest) -> Forest:
    """The same forest, where trees of one leaf have a split and two leaves that are equal.

    By the standard both sides of such a split may be one leaf, but then onnxruntime 1.21 to 1.26
    give wrong scores.
    """
    single = np.diff(forest.node_offsets) == 0
    more = np.concatenate([[0], np.cumsum(single)])
    nodes, leaves = forest.node_offsets[:-1][single], forest.leaf_offsets[:-1][single]
    split = {"feature": 0, "threshold": 0.0, "missing_left": False, "left": ~0, "right": ~1,
             "gain": 0.0}  # fmt: skip
    return Forest(
        **{name: np.insert(getattr(forest, name), nodes, value) for name, value in split.items()},
        value=np.insert(forest.value, leaves, forest.value[leaves]),
        count=np.insert(forest.count, leaves, forest.count[leaves]),
        node_offsets=forest.node_offsets + more,
        leaf_offsets=forest.leaf_offsets + more,
    )


def _together(forests: Sequence[Forest]) -> tuple[Forest, np.ndarray]:
    """All trees, forest after forest, and the number of its forest for every leaf."""
    targets = np.arange(len(forests))
    return Forest.concatenated(forests), np.repeat(targets, [len(f.value) for f in forests])


def _within(counts: np.ndarray) -> np.ndarray:
    """0, 1, … up to each count, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
