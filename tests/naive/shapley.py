"""Shapley values by their definition: all subsets of features, each tree walked with both ways."""

from itertools import combinations
from math import factorial

import numpy as np


def expectation(tree, cover, row, known, node=0):
    """What a tree is expected to say if only the features in `known` are."""
    if len(tree.feature) == 0:
        return tree.value[0]
    if node < 0:
        return tree.value[~node]
    j = tree.feature[node]
    left, right = tree.left[node], tree.right[node]
    if j in known:
        x = row[j]
        goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
        return expectation(tree, cover, row, known, left if goes_left else right)
    a, b = weight(tree, cover, left), weight(tree, cover, right)
    one = expectation(tree, cover, row, known, left)
    other = expectation(tree, cover, row, known, right)
    return (a * one + b * other) / (a + b)


def weight(tree, cover, node):
    """The cover of a node: the sum of that of its leaves."""
    if node < 0:
        return cover[~node]
    return weight(tree, cover, tree.left[node]) + weight(tree, cover, tree.right[node])


def contributions(forest, cover, row, n_features):
    """Of one row, shape (n_features + 1,), the expected value last."""
    out = np.zeros(n_features + 1)
    for t, tree in enumerate(forest.trees(np.zeros(len(forest.feature), np.uint8))):
        own = cover[forest.leaf_offsets[t] : forest.leaf_offsets[t + 1]]
        out[-1] += expectation(tree, own, row, set())
        for j in range(n_features):
            others = [k for k in range(n_features) if k != j]
            for size in range(n_features):
                share = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
                for known in map(set, combinations(others, size)):
                    gain = expectation(tree, own, row, known | {j})
                    out[j] += share * (gain - expectation(tree, own, row, known))
    return out
