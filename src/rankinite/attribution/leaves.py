"""Where rows end in the trees."""

from __future__ import annotations

import numpy as np

from rankinite._numba import even_blocks, in_threads
from rankinite.attribution._leaf_kernels import find_leaves
from rankinite.exchange.plain import PlainForest

# Rows whose features stay in the cache while they go through all trees.
_ROWS_A_BLOCK = 128


def leaves(plain: PlainForest, X: np.ndarray) -> np.ndarray:
    """The leaf of each row in each tree, counted from 0 in the tree.

    Returns
    -------
    ndarray of int32, shape (n_rows, n_trees)
    """
    rows = np.ascontiguousarray(plain.rows(X), np.float64)
    forest = plain.forest
    out = np.empty((len(rows), forest.n_trees), np.int32)
    in_threads(
        find_leaves,
        even_blocks(len(rows), most=max(1, len(rows) // _ROWS_A_BLOCK)),
        rows,
        forest.feature,
        forest.threshold,
        forest.missing_left,
        forest.left,
        forest.right,
        forest.node_offsets,
        out,
    )
    return out
