"""A round of boosted trees: λ and w, a tree grown on them for each output, and their steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from rankinite.binning import Bins
from rankinite.boosting.growth_trials import GrowthTrials
from rankinite.boosting.newton_steps import Stepped, newton_steps
from rankinite.boosting.objectives import Objective
from rankinite.boosting.row_sample import RowSample
from rankinite.order.seeds import derive_seed
from rankinite.trees import (
    Gradients,
    Grower,
    GrownTree,
    Tree,
    add_grown_tree,
    add_tree,
    gradients,
    pack_least_squares,
    pack_newton,
)

# A tree for each output.
Trees = tuple[Tree, ...]


class TreeStage:
    """Learns one tree for each output of the objective a round.

    Parameters
    ----------
    objective : Objective
    grower : Grower
    scores : ndarray of float64, shape (n_outputs, n_rows)
        Of the training rows before the first round; updated in place.
    learning_rate : float
    seed : int

    Attributes
    ----------
    sample : RowSample or None
        Draws the documents that choose the splits of a round's trees; None: all do.
    confirms : bool
        Whether queries that were not drawn say how much of its steps a tree takes.
    trials : GrowthTrials or None
        Lets these queries say which way trees grow; None: the grower's own.
    """

    sample: RowSample | None = None
    confirms: bool = False
    trials: GrowthTrials | None = None

    def __init__(
        self,
        objective: Objective,
        grower: Grower,
        scores: np.ndarray,
        learning_rate: float,
        seed: int,
    ) -> None:
        self.objective = objective
        self.grower = grower
        self.scores = scores
        self.learning_rate = learning_rate
        self.seed = seed
        self._latest: Trees = ()

    def learn(self, round_number: int) -> Trees:
        """Grow trees at the present scores, and add them."""
        pulls = self.objective.gradients(self.scores, round_number)
        self._latest = tuple(
            self._learn_output(output, round_number, *pull) for output, pull in enumerate(pulls)
        )
        return self._latest

    def _learn_output(self, output: int, round_number: int, lam: np.ndarray, w: np.ndarray) -> Tree:
        grower = self.grower
        forces, bends = (gradients(values, grower.communicator) for values in (lam, w))
        grow = self._grow(forces, bends, round_number, output)
        held_out = self._held_out(round_number)

        def stepped(growth: str | None) -> Stepped:
            grown = grow(growth=growth)
            return self._steps(grown, forces, bends, self.scores[output], held_out)

        if self.trials is None or held_out is None:
            found = stepped(None)
        else:
            latest = self._latest[output] if self._latest else None
            found = self.trials.better(stepped, round_number, latest)
        factor = self.learning_rate
        if self.confirms and found.verdict is not None:
            factor *= found.verdict.part(self.learning_rate)
        tree = found.grown.tree.with_values(factor * found.steps)
        add_grown_tree(found.grown, tree.value, self.scores[output])
        return tree

    def grow(self, lam: Gradients, w: Gradients, round_number: int, output: int) -> GrownTree:
        """A tree on the λ and w of all rows, or on those of the rows that are drawn for it."""
        return self._grow(lam, w, round_number, output)()

    def _grow(
        self, lam: Gradients, w: Gradients, round_number: int, output: int
    ) -> Callable[..., GrownTree]:
        """What grows the tree, one way or another."""
        grower, seed = self.grower, self._seed(round_number, output)
        newton = grower.parameters.split == "newton"
        if self.sample is not None:
            drawn = self.sample.draw(lam, w if newton else self._ones, self.seed, round_number)
            packed = pack_newton(drawn.lam, drawn.w, grower.n_rows)
            return partial(grower.grow, packed, seed, drawn.rows, drawn.n_meant)
        if newton:
            return partial(grower.grow, pack_newton(lam, w, grower.n_rows), seed)
        return partial(grower.grow, pack_least_squares(lam, grower.n_rows), seed)

    @cached_property
    def _ones(self) -> Gradients:
        """The masses of rows for least squares, before some of them are drawn."""
        return gradients(np.ones(self.scores.shape[1]), self.grower.communicator)

    def _held_out(self, round_number: int) -> np.ndarray | None:
        """The rows that are asked about the round's trees; None: no row is."""
        if self.sample is None or not (self.confirms or self.trials is not None):
            return None
        return self.sample.held_out(self.seed, round_number)

    def _steps(
        self,
        grown: GrownTree,
        lam: Gradients,
        w: Gradients,
        scores: np.ndarray,
        held_out: np.ndarray | None,
    ) -> Stepped:
        """What each leaf of a tree would add to the scores, but for the learning rate."""
        return newton_steps(grown, lam, w, self.objective.longest_step, self.grower, held_out)

    def _seed(self, round_number: int, output: int) -> np.uint64:
        parts = (self.seed, round_number, "tree")
        return derive_seed(*parts) if output == 0 else derive_seed(*parts, output)

    def repeat(self, member: Trees) -> None:
        """Add the trees of an earlier round."""
        self._latest = member
        self.add(member, self.grower.binned, self.scores)

    def add(self, member: Trees, rows: Bins, scores: np.ndarray) -> None:
        """Add the trees of a round to the scores of rows, shape (n_outputs, n_rows)."""
        for tree, outputs in zip(member, scores, strict=True):
            add_tree(tree, rows, outputs)

    def separates(self, member: Trees) -> bool:
        """Whether a tree has leaves of different values."""
        return any(np.ptp(tree.value) > 0.0 for tree in member)
