"""CatBoost's JSON, as ``save_model(format="json")`` writes it.

Features and borders are float32, and x > border goes right. A split names its feature and border,
and also its number among the borders of all features, which is what CatBoost looks at: they must
agree. Leaves and sums are float64; the file has the leaves with fewer digits than they have, so
that scores are off by about 1e-16 of them. A symmetric tree asks one question a level: the k-th
decides on bit k of the number of the leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.exchange.checked import (
    json_object,
    mapping,
    names_of,
    real,
    reals,
    sequence,
    singles,
    whole,
)
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest

# Where rows with a missing value go; as they are, they lie above no border.
_MISSING_LEFT = {"AsIs": True, "AsFalse": True, "AsTrue": False}
# The number of leaves doubles with each question, whatever the file's length.
_DEEPEST = 16


@reader("CatBoost")
def read(content: bytes) -> PlainForest:
    """The forest of CatBoost's JSON."""
    model = json_object(content, extended=False)
    features = _features(mapping(model["features_info"], "features_info"))
    scale, bias = _scale_and_biases(model.get("scale_and_bias", [1, [0]]))
    if "oblivious_trees" in model:
        trees = [
            _symmetric(mapping(tree, "a tree"), features, len(bias))
            for tree in sequence(model["oblivious_trees"], "oblivious_trees")
        ]
    else:
        trees = [_nested(tree, features, len(bias)) for tree in sequence(model["trees"], "trees")]
    forest, cover = forest_of(trees, len(features.place))
    # Only now: CatBoost would look for the values of leaves beyond the end of those that are there.
    if len(bias) > 1:
        raise BeyondError(f"it has {len(bias)} scores a row, and a ranker has one")
    return PlainForest(
        forest,
        len(features.place),
        features.names,
        scale=scale,
        bias=float(bias[0]),
        single_features=True,
        cover=cover,
    )


class _Features:
    """Where the features of a model stand in a row, and where their missing values go."""

    def __init__(
        self,
        place: np.ndarray,
        missing_left: np.ndarray,
        names: list[str] | None,
        borders: list[np.ndarray],
    ):
        self.place = place
        self.missing_left = missing_left
        self.names = names
        self._splits = [(j, b) for j, own in enumerate(borders) for b in own.tolist()]

    def split(self, split: Any) -> tuple[int, float]:
        """The number of a split's feature among the model's, and the border."""
        found = mapping(split, "a split")
        if found["split_type"] != "FloatFeature":
            raise BeyondError(
                "it splits by categories or text; train it on numbers, or give its scores as a "
                "feature"
            )
        number = whole(found["float_feature_index"], "float_feature_index", 0, len(self.place) - 1)
        border = _single(real(found["border"], "a border"))
        index = whole(found["split_index"], "split_index", 0, len(self._splits) - 1)
        if self._splits[index] != (number, border):
            raise DamagedError(f"split {index} is that of another feature or border")
        return number, border


def _features(info: dict[str, Any]) -> _Features:
    for name in ("categorical_features", "text_features", "embedding_features"):
        if sequence(info.get(name, []), name):
            raise BeyondError(
                f"it has {name.replace('_', ' ')}; train it on numbers, or give its scores as a "
                "feature"
            )
    features = [
        mapping(feature, "a feature")
        for feature in sequence(info["float_features"], "float_features")
    ]
    place = np.array([whole(f["flat_feature_index"], "flat_feature_index") for f in features])
    number = [whole(f["feature_index"], "feature_index") for f in features]
    if sorted(place) != list(range(len(features))) or number != list(range(len(features))):
        raise DamagedError("its features are not numbered from 0 on")
    treatments = [f.get("nan_value_treatment", "AsIs") for f in features]
    if not all(isinstance(how, str) and how in _MISSING_LEFT for how in treatments):
        raise DamagedError("a feature has a treatment of missing values that there is not")
    for feature, how in zip(features, treatments, strict=True):
        if how == "AsTrue" and feature.get("has_nans") is not True:
            raise DamagedError("a feature without missing values says where they go")
    names: list[Any] = [""] * len(features)
    for j, feature in zip(place, features, strict=True):
        # A feature without a name goes by its number.
        names[j] = feature.get("feature_id", "") or str(j)
    return _Features(
        place,
        np.array([_MISSING_LEFT[how] for how in treatments], bool),
        names_of(names, "", len(features)),
        [_borders(feature["borders"]) for feature in features],
    )


