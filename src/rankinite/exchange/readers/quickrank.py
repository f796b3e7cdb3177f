"""QuickRank's XML: trees with weights.

Features and thresholds are float32; leaves, weights and sums are float64. What is missing counts
as 0. Features are numbered from 1, and a model has as many as the largest number it names.
"""

from __future__ import annotations

from rankinite.exchange.checked import whole
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.readers._xml_trees import (
    Element,
    Parts,
    highest_feature,
    number,
    parsed,
    tree_of,
)

_TREES = ("MART", "LAMBDAMART", "OBVMART", "OBVLAMBDAMART", "DART", "RANDOMFOREST")


def is_quickrank(content: bytes) -> bool:
    """Whether a file is XML as QuickRank writes it."""
    return content.lstrip()[:1] == b"<" and b"<ranker>" in content[:1000]


@reader("QuickRank")
def read(content: bytes) -> PlainForest:
    """The forest of a QuickRank model."""
    root = parsed(content.decode())
    kind = (root.findtext("info/type") or "").strip()
    ensemble = root.find("ensemble")
    if root.tag != "ranker" or not kind:
        raise DamagedError("it does not say what it is")
    if kind not in _TREES or ensemble is None:
        raise BeyondError(f"a model of the type {kind[:40]!a} is no sum of trees")
    if len(root.findall("ensemble")) > 1 or any(child.tag != "tree" for child in ensemble):
        raise DamagedError("it has something else than trees in one ensemble")
    trees = [_tree(element) for element in ensemble]
    if not trees:
        raise DamagedError("it has no trees")
    promised = root.findtext("info/trees")
    if promised is not None and whole(promised.strip(), "info/trees") < len(trees):
        raise DamagedError(f"it has {len(trees)} trees, more than it says")
    n_features = highest_feature(trees)
    forest, _ = forest_of(trees, n_features)
    return PlainForest(forest, n_features, single_features=True, open_ended=True)


def _tree(element: Element) -> Nodes:
    if [child.tag for child in element] != ["split"]:
        raise DamagedError("a tree is not one <split>")
    weight = number(element.get("weight"), "the weight of a tree")
    return tree_of(element[0], _parts, lambda leaf: leaf * weight)


def _parts(split: Element) -> Parts:
    """By name, and the children by what their attribute ``pos`` says."""
    sides = {child.get("pos"): child for child in split if child.tag == "split"}
    others = {child.tag: child for child in split if child.tag != "split"}
    named = others.keys() == {"feature", "threshold"} and sides.keys() == {"left", "right"}
    if not named or len(split) != 4:
        raise DamagedError("a <split> is not a feature, a threshold, a left and a right split")
    return others["feature"], others["threshold"], sides["left"], sides["right"]
