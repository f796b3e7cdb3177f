"""Trees from the attributes of ONNX's two operators for them, as `writers.onnx_trees` has them.

What is read is the operator as onnxruntime takes it: x ≤ t is the true branch, leaves are added
from 0 on in the order of the trees. Files of others may have more, which is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.exchange.checked import flags, reals, whole, wholes
from rankinite.exchange.faults import BeyondError, DamagedError
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest

_REGRESSOR = {
    "n_targets",
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_modes",
    "nodes_featureids",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_missing_value_tracks_true",
    "target_treeids",
    "target_nodeids",
    "target_ids",
    "target_weights",
}
_ENSEMBLE = {
    "n_targets",
    "aggregate_function",
    "post_transform",
    "tree_roots",
    "nodes_modes",
    "nodes_featureids",
    "nodes_splits",
    "nodes_truenodeids",
    "nodes_trueleafs",
    "nodes_falsenodeids",
    "nodes_falseleafs",
    "nodes_missing_value_tracks_true",
    "leaf_targetids",
    "leaf_weights",
}


def of_regressor(attributes: dict[str, Any], n_features: int) -> list[PlainForest]:
    """The forest of each target of a ``TreeEnsembleRegressor``, which adds in float32."""
    _check_names(attributes, _REGRESSOR)
    tree = wholes(attributes["nodes_treeids"], "nodes_treeids")
    n = len(tree)
    starts = np.flatnonzero(np.diff(tree, prepend=-1))
    sizes = np.diff(np.append(starts, n))
    numbers = np.arange(n) - np.repeat(starts, sizes)
    if not np.array_equal(tree[starts], np.arange(len(starts))) or not np.array_equal(
        wholes(attributes["nodes_nodeids"], "nodes_nodeids", n), numbers
    ):
        raise DamagedError("its nodes are not numbered tree after tree")
    modes = list(attributes["nodes_modes"])
    if not {*modes} <= {b"LEAF", b"BRANCH_LEQ"}:
        raise BeyondError("it has splits other than x ≤ threshold")
    is_leaf = np.array([mode == b"LEAF" for mode in modes])
    value, target = _of_leaves(attributes, is_leaf, starts, sizes)
    left, right = (
        np.where(is_leaf, -1, wholes(attributes[name], name, n))
        for name in ("nodes_truenodeids", "nodes_falsenodeids")
    )
    splits = _of_splits(attributes, "nodes_values", n)
    nodes = Nodes(left, right, **splits, value=value, cover=np.zeros(n))
    places = [slice(*ends) for ends in zip(starts.tolist(), (starts + sizes).tolist(), strict=True)]
    return _by_target(
        [Nodes(*(array[own] for array in nodes)) for own in places],
        [target[own][is_leaf[own]] for own in places],
        attributes,
        n_features,
        single=True,
    )


def _of_leaves(
    attributes: dict[str, Any], is_leaf: np.ndarray, starts: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values and targets of all nodes of a regressor, which leaves have."""
    tree = wholes(attributes["target_treeids"], "target_treeids")
    node = wholes(attributes["target_nodeids"], "target_nodeids", len(tree))
    if ((tree < 0) | (tree >= len(starts))).any() or ((node < 0) | (node >= sizes[tree])).any():
        raise DamagedError("it has a value for a node that there is not")
    at = starts[tree] + node
    if not np.array_equal(np.sort(at), np.flatnonzero(is_leaf)):
        raise DamagedError("it has leaves without a value, or with several")
    value, target = np.zeros(len(is_leaf)), np.zeros(len(is_leaf), np.int64)
    value[at] = reals(attributes["target_weights"], "target_weights", len(at))
    target[at] = wholes(attributes["target_ids"], "target_ids", len(at))
    return value, target


