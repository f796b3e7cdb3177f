"""The kernel that says in which leaves rows end."""

import numpy as np

from rankinite._numba import kernel


@kernel()
def find_leaves(
    first_row, last_row, X, feature, threshold, missing_left, left, right, node_offsets, out
):
    """Write the leaf of each row in each tree, for some rows.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    feature, threshold, missing_left, left, right, node_offsets : as in `trees.tree.Forest`
    out : ndarray of int32, shape (n_rows, n_trees)
    """
    for tree in range(node_offsets.shape[0] - 1):
        first = node_offsets[tree]
        root = 0 if node_offsets[tree + 1] > first else -1
        for row in range(first_row, last_row):
            child = root
            while child >= 0:
                node = first + child
                x = X[row, feature[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                child = left[node] if goes_left else right[node]
            out[row, tree] = ~child
