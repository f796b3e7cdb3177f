"""Symmetric trees: all nodes of a level are split by the same feature at the same threshold.

Such a tree of L leaves has log₂ L splits to choose, where one that grows best split first has
L − 1, and every choice is made by all rows. So it fits less of the noise in what it is grown on.
They are the trees of CatBoost (Prokhorenkova et al. 2018; before it Lou and Obukhov, "BDT: Gradient
Boosted Decision Tables for High Accuracy and Scoring Efficiency", KDD 2017). Here a node that a
level's split does not suit, because a side would be too light or nothing is won, stays as it is and
waits for the next level; and if the last level would have too many leaves, the nodes that gain most
are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankinite.trees._level_kernels import LevelNodes, divide_nodes
from rankinite.trees.few_rows import FEW_ROWS
from rankinite.trees.fixed_point import Packed
from rankinite.trees.level_search import CommonSplit, LevelSearch
from rankinite.trees.node import GrowingTree, Node
from rankinite.trees.split_search import ROWS_A_PART

if TYPE_CHECKING:
    from rankinite.trees.grower import Grower


@dataclass
class Waiting:
    """A leaf that may be split by the next level.

    Attributes
    ----------
    node : Node
    place : int
        Where its histogram is kept; −1: it has few rows, which are counted when it is looked at.
    sibling : int
        If not negative, the place has the histogram of the parent, and this one that of the
        sibling.
    """

    node: Node
    place: int
    sibling: int = -1


class Symmetric:
    """Grows symmetric trees.

    Parameters
    ----------
    grower : Grower
        Has the rows, and what is known of them.
    """

    def __init__(self, grower: Grower) -> None:
        self._grower = grower
        self._most = grower.parameters.max_leaf_nodes
        # Where every node draws rows of its own, no histogram tells anything about another.
        self._draws = grower.parameters.row_fraction < 1.0
        self._counts_alone = grower.communicator.job.size == 1 and not self._draws
        self._search = LevelSearch(grower.search)

    def grow(self, rows: np.ndarray, packed: Packed, seed: np.uint64) -> GrowingTree:
        """Grow a tree; `rows`, all of them, are reordered by its leaves."""
        root = Node(leaf=0, start=0, stop=len(rows))
        tree = GrowingTree(root)
        level = [self._root(root, rows, packed, seed)]
        depth = 0
        while level and self._grower.may_split(root, depth):
            found = self._find_split(level, depth, rows, packed, seed)
            chosen = self._worth_it(found.gains, self._most - len(tree.leaves))
            if not len(chosen):
                break
            divided = self._divide([level[k] for k in chosen], chosen, found, rows)
            children = dict(zip(chosen.tolist(), divided, strict=True))
            for k, halves in children.items():
                tree.split(level[k].node, halves)
            if len(tree.leaves) == self._most:
                break
            waiting = []
            for k, each in enumerate(level):
                if k in children:
                    waiting += self._next(each, children[k], rows, packed, seed)
                elif found.may_wait[k]:
                    waiting.append(each)
                else:
                    self._leave(each)
            level = waiting
            depth += 1
        for each in level:
            self._leave(each)
        return tree

    def _root(self, root: Node, rows: np.ndarray, packed: Packed, seed: np.uint64) -> Waiting:
        waiting, n_counted = self._counted(root, rows, packed, seed)
        self._limits = self._grower.limits(self._search.kept[waiting.place], n_counted, packed)
        self._has_missing = self._search.missing_in(waiting.place)
        if self._draws:  # what the root has drawn tells nothing of others
            self._has_missing[:] = True
        return waiting

    def _counted(
        self, node: Node, rows: np.ndarray, packed: Packed, seed: np.uint64
    ) -> tuple[Waiting, int]:
        """The node with a histogram, and how many of this worker's rows were counted."""
        grower, place = self._grower, self._search.take_place()
        counted, cells, n_counted = grower.counted(node, rows, packed, seed)
        kept = self._search.kept[place]
        grower.search.count(grower.words, counted, cells, grower.cells, kept)
        return Waiting(node, place), n_counted

    def _find_split(
        self,
        level: list[Waiting],
        depth: int,
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
    ) -> CommonSplit:
        grower = self._grower
        numbers = [(one.place, one.sibling, one.node.start, one.node.stop) for one in level]
        nodes = LevelNodes(self._search.kept, *np.array(numbers, np.int64).T.copy())
        found = self._search.best(
            nodes,
            grower.words,
            rows,
            packed.cells,
            grower.cells,
            self._has_missing,
            grower.drawn_features(seed, depth),
            self._limits,
        )
        for waiting in level:
            waiting.sibling = -1
        return found

    @staticmethod
    def _worth_it(gains: np.ndarray, most: int) -> np.ndarray:
        """Which nodes are split, ascending: at most so many, those that gain most."""
        by_gain = np.argsort(-gains, kind="stable")
        return np.sort(by_gain[: min(most, np.count_nonzero(gains))])

    def _divide(
        self, level: Sequence[Waiting], chosen: np.ndarray, found: CommonSplit, rows: np.ndarray
    ) -> list[tuple[Node, Node]]:
        """The children of these nodes, whose rows are reordered."""
        for k, waiting in zip(chosen.tolist(), level, strict=True):
            waiting.node.split = found.split._replace(
                gain=float(found.gains[k]),
                left_is_lighter=bool(found.left_is_lighter[k]),
            )
        grower, split = self._grower, found.split
        # To share out a small node takes longer than to divide it; but two threads can each do one.
        small = [one.node for one in level if one.node.n_rows < 2 * ROWS_A_PART]
        halves = {}
        if small:
            block, column = divmod(split.feature, grower.blocks.shape[2])
            starts, stops = np.array([(node.start, node.stop) for node in small]).T.copy()
            n_left = np.empty(len(small), np.int64)
            divide_nodes(
                grower.blocks[block],
                column,
                split.bin,
                split.missing_left,
                rows,
                starts,
                stops,
                grower.left,
                grower.right,
                n_left,
            )
            halves = {
                node.leaf: node.halves(n) for node, n in zip(small, n_left.tolist(), strict=True)
            }
        return [halves.get(one.node.leaf) or grower.divide(one.node, rows) for one in level]

    def _next(
        self,
        parent: Waiting,
        halves: tuple[Node, Node],
        rows: np.ndarray,
        packed: Packed,
        seed: np.uint64,
    ) -> list[Waiting]:
        """The children of a node that was split."""
        if self._draws:
            self._leave(parent)
            return [self._counted(child, rows, packed, seed)[0] for child in halves]
        small, large = self._grower.by_size(parent.node.split, *halves)
        if self._counts_alone and large.n_rows <= FEW_ROWS:
            self._leave(parent)
            return [Waiting(child, -1) for child in halves]
        counted, _ = self._counted(small, rows, packed, seed)
        rest = Waiting(large, parent.place, counted.place)
        return [counted, rest] if small is halves[0] else [rest, counted]

    def _leave(self, waiting: Waiting) -> None:
        """Let a node's histogram go."""
        self._search.release(waiting.place)
