"""Trees as workers tell them to each other: splits in bins, without what all can find out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.binning import BinMapper
from rankinite.trees.tree import Tree

# A split; its threshold follows from its bin.
NODE = np.dtype(
    [
        ("feature", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("gain", np.float64),
        ("bin", np.uint8),
        ("missing_left", np.bool_),
    ]
)


def to_bytes(trees: Sequence[Tree]) -> np.ndarray:
    """Trees as bytes, but for the values and the numbers of rows of their leaves."""
    parts: list[np.ndarray] = [np.array([len(tree.feature) for tree in trees], np.int32)]
    for tree in trees:
        nodes = np.empty(len(tree.feature), NODE)
        for name in NODE.names or ():
            nodes[name] = getattr(tree, name)
        parts.append(nodes)
    return np.concatenate([part.view(np.uint8) for part in parts])


def from_bytes(told: np.ndarray, n_trees: int, mapper: BinMapper) -> tuple[Tree, ...]:
    """The trees that `to_bytes` was given; all leaves have the value 0.

    Parameters
    ----------
    told : ndarray of uint8
    mapper : BinMapper
        The edges of the bins, which are the same on all workers.
    """
    sizes = told[: 4 * n_trees].view(np.int32)
    nodes = told[4 * n_trees :].view(NODE)
    trees = []
    for own in np.split(nodes, np.cumsum(sizes)[:-1]):
        columns = {name: np.ascontiguousarray(own[name]) for name in NODE.names or ()}
        n_leaves = len(own) + 1
        trees.append(
            Tree(
                **columns,
                threshold=thresholds_of(own["feature"], own["bin"], mapper),
                value=np.zeros(n_leaves),
                count=np.zeros(n_leaves, np.int64),
            )
        )
    return tuple(trees)


def thresholds_of(features: np.ndarray, bins: np.ndarray, mapper: BinMapper) -> np.ndarray:
    """The threshold of every split, from its feature and bin."""
    n_bins = mapper.n_bins
    # A split at the last bin divides missing values from all others: any x ≤ +inf goes left.
    return np.array(
        [
            mapper.feature_edges(feature)[split] if split < n_bins[feature] - 1 else np.inf
            for feature, split in zip(features.tolist(), bins.tolist(), strict=True)
        ],
        np.float64,
    )
