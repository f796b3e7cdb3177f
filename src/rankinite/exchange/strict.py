"""Forests of engines that send x < t to the left, as ours, which send x ≤ t there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankinite.trees import Forest


def strict_as_at_most(forest: Forest, dtype: type) -> Forest:
    """The same rows go left by x ≤ the number before t, for features of `dtype`.

    Nothing lies below −∞, so that x < −∞ parts the values that are there from the missing ones, as
    x ≤ ∞ does with the children the other way round.
    """
    threshold: np.ndarray = forest.threshold.astype(dtype)
    never = threshold == -np.inf
    with np.errstate(over="ignore", under="ignore"):
        before = np.nextafter(threshold, dtype(-np.inf)).astype(np.float64)
    return replace(
        forest,
        threshold=np.where(never, np.inf, before),
        left=np.where(never, forest.right, forest.left),
        right=np.where(never, forest.left, forest.right),
        missing_left=forest.missing_left ^ never,
    )
