"""Forests of any shape, made by hand: what training would hardly grow must be scored too."""

from __future__ import annotations

import numpy as np

from rankinite.trees import Forest, Tree

# Thresholds, and values of features: ties, neighbours, both zeros, both infinities.
AWKWARD = np.array(
    [-np.inf, -1e300, -1.0, -(2.0**-1074), -0.0, 0.0, 0.1, 0.25, np.float32(0.1), 1.0, 3e38, np.inf]
)


def shape_of(rng, n_leaves, shape):
    """Children of a tree that grew leaf by leaf; a chain keeps splitting the newest leaf."""
    left, right = np.empty((2, n_leaves - 1), np.int32)
    owner = {0: None}
    for node in range(n_leaves - 1):
        leaf = rng.integers(node + 1) if shape == "any" else node if shape == "right" else 0
        if owner[leaf] is not None:
            parent, side = owner[leaf]
            side[parent] = node
        left[node], right[node] = ~leaf, ~(node + 1)
        owner[leaf], owner[node + 1] = (node, left), (node, right)
    return left, right


def random_tree(rng, n_leaves, n_features, thresholds=AWKWARD, shape="any"):
    """A tree with random splits and values."""
    n = n_leaves - 1
    left, right = shape_of(rng, n_leaves, shape)
    return Tree(
        feature=rng.integers(n_features, size=n).astype(np.int32),
        threshold=rng.choice(thresholds, n),
        bin=rng.integers(0, 255, n).astype(np.uint8),
        missing_left=rng.random(n) < 0.5,
        left=left,
        right=right,
        gain=np.zeros(n),
        value=rng.normal(size=n_leaves),
        count=np.ones(n_leaves, np.int64),
    )


def random_forest(rng, sizes, n_features, thresholds=AWKWARD, shape="any"):
    """Random trees of the given numbers of leaves."""
    return Forest.from_trees([random_tree(rng, n, n_features, thresholds, shape) for n in sizes])


def random_features(rng, n_rows, n_features, dtype, values=AWKWARD):
    """Rows of the values at which the thresholds lie, of values in between, and of missing ones."""
    X = rng.choice(values, (n_rows, n_features))
    X = np.where(rng.random(X.shape) < 0.3, rng.normal(size=X.shape), X)
    X[rng.random(X.shape) < 0.15] = np.nan
    with np.errstate(over="ignore"):
        return X.astype(dtype)
