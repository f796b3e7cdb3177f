"""A tree while it grows: its leaves so far, and the splits that made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankinite.trees.split_search import NO_SPLIT, Split


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

    def halves(self, n_left: int) -> tuple[Node, Node]:
        """Its children; they have no number before it is split."""
        middle, depth = self.start + n_left, self.depth + 1
        return (
            Node(-1, self.start, middle, is_left=True, depth=depth),
            Node(-1, middle, self.stop, is_left=False, depth=depth),
        )


class GrowingTree:
    """The leaves of a tree so far, and its splits in the order in which they were made.

    Attributes
    ----------
    leaves : list of Node
        By their numbers.
    splits : list of Split
    left, right : list of int
        The children of every split, as in `rankinite.trees.Tree`.
    """

    def __init__(self, root: Node) -> None:
        self.leaves = [root]
        self.splits: list[Split] = []
        self.left: list[int] = []
        self.right: list[int] = []

    def split(self, node: Node, children: tuple[Node, Node]) -> None:
        """Put both children in the place of a leaf; the left one keeps its number."""
        if node.parent >= 0:
            (self.left if node.is_left else self.right)[node.parent] = len(self.splits)
        self.left.append(~node.leaf)
        self.right.append(~len(self.leaves))
        for child in children:
            child.parent = len(self.splits)
        children[0].leaf, children[1].leaf = node.leaf, len(self.leaves)
        self.splits.append(node.split)
        self.leaves[node.leaf] = children[0]
        self.leaves.append(children[1])
