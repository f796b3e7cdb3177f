"""A round whose tree is weighed by the exact line search of the measure (Wu et al. 2008)."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from rankinite.boosting.objectives import Objective, document_weights
from rankinite.boosting.tree_stage import TreeStage
from rankinite.combine.searching import MODES, LineSearcher
from rankinite.data import Dataset
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

    Parameters
    ----------
    objective, grower, scores, learning_rate, seed
        As for `TreeStage`; one output.
    measure : Measure
    dataset : Dataset
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
        dataset: Dataset,
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

    def _steps(
        self, grown: GrownTree, lam: Gradients, w: Gradients, scores: np.ndarray
    ) -> np.ndarray:
        place = (grown.rows, grown.starts, grown.stops)
        everywhere = (self.grower.n_rows, self.grower.communicator)
        forces, masses, bends = (
            sums_over_leaves(terms, *place, *everywhere) for terms in (lam, self._mass, w)
        )
        means = np.zeros_like(forces)
        np.divide(forces, masses, out=means, where=masses > 0)
        if np.ptp(means) == 0.0:
            return np.zeros_like(means)
        steps = _newton_length(means, forces, bends, self.objective.longest_step) * means
        tree = np.zeros_like(scores)
        add_grown_tree(grown, steps, tree)
        return self._weight(scores, tree) * steps

    def _weight(self, scores: np.ndarray, tree: np.ndarray) -> float:
        """The best α inside `BOUNDS`.

        If whole steps are taken, and each of these makes the measure worse, it is the best below
        them: right of 0 the measure is the present one wherever no documents tie, so a tree comes
        to nothing only if even that is worse. What is compared are the scores that training goes
        on with, to the last bit, so the training measure never gets worse. Of a part of a step that
        cannot be said, and the lower bound keeps the training going.
        """
        searcher = self._searcher
        alpha = _towards_newton(*searcher.search(scores, tree, *BOUNDS).interval)
        if self.learning_rate != 1.0:
            return alpha
        present = searcher.value(scores)
        if self._is_worse(scores + alpha * tree, present):
            alpha = searcher.search(scores, tree, 0.0, BOUNDS[0]).alpha
            if self._is_worse(scores + alpha * tree, present):
                return 0.0
        return alpha

    def _is_worse(self, scores: np.ndarray, present: float) -> bool:
        value = self._searcher.value(scores)
        return value > present if self._searcher.lower_is_better else value < present


def _newton_length(
    means: np.ndarray, forces: np.ndarray, bends: np.ndarray, longest: float
) -> float:
    """The Newton step along the tree with these leaves: the unit of α.

    λs are as large as the measure, `normalize` and σ make them; in this unit the best α is about 1
    for all. No leaf moves further than `longest`.
    """
    # Not by BLAS, whose sums depend on its threads.
    force, bend = float((forces * means).sum()), float((bends * means * means).sum())
    most = longest / float(np.abs(means).max())
    return min(force / bend, most) if bend > 0.0 else most


def _towards_newton(low: float, high: float) -> float:
    """The number nearest to 1 in the middle half of an interval, by logarithms.

    In a narrow interval this is the middle. But where the measure does not care, as for the first
    tree, under which all α rank alike, the Newton step decides.
    """
    middle = math.sqrt(low * high)
    return min(max(1.0, math.sqrt(low * middle)), math.sqrt(middle * high))
