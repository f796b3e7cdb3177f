"""Trees in the JSON of XGBoost's ``dump_model``, as search engines read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.exchange.checked import json_value, mapping, reals, sequence, texts, whole
from rankinite.exchange.faults import DamagedError
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.trees import Forest

# What a node may have; statistics are refused.
_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}
_LEAF = {"nodeid", "leaf"}


def is_dump(content: bytes) -> bool:
    """Whether a file is a list of trees, and no model with a learner around it."""
    return content.lstrip()[:1] == b"["


def dumped_trees(content: bytes) -> tuple[Forest, list[str]]:
    """The forest, and the features it names in the order in which they come.

    A row with x < t goes left, and here x ≤ t does: thresholds are float32 as they stand, and it is
    for the caller to move them.
    """
    found = sequence(json_value(content), "the file")
    numbers: dict[str, int] = {}
    trees = [_tree(mapping(tree, "a tree"), numbers) for tree in found]
    forest, _ = forest_of(trees, len(numbers))
    return forest, texts(list(numbers), "split")


def _tree(root: dict[str, Any], numbers: dict[str, int]) -> Nodes:
    rows: list[list[Any]] = []
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        found, parent, side = todo.pop()
        node = mapping(found, "a node")
        if parent >= 0:
            rows[parent][side] = len(rows)
        if "leaf" in node:
            _check_fields(node, _LEAF)
            rows.append([-1, -1, 0, 0.0, False, node["leaf"]])
            continue
        _check_fields(node, _SPLIT)
        yes, no, missing = (whole(node[name], name) for name in ("yes", "no", "missing"))
        left, right = sequence(node["children"], "children")
        if (left["nodeid"], right["nodeid"]) != (yes, no) or missing not in (yes, no):
            raise DamagedError("the children of a split are not those it names")
        feature = numbers.setdefault(node["split"], len(numbers))
        todo += [(right, len(rows), 1), (left, len(rows), 0)]
        rows.append([-1, -1, feature, node["split_condition"], missing == yes, 0.0])
    lefts, rights, features, conditions, missing_left, values = zip(*rows, strict=True)
    with np.errstate(over="ignore"):
        threshold = reals(list(conditions), "split_condition").astype(np.float32)
    zeros = np.zeros(len(rows))
    return Nodes(
        np.array(lefts, np.int64),
        np.array(rights, np.int64),
        np.array(features, np.int64),
        threshold.astype(np.float64),
        np.array(missing_left, bool),
        zeros,
        reals(list(values), "leaf"),
        zeros,
    )


def _check_fields(node: dict[str, Any], known: set[str]) -> None:
    if node.keys() != known:
        raise DamagedError(f"a node has other fields than {', '.join(sorted(known))}")
