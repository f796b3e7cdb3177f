"""Growing one tree: the rows it sees, and what is known of them.

Python owns the nodes and the stopping, which `best_first` and `symmetric` do each in its way;
kernels see arrays. What must be reduced over workers is the histogram of a node (`split_search`),
and at the end the number of rows in each leaf.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rankinite.binning import BinnedMatrix, Bins
from rankinite.distributed import Communicator, total
from rankinite.order.seeds import derive_seed, draw_without_replacement
from rankinite.trees._partition_kernels import copy_rows, draw_rows, partition_rows, write_leaves
from rankinite.trees._split_kernels import Limits
from rankinite.trees.best_first import BestFirst
from rankinite.trees.fixed_point import Packed
from rankinite.trees.growth import GrowthParameters
from rankinite.trees.node import GrowingTree, Node
from rankinite.trees.scoring import leaves_of, rows_in_leaves
from rankinite.trees.split_search import Split, SplitSearch
from rankinite.trees.symmetric import Symmetric
from rankinite.trees.telling import thresholds_of
from rankinite.trees.tree import GrownTree, Tree


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
        self.matrix = binned
        self.parameters = parameters
        self.keys = keys
        self.n_rows = n_rows
        self.communicator = communicator
        self.search = SplitSearch(binned, communicator)
        self._copied = np.empty(0, np.uint64)
        self.left = self.right = np.empty(0, np.uint32)
        self.cells = np.empty(0, np.int64)
        self._ways: dict[str, Symmetric | BestFirst] = {}

    def grow(
        self,
        packed: Packed,
        seed: np.uint64,
        drawn: np.ndarray | None = None,
        n_meant: int | None = None,
        growth: str | None = None,
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
        growth : {"symmetric", "best_first"}, optional
            That of the parameters by default.
        """
        self._see(drawn)
        rows = np.arange(len(packed.cells), dtype=np.uint32)
        self._n_meant = n_meant
        grown = self._way(growth or self.parameters.growth).grow(rows, packed, seed)
        tree = self._tree(grown, packed)
        if drawn is not None:
            return self._grown(tree, leaves_of(tree, self.matrix))
        leaf_of = np.empty(len(rows), np.int32)
        starts, stops = np.array([(node.start, node.stop) for node in grown.leaves]).T.copy()
        write_leaves(rows, starts, stops, leaf_of)
        return self._grown(tree, leaf_of, stops - starts)

    def _way(self, growth: str) -> Symmetric | BestFirst:
        if growth not in self._ways:
            self._ways[growth] = Symmetric(self) if growth == "symmetric" else BestFirst(self)
        return self._ways[growth]

    def _grown(
        self, tree: Tree, leaf_of: np.ndarray, counts: np.ndarray | None = None
    ) -> GrownTree:
        """The tree with the numbers of its leaves' rows, from those of this worker if known."""
        if counts is None:
            counts = rows_in_leaves(leaf_of, tree.n_leaves)
        return GrownTree(replace(tree, count=self.communicator.sum(counts)), leaf_of)

    def _see(self, drawn: np.ndarray | None) -> None:
        """Turn to these rows, or to all.

        Those drawn are copied next to each other, once for all nodes that look at them.
        """
        words = self.matrix.blocks.view(np.uint64)
        self.words = words
        n_seen = words.shape[1]
        if drawn is not None:
            n_seen = len(drawn)
            shape = (len(words), n_seen, words.shape[2])
            self._copied = _at_least(self._copied, math.prod(shape))
            self.words = self._copied[: math.prod(shape)].reshape(shape)
            copy_rows(words, drawn, self.words)
        self._see_keys(drawn)
        self.blocks = self.words.view(np.uint8)
        self.left, self.right, self.cells = (
            _at_least(scratch, n_seen) for scratch in (self.left, self.right, self.cells)
        )

    def _see_keys(self, drawn: np.ndarray | None) -> None:
        """Turn to the keys of these rows, if nodes draw by them."""
        if self.parameters.row_fraction < 1.0:
            self._own_keys = self.keys if drawn is None else self.keys[drawn]

    @property
    def counts_alone(self) -> bool:
        """Whether no other worker's rows, and no draws of nodes, stand between rows and a split.

        Nodes of few rows are then divided and searched as it suits: what a node draws depends on
        its number, which it does not have before its turn.
        """
        draws = min(self.parameters.row_fraction, self.parameters.feature_fraction) < 1.0
        return self.communicator.job.size == 1 and not draws

    def counted(
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

    def limits(self, root: np.ndarray, n_counted: int, packed: Packed) -> Limits:
        """What the leaves of a tree must have, from the histogram of its root.

        The root was counted from so many of this worker's rows.
        """
        return self.parameters.limits(root, self._n_rows_of_root(n_counted), packed)

    def _n_rows_of_root(self, n_counted: int) -> float:
        """How many rows, over all workers, the histogram of the root stands for."""
        if self._n_meant is None:
            return total(n_counted, self.communicator)
        return self._n_meant * self.parameters.row_fraction

    def may_split(self, node: Node, further: int = 0) -> bool:
        """Whether a node, or one so much further down, may be divided, if its rows can be."""
        deepest = self.parameters.max_depth
        return deepest is None or node.depth + further < deepest

    def drawn_features(self, seed: np.uint64, number: int) -> np.ndarray:
        """The features that may split the node, or the level, of this number, as a mask."""
        fraction, n_features = self.parameters.feature_fraction, self.matrix.n_features
        if fraction == 1.0:
            return np.ones(n_features, np.bool_)
        n_drawn = max(1, round(fraction * n_features))
        allowed = np.zeros(n_features, np.bool_)
        own_seed = derive_seed(seed, number, "features")
        allowed[draw_without_replacement(n_features, n_drawn, own_seed)] = True
        return allowed

    def by_size(self, split: Split, left: Node, right: Node) -> tuple[Node, Node]:
        """Both children of a node, the smaller first: that is counted, the other follows from it.

        Mostly the lighter one has fewer rows, and no worker has to ask how many all have.
        """
        is_left = left.n_rows <= right.n_rows
        if self.communicator.size > 1:
            is_left = split.left_is_lighter
        return (left, right) if is_left else (right, left)

    def divide(self, node: Node, rows: np.ndarray) -> tuple[Node, Node]:
        """The children of a node, whose rows are reordered."""
        split = node.split
        block, column = divmod(split.feature, self.blocks.shape[2])
        own = rows[node.start : node.stop]
        n_left = partition_rows(
            self.blocks[block],
            column,
            split.bin,
            split.missing_left,
            own,
            self.search.n_parts(len(own)),
            self.left,
            self.right,
        )
        return node.halves(n_left)

    def _tree(self, grown: GrowingTree, packed: Packed) -> Tree:
        """The tree, but for the values and the numbers of rows of its leaves."""
        splits = grown.splits
        features = np.array([split.feature for split in splits], np.int32)
        bins = np.array([split.bin for split in splits], np.uint8)
        return Tree(
            feature=features,
            threshold=thresholds_of(features, bins, self.matrix.mapper),
            bin=bins,
            missing_left=np.array([split.missing_left for split in splits], np.bool_),
            left=np.array(grown.left, np.int32),
            right=np.array(grown.right, np.int32),
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
