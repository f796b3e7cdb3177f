"""What the contributions of features need to know of the trees, whatever the document."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rankinite.attribution._path_kernels import find_paths
from rankinite.trees import Forest


class Trees(NamedTuple):
    """A forest's arrays; `slot` numbers the features that are asked about at all."""

    slot: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    node_offsets: np.ndarray
    leaf_offsets: np.ndarray


class Paths(NamedTuple):
    """What stands above the nodes of all trees, and what share goes which way.

    Attributes
    ----------
    share_left : ndarray of float64, shape (n_nodes,)
        Share of a node's cover that goes left.
    held : ndarray of float64, shape (n_nodes,)
        The product of the shares at the nodes above that ask about the same feature; 1 if none.
    earlier : ndarray of int32, shape (n_nodes,)
        The nearest of them, counted in its tree; −1 if none.
    from_left : ndarray of bool, shape (n_nodes,)
        Whether the node lies to the left of it.
    n_points : ndarray of int64, shape (n_trees,)
        Points that integrate the tree's polynomials exactly.
    """

    share_left: np.ndarray
    held: np.ndarray
    earlier: np.ndarray
    from_left: np.ndarray
    n_points: np.ndarray


class Points(NamedTuple):
    """Gauss–Legendre points and weights on [0, 1]; the rule of n begins at ``starts[n]``."""

    point: np.ndarray
    weight: np.ndarray
    starts: np.ndarray


def paths_of(forest: Forest, cover: np.ndarray) -> tuple[np.ndarray, Trees, Paths, np.ndarray]:
    """Look at a forest.

    Returns
    -------
    used : ndarray of int64
        The features that are asked about; slots are places in it.
    trees : Trees
    paths : Paths
    expected : ndarray of float64, shape (n_trees,)
        The mean of every tree, by the covers.
    """
    used, slot = np.unique(forest.feature, return_inverse=True)
    trees = Trees(
        slot.astype(np.int64),
        forest.threshold,
        forest.missing_left,
        forest.left,
        forest.right,
        forest.value,
        forest.node_offsets,
        forest.leaf_offsets,
    )
    n_nodes = len(slot)
    share_left, held = np.empty(n_nodes), np.empty(n_nodes)
    earlier, from_left = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.bool_)
    n_distinct, expected = np.empty(forest.n_trees, np.int64), np.empty(forest.n_trees)
    find_paths(trees, cover, share_left, held, earlier, from_left, n_distinct, expected)
    # The rule of n points is exact up to the degree 2n − 1, and a path of d features has d − 1.
    paths = Paths(share_left, held, earlier, from_left, (n_distinct + 1) // 2)
    return used.astype(np.int64), trees, paths, expected


@lru_cache(maxsize=4)
def points_up_to(n_points: int) -> Points:
    """The rules of 1 to `n_points` points."""
    rules = [np.polynomial.legendre.leggauss(n) for n in range(1, n_points + 1)]
    point = np.concatenate([np.empty(0), *(0.5 * (x + 1.0) for x, _ in rules)])
    weight = np.concatenate([np.empty(0), *(0.5 * w for _, w in rules)])
    starts = np.concatenate([[0, 0], np.cumsum(np.arange(1, n_points + 1))])
    return Points(point, weight, starts.astype(np.int64))
