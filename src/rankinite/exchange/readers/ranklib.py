"""RankLib's models: LambdaMART and MART, trees in XML behind a header, and linear ones.

Features, thresholds, leaves and the weights of trees are float32. A tree adds weight · leaf, a
product of float64, to a sum that is rounded to float32 each time. What is missing counts as 0.
Features are numbered from 1, and a model has as many as the largest number it names.
"""

from __future__ import annotations

import numpy as np

from rankinite.exchange.checked import singles, whole
from rankinite.exchange.faults import BeyondError, DamagedError, reader
from rankinite.exchange.nodes import Nodes, forest_of
from rankinite.exchange.plain import PlainForest, PlainLinear
from rankinite.exchange.readers._xml_trees import (
    Element,
    Parts,
    highest_feature,
    number,
    parsed,
    tree_of,
)

_TREES = ("LAMBDAMART", "MART")
_LINEAR = ("LINEAR REGRESSION", "COORDINATE ASCENT")
_OTHERS = ("RANKNET", "RANKBOOST", "ADARANK", "LAMBDARANK", "LISTNET", "RANDOM FORESTS")


def is_ranklib(content: bytes) -> bool:
    """Whether a file begins as RankLib's models do."""
    return content.startswith(b"## ") and _kind(content) in (*_TREES, *_LINEAR, *_OTHERS)


def _kind(content: bytes) -> str:
    """The name of the method in the first line, in capital letters."""
    line = content[:100].splitlines()[0]
    return line.decode("latin-1").removeprefix("## ").strip().upper()


@reader("RankLib")
def read(content: bytes) -> PlainForest | PlainLinear:
    """The forest or the weights of a RankLib model."""
    kind = _kind(content)
    if kind not in _TREES + _LINEAR:
        raise BeyondError(f"{kind.title()!a} is none of LambdaMART, MART and the linear methods")
    lines = [line.strip() for line in content.decode("ascii").splitlines()]
    body = [line for line in lines if line and not line.startswith("#")]
    if not body:
        raise DamagedError("nothing follows its header")
    return _linear(body[0], kind) if kind in _LINEAR else _forest(" ".join(body))


def _forest(text: str) -> PlainForest:
    ensemble = parsed(text)
    if ensemble.tag != "ensemble":
        raise DamagedError("it has no <ensemble>")
    trees = [_tree(element) for element in ensemble]
    if not trees:
        raise DamagedError("it has no trees")
    n_features = highest_feature(trees)
    forest, _ = forest_of(trees, n_features)
    return PlainForest(forest, n_features, single_features=True, single_sums=True, open_ended=True)


def _tree(element: Element) -> Nodes:
    if element.tag != "tree" or [child.tag for child in element] != ["split"]:
        raise DamagedError("something else than a <tree> with a <split>")
    weight = _single(number(element.get("weight"), "the weight of a tree"))
    return tree_of(element[0], _parts, lambda leaf: weight * _single(leaf))


def _single(value: float) -> float:
    return float(singles(np.array([value]), "a tree")[0])


def _parts(split: Element) -> Parts:
    """By position, as RankLib reads them; it does not look which is said to be left."""
    children = list(split)
    if [child.tag for child in children] != ["feature", "threshold", "split", "split"]:
        raise DamagedError("a <split> is not a feature, a threshold and two splits")
    feature, threshold, left, right = children
    return feature, threshold, left, right


def _linear(line: str, kind: str) -> PlainLinear:
    """A line ``feature:weight ...``; of a regression the weight of feature 0 is the constant."""
    weights: dict[int, float] = {}
    for pair in line.partition("#")[0].split():
        feature, _, weight = pair.partition(":")
        j = whole(feature, "the number of a feature", 0 if kind == "LINEAR REGRESSION" else 1)
        if j in weights:
            raise DamagedError(f"feature {j} comes twice")
        weights[j] = number(weight, "a weight")
    n_features = max(weights, default=0)
    # One far number must not ask for memory without end.
    if n_features == 0 or n_features > 1000 * (len(line) + 1000):
        raise DamagedError("it names no features, or one far from all others")
    found = np.zeros(n_features + 1)
    found[list(weights)] = list(weights.values())
    return PlainLinear(found[1:], float(found[0]), single_features=True, open_ended=True)
