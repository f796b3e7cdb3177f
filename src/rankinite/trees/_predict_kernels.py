"""Kernels that walk rows down trees."""

import numpy as np
from numba import prange

from rankinite._numba import kernel, parallel_kernel
from rankinite.data._binning_kernels import BLOCK, MISSING_BIN

# Rows that walk down one tree before the next tree: their features and the tree stay in cache.
ROWS_AT_ONCE = 64


@kernel()
def score_serial(
    X, feature, threshold, missing_left, left, right, value, node_offsets, leaf_offsets, scores
):
    """Add every tree's value to `scores`, tree after tree, on the calling thread."""
    n_trees = node_offsets.shape[0] - 1
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        last = min(X.shape[0], first + ROWS_AT_ONCE)
        for tree in range(n_trees):
            nodes = node_offsets[tree]
            leaves = leaf_offsets[tree]
            root = 0 if node_offsets[tree + 1] > nodes else -1
            for row in range(first, last):
                child = root
                while child >= 0:
                    node = nodes + child
                    x = X[row, feature[node]]
                    goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                    child = left[node] if goes_left else right[node]
                scores[row] += value[leaves + ~child]


@parallel_kernel()
def score_parallel(
    X, feature, threshold, missing_left, left, right, value, node_offsets, leaf_offsets, scores
):
    """As `score_serial`, with the rows divided between threads."""
    n_rows = X.shape[0]
    n_steps = (n_rows + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    for step in prange(n_steps):
        first = step * ROWS_AT_ONCE
        last = min(n_rows, first + ROWS_AT_ONCE)
        score_serial(
            X[first:last],
            feature,
            threshold,
            missing_left,
            left,
            right,
            value,
            node_offsets,
            leaf_offsets,
            scores[first:last],
        )


@parallel_kernel()
def add_tree_to_binned(blocks, feature, bins, missing_left, left, right, value, scores):
    """Add one tree's value to the scores of binned rows."""
    root = 0 if feature.shape[0] > 0 else -1
    for row in prange(scores.shape[0]):
        child = root
        while child >= 0:
            f = feature[child]
            b = blocks[f // BLOCK, row, f % BLOCK]
            goes_left = missing_left[child] if b == MISSING_BIN else b <= bins[child]
            child = left[child] if goes_left else right[child]
        scores[row] += value[~child]


@parallel_kernel()
def add_leaf_values(rows, starts, stops, value, scores):
    """Add each leaf's value to the scores of its rows."""
    for leaf in prange(starts.shape[0]):
        for i in range(starts[leaf], stops[leaf]):
            scores[rows[i]] += value[leaf]
