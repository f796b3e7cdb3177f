"""A round whose tree is weighed by the exact line search of the measure (Wu et al. 2008)."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from rankinite.boosting.newton_steps import Stepped, newton_steps
from rankinite.boosting.objectives import Objective, document_weights
from rankinite.boosting.tree_stage import TreeStage
from rankinite.data import Queries
from rankinite.linesearch.searching import MODES, LineSearcher
from rankinite.measures import Measure
from rankinite.trees import (
    Gradients,
    Grower,
    GrownTree,
    add_grown_tree,
    gradients,
    sums_over_leaves,
)

BOUNDS = MODES["additive"]
"""Of a tree's weight, in Newton steps; the numbers are those of Wu et al. 2008."""


class LineSearchStage(TreeStage):
    """Learns one tree a round, with the mean λ of its rows in every leaf and one weight for all.

    With a learning rate of 1 the training measure never gets worse.

    Parameters
    ----------
    objective, grower, scores, learning_rate, seed
        As for `TreeStage`; one output.
    measure : Measure
    dataset : Queries
        The training data.
    """

    def __init__(
        self,
        objective: Objective,
        grower: Grower,
        scores: np.ndarray,
        learning_rate: float,
        seed: int,
        measure: Measure,
        dataset: Queries,
    ) -> None:
        super().__init__(objective, grower, scores, learning_rate, seed)
        self._measure = measure
        self._dataset = dataset
        self._mass = gradients(document_weights(dataset), grower.communicator)

    @cached_property
    def _searcher(self) -> LineSearcher:
        # Made for the first tree that has something to say: on data without any, there is no
        # measure to search, and nothing to learn either.
        return LineSearcher(self._measure, self._dataset)

    def _held_out(self, round_number: int) -> None:
        """No row: the weight of a tree is searched on all of them."""

    def _steps(
        self,
        grown: GrownTree,
        lam: Gradients,
        w: Gradients,
        scores: np.ndarray,
        held_out: np.ndarray | None,
    ) -> Stepped:
        return Stepped(grown, self._searched(grown, lam, w, scores))

    def _searched(
        self, grown: GrownTree, lam: Gradients, w: Gradients, scores: np.ndarray
    ) -> np.ndarray:
        """The step of every leaf."""
        place = (grown.leaf_of, grown.tree.n_leaves)
        everywhere = (self.grower.n_rows, self.grower.communicator)
        forces, masses, bends = (
            sums_over_leaves(terms, *place, *everywhere) for terms in (lam, self._mass, w)
        )
        bends += self.grower.parameters.l2_of_steps
        means = np.zeros_like(forces)
        np.divide(forces, masses, out=means, where=masses > 0)
        if np.ptp(means) == 0.0:
            return np.zeros_like(means)
        steps = _newton_length(means, forces, bends, self.objective.longest_step) * means
        tree = np.zeros_like(scores)
        add_grown_tree(grown, steps, tree)
        alpha = self._weight(scores, tree)
        # Of a part of a step it cannot be said that it does no harm.
        if self.learning_rate == 1.0:
            present = self._searcher.value(scores)
            if self._is_worse(self._searcher.value(scores + alpha * tree), present):
                longest = self.objective.longest_step
                own = newton_steps(grown, lam, w, longest, self.grower)
                return self._leaf_by_leaf(grown, own.steps, scores, present)
        return alpha * steps

    def _leaf_by_leaf(
        self, grown: GrownTree, steps: np.ndarray, scores: np.ndarray, present: float
    ) -> np.ndarray:
        """Steps with a weight for each leaf, found one after the other; 0 where all weights lose.

        This is for trees that lose with every weight: they would stop the training, for the next
        tree would be the same. What is compared are the scores that training goes on with, to the
        last bit.

        Parameters
        ----------
        steps : ndarray of float64, shape (n_leaves,)
            The Newton step of each leaf.
        present : float
            The mean measure at the scores.
        """
        weights = np.zeros_like(steps)
        for leaf in np.flatnonzero(steps):
            tree = np.zeros_like(scores)
            tree[grown.leaf_of == leaf] = steps[leaf]
            alpha = self._weight(scores, tree)
            moved = scores + alpha * tree
            value = self._searcher.value(moved)
            if not self._is_worse(value, present):
                weights[leaf], scores, present = alpha, moved, value
        return weights * steps

    def _weight(self, scores: np.ndarray, tree: np.ndarray) -> float:
        """The best α inside `BOUNDS`."""
        low, high = self._searcher.search(scores, tree, *BOUNDS).interval
        # Nearest to 1 in the middle half of the interval, by logarithms: the middle if it is
        # narrow; but where the measure does not care, as for the first tree, under which all α
        # rank alike, the Newton step decides.
        middle = math.sqrt(low * high)
        return min(max(1.0, math.sqrt(low * middle)), math.sqrt(middle * high))

    def _is_worse(self, value: float, present: float) -> bool:
        return value > present if self._searcher.lower_is_better else value < present


def _newton_length(
    means: np.ndarray, forces: np.ndarray, bends: np.ndarray, longest: float
) -> float:
    """The Newton step along the tree with these leaves: the unit of α.

    The best weight of the means themselves goes with 1/σ², and would leave the bounds for a small
    or large σ; in this unit σ scales the scores and changes nothing else. The best α is then mostly
    near 1, and lower for MRR and P@k without `normalize`. No leaf moves further than `longest`.
    """
    # Not by BLAS, whose sums depend on its threads.
    force, bend = float((forces * means).sum()), float((bends * means * means).sum())
    most = longest / float(np.abs(means).max())
    return min(force / bend, most) if bend > 0.0 else most
