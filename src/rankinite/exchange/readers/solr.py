"""Models as Solr scores them: MultipleAdditiveTreesModel and LinearModel.

Features, thresholds, leaves and sums are float32. Solr adds 1e-6 to every threshold, in single
precision. Missing values are zeros, unless the model has "isNullSameAsZero" false: then each split
says where they go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.exchange.checked import (
    json_object,
    mapping,
    real_text,
    reals,
    sequence,
    singles,
    texts,
)
from rankinite.exchange.faults import DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest, PlainLinear

_SLACK = np.float32(1e-6)
_MEMBERS = {"class", "name", "store", "features", "params"}
_SPLIT = {"feature", "threshold", "left", "right"}


@reader("Solr")
def read(content: bytes) -> PlainForest | PlainLinear:
    """The forest or the weights of a model for Solr's model store."""
    model = json_object(content)
    if not model.keys() <= _MEMBERS:
        raise DamagedError("it has a member that Solr does not know")
    features = [mapping(f, "a feature") for f in sequence(model["features"], "features")]
    names = texts([feature["name"] for feature in features], "features")
    params = mapping(model["params"], "params")
    kind = str(model["class"]).rpartition(".")[2]
    if kind == "LinearModel":
        weights = mapping(params["weights"], "weights")
        found = singles(reals([weights[name] for name in names], "weights"), "weights")
        if not np.isfinite(found).all():
            raise DamagedError("a weight is not finite")
        return PlainLinear(found, feature_names=names, single_features=True)
    if kind != "MultipleAdditiveTreesModel":
        raise DamagedError(f"its class is {kind[:40]!a}")
    missing_is_zero = params.get("isNullSameAsZero", True)
    if not isinstance(missing_is_zero, bool):
        raise DamagedError("isNullSameAsZero is neither true nor false")
    numbers = {name: j for j, name in enumerate(names)}
    trees = [
        _tree(mapping(tree, "a tree"), numbers, missing_is_zero)
        for tree in sequence(params["trees"], "trees")
    ]
    forest, _ = forest_of(trees, len(names))
    return PlainForest(forest, len(names), names, single_features=True, single_sums=True)


def _tree(tree: dict[str, Any], numbers: dict[str, int], missing_is_zero: bool) -> Nodes:
    weight = _single(tree["weight"])
    rows: list[list[Any]] = []
    todo: list[tuple[Any, int, int]] = [(tree["root"], -1, 0)]
    while todo:
        found, parent, side = todo.pop()
        node = mapping(found, "a node")
        if parent >= 0:
            rows[parent][side] = len(rows)
        if node.keys() == {"value"}:
            rows.append([-1, -1, 0, np.float32(0), False, weight * _single(node["value"])])
            continue
        if node.keys() != _SPLIT | (set() if missing_is_zero else {"missing"}):
            raise DamagedError("a node is neither a leaf nor a whole split")
        with np.errstate(over="ignore"):
            threshold = _single(node["threshold"]) + _SLACK
        missing_left = threshold >= 0.0 if missing_is_zero else node["missing"] == "left"
        todo += [(node["right"], len(rows), 1), (node["left"], len(rows), 0)]
        rows.append([-1, -1, numbers[node["feature"]], threshold, missing_left, 0.0])
    lefts, rights, features, thresholds, missing, values = zip(*rows, strict=True)
    zeros = np.zeros(len(rows))
    return Nodes(
        np.array(lefts, np.int64),
        np.array(rights, np.int64),
        np.array(features, np.int64),
        np.array(thresholds, np.float64),
        np.array(missing, bool),
        zeros,
        np.array(values, np.float64),
        zeros,
    )


def _single(text: Any) -> np.float32:
    """Solr wants numbers as texts; what is beyond float32 is infinity here."""
    with np.errstate(over="ignore"):
        return np.float32(real_text(text, "a number"))
