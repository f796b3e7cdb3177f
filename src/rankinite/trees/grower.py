"""Growing one tree, best split first.

Python owns the nodes, the heap and the stopping; kernels see arrays. What must be reduced over
workers is the histogram of a node (`split_search`), and at the end the number of rows in each leaf.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rankinite.binning import BinnedMatrix, Bins
from rankinite.distributed import Communicator, total
from rankinite.order.seeds import derive_seed, draw_without_replacement
from rankinite.trees._partition_kernels import copy_rows, draw_rows, partition_rows, write_leaves
from rankinite.trees.few_rows import FEW_ROWS, FewRows
from rankinite.trees.fixed_point import Packed
from rankinite.trees.growth import GrowthParameters
from rankinite.trees.scoring import leaves_of, rows_in_leaves
from rankinite.trees.split_search import NO_SPLIT, Split, SplitSearch
from rankinite.trees.telling import thresholds_of
from rankinite.trees.tree import GrownTree, Tree


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
    # Both children, with their splits, if the node was divided before its turn.
    children: tuple[Node, Node] | None = None

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
        # What a node draws depends on its number, which it does not have before its turn.
        draws = min(parameters.row_fraction, parameters.feature_fraction) < 1.0
        self._few = None
        if communicator.job.size == 1 and not draws:
            self._few = FewRows(binned.mapper.n_bins, binned.blocks.shape[2])
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
            goes_on = len(leaves) + 1 < self.parameters.max_leaf_nodes
            if goes_on and node.children is None and self._has_few_rows(node):
                n_more = self.parameters.max_leaf_nodes - len(leaves) - 2
                self._divide_few([node, *self._next_few(heap, leaves, n_more)], rows, packed)
            children = node.children or self._divide(node, rows)
            for child in children:
                child.parent = len(splits)
            children[0].leaf, children[1].leaf = leaf, len(leaves)
            splits.append(node)
            leaves[leaf] = children[0]
            leaves.append(children[1])
            if node.children is not None:
                self._push(children, heap)
            elif goes_on:
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
            counts = rows_in_leaves(leaf_of, tree.n_leaves)
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
        """Turn to the keys of these rows, if nodes draw by them."""
        if self.parameters.row_fraction < 1.0:
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
        self._push(nodes, heap)
        for node in nodes:
            # Where every node draws rows of its own, no histogram tells anything about another.
            draws = self.parameters.row_fraction < 1.0
            if draws or node.split.gain == 0.0 or self._has_few_rows(node):
                self._release(node)

    def _push(self, nodes: Iterable[Node], heap: list[tuple[float, int]]) -> None:
        """Let these leaves wait for their turn, if they can be split."""
        for node in nodes:
            if node.split.gain > 0.0:
                # Equal gains: the leaf with the smaller number first.
                heapq.heappush(heap, (-node.split.gain, node.leaf))

    def _has_few_rows(self, node: Node) -> bool:
        """Whether a node is divided, and its children searched, with others at once."""
        return self._few is not None and node.n_rows <= FEW_ROWS and self._may_split(node, 1)

    def _next_few(
        self, heap: list[tuple[float, int]], leaves: list[Node], n_more: int
    ) -> list[Node]:
        """Nodes of few rows whose turn comes soon, as many as can be divided beside another.

        At most `n_more`: whatever is in the tree afterwards, others are not divided any more.
        """
        assert self._few is not None
        soon = [heapq.heappop(heap) for _ in range(min(len(heap), 2 * self._few.most - 2))]
        for entry in soon:
            heapq.heappush(heap, entry)
        nodes = [leaves[leaf] for _, leaf in soon]
        found = [node for node in nodes if node.children is None and self._has_few_rows(node)]
        return found[: min(self._few.most - 1, n_more)]

    def _divide_few(self, nodes: list[Node], rows: np.ndarray, packed: Packed) -> None:
        """Divide nodes of few rows, and find the splits of their children."""
        assert self._few is not None
        # The threads take neighbours: dealt by size, they have about as much to do.
        n_threads = self._few.n_threads
        by_size = sorted(nodes, key=lambda node: node.n_rows, reverse=True)
        nodes = [node for thread in range(n_threads) for node in by_size[thread::n_threads]]
        divided = self._few.divide(
            self._words,
            rows,
            packed.cells,
            [(node.start, node.stop) for node in nodes],
            [node.split for node in nodes],
            self._limits,
            self._left,
            self._right,
            self._cells,
        )
        for node, (n_left, *splits) in zip(nodes, divided, strict=True):
            node.children = self._children(node, n_left)
            for child, split in zip(node.children, splits, strict=True):
                child.split = split

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

    def _may_split(self, node: Node, further: int = 0) -> bool:
        """Whether a node, or one so much further down, may be divided, if its rows can be."""
        deepest = self.parameters.max_depth
        return deepest is None or node.depth + further < deepest

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

    def _divide(self, node: Node, rows: np.ndarray) -> tuple[Node, Node]:
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
        return self._children(node, n_left)

    @staticmethod
    def _children(node: Node, n_left: int) -> tuple[Node, Node]:
        """The children of a node; they have no number before it is their parent's turn."""
        middle, depth = node.start + n_left, node.depth + 1
        return (
            Node(-1, node.start, middle, is_left=True, depth=depth),
            Node(-1, middle, node.stop, is_left=False, depth=depth),
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
