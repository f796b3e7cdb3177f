"""Back-fitting: the weight of each tree is found anew while the others stand (Wu et al. 2008, 3).

A tree and the sum of the others are two rankers, so the exact line search finds the best factor of
the tree. Going over all trees again and again, the measure on the training data can only rise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankinite.binning import Bins
from rankinite.linesearch.searching import EQUAL_VALUES, LineSearcher
from rankinite.trees import Tree, add_tree

FACTORS = (0.0, 10.0)
"""Bounds of the factor by which one search may change a tree; the next sweep may go on."""

# So much may the sum of the trees grow in a sweep before sums on the grid are rounded.
_ROOM = 16.0
# Bits of a float64, and the exponent of the smallest one.
_BITS, _SMALLEST = 53, -1074


class Backfitting:
    """Trees whose weights are found anew, sweep after sweep.

    Parameters
    ----------
    trees : sequence of Tree
    binned : BinnedMatrix or BinnedRows
        The training rows, in the bins the trees were grown on.
    before : ndarray of float64, shape (n_rows,)
        Scores of the training rows before the first tree.
    searcher : LineSearcher
        Of the training data.

    Attributes
    ----------
    trees : list of Tree
    value : float
        The mean measure on the training data.
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        binned: Bins,
        before: np.ndarray,
        searcher: LineSearcher,
    ) -> None:
        self.trees = list(trees)
        self._binned = binned
        self._before = before
        self._searcher = searcher
        self.value = searcher.value(self._sum(self.trees, before))

    def sweep(self) -> bool:
        """Search the factor of every tree once; whether the measure has risen.

        The sum of the others is the sum of all less the tree itself. To make that exact, the search
        sees values on a grid that is coarse enough for sums without rounding: else documents that
        differ in this tree alone would not tie in the others. What the trees hold stays fine.
        """
        grid = _Grid.of(self.trees, self._before)
        trees = list(self.trees)
        scores = self._sum([grid.tree(tree) for tree in trees], grid.round(self._before))
        value = self._searcher.value(scores)
        for number, tree in enumerate(trees):
            own = self._sum([grid.tree(tree)], np.zeros_like(scores))
            if np.ptp(own) == 0.0:
                continue
            others = scores - own
            found = self._searcher.search(others, own, *FACTORS)
            if not self._rises(found.value, value):
                continue
            changed = tree.with_values(found.alpha * tree.value)
            moved = self._sum([grid.tree(changed)], others)
            reached = self._searcher.value(moved)
            # In a very narrow interval rounding may undo what was found.
            if self._rises(reached, value):
                trees[number], scores, value = changed, moved, reached
        reached = self._searcher.value(self._sum(trees, self._before))
        if not self._rises(reached, self.value):
            return False
        self.trees, self.value = trees, reached
        return True

    def _sum(self, trees: Sequence[Tree], start: np.ndarray) -> np.ndarray:
        """Scores of the training rows, the trees added in their order as everywhere."""
        scores = start.copy()
        for tree in trees:
            add_tree(tree, self._binned, scores)
        return scores

    def _rises(self, value: float, before: float) -> bool:
        """Whether a mean is better than another by more than rounding."""
        gain = before - value if self._searcher.lower_is_better else value - before
        return gain > EQUAL_VALUES * max(abs(value), abs(before))


class _Grid:
    """Multiples of a power of two: sums of such numbers are exact while they are not too large."""

    def __init__(self, unit: float) -> None:
        self.unit = unit

    @classmethod
    def of(cls, trees: Sequence[Tree], before: np.ndarray) -> _Grid:
        """The finest grid on which the trees can be added to the scores, with room to grow."""
        heights = (np.abs(tree.value).max() for tree in trees)
        largest = np.abs(before).max(initial=0.0) + _ROOM * math.fsum(heights)
        _, exponent = math.frexp(largest)
        return cls(math.ldexp(1.0, max(exponent - _BITS, _SMALLEST)))

    def round(self, values: np.ndarray) -> np.ndarray:
        """The nearest numbers of the grid."""
        return np.rint(values / self.unit) * self.unit

    def tree(self, tree: Tree) -> Tree:
        """A tree with leaf values of the grid."""
        return tree.with_values(self.round(tree.value))
