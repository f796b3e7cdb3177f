"""Kernels that look at trees alone: shares of the training rows, and features asked about again."""

import numpy as np

from rankinite._numba import kernel


@kernel()
def find_paths(trees, cover, share_left, held, earlier, from_left, n_distinct, expected):
    """Write what `paths.Paths` says of every node, and the expected value of every tree.

    Parameters
    ----------
    trees : paths.Trees
    cover : ndarray of float64, shape (n_leaves,)
    """
    for tree in range(trees.node_offsets.shape[0] - 1):
        first, last = trees.node_offsets[tree], trees.node_offsets[tree + 1]
        leaves = slice(trees.leaf_offsets[tree], trees.leaf_offsets[tree + 1])
        feature, left, right = (
            trees.slot[first:last],
            trees.left[first:last],
            trees.right[first:last],
        )
        own_shares = share_left[first:last]
        expected[tree] = _share_out(left, right, cover[leaves], trees.value[leaves], own_shares)
        n_distinct[tree] = _look_back(
            feature,
            left,
            right,
            own_shares,
            held[first:last],
            earlier[first:last],
            from_left[first:last],
        )


@kernel()
def _share_out(left, right, cover, value, share_left):
    """Write the share of each node's cover that goes left; return the tree's expected value.

    A node without cover shares out by halves: only documents that are the first to come there
    see it.
    """
    n_nodes = left.shape[0]
    covers, means = np.empty(n_nodes), np.empty(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        a, b = left[node], right[node]
        on_left = covers[a] if a >= 0 else cover[~a]
        on_right = covers[b] if b >= 0 else cover[~b]
        covers[node] = on_left + on_right
        share = on_left / covers[node] if covers[node] > 0 else 0.5
        share_left[node] = share
        mean_left = means[a] if a >= 0 else value[~a]
        mean_right = means[b] if b >= 0 else value[~b]
        means[node] = mean_right + share * (mean_left - mean_right)
    return means[0] if n_nodes > 0 else value[0]


@kernel()
def _look_back(feature, left, right, share_left, held, earlier, from_left):
    """Write where else each node's feature was asked about; return the most features of a path."""
    n_nodes = feature.shape[0]
    parent = np.full(n_nodes, -1)
    is_left = np.zeros(n_nodes, np.bool_)
    n_features = np.zeros(n_nodes, np.int64)
    most = 0
    for node in range(n_nodes):
        for child in (left[node], right[node]):
            if child >= 0:
                parent[child] = node
                is_left[child] = child == left[node]
        held[node] = 1.0
        earlier[node] = -1
        from_left[node] = False
        below = node
        while parent[below] >= 0 and feature[parent[below]] != feature[node]:
            below = parent[below]
        above = parent[below]
        if above >= 0:
            earlier[node] = above
            from_left[node] = is_left[below]
            share = share_left[above] if is_left[below] else 1.0 - share_left[above]
            held[node] = held[above] * share
        before = n_features[parent[node]] if parent[node] >= 0 else 0
        n_features[node] = before + (above < 0)
        most = max(most, n_features[node])
    return most
