"""Growing one tree, best split first.

Python owns the nodes, the heap and the stopping; kernels see arrays. What must be reduced over
workers is the histogram of a node (`split_search`), and at the end the number of rows in each leaf.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace

import numpy as np

from rankinite.binning import BinnedMatrix, Bins
from rankinite.distributed import Communicator, total
from rankinite.order.seeds import derive_seed, draw_without_replacement
from rankinite.trees._histogram_kernels import N_BINS
from rankinite.trees._partition_kernels import copy_rows, draw_rows, partition_rows, write_leaves
from rankinite.trees._split_kernels import Limits
from rankinite.trees.fixed_point import Packed
from rankinite.trees.scoring import leaves_of
from rankinite.trees.split_search import MASS_MASK, NO_SPLIT, Split, SplitSearch
from rankinite.trees.telling import thresholds_of
from rankinite.trees.tree import GrownTree, Tree


@dataclass(frozen=True)
class GrowthParameters:
    """How a tree grows; the names are those of the estimators.

    `min_curvature_leaf` and `l2_regularization` count in `w_unit`, in which w grows with the
    slope σ of the objective. Least squares has rows in the place of w.
    """

    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_curvature_leaf: float = 0.0
    l2_regularization: float = 0.0
    split: str = "least_squares"
    row_fraction: float = 1.0
    feature_fraction: float = 1.0
    w_unit: float = 1.0

    @property
    def l2_of_steps(self) -> float:
        """What is added to Σw of a leaf."""
        return self.l2_regularization * self.w_unit

    def limits(self, root: np.ndarray, n_rows: float, packed: Packed) -> Limits:
        """For the search in the histograms of a tree, of which that of the root is given.

        Rows count by their mass: one of `min_samples_leaf` is as much as the `n_rows` that the root
        stands for have on average. So a few documents that matter may have a leaf of their own, and
        many that hardly do may not.
        """
        unit = packed.w_scale * (self.w_unit if self.split == "newton" else 1.0)
        # Every row has one bin of the first feature. A worker without features needs no limits.
        mean = (int(root[:1, :N_BINS].sum()) & MASS_MASK) / max(n_rows, 1.0)
        least = max(self.min_samples_leaf * mean, self.min_curvature_leaf * unit, 1.0)
        return Limits(least, self.l2_regularization * unit)


@dataclass
class Node:
    """A leaf so far: this worker's rows ``[start, stop)`` of it, and its best split."""

    leaf: int
    start: int
    stop: int
    parent: int = -1
    is_left: bool = False
    depth: int = 0
    histogram: np.ndarray | None = None
    split: Split = NO_SPLIT

    @property
    def n_rows(self) -> int:
        """Rows of this worker."""
        return self.stop - self.start

    @property
    def number(self) -> int:
        """Where the node stands in the tree: from the split that made it, and the side."""
        return 2 * (self.parent + 1) + self.is_left


