"""How far the leaves of a tree go: Newton steps, and whether other queries confirm them.

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


class Others(NamedTuple):
    """The rows that are to confirm the steps of a tree.

    Attributes
    ----------
    held_out : ndarray of bool, shape (n_rows,)
        Rows that did not choose the splits.
    learning_rate : float
    """

    held_out: np.ndarray
    learning_rate: float


def newton_steps(
    grown: GrownTree,
    lam: Gradients,
    w: Gradients,
    longest: float,
    grower: Grower,
    others: Others | None = None,
) -> np.ndarray:
    """γ = Σλ / Σw of every leaf (Burges 2010, section 7), at most `longest` either way.

    L2 regularisation is added to Σw. The part of their steps that `others` confirm may make them
    longer than that.
    """
    place = (grown.leaf_of, grown.tree.n_leaves, grower.n_rows, grower.communicator)
    l2 = grower.parameters.l2_of_steps
    if others is None:
        forces, masses = (sums_over_leaves(terms, *place) for terms in (lam, w))
        return bounded(forces, masses + l2, longest)
    # Of the rows that chose the splits, and of the others.
    forces, masses = (sums_over_leaves(terms, *place, others.held_out) for terms in (lam, w))
    asked = bounded(forces[0], masses[0] + l2, longest)
    steps = bounded(forces.sum(axis=0), masses.sum(axis=0) + l2, longest)
    return steps * confirmed_part(asked, forces[1], masses[1], others)


def confirmed_part(
    steps: np.ndarray, forces: np.ndarray, masses: np.ndarray, others: Others
) -> float:
    """The part of its steps that a tree takes.

    Parameters
    ----------
    steps : ndarray of float64, shape (n_leaves,)
        Those that the rows ask for which chose the splits.
    forces, masses : ndarray of float64, shape (n_leaves,)
        Σλ and Σw of the other rows.
    others : Others
    """
    # Not by BLAS, whose sums depend on its threads.
    force, bend = float((steps * forces).sum()), float((steps * steps * masses).sum())
    if bend <= 0.0:
        return 1.0
    c = force / bend
    part = min(max(c / CONFIRMED, LEAST_PART), 1.0)
    # No further than the others ask for: the learning rate comes on top of it.
    return max(part, min(c / STILL_CONFIRMED, MOST_PART, c / others.learning_rate))


def bounded(forces: np.ndarray, masses: np.ndarray, longest: float) -> np.ndarray:
    """Σλ / Σw of every leaf, at most `longest` either way."""
    # A leaf whose rows have no curvature left moves by the longest step, if anything pulls at it.
    steps = np.sign(forces) * (longest if np.isfinite(longest) else 0.0)
    np.divide(forces, masses, out=steps, where=masses > 0)
    return np.clip(steps, -longest, longest)
