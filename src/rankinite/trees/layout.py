"""Trees laid out for scoring: features as codes, trees as clears of leaves and as small nodes.

Whatever a forest asks about a feature is answered by how many of its thresholds lie below the
value: a byte. A feature with more than 254 thresholds becomes several columns of codes, each for a
part of them. Trees that were grown on bins need no columns, for bins are codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankinite.errors import DataError
from rankinite.trees._coding_kernels import MAX_THRESHOLDS
from rankinite.trees._layout_kernels import (
    NO_CLEAR,
    PAIR,
    number_leaves,
    number_splits,
    write_clears,
    write_leaves_of_patterns,
    write_nodes,
)
from rankinite.trees._predict_kernels import WIDE
from rankinite.trees._vector_kernels import GROUP

# Places and columns have 24 bits in a node.
_MOST_PLACES = 2**24
# The number of a plane is a byte, and a plane has eight leaves.
_MOST_LEAVES_IN_PLANES = 8 * 256
# Of a tree with so many different splits or fewer a table has the leaf of each pattern of these, if
# there are at most half as many as leaves. The patterns are bits of two bytes, and tables of more
# would not lie in the caches.
_MOST_SPLITS = 12


class Layout(NamedTuple):
    """Trees as scoring reads them; `_layout_kernels` has the meaning of clears and nodes.

    Attributes
    ----------
    clears, clear_rows : ndarray of uint32, shape (2 · n_pairs,)
    plane_offsets : ndarray of int64, shape (n_planes + 1,)
        Plane p has the pairs of clears ``plane_offsets[p]:plane_offsets[p + 1]``.
    plane_starts : ndarray of int64, shape (n_trees + 1,)
        The first plane of every tree.
    place_values : ndarray of float64, shape (n_leaves,)
        The leaves' values in the order of the bits.
    leaf_offsets : ndarray of int64, shape (n_trees + 1,)
    leaf_of_pattern : ndarray of uint16, shape (n_patterns,)
        The leaf of every pattern of the bits of trees that have few different splits.
    pattern_starts : ndarray of int64, shape (n_trees + 1,)
        The first pattern of every tree; trees that are left to their nodes have none.
    nodes : ndarray of uint64, shape (n_nodes + n_leaves,)
    node_values : ndarray of float64, shape (n_nodes + n_leaves,)
    node_starts : ndarray of int64, shape (n_trees + 1,)
    walk_rows : int
        Up to so many documents walk down the trees faster than they are scored by planes.
    """

    clears: np.ndarray
    clear_rows: np.ndarray
    plane_offsets: np.ndarray
    plane_starts: np.ndarray
    place_values: np.ndarray
    leaf_offsets: np.ndarray
    leaf_of_pattern: np.ndarray
    pattern_starts: np.ndarray
    nodes: np.ndarray
    node_values: np.ndarray
    node_starts: np.ndarray
    walk_rows: int


class Columns(NamedTuple):
    """How features become codes; `_coding_kernels.code_features` has the form of the table."""

    features: np.ndarray
    n_thresholds: np.ndarray
    table: np.ndarray


class Splits(NamedTuple):
    """Trees whose thresholds are ranks in columns of codes: a code ≤ rank goes left."""

    column: np.ndarray
    rank: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    node_offsets: np.ndarray
    leaf_offsets: np.ndarray


@dataclass(frozen=True)
class Scorer:
    """A forest laid out for scoring raw features."""

    layout: Layout
    features: np.ndarray
    n_thresholds: np.ndarray
    thresholds: np.ndarray

    def columns(self, dtype: np.dtype) -> Columns:
        """What turns features of this type, float32 or float64, into codes."""
        return self._single if dtype == np.float32 else self._double

    @cached_property
    def _double(self) -> Columns:
        last = self.thresholds[:, GROUP - 1 :: GROUP]
        table = np.concatenate([last, self.thresholds], axis=1)
        return Columns(self.features, self.n_thresholds, table)

    @cached_property
    def _single(self) -> Columns:
        # A float32 lies below a threshold if and only if it lies below the next float32 there.
        double = self._double
        with np.errstate(over="ignore"):
            table = double.table.astype(np.float32)
            rounded_up = table > double.table
            table[rounded_up] = np.nextafter(table[rounded_up], np.float32(-np.inf))
        return double._replace(table=table)


def lay_out(splits: Splits) -> Layout:
    """Lay trees out for scoring."""
    n_leaves = np.diff(splits.leaf_offsets)
    most_leaves = n_leaves.max(initial=0)
    if max(2 * most_leaves, splits.column.max(initial=0)) >= _MOST_PLACES:
        raise DataError(
            f"the forest is too large to score, with a tree of {most_leaves:,} leaves or as many "
            "thresholds: train with a smaller max_leaf_nodes"
        )
    node_starts = splits.node_offsets + splits.leaf_offsets
    nodes = np.empty(node_starts[-1], np.uint64)
    node_values = np.zeros(node_starts[-1])
    write_nodes(*splits, nodes, node_values)
    if most_leaves > _MOST_LEAVES_IN_PLANES:
        empty = np.zeros(1, np.int64)
        no_clears = np.empty(0, np.uint32)
        planes = (no_clears, no_clears, empty, empty, np.empty(0))
        patterns = (np.empty(0, np.uint16), np.zeros(len(n_leaves) + 1, np.int64))
        walk_rows = WIDE
    else:
        split_of, n_splits = _common_splits(splits, n_leaves)
        planes = _planes_of(splits, n_leaves, split_of, n_splits)
        patterns = _patterns_of(splits, split_of, n_splits)
        walk_rows = _walk_rows(len(planes[0]) / max(1, len(n_leaves)))
    offsets = splits.leaf_offsets
    return Layout(*planes, offsets, *patterns, nodes, node_values, node_starts, walk_rows)


def _common_splits(splits: Splits, n_leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of every node's split, and how many a tree has; 0: it is left to its nodes."""
    split_of, n_splits = np.zeros(splits.node_offsets[-1], np.int64), np.empty_like(n_leaves)
    most = np.minimum(n_leaves // 2, _MOST_SPLITS)
    of_nodes = (splits.column, splits.rank, splits.missing_left)
    number_splits(*of_nodes, splits.node_offsets, most, split_of, n_splits)
    return split_of, n_splits


def _patterns_of(
    splits: Splits, split_of: np.ndarray, n_splits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The leaf of every pattern, and the first pattern of every tree."""
    n_patterns = np.where(n_splits > 0, 2**n_splits, 0)
    starts = np.concatenate([[0], np.cumsum(n_patterns)])
    leaf_of = np.empty(starts[-1], np.uint16)
    tree = (splits.left, splits.right, split_of, splits.node_offsets)
    write_leaves_of_patterns(*tree, starts, leaf_of)
    return leaf_of, starts


def _planes_of(
    splits: Splits, n_leaves: np.ndarray, split_of: np.ndarray, n_splits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first five arrays of a layout."""
    node_offsets, leaf_offsets = splits.node_offsets, splits.leaf_offsets
    n_bits = np.where(n_splits > 0, n_splits, n_leaves)
    plane_starts = np.concatenate([[0], np.cumsum((n_bits + 7) // 8)])
    n_clears = np.zeros(plane_starts[-1], np.int64)
    begin, extent = np.empty((2, node_offsets[-1]), np.int64)
    leaf_order = np.empty(leaf_offsets[-1], np.int64)
    number_leaves(
        splits.left,
        splits.right,
        node_offsets,
        leaf_offsets,
        plane_starts,
        n_splits,
        begin,
        extent,
        leaf_order,
        n_clears,
    )
    plane_offsets = np.concatenate([[0], np.cumsum(-(-n_clears // PAIR))])
    clears = np.full(PAIR * plane_offsets[-1], NO_CLEAR, np.uint32)
    rows = np.zeros_like(clears)
    write_clears(
        splits.column,
        splits.rank,
        splits.missing_left,
        begin,
        extent,
        split_of,
        n_splits,
        node_offsets,
        plane_starts,
        PAIR * plane_offsets[:-1],
        clears,
        rows,
    )
    return clears, rows, plane_offsets, plane_starts, splits.value[leaf_order]


def _walk_rows(clears_a_tree: float) -> int:
    """Up to how many documents walk faster, measured for trees of 31 to 2,000 leaves.

    The planes cost the same for 1 as for 16 documents, a clear about 0.4 ns. A walk down one tree
    takes 100 ns, and 28 more for each document.
    """
    return max(0, int((0.4 * clears_a_tree - 100) / 28))


def scorer_of(
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    node_offsets: np.ndarray,
    leaf_offsets: np.ndarray,
) -> Scorer:
    """Lay out a forest, given its arrays, for scoring raw features."""
    order = np.lexsort((threshold, feature))
    features, thresholds = feature[order].astype(np.int64), threshold[order]
    new_feature = np.diff(features, prepend=-1) != 0
    new = new_feature.copy()
    new[1:] |= thresholds[1:] != thresholds[:-1]
    # Rank of every split among the distinct thresholds of its feature.
    distinct = np.cumsum(new) - 1
    group = np.cumsum(new_feature) - 1
    rank = distinct - distinct[new_feature][group]
    # +inf is above every value and is not looked up.
    looked_up = new & (thresholds < np.inf)
    n_distinct = np.bincount(group[looked_up], minlength=int(new_feature.sum()))
    n_columns = np.maximum(1, -(-n_distinct // MAX_THRESHOLDS))
    first_column = np.cumsum(n_columns) - n_columns
    part = np.minimum(rank // MAX_THRESHOLDS, n_columns[group] - 1)
    rank -= MAX_THRESHOLDS * part
    column = first_column[group] + part

    table = np.full((int(n_columns.sum()), 16 * GROUP), np.inf)
    table[column[looked_up], rank[looked_up]] = thresholds[looked_up]
    column_of, rank_of = np.empty((2, len(order)), np.int64)
    column_of[order], rank_of[order] = column, rank
    trees = Splits(column_of, rank_of, missing_left, left, right, value, node_offsets, leaf_offsets)
    return Scorer(
        lay_out(trees),
        np.repeat(features[new_feature], n_columns),
        np.bincount(column[looked_up], minlength=len(table)),
        table,
    )
