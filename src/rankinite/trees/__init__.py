"""Regression trees: histograms, splits, growth, and scoring."""

from rankinite.trees.fixed_point import Packed, pack_gradients, sums_over_leaves
from rankinite.trees.grower import Grower, GrownTree, GrowthParameters
from rankinite.trees.scoring import (
    SERIAL_ROWS,
    add_grown_tree,
    add_tree,
    bins_of_thresholds,
    score_binned,
    score_features,
)
from rankinite.trees.tree import Forest, Tree

__all__ = [
    "SERIAL_ROWS",
    "Forest",
    "Grower",
    "GrownTree",
    "GrowthParameters",
    "Packed",
    "Tree",
    "add_grown_tree",
    "add_tree",
    "bins_of_thresholds",
    "pack_gradients",
    "score_binned",
    "score_features",
    "sums_over_leaves",
]