class Grower:
    """Grows trees on one binned matrix; scratch memory is kept between trees.

    Parameters
    ----------
    binned : BinnedMatrix
        This worker's rows.
    parameters : GrowthParameters
    keys : ndarray of uint64, shape (n_rows,)
        The rows' own random numbers (`rankinite.order.row_keys`).
    n_rows : int
        Number of rows over all workers.
    communicator : Communicator
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        parameters: GrowthParameters,
        keys: np.ndarray,
        n_rows: int,
        communicator: Communicator,
    ) -> None:
        self.binned: Bins = binned
        self._matrix = binned
        self.parameters = parameters
        self.keys = keys
        self.n_rows = n_rows
        self.communicator = communicator
        self._search = SplitSearch(binned, communicator)
        self._allowed = np.ones((2, binned.n_features), np.bool_)
        self._copied = np.empty(0, np.uint64)
        self._left = self._right = np.empty(0, np.uint32)
        self._cells = np.empty(0, np.int64)

    def grow(
        self,
        packed: Packed,
        seed: np.uint64,
        drawn: np.ndarray | None = None,
        n_meant: int | None = None,
    ) -> GrownTree:
        """Grow a tree on the packed gradients.

        Parameters
        ----------
        packed : Packed
            The cells of those of this worker's rows that the tree is to see.
        seed : uint64
            Of this tree; nodes derive theirs from it.
        drawn : ndarray of uint32, optional
            These rows, ascending; all by default.
        n_meant : int, optional
            How many rows they stand for, over all workers, when a leaf must have
            `min_samples_leaf`; as many as they are by default.
        """
        self._see(drawn)
        rows = np.arange(len(packed.cells), dtype=np.uint32)
        self._n_meant = n_meant
        root = Node(leaf=0, start=0, stop=len(rows))
        leaves = [root]
        splits: list[Node] = []
        left: list[int] = []
        right: list[int] = []
        heap: list[tuple[float, int]] = []
        self._open([root], rows, packed, seed, heap)
        while heap and len(leaves) < self.parameters.max_leaf_nodes:
            _, leaf = heapq.heappop(heap)
            node = leaves[leaf]
            if node.parent >= 0:
                (left if node.is_left else right)[node.parent] = len(splits)
            left.append(~leaf)
            right.append(~len(leaves))
            children = self._divide(node, rows, parent=len(splits), new_leaf=len(leaves))
            splits.append(node)
            leaves[leaf] = children[0]
            leaves.append(children[1])
            if len(leaves) < self.parameters.max_leaf_nodes:
                self._open_children(node, *children, rows, packed, seed, heap)
            self._release(node)
        for node in leaves:
            self._release(node)
        tree = self._tree([node.split for node in splits], left, right, packed)
        if drawn is not None:
            return self._grown(tree, leaves_of(tree, self._matrix))
        leaf_of = np.empty(len(rows), np.int32)
        starts, stops = np.array([(node.start, node.stop) for node in leaves]).T.copy()
        write_leaves(rows, starts, stops, leaf_of)
        return self._grown(tree, leaf_of, stops - starts)

    def _grown(
        self, tree: Tree, leaf_of: np.ndarray, counts: np.ndarray | None = None
    ) -> GrownTree:
        """The tree with the numbers of its leaves' rows, from those of this worker if known."""
        if counts is None:
            counts = np.bincount(leaf_of, minlength=tree.n_leaves)
        return GrownTree(replace(tree, count=self.communicator.sum(counts)), leaf_of)

    def _see(self, drawn: np.ndarray | None) -> None:
        """Turn to these rows, or to all.

        Those drawn are copied next to each other, once for all nodes that look at them.
        """
        words = self._matrix.blocks.view(np.uint64)
        self._words = words
        n_seen = words.shape[1]
        if drawn is not None:
            n_seen = len(drawn)
            shape = (len(words), n_seen, words.shape[2])
            self._copied = _at_least(self._copied, math.prod(shape))
            self._words = self._copied[: math.prod(shape)].reshape(shape)
            copy_rows(words, drawn, self._words)
        self._see_keys(drawn)
        self._blocks = self._words.view(np.uint8)
        self._left, self._right, self._cells = (
            _at_least(scratch, n_seen) for scratch in (self._left, self._right, self._cells)
        )

    def _see_keys(self, drawn: np.ndarray | None) -> None:
        """Turn to the keys of these rows."""
        self._own_keys = self.keys if drawn is None else self.keys[drawn]

    def _open(
        self,
        nodes: list[Node],
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
        heap: list[tuple[float, int]],
    ) -> None:
        """Find the split of a node, or of two siblings.

        Of siblings the smaller one comes first; the larger may hold its parent's histogram, from
        which the smaller one's is then taken away.
        """
        for k, node in enumerate(nodes):
            self._allow_features(k, node, seed)
        self._find_splits(nodes, rows, packed, seed)
        for node in nodes:
            if node.split.gain > 0.0:
                # Equal gains: the leaf with the smaller number first.
                heapq.heappush(heap, (-node.split.gain, node.leaf))
            # Where every node draws rows of its own, no histogram tells anything about another.
            if node.split.gain == 0.0 or self.parameters.row_fraction < 1.0:
                self._release(node)

    def _open_children(
        self,
        node: Node,
        left: Node,
        right: Node,
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
        heap: list[tuple[float, int]],
    ) -> None:
        """Open both children of a node that was split, if they may be split again."""
        if not self._may_split(left):
            return
        # Mostly the lighter one has fewer rows, and no worker has to ask how many all have.
        is_left = left.n_rows <= right.n_rows
        if self.communicator.size > 1:
            is_left = node.split.left_is_lighter
        small, large = (left, right) if is_left else (right, left)
        large.histogram, node.histogram = node.histogram, None
        self._open([small, large], rows, packed, seed, heap)

    def _counted(
        self, node: Node, rows: np.ndarray, packed: Packed, seed: np.uint64
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """The rows that choose a node's split, the cells of all, and how many rows these stand for.

        All of its rows choose, or those drawn for it.
        """
        own = rows[node.start : node.stop]
        if self.parameters.row_fraction < 1.0:
            own = self._drawn(own, self._own_keys, node, seed)
        return own, packed.cells, len(own)

    def _drawn(self, own: np.ndarray, keys: np.ndarray, node: Node, seed: np.uint64) -> np.ndarray:
        """Those of a node's rows that are drawn for it, by their keys."""
        scratch = np.empty_like(own)
        node_seed = derive_seed(seed, node.number, "rows")
        limit = share_of_words(self.parameters.row_fraction)
        return scratch[: draw_rows(own, keys, node_seed, limit, scratch)]

    def _release(self, node: Node) -> None:
        if node.histogram is not None:
            self._search.release(node.histogram)
            node.histogram = None

    def _find_splits(
        self, nodes: list[Node], rows: np.ndarray, packed: Packed, seed: np.uint64
    ) -> None:
        subtract = False
        histograms = []
        for node in nodes:
            subtract = node.histogram is not None
            if node.histogram is None:
                counted, cells, n_counted = self._counted(node, rows, packed, seed)
                node.histogram = self._search.histogram(self._words, counted, cells, self._cells)
                if node.parent < 0:
                    self._limits = self.parameters.limits(
                        node.histogram, self._n_rows_of_root(n_counted), packed
                    )
            histograms.append(node.histogram)
        splits = self._search.best(histograms, subtract, self._allowed, self._limits)
        for node, split in zip(nodes, splits, strict=True):
            node.split = split

    def _n_rows_of_root(self, n_counted: int) -> float:
        """How many rows, over all workers, the histogram of the root stands for."""
        if self._n_meant is None:
            return total(n_counted, self.communicator)
        return self._n_meant * self.parameters.row_fraction

    def _may_split(self, node: Node) -> bool:
        """Whether a node may be divided, if its rows can be."""
        deepest = self.parameters.max_depth
        return deepest is None or node.depth < deepest

    def _allow_features(self, k: int, node: Node, seed: np.uint64) -> None:
        """Draw the features that may split a node; none if it must stay a leaf."""
        fraction = self.parameters.feature_fraction
        n_features = self._matrix.n_features
        may_split = self._may_split(node)
        self._allowed[k] = may_split and fraction == 1.0
        if may_split and fraction < 1.0:
            n_drawn = max(1, round(fraction * n_features))
            node_seed = derive_seed(seed, node.number, "features")
            self._allowed[k, draw_without_replacement(n_features, n_drawn, node_seed)] = True

    def _divide(
        self, node: Node, rows: np.ndarray, parent: int, new_leaf: int
    ) -> tuple[Node, Node]:
        split = node.split
        block, column = divmod(split.feature, self._blocks.shape[2])
        own = rows[node.start : node.stop]
        n_left = partition_rows(
            self._blocks[block],
            column,
            split.bin,
            split.missing_left,
            own,
            self._search.n_parts(len(own)),
            self._left,
            self._right,
        )
        middle, depth = node.start + n_left, node.depth + 1
        return (
            Node(node.leaf, node.start, middle, parent, True, depth),
            Node(new_leaf, middle, node.stop, parent, False, depth),
        )

    def _tree(
        self,
        splits: list[Split],
        left: list[int],
        right: list[int],
        packed: Packed,
    ) -> Tree:
        """The tree, but for the values and the numbers of rows of its leaves."""
        features = np.array([split.feature for split in splits], np.int32)
        bins = np.array([split.bin for split in splits], np.uint8)
        return Tree(
            feature=features,
            threshold=thresholds_of(features, bins, self._matrix.mapper),
            bin=bins,
            missing_left=np.array([split.missing_left for split in splits], np.bool_),
            left=np.array(left, np.int32),
            right=np.array(right, np.int32),
            gain=_unscaled(np.array([split.gain for split in splits]), packed),
            value=np.zeros(len(splits) + 1),
            count=np.zeros(len(splits) + 1, np.int64),
        )


def _at_least(scratch: np.ndarray, n: int) -> np.ndarray:
    """An array of at least n elements; what it holds is lost if it was shorter."""
    return scratch if len(scratch) >= n else np.empty(n, scratch.dtype)


def share_of_words(fraction: float) -> np.uint64:
    """The number below which this share of all 64-bit words lies."""
    return np.uint64(min(fraction * 2.0**64, 2.0**64 - 2048))


def _unscaled(gains: np.ndarray, packed: Packed) -> np.ndarray:
    """Gains (Σλ)² / n, or (Σλ)² / Σw, back from the scales of the integers.

    The scales are powers of two whose squares may be out of range, so their exponents are added.
    """
    lam_exponent = math.frexp(packed.lam_scale)[1] - 1
    w_exponent = math.frexp(packed.w_scale)[1] - 1
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(gains, w_exponent - 2 * lam_exponent)
