"""LightGBM's JSON, as ``dump_model`` gives it: trees as objects in objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.exchange.checked import (
    flags,
    json_object,
    mapping,
    names_of,
    reals,
    sequence,
    whole,
    wholes,
)
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.readers._lightgbm import MISSING_KINDS, forest_with_missing, refuse_classes


@reader("LightGBM")
def read(content: bytes) -> PlainForest:
    """The forest of LightGBM's JSON."""
    model = json_object(content)
    refuse_classes(whole(model["num_class"], "num_class"))
    refuse_classes(whole(model["num_tree_per_iteration"], "num_tree_per_iteration"))
    names = sequence(model["feature_names"], "feature_names")
    n_features = whole(model["max_feature_idx"], "max_feature_idx") + 1
    if len(names) != n_features:
        raise DamagedError(f"it has {len(names)} names for {n_features} features")
    found = [mapping(tree, "a tree") for tree in sequence(model["tree_info"], "tree_info")]
    for t, tree in enumerate(found):
        if whole(tree.get("tree_index", t), "tree_index") != t:
            raise DamagedError(f"tree {t} is missing, or stands elsewhere")
    trees = [_tree(tree) for tree in found]
    return forest_with_missing(
        [tree for tree, _ in trees],
        [kind for _, kind in trees],
        n_features,
        names_of(names, "Column_", n_features),
        averages=bool(flags([model.get("average_output", False)], "average_output")[0]),
    )


def _tree(tree: dict[str, Any]) -> tuple[Nodes, np.ndarray]:
    """A tree, and the kind of missing values of each of its splits."""
    splits: list[dict[str, Any]] = []
    leaves: list[dict[str, Any]] = []
    # The numbers of the nodes of a split, and where their own stands in its parent's row.
    children: list[list[int]] = []
    todo: list[tuple[Any, int, int]] = [(tree["tree_structure"], -1, 0)]
    while todo:
        found, parent, side = todo.pop()
        node = mapping(found, "a node")
        is_split = "left_child" in node or "right_child" in node
        number = len(splits) if is_split else ~len(leaves)
        if parent >= 0:
            children[parent][side] = number
        if is_split:
            splits.append(node)
            children.append([0, 0])
            todo += [(node["right_child"], number, 1), (node["left_child"], number, 0)]
        else:
            leaves.append(node)
    if whole(tree.get("num_leaves", len(leaves)), "num_leaves") != len(leaves):
        raise DamagedError("a tree does not have as many leaves as it says")
    if any("leaf_coeff" in leaf for leaf in leaves):
        raise BeyondError("its leaves are linear models; train it without linear_tree")
    if any(split["decision_type"] != "<=" for split in splits):
        raise BeyondError(
            "it splits by categories; train it on numbers, or give its scores as a feature"
        )
    kinds = [split["missing_type"] for split in splits]
    if not all(isinstance(kind, str) and kind in MISSING_KINDS for kind in kinds):
        raise DamagedError("a split has a kind of missing values that there is not")
    both = np.array(children, np.int64).reshape(-1, 2)
    arrays = {
        "left": both[:, 0],
        "right": both[:, 1],
        "feature": wholes([split["split_feature"] for split in splits], "split_feature"),
        "threshold": _infinite(reals([split["threshold"] for split in splits], "threshold")),
        "missing_left": flags([split["default_left"] for split in splits], "default_left"),
        "gain": reals([split.get("split_gain", 0.0) for split in splits], "split_gain"),
    }
    value = reals([leaf["leaf_value"] for leaf in leaves], "leaf_value")
    count = reals([leaf.get("leaf_count", 0) for leaf in leaves], "leaf_count")
    return (
        Nodes.apart(arrays, value, count),
        np.array([MISSING_KINDS.index(kind) for kind in kinds], np.int64),
    )


def _infinite(thresholds: np.ndarray) -> np.ndarray:
    """Thresholds as they were: LightGBM's JSON has ±1e300 in place of infinity."""
    return np.where(np.abs(thresholds) >= 1e300, np.copysign(np.inf, thresholds), thresholds)
