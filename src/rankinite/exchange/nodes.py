"""Trees of other engines as a forest of ours, after a check that they are trees.

Engines number nodes in their own ways: leaves among the inner nodes or apart, children before or
after their parents, nodes that were pruned and lie about. Here they are followed from the roots
down, all trees at once, level by level; what is not reached is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankinite.exchange.faults import BeyondError, DamagedError
from rankinite.trees import Forest

# One far number must not ask for memory without end.
MOST_FEATURES = 2**20
# Counts of leaves are added up as int64.
_MOST_ROWS = 2**62


class Nodes(NamedTuple):
    """A tree of n nodes, inner ones and leaves numbered together; the root is node 0.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,)
        Below 0 for leaves.
    feature : ndarray of int64
    threshold : ndarray of float64
        A row with x ≤ threshold goes left.
    missing_left : ndarray of bool
    gain : ndarray of float64
    value : ndarray of float64
        Of leaves.
    cover : ndarray of float64
        How many rows, or how much of something, reached a leaf in training; 0 if it is not known.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    value: np.ndarray
    cover: np.ndarray

    @classmethod
    def leaf(cls, value: float) -> Nodes:
        """A tree of one leaf."""
        none, zero = np.full(1, -1), np.zeros(1)
        return cls(none, none, np.zeros(1, np.int64), zero, zero > 0, zero, zero + value, zero)

    @classmethod
    def apart(cls, splits: dict[str, np.ndarray], value: np.ndarray, cover: np.ndarray) -> Nodes:
        """A tree whose leaves are numbered on their own: a child c < 0 is the leaf ~c.

        Parameters
        ----------
        splits : dict of ndarray, each of shape (n_leaves − 1,)
            ``left``, ``right``, ``feature``, ``threshold``, ``missing_left``, ``gain``.
        value, cover : ndarray, shape (n_leaves,)
        """
        n_inner, n_leaves = len(splits["left"]), len(value)
        if n_inner != n_leaves - 1:
            raise DamagedError(f"a tree has {n_leaves} leaves and {n_inner} splits")
        padded = {
            name: np.concatenate([array, np.zeros(n_leaves, array.dtype)])
            for name, array in splits.items()
        }
        for name in ("left", "right"):
            child = splits[name]
            padded[name] = np.concatenate(
                [np.where(child < 0, n_inner + ~child, child), np.full(n_leaves, -1)]
            )
            if (child >= n_inner).any():
                raise DamagedError("a tree has a child that is out of range")
        above = np.zeros(n_inner)
        return cls(
            **padded, value=np.concatenate([above, value]), cover=np.concatenate([above, cover])
        )


def forest_of(trees: Sequence[Nodes], n_features: int) -> tuple[Forest, np.ndarray]:
    """The forest of some trees, and the cover of its leaves, float64 of shape (n_leaves,).

    Counts are the rounded covers. A cover that cannot be is 0, and all are if their sum cannot be.
    """
    if not trees:
        raise DamagedError("it has no trees")
    if n_features > MOST_FEATURES:
        raise BeyondError(f"it has {n_features:,} features, and ours at most {MOST_FEATURES:,}")
    nodes = Nodes(*(np.concatenate(arrays) for arrays in zip(*trees, strict=True)))
    sizes = np.array([len(tree.left) for tree in trees])
    if not sizes.all():
        raise DamagedError("a tree has no nodes")
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    left, right, level = _followed(nodes, sizes, first)

    tree = np.repeat(np.arange(len(trees)), sizes)
    inner = np.flatnonzero((level >= 0) & (nodes.left >= 0))
    leaves = np.flatnonzero((level >= 0) & (nodes.left < 0))
    if (left[inner] < inner).any() or (right[inner] < inner).any():
        inner = inner[np.lexsort((inner, level[inner], tree[inner]))]
    n_inner = np.bincount(tree[inner], minlength=len(trees))
    n_leaves = np.bincount(tree[leaves], minlength=len(trees))
    node_offsets = np.concatenate([[0], np.cumsum(n_inner)])
    leaf_offsets = np.concatenate([[0], np.cumsum(n_leaves)])
    # Numbers within the own tree: of inner nodes from 0 on, of leaves from −1 downwards.
    number = np.zeros(len(level), np.int64)
    number[inner] = np.arange(len(inner)) - node_offsets[tree[inner]]
    number[leaves] = ~(np.arange(len(leaves)) - leaf_offsets[tree[leaves]])

    _check_values(nodes, inner, leaves, tree, n_features)
    cover = nodes.cover[leaves].astype(np.float64)
    cover[~(np.isfinite(cover) & (cover >= 0))] = 0.0
    with np.errstate(over="ignore"):
        cover = cover if cover.sum() < _MOST_ROWS else np.zeros_like(cover)
    forest = Forest(
        feature=nodes.feature[inner].astype(np.int32),
        threshold=nodes.threshold[inner].astype(np.float64),
        missing_left=nodes.missing_left[inner].astype(bool),
        left=number[left[inner]].astype(np.int32),
        right=number[right[inner]].astype(np.int32),
        gain=np.nan_to_num(nodes.gain[inner].astype(np.float64)),
        value=nodes.value[leaves].astype(np.float64),
        count=np.rint(cover).astype(np.int64),
        node_offsets=node_offsets,
        leaf_offsets=leaf_offsets,
    )
    return forest, cover


def _followed(
    nodes: Nodes, sizes: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Children as numbers among the nodes of all trees, and every node's level; −1: not reached."""
    end = first + np.repeat(sizes, sizes)
    is_inner = nodes.left >= 0
    if ((nodes.right >= 0) != is_inner).any():
        raise DamagedError("a node has one child")
    # Far numbers are brought near, so that their sum with the first node does not overflow.
    left, right = (first + np.minimum(child, len(first)) for child in (nodes.left, nodes.right))
    if (is_inner & ((left >= end) | (right >= end))).any():
        raise DamagedError("a tree has a child that is out of range")
    level = np.full(len(first), -1)
    here = np.cumsum(sizes) - sizes
    level[here] = depth = 0
    while len(here):
        depth += 1
        splits = here[is_inner[here]]
        here = np.concatenate([left[splits], right[splits]])
        if (level[here] >= 0).any() or len(np.unique(here)) < len(here):
            raise DamagedError("a node of a tree has two parents")
        level[here] = depth
    return left, right, level


def _check_values(
    nodes: Nodes, inner: np.ndarray, leaves: np.ndarray, tree: np.ndarray, n_features: int
) -> None:
    feature = nodes.feature[inner]
    wrong = {
        "splits by a feature that there is not": inner[(feature < 0) | (feature >= n_features)],
        "has a threshold that is no number": inner[np.isnan(nodes.threshold[inner])],
        "has a leaf that is not finite": leaves[~np.isfinite(nodes.value[leaves])],
    }
    for what, where in wrong.items():
        if len(where):
            raise DamagedError(f"tree {tree[where].min()} {what}")