def of_ensemble(attributes: dict[str, Any], n_features: int) -> list[PlainForest]:
    """The forest of each target of a ``TreeEnsemble`` of doubles."""
    _check_names(attributes, _ENSEMBLE)
    splits, weights = attributes["nodes_splits"], attributes["leaf_weights"]
    if splits.dtype != np.float64 or weights.dtype != np.float64:
        raise BeyondError("its trees are not in double precision")
    n = len(splits)
    if (attributes["aggregate_function"], attributes["post_transform"]) != (1, 0) or wholes(
        attributes["nodes_modes"], "nodes_modes", n
    ).any():
        raise BeyondError("it is no sum of trees that split by x ≤ threshold")
    roots = wholes(attributes["tree_roots"], "tree_roots")
    sizes = np.diff(np.append(roots, n))
    if not len(roots) or roots[0] != 0 or (sizes < 1).any():
        raise DamagedError("its nodes are not numbered tree after tree")
    if len(weights) != n + len(roots):
        raise DamagedError(f"it has {len(weights)} leaves, not {n + len(roots)}")
    arrays = _of_splits(attributes, "nodes_splits", n)
    leaf_starts = roots + np.arange(len(roots))
    arrays["left"], arrays["right"] = (
        _children(attributes, side, np.repeat(roots, sizes), np.repeat(leaf_starts, sizes))
        for side in ("true", "false")
    )
    target = wholes(attributes["leaf_targetids"], "leaf_targetids", len(weights))
    trees, targets = [], []
    for root, size, first in zip(roots.tolist(), sizes.tolist(), leaf_starts.tolist(), strict=True):
        inner, leaves = slice(root, root + size), slice(first, first + size + 1)
        own = {name: array[inner] for name, array in arrays.items()}
        trees.append(Nodes.apart(own, weights[leaves], np.zeros(size + 1)))
        targets.append(target[leaves])
    return _by_target(trees, targets, attributes, n_features, single=False)


def _children(
    attributes: dict[str, Any], side: str, first_node: np.ndarray, first_leaf: np.ndarray
) -> np.ndarray:
    """Children on one side as numbers within their trees: ~k for the leaf k."""
    number, is_leaf = (f"nodes_{side}{what}" for what in ("nodeids", "leafs"))
    n = len(first_node)
    leaf = flags(attributes[is_leaf], is_leaf, n)
    within = wholes(attributes[number], number, n) - np.where(leaf, first_leaf, first_node)
    if (within < 0).any():
        raise DamagedError("a tree has a child in another tree")
    return np.where(leaf, ~within, within)


def _of_splits(attributes: dict[str, Any], values: str, n: int) -> dict[str, np.ndarray]:
    """Features, thresholds, ways of missing values, and gains, of which there are none."""
    missing = "nodes_missing_value_tracks_true"
    return {
        "feature": wholes(attributes["nodes_featureids"], "nodes_featureids", n),
        "threshold": reals(attributes[values], values, n),
        "missing_left": flags(attributes[missing], missing, n),
        "gain": np.zeros(n),
    }


def _by_target(
    trees: list[Nodes],
    targets: list[np.ndarray],
    attributes: dict[str, Any],
    n_features: int,
    single: bool,
) -> list[PlainForest]:
    """The trees of each target, which all leaves of a tree must be of."""
    n_targets = whole(attributes["n_targets"], "n_targets", 1)
    sorted_out: list[list[Nodes]] = [[] for _ in range(min(n_targets, len(trees)))]
    for tree, target in zip(trees, targets, strict=True):
        first = int(target[0])
        if (target != first).any() or not 0 <= first < len(sorted_out):
            raise BeyondError("it has a tree whose leaves are of several scores")
        sorted_out[first].append(tree)
    if n_targets > len(trees) or not all(sorted_out):
        raise DamagedError("it has a score without a tree")
    return [
        PlainForest(
            forest_of(own, n_features)[0],
            n_features,
            single_features=single,
            single_sums=single,
        )
        for own in sorted_out
    ]


def _check_names(attributes: dict[str, Any], known: set[str]) -> None:
    more = sorted(attributes.keys() - known)
    if more:
        raise BeyondError(f"its trees have {more[0][:40]!a}, which is not read here")
