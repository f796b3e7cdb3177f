"""How far the leaves of a tree go: Newton steps, and how well other queries confirm them.

A tree that was grown on some of the queries is tried on the others. With γ the steps that the drawn
queries ask for, the cost of the others as a function of a common factor c of all steps is, to the
second order, C(c) = C(0) − c Σ γλ + ½ c² Σ γ²w over their documents, and lowest at

    c = Σ γλ / Σ γ²w.

It is about 1 while trees find what holds for all queries, and about 0 once they only find the noise
in the labels of those they were grown on. Then the steps are shortened. As long as trees are
confirmed, there is more to learn than such steps get to, and they are lengthened. The steps
themselves are those of all documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite.trees import Gradients, Grower, GrownTree, sums_over_leaves

# From this c on a tree takes its whole steps: what was learned of the other queries before is
# missing in c, so that it tells too little of what there is still to learn.
CONFIRMED = 0.125
# No tree takes less than this part of its steps, for c is itself a guess from few queries.
LEAST_PART = 0.4
# From this c on trees take more than their steps, and at three times this c the most.
STILL_CONFIRMED = 0.3
MOST_PART = 3.0


class Verdict(NamedTuple):
    """What rows that did not choose the splits of a tree say of its steps.

    Attributes
    ----------
    force, bend : float
        Σ γλ and Σ γ²w over these rows, with the γ that the rows ask for which chose the splits.
    """

    force: float
    bend: float

    @property
    def c(self) -> float:
        """What the steps should be multiplied by, for these rows; 0 if they cannot tell."""
        return self.force / self.bend if self.bend > 0.0 else 0.0

    @property
    def gain(self) -> float:
        """Twice what c times the steps lower the cost by; below 0 if they go the wrong way."""
        return self.c * abs(self.force)

    def part(self, learning_rate: float) -> float:
        """The part of its steps that the tree takes; more than 1: they are lengthened."""
        if self.bend <= 0.0:
            return 1.0
        part = min(max(self.c / CONFIRMED, LEAST_PART), 1.0)
        # No further than these rows ask for: the learning rate comes on top of it.
        return max(part, min(self.c / STILL_CONFIRMED, MOST_PART, self.c / learning_rate))


class Stepped(NamedTuple):
    """A tree, the step of every leaf, and what the rows say that did not choose its splits."""

    grown: GrownTree
    steps: np.ndarray
    verdict: Verdict | None = None


def newton_steps(
    grown: GrownTree,
    lam: Gradients,
    w: Gradients,
    longest: float,
    grower: Grower,
    held_out: np.ndarray | None = None,
) -> Stepped:
    """γ = Σλ / Σw of every leaf (Burges 2010, section 7), at most `longest` either way.

    L2 regularisation is added to Σw. `held_out`, of bool, are the rows that did not choose the
    splits.
    """
    place = (grown.leaf_of, grown.tree.n_leaves, grower.n_rows, grower.communicator)
    l2 = grower.parameters.l2_of_steps
    if held_out is None:
        forces, masses = (sums_over_leaves(terms, *place) for terms in (lam, w))
        return Stepped(grown, bounded(forces, masses + l2, longest))
    # Of the rows that chose the splits, and of the others.
    forces, masses = (sums_over_leaves(terms, *place, held_out) for terms in (lam, w))
    asked = bounded(forces[0], masses[0] + l2, longest)
    steps = bounded(forces.sum(axis=0), masses.sum(axis=0) + l2, longest)
    return Stepped(grown, steps, verdict_of(asked, forces[1], masses[1]))


def verdict_of(steps: np.ndarray, forces: np.ndarray, masses: np.ndarray) -> Verdict:
    """What rows with these Σλ and Σw in the leaves say of the steps, each of shape (n_leaves,)."""
    # Not by BLAS, whose sums depend on its threads.
    return Verdict(float((steps * forces).sum()), float((steps * steps * masses).sum()))


def bounded(forces: np.ndarray, masses: np.ndarray, longest: float) -> np.ndarray:
    """Σλ / Σw of every leaf, at most `longest` either way."""
    # A leaf whose rows have no curvature left moves by the longest step, if anything pulls at it.
    steps = np.sign(forces) * (longest if np.isfinite(longest) else 0.0)
    np.divide(forces, masses, out=steps, where=masses > 0)
    return np.clip(steps, -longest, longest)
