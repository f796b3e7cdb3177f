"""Trees whose leaves are split one by one, the best first (Burges 2010, section 7)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rankinite.trees.few_rows import FEW_ROWS, FewRows
from rankinite.trees.fixed_point import Packed
from rankinite.trees.node import GrowingTree, Node

if TYPE_CHECKING:
    from rankinite.trees.grower import Grower


class BestFirst:
    """Grows trees best split first.

    Parameters
    ----------
    grower : Grower
        Has the rows, and what is known of them.
    """

    def __init__(self, grower: Grower) -> None:
        self._grower = grower
        self._most = grower.parameters.max_leaf_nodes
        self._few = None
        if grower.counts_alone:
            matrix = grower.matrix
            self._few = FewRows(matrix.mapper.n_bins, matrix.blocks.shape[2])
        self._allowed = np.ones((2, grower.matrix.n_features), np.bool_)

    def grow(self, rows: np.ndarray, packed: Packed, seed: np.uint64) -> GrowingTree:
        """Grow a tree; `rows`, all of them, are reordered by its leaves."""
        root = Node(leaf=0, start=0, stop=len(rows))
        tree = GrowingTree(root)
        leaves = tree.leaves
        heap: list[tuple[float, int]] = []
        self._open([root], rows, packed, seed, heap)
        while heap and len(leaves) < self._most:
            _, leaf = heapq.heappop(heap)
            node = leaves[leaf]
            goes_on = len(leaves) + 1 < self._most
            if goes_on and node.children is None and self._has_few_rows(node):
                n_more = self._most - len(leaves) - 2
                self._divide_few([node, *self._next_few(heap, leaves, n_more)], rows, packed)
            children = node.children or self._grower.divide(node, rows)
            tree.split(node, children)
            if node.children is not None:
                self._push(children, heap)
            elif goes_on:
                self._open_children(node, *children, rows, packed, seed, heap)
            self._release(node)
        for node in leaves:
            self._release(node)
        return tree

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
        grower = self._grower
        for k, node in enumerate(nodes):
            self._allowed[k] = False
            if grower.may_split(node):
                self._allowed[k] = grower.drawn_features(seed, node.number)
        self._find_splits(nodes, rows, packed, seed)
        self._push(nodes, heap)
        for node in nodes:
            # Where every node draws rows of its own, no histogram tells anything about another.
            draws = grower.parameters.row_fraction < 1.0
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
        may_split = self._grower.may_split(node, 1)
        return self._few is not None and node.n_rows <= FEW_ROWS and may_split

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
        grower = self._grower
        divided = self._few.divide(
            grower.words,
            rows,
            packed.cells,
            [(node.start, node.stop) for node in nodes],
            [node.split for node in nodes],
            self._limits,
            grower.left,
            grower.right,
            grower.cells,
        )
        for node, (n_left, *splits) in zip(nodes, divided, strict=True):
            node.children = node.halves(n_left)
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
        if not self._grower.may_split(left):
            return
        small, large = self._grower.by_size(node.split, left, right)
        large.histogram, node.histogram = node.histogram, None
        self._open([small, large], rows, packed, seed, heap)

    def _release(self, node: Node) -> None:
        if node.histogram is not None:
            self._grower.search.release(node.histogram)
            node.histogram = None

    def _find_splits(
        self, nodes: list[Node], rows: np.ndarray, packed: Packed, seed: np.uint64
    ) -> None:
        grower = self._grower
        subtract = False
        histograms = []
        for node in nodes:
            subtract = node.histogram is not None
            if node.histogram is None:
                counted, cells, n_counted = grower.counted(node, rows, packed, seed)
                node.histogram = grower.search.histogram(grower.words, counted, cells, grower.cells)
                if node.parent < 0:
                    self._limits = grower.limits(node.histogram, n_counted, packed)
            histograms.append(node.histogram)
        splits = grower.search.best(histograms, subtract, self._allowed, self._limits)
        for node, split in zip(nodes, splits, strict=True):
            node.split = split
