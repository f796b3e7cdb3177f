"""The one boosting loop (Burges 2010, algorithm LambdaMART; Wu et al. 2008, algorithm 1).

Each round asks the objective for λ and w at the current scores, grows a tree on them, gives each
leaf its Newton step, and adds the tree to the scores of the training and validation rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rankinite.boosting.objectives import Objective
from rankinite.data.binning import BinnedMatrix
from rankinite.data.seeds import derive_seed
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
    sums_over_leaves,
)

# history["valid"]["ndcg@10"][t] is the mean of the measure after t + 1 trees.
History = dict[str, dict[str, list[float]]]


@dataclass
class Watched:
    """A set of rows whose measure is taken after every round.

    `evaluate` maps scores to the mean of each measure.
    """

    binned: BinnedMatrix
    scores: np.ndarray
    evaluate: Callable[[np.ndarray], dict[str, float]]


@dataclass
class Run:
    """The state of a training run; callbacks see it after every round."""

    n_rounds: int
    trees: list[Tree] = field(default_factory=list)
    history: History = field(default_factory=dict)
    # Of the rounds that were not taken over from an interrupted run.
    seconds: float = 0.0
    n_taken_over: int = 0

    def latest(self) -> dict[str, float]:
        """The newest value of every watched measure, by "set measure"."""
        return {
            f"{name} {measure}": values[-1]
            for name, measures in self.history.items()
            for measure, values in measures.items()
            if values
        }


class Callback(Protocol):
    """Called by the loop.

    One that ends runs by their history alone may also have ``ends(run) -> bool``: it is asked
    about the rounds that are taken over from an interrupted run, which are not called again.
    """

    def after_round(self, run: Run) -> bool:
        """Look at the run; True ends it."""

    def finish(self, run: Run) -> None:
        """The run has ended, in whatever way."""


def boost(
    run: Run,
    objective: Objective,
    grower: Grower,
    scores: np.ndarray,
    watched: dict[str, Watched],
    *,
    learning_rate: float,
    seed: int,
    callbacks: Sequence[Callback] = (),
    earlier: Sequence[Tree] = (),
) -> None:
    """Add trees to `run` until it has `n_rounds` of them or a callback ends it.

    Parameters
    ----------
    run : Run
        Without trees.
    scores : ndarray of float64, shape (n_rows,)
        Scores of the training rows before the first tree; updated in place.
    watched : dict
        Sets by name, each with its scores before the first tree.
    earlier : sequence of Tree
        The trees of an interrupted run, which are taken over.
    """
    try:
        stop = _take_over(run, earlier, grower.binned, scores, watched, callbacks)
        started = time.perf_counter()
        while len(run.trees) < run.n_rounds and not stop:
            round_number = len(run.trees)
            lam, w = (
                gradients(values, grower.communicator)
                for values in objective.gradients(scores, round_number)
            )
            grown = _grow(grower, lam, w, derive_seed(seed, round_number, "tree"))
            steps = newton_steps(grown, lam, w, objective.longest_step, grower)
            tree = grown.tree.with_values(learning_rate * steps)
            add_grown_tree(grown, tree.value, scores)
            for rows in watched.values():
                add_tree(tree, rows.binned, rows.scores)
            _record(run, tree, watched)
            run.seconds = time.perf_counter() - started
            # Every callback sees every round, also the last one.
            verdicts = [callback.after_round(run) for callback in callbacks]
            stop = any(verdicts)
    finally:
        for callback in callbacks:
            callback.finish(run)


def _take_over(
    run: Run,
    trees: Sequence[Tree],
    binned: BinnedMatrix,
    scores: np.ndarray,
    watched: dict[str, Watched],
    callbacks: Sequence[Callback],
) -> bool:
    """Repeat the rounds of an interrupted run without growing; whether one of them ends the run.

    The sets are measured again, for they need not be those that were watched before.
    """
    past = Run(run.n_rounds)
    stop = False
    for tree in trees[: run.n_rounds]:
        add_tree(tree, binned, scores)
        for rows in watched.values():
            add_tree(tree, rows.binned, rows.scores)
        _record(past, tree, watched)
        stop = any(callback.ends(past) for callback in callbacks if hasattr(callback, "ends"))
        if stop:
            break
    # All at once: an interrupt before this line must not leave a run with a part of its trees,
    # which would then replace the checkpoint.
    run.trees, run.history, run.n_taken_over = past.trees, past.history, len(past.trees)
    return stop


def _grow(grower: Grower, lam: Gradients, w: Gradients, seed: np.uint64) -> GrownTree:
    if grower.parameters.split == "newton":
        return grower.grow(pack_newton(lam, w, grower.n_rows), seed)
    return grower.grow(pack_least_squares(lam, grower.n_rows), seed)


def newton_steps(
    grown: GrownTree, lam: Gradients, w: Gradients, longest: float, grower: Grower
) -> np.ndarray:
    """γ = Σλ / Σw of every leaf (Burges 2010, section 7), at most `longest` either way."""
    place = (grown.rows, grown.starts, grown.stops, grower.n_rows, grower.communicator)
    forces = sums_over_leaves(lam, *place)
    masses = sums_over_leaves(w, *place)
    # A leaf whose rows have no curvature left moves by the longest step, if anything pulls at it.
    steps = np.sign(forces) * (longest if np.isfinite(longest) else 0.0)
    np.divide(forces, masses, out=steps, where=masses > 0)
    return np.clip(steps, -longest, longest)


def _record(run: Run, tree: Tree, watched: dict[str, Watched]) -> None:
    """Add the tree and its measures together, so that neither is ever ahead of the other."""
    values = {name: rows.evaluate(rows.scores) for name, rows in watched.items()}
    run.trees.append(tree)
    for name, measures in values.items():
        for measure, value in measures.items():
            run.history.setdefault(name, {}).setdefault(measure, []).append(value)
