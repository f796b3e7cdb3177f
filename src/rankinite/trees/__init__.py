"""Regression trees: histograms, splits, growth, and scoring."""

from rankinite.trees._partition_kernels import draw_rows
from rankinite.trees.fixed_point import (
    Gradients,
    Packed,
    gradients,
    local_sums_over_leaves,
    pack_least_squares,
    pack_newton,
    sums_over_leaves,
)
from rankinite.trees.grower import Grower, share_of_words
from rankinite.trees.growth import GrowthParameters
from rankinite.trees.repeated_rows import grower_of
from rankinite.trees.scoring import (
    SERIAL_ROWS,
    add_grown_tree,
    add_tree,
    bins_of_thresholds,
    leaves_of,
    rows_in_leaves,
    score_binned,
    score_features,
    score_side_by_side,
)
from rankinite.trees.telling import from_bytes, to_bytes
from rankinite.trees.tree import Forest, GrownTree, SideBySide, Tree

__all__ = [
    "SERIAL_ROWS",
    "Forest",
    "Gradients",
    "Grower",
    "GrownTree",
    "GrowthParameters",
    "Packed",
    "SideBySide",
    "Tree",
    "add_grown_tree",
    "add_tree",
    "bins_of_thresholds",
    "draw_rows",
    "from_bytes",
    "gradients",
    "grower_of",
    "leaves_of",
    "local_sums_over_leaves",
    "pack_least_squares",
    "pack_newton",
    "rows_in_leaves",
    "score_binned",
    "score_features",
    "score_side_by_side",
    "share_of_words",
    "sums_over_leaves",
    "to_bytes",
]
