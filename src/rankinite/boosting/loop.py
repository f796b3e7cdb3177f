"""The one boosting loop (Burges 2010, algorithm LambdaMART; Wu et al. 2008, algorithm 1).

Each round learns one more member of the sum, at the scores that the members so far have given the
training rows, and adds it to the scores of the training and validation rows. What a member is, a
tree, a tree for each class or a feature with a coefficient, is the business of the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rankinite.training.run import Callback, Run, run_rounds


@dataclass
class Watched:
    """A set of rows whose measure is taken after every round.

    Attributes
    ----------
    rows : BinnedMatrix or ndarray
        The features, as the stage's members take them.
    scores : ndarray of float64, shape (n_outputs, n_rows)
    evaluate : function
        From scores to the mean of each measure.
    """

    rows: Any
    scores: np.ndarray
    evaluate: Callable[[np.ndarray], dict[str, float]]


@dataclass
class BoostingRun(Run):
    """A run with what its rounds have learned."""

    members: list[Any] = field(default_factory=list)


class Stage(Protocol):
    """How one round learns; it holds the scores of the training rows."""

    def learn(self, round_number: int) -> Any:
        """Learn the next member at the present scores, and add it to them."""

    def repeat(self, member: Any) -> None:
        """Add a member that was learned before to the scores."""

    def add(self, member: Any, rows: Any, scores: np.ndarray) -> None:
        """Add a member to the scores of other rows."""


def boost(
    run: BoostingRun,
    stage: Stage,
    watched: dict[str, Watched],
    *,
    callbacks: Sequence[Callback] = (),
    earlier: Sequence[Any] = (),
) -> None:
    """Add members to `run` until it has `n_rounds` of them or a callback ends it.

    Parameters
    ----------
    run : BoostingRun
        Without members.
    stage : Stage
        With the scores of the training rows before the first round.
    watched : dict
        Sets by name, each with its scores before the first round.
    earlier : sequence
        The members of an interrupted run, which are taken over.
    """

    def learn() -> bool:
        _record(run, stage.learn(run.n_done), stage, watched)
        return True

    def begin() -> bool:
        return _take_over(run, earlier, stage, watched, callbacks)

    run_rounds(run, callbacks, learn, begin)


def _take_over(
    run: BoostingRun,
    members: Sequence[Any],
    stage: Stage,
    watched: dict[str, Watched],
    callbacks: Sequence[Callback],
) -> bool:
    """Repeat the rounds of an interrupted run without learning; whether one of them ends the run.

    The sets are measured again, for they need not be those that were watched before.
    """
    past = BoostingRun(run.n_rounds)
    stop = False
    for member in members[: run.n_rounds]:
        stage.repeat(member)
        _record(past, member, stage, watched)
        stop = any(callback.ends(past) for callback in callbacks if hasattr(callback, "ends"))
        if stop:
            break
    # All at once: an interrupt before this line must not leave a run with a part of its members,
    # which would then replace the checkpoint.
    run.members, run.history = past.members, past.history
    run.n_done = run.n_taken_over = past.n_done
    return stop


def _record(run: BoostingRun, member: Any, stage: Stage, watched: dict[str, Watched]) -> None:
    """Add the member and its measures together, so that neither is ever ahead of the other."""
    values = {}
    for name, each in watched.items():
        stage.add(member, each.rows, each.scores)
        values[name] = each.evaluate(each.scores)
    run.members.append(member)
    run.note(values)
