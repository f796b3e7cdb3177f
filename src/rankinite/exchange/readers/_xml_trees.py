"""Trees as XML elements ``<split>``, which RankLib and QuickRank share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rankinite.exchange.checked import real_text, whole
from rankinite.exchange.faults import DamagedError
from rankinite.exchange.nodes import Nodes

Element = ElementTree.Element
# The four things of a split: feature, threshold, left and right.
Parts = tuple[Element, Element, Element, Element]


def parsed(text: str) -> Element:
    """The root element of some XML, in which nothing is defined that would expand."""
    if "<!DOCTYPE" in text:
        raise DamagedError("it has a document type, which none of these files needs")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DamagedError(f"it is not whole XML, {error}") from None


def number(text: str | None, what: str) -> float:
    """A finite number of an element or an attribute."""
    found = real_text(text, what)
    if not np.isfinite(found):
        raise DamagedError(f"{what} is not finite")
    return found


def tree_of(
    root: Element, parts: Callable[[Element], Parts], leaf_value: Callable[[float], float]
) -> Nodes:
    """The tree below a ``<split>``; features count from 0, missing values are zeros.

    Parameters
    ----------
    parts : function
        What a split with children consists of.
    leaf_value : function
        From what a leaf says to what the tree adds to a score.
    """
    rows: list[list[Any]] = []
    todo: list[tuple[Element, int, int]] = [(root, -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if parent >= 0:
            rows[parent][side] = len(rows)
        if [child.tag for child in node] == ["output"]:
            (output,) = node
            rows.append([-1, -1, 0, 0.0, leaf_value(number(output.text, "a leaf"))])
            continue
        feature, threshold, left, right = parts(node)
        todo += [(right, len(rows), 1), (left, len(rows), 0)]
        rows.append([-1, -1, _feature(feature), number(threshold.text, "a threshold"), 0.0])
    left_, right_, feature_, threshold_, value_ = zip(*rows, strict=True)
    # Engines of these formats hold features and thresholds in float32.
    with np.errstate(over="ignore"):
        thresholds = np.array(threshold_, np.float64).astype(np.float32).astype(np.float64)
    zeros = np.zeros(len(rows))
    return Nodes(
        np.array(left_, np.int64),
        np.array(right_, np.int64),
        np.array(feature_, np.int64),
        thresholds,
        thresholds >= 0.0,
        zeros,
        np.array(value_, np.float64),
        zeros,
    )


def _feature(element: Element) -> int:
    return whole((element.text or "").strip(), "the number of a feature", 1) - 1


def highest_feature(trees: list[Nodes]) -> int:
    """How many features trees need that name no others."""
    return 1 + max(int(tree.feature.max()) for tree in trees)
