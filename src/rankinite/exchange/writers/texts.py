"""Numbers and trees as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from rankinite.errors import ExportError
from rankinite.trees import Forest

# Readers of JSON stop at about a thousand levels, and a split may take two of them.
DEEPEST = 300


def number_texts(numbers: np.ndarray, infinity: str = "inf") -> list[str]:
    """The shortest texts that give the numbers back, of float32, float64 or integers.

    Those of float32 also do so by way of a float64, as many readers go.

    Parameters
    ----------
    infinity : str
        What stands for infinity.
    """
    if numbers.dtype != np.float32:
        texts = [repr(x) for x in numbers.tolist()]
    else:
        texts = numbers.astype(np.str_).tolist()
        back = np.array([float(text) for text in texts], np.float64).astype(np.float32)
        for wrong in np.flatnonzero(back != numbers).tolist():
            texts[wrong] = f"{numbers[wrong]:.9g}"
    if infinity != "inf" and numbers.dtype.kind == "f":
        for place in np.flatnonzero(np.isinf(numbers)).tolist():
            texts[place] = texts[place].replace("inf", infinity)
    return texts


def to_json(value: Any, infinity: str = "Infinity") -> str:
    """JSON of objects, lists, arrays, texts and numbers, with the shortest texts of numbers."""
    if isinstance(value, dict):
        members = (f"{json.dumps(k)}:{to_json(member, infinity)}" for k, member in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, np.ndarray):
        return "[" + ",".join(number_texts(value, infinity)) + "]"
    if isinstance(value, list):
        return "[" + ",".join(to_json(item, infinity) for item in value) + "]"
    return json.dumps(value)


def numbers_in_pairs(forest: Forest, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, ...]:
    """Number the nodes of every tree so that the right child comes next after the left one.

    The children of the inner node k are 2k + 1 and 2k + 2; the root is 0.

    Returns
    -------
    inner : ndarray of int64, shape (n_inner,)
        The numbers of the inner nodes within their trees.
    leaves : ndarray of int64, shape (n_leaves,)
    parents : ndarray of int64, shape (n_inner + n_leaves,)
        The number of every numbered node's parent, tree after tree; −1 for roots.
    """
    n_inner = np.diff(forest.node_offsets)
    own = np.arange(len(left)) - np.repeat(forest.node_offsets[:-1], n_inner)
    first_node = np.repeat(forest.node_offsets[:-1], n_inner)
    first_leaf = np.repeat(forest.leaf_offsets[:-1], n_inner)
    first_place = first_node + first_leaf
    inner = np.zeros(len(left), np.int64)
    leaves = np.zeros(len(forest.value), np.int64)
    parents = np.full(len(left) + len(leaves), -1, np.int64)
    sides = ((left.astype(np.int64), 2 * own + 1), (right.astype(np.int64), 2 * own + 2))
    for child, number in sides:
        is_inner = child >= 0
        inner[(first_node + child)[is_inner]] = number[is_inner]
        leaves[(first_leaf + ~child)[~is_inner]] = number[~is_inner]
    for _, number in sides:
        parents[first_place + number] = inner
    return inner, leaves, parents


def depths(forest: Forest) -> np.ndarray:
    """How many splits lead to each inner node, shape (n_inner,)."""
    depth = [0] * len(forest.feature)
    left, right = forest.left.tolist(), forest.right.tolist()
    for first, last in zip(
        forest.node_offsets[:-1].tolist(), forest.node_offsets[1:].tolist(), strict=True
    ):
        for node in range(first, last):
            for child in (left[node], right[node]):
                if child >= 0:
                    depth[first + child] = depth[node] + 1
    return np.array(depth, np.int64)


def check_depth(forest: Forest, engine: str, deepest: int = DEEPEST) -> np.ndarray:
    """The depths of inner nodes, after refusing trees that no reader would follow."""
    depth = depths(forest)
    if depth.max(initial=0) >= deepest:
        tree = int(np.searchsorted(forest.node_offsets, depth.argmax(), side="right")) - 1
        raise ExportError(
            f"tree {tree + 1} is {depth.max() + 1} splits deep, and what reads files for {engine} "
            f"goes from split to split no deeper than {deepest}: train with a smaller max_depth"
        )
    return depth


def nested(
    forest: Forest,
    tree: int,
    left: np.ndarray,
    right: np.ndarray,
    leaf_text: Callable[[int], str],
    split_text: Callable[[int, str, str], str],
) -> str:
    """The text of a tree whose splits contain their children.

    Parameters
    ----------
    left, right : ndarray of int32, shape (n_inner,)
        Those of the forest, or with children that have changed places.
    leaf_text : callable
        Gives the text of a leaf, by its number in the forest.
    split_text : callable
        Gives the text of an inner node, by its number in the forest and the texts of its children.
    """
    first, first_leaf = int(forest.node_offsets[tree]), int(forest.leaf_offsets[tree])
    lefts, rights = (c[first : forest.node_offsets[tree + 1]].tolist() for c in (left, right))
    texts = [""] * len(lefts)

    def child_text(child: int) -> str:
        return texts[child] if child >= 0 else leaf_text(first_leaf + ~child)

    # Children come after their parents.
    for node in reversed(range(len(texts))):
        texts[node] = split_text(first + node, child_text(lefts[node]), child_text(rights[node]))
    return texts[0] if texts else leaf_text(first_leaf)