def _borders(values: Any) -> np.ndarray:
    found = singles(reals(values, "borders"), "borders")
    if not (np.diff(found) > 0).all():
        raise DamagedError("borders do not rise")
    return found


def _single(border: float) -> float:
    return float(singles(np.array([border]), "borders")[0])


def _scale_and_biases(value: Any) -> tuple[float, np.ndarray]:
    """What the sum is multiplied by, and what is then added: a number for each score of a row."""
    found = sequence(value, "scale_and_bias")
    if len(found) != 2:
        raise DamagedError("scale_and_bias is not two things")
    # CatBoost passes over a bias that is no list.
    biases = [0] if found[1] in (0, []) else sequence(found[1], "the bias")
    return real(found[0], "the scale"), np.array([real(bias, "the bias") for bias in biases])


def _symmetric(tree: dict[str, Any], features: _Features, n_scores: int) -> Nodes:
    """A tree of one question a level, as a tree whose levels all ask the same.

    Of several scores a row it is the tree of the first, as below.
    """
    splits = tree["splits"]  # null, if there is one leaf
    questions = [features.split(s) for s in ([] if splits is None else sequence(splits, "splits"))]
    value = reals(tree["leaf_values"], "leaf_values")
    depth = len(questions)
    if depth > _DEEPEST or len(value) != n_scores * 2**depth:
        raise DamagedError(f"a tree of {depth} questions has {len(value)} values of leaves")
    weights = tree.get("leaf_weights")
    unknown = weights is None or weights == []
    weight = reals(np.zeros(2**depth) if unknown else weights, "leaf_weights", 2**depth)
    # The root asks about the highest bit, so that leaves lie in the order of their numbers. Node n
    # of a level has the children 2n and 2n + 1 of the next, and nodes are numbered level by level.
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    asked = depth - 1 - level
    feature = np.array([number for number, _ in questions], np.int64)[asked]
    borders = np.array([border for _, border in questions], np.float64)[asked]
    n_inner = 2**depth - 1
    left = 2 * np.arange(n_inner) + 1
    left[left >= n_inner] = ~(left[left >= n_inner] - n_inner)
    right = 2 * np.arange(n_inner) + 2
    right[right >= n_inner] = ~(right[right >= n_inner] - n_inner)
    return _apart(left, right, feature, borders, value[::n_scores], weight, features)


def _nested(root: Any, features: _Features, n_scores: int) -> Nodes:
    """A tree of objects in objects."""
    splits: list[tuple[int, float]] = []
    leaves: list[tuple[float, float]] = []
    children: list[list[int]] = []
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        found, parent, side = todo.pop()
        node = mapping(found, "a node")
        number = len(splits) if "split" in node else ~len(leaves)
        if parent >= 0:
            children[parent][side] = number
        if number >= 0:
            splits.append(features.split(node["split"]))
            children.append([0, 0])
            todo += [(node["right"], number, 1), (node["left"], number, 0)]
        else:
            value = node["value"] if n_scores > 1 else [node["value"]]
            first = reals(value, "a leaf", n_scores)[0]
            leaves.append((float(first), real(node.get("weight", 0), "a weight")))
    both = np.array(children, np.int64).reshape(-1, 2)
    asked = np.array(splits, np.float64).reshape(-1, 2)
    values, weights = np.array(leaves, np.float64).T
    return _apart(
        both[:, 0],
        both[:, 1],
        asked[:, 0].astype(np.int64),
        asked[:, 1],
        values,
        weights,
        features,
    )


def _apart(
    left: np.ndarray,
    right: np.ndarray,
    feature: np.ndarray,
    border: np.ndarray,
    value: np.ndarray,
    weight: np.ndarray,
    features: _Features,
) -> Nodes:
    splits = {
        "left": left,
        "right": right,
        "feature": features.place[feature],
        "threshold": border,
        "missing_left": features.missing_left[feature],
        "gain": np.zeros(len(left)),
    }
    return Nodes.apart(splits, value, weight)
