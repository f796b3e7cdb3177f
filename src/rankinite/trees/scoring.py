"""Scoring with a forest: raw features, binned rows, training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numba
import numpy as np

from rankinite._numba import in_threads, parts_of_rows
from rankinite.binning import BinMapper, BinnedMatrix, BinnedRows, Bins
from rankinite.binning._binning_kernels import BLOCK
from rankinite.data.feature_labels import feature_label
from rankinite.errors import DataError
from rankinite.trees import _predict_kernels as kernels
from rankinite.trees._partition_kernels import count_leaves
from rankinite.trees.layout import Splits, lay_out
from rankinite.trees.leaf_codes import leaves_by_splits
from rankinite.trees.tree import Forest, GrownTree, SideBySide, Tree

# Smaller batches are scored on the calling thread: waking others would cost more.
SERIAL_ROWS = 1024
# One tree of up to so many leaves is sooner walked than laid out and its rows turned to columns.
WALKED_LEAVES = 64
# So many rows, or rows times trees, are walked in a moment, and the kernel for more takes long to
# compile.
WALKED_ROWS, WALKED_TREES = 2**17, 2**21


def score_features(
    forest: Forest,
    X: np.ndarray,
    start: np.ndarray | float = 0.0,
    n_trees: int | None = None,
    *,
    single: bool = False,
) -> np.ndarray:
    """Score raw features: `start` plus the value of every tree, added in the trees' order.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_rows, n_features)
    n_trees : int, optional
        Add only the first trees.
    single : bool
        Round every partial sum to float32, as some engines do.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Bit for bit the scores that training had for these rows.
    """
    scores = _started([start], len(X), np.float32 if single else np.float64)
    last = forest.n_trees if n_trees is None else n_trees
    _sum_features(forest, np.array([[0, last]]), X, scores)
    return scores[0].astype(np.float64, copy=False)


def score_binned(
    forest: Forest,
    binned: Bins,
    start: np.ndarray | float = 0.0,
    n_trees: int | None = None,
) -> np.ndarray:
    """Score binned rows; every threshold of the forest must be an edge of the bins."""
    if isinstance(binned, BinnedRows):
        if np.ndim(start) == 0:
            return score_binned(forest, binned.matrix, start, n_trees)[binned.rows]
        binned = binned.copied()
    scores = _started([start], binned.n_rows)
    if n_trees is not None:
        forest = forest.first(n_trees)
    _sum_bins(forest, np.array([[0, forest.n_trees]]), binned, scores)
    return scores[0]


def score_side_by_side(
    forests: SideBySide, rows: np.ndarray | Bins, starts: Sequence[np.ndarray | float]
) -> np.ndarray:
    """Score features or bins with several forests in one pass over the rows.

    Parameters
    ----------
    starts : sequence of ndarray or float
        What the scores of each forest begin with.

    Returns
    -------
    ndarray of float64, shape (n_forests, n_rows)
        Bit for bit what `score_features` or `score_binned` gives for each forest.
    """
    if isinstance(rows, BinnedRows):
        if all(np.ndim(start) == 0 for start in starts):
            return score_side_by_side(forests, rows.matrix, starts)[:, rows.rows]
        rows = rows.copied()
    if isinstance(rows, BinnedMatrix):
        scores = _started(starts, rows.n_rows)
        _sum_bins(forests.together, forests.bounds, rows, scores)
    else:
        scores = _started(starts, len(rows))
        _sum_features(forests.together, forests.bounds, rows, scores)
    return scores


def _started(
    starts: Sequence[np.ndarray | float], n_rows: int, dtype: type = np.float64
) -> np.ndarray:
    """Scores before the first tree, a row for each sum."""
    scores: np.ndarray = np.empty((len(starts), n_rows), dtype)
    for own, start in zip(scores, starts, strict=True):
        own[:] = start
    return scores


def _sum_features(forest: Forest, bounds: np.ndarray, X: np.ndarray, scores: np.ndarray) -> None:
    """Add the trees of each sum to its scores, shape (n_sums, n_rows)."""
    X = np.ascontiguousarray(X)
    columns, layout = forest.scorer.columns(X.dtype), forest.scorer.layout

    def score(first: int, last: int) -> None:
        kernels.score_features(X, first, last, columns, layout, bounds, scores)

    _on_threads(score, len(X))


def _sum_bins(forest: Forest, bounds: np.ndarray, binned: BinnedMatrix, scores: np.ndarray) -> None:
    """The same for binned rows."""
    bins = bins_of_thresholds(forest, binned.mapper)
    if binned.n_rows * forest.n_trees <= WALKED_TREES:
        trees = forest.trees(bins)
        for own, (first, last) in zip(scores, bounds, strict=True):
            for tree in trees[first:last]:
                _walk(tree, binned, own)
    else:
        offsets = (forest.node_offsets, forest.leaf_offsets)
        _add_by_planes(forest, bins, offsets, binned, bounds, scores)


def add_tree(tree: Tree, binned: Bins, scores: np.ndarray) -> None:
    """Add one tree to the scores of rows in the bins it was grown on."""
    if isinstance(binned, BinnedRows):
        kernels.add_leaf_values(leaves_of(tree, binned), tree.value, scores)
        return
    if tree.n_leaves > WALKED_LEAVES or binned.n_rows > WALKED_ROWS:
        offsets = (np.array([0, len(tree.feature)]), np.array([0, tree.n_leaves]))
        bounds = np.array([[0, 1]])
        _add_by_planes(tree, tree.bin, offsets, binned, bounds, scores.reshape(1, -1))
    else:
        _walk(tree, binned, scores)


def _walk(tree: Tree, binned: BinnedMatrix, scores: np.ndarray) -> None:
    kernels.walk_bins(
        binned.blocks,
        tree.feature,
        tree.bin,
        tree.missing_left,
        tree.left,
        tree.right,
        tree.value,
        scores,
    )


def _add_by_planes(
    trees: Forest | Tree,
    bins: np.ndarray,
    offsets: tuple[np.ndarray, np.ndarray],
    binned: BinnedMatrix,
    bounds: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Add trees to the scores of binned rows; `bins` are their splits, which serve as codes."""
    used_blocks, slot = np.unique(trees.feature // BLOCK, return_inverse=True)
    layout = lay_out(
        Splits(
            slot * BLOCK + trees.feature % BLOCK,
            bins.astype(np.int64),
            trees.missing_left,
            trees.left,
            trees.right,
            trees.value,
            *offsets,
        )
    )
    used_blocks = used_blocks.astype(np.int64)

    def score(first: int, last: int) -> None:
        kernels.score_bins(binned.blocks, used_blocks, first, last, layout, bounds, scores)

    _on_threads(score, binned.n_rows)


def _on_threads(score: Callable[[int, int], None], n_rows: int) -> None:
    """Score the rows in parts, on as many threads as the current scope has.

    A part is a multiple of the documents that kernels take at once.
    """
    if n_rows <= SERIAL_ROWS:
        score(0, n_rows)
        return
    step = kernels.WIDE * -(-n_rows // (kernels.WIDE * parts_of_rows()))
    in_threads(score, np.append(np.arange(0, n_rows, step), n_rows))


def leaves_of(tree: Tree, binned: Bins) -> np.ndarray:
    """The leaf of each row in the bins that the tree was grown on, of int32."""
    if isinstance(binned, BinnedRows):
        return leaves_of(tree, binned.matrix)[binned.rows]
    found = leaves_by_splits(tree, binned)
    if found is not None:
        return found
    leaves = np.zeros(binned.n_rows)
    add_tree(tree.with_values(np.arange(tree.n_leaves, dtype=np.float64)), binned, leaves)
    return leaves.astype(np.int32)


def rows_in_leaves(leaf_of: np.ndarray, n_leaves: int) -> np.ndarray:
    """How many rows each leaf has, of int64; `leaf_of` is of int32."""
    n_parts = 1 if len(leaf_of) <= SERIAL_ROWS else numba.get_num_threads()
    counts = np.zeros((n_parts, n_leaves), np.int64)
    in_threads(count_leaves, np.arange(n_parts + 1), leaf_of, counts)
    return counts.sum(axis=0)


def add_grown_tree(grown: GrownTree, value: np.ndarray, scores: np.ndarray) -> None:
    """Add leaf values to the scores of a tree's own training rows, whose leaves are known."""
    kernels.add_leaf_values(grown.leaf_of, value, scores)


def bins_of_thresholds(forest: Forest, mapper: BinMapper) -> np.ndarray:
    """Every split of a forest as a bin of `mapper`; a threshold between its edges is an error."""
    bins = np.empty(len(forest.feature), np.uint8)
    for feature in np.unique(forest.feature):
        nodes = np.flatnonzero(forest.feature == feature)
        edges = np.append(mapper.feature_edges(feature), np.inf)
        found = np.searchsorted(edges, forest.threshold[nodes], side="left")
        if not np.array_equal(edges[np.minimum(found, len(edges) - 1)], forest.threshold[nodes]):
            raise DataError(
                f"this dataset holds only bins, and those of {feature_label(feature)} are not the "
                "bins the model was trained on: save it with like=<the training data>, "
                "or score it from its features"
            )
        bins[nodes] = found
    return bins
