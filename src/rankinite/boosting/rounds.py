"""The rounds of boosting (Burges 2010, algorithm LambdaMART; Wu et al. 2008, algorithm 1).

Each round learns one more member of the sum, at the scores that the members so far have given the
training rows, and adds it to the scores of the training and validation rows. What a member is, a
tree, a tree for each class or a feature with a coefficient, is the business of the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rankinite.boosting.objectives import Identity, Link
from rankinite.training import Rounds, Run, Watched, WatchedSets, add_round

M = TypeVar("M")


class Stage(Protocol[M]):
    """How one round learns; it holds the scores of the training rows."""

    def learn(self, round_number: int) -> M:
        """Learn the next member at the present scores, and add it to them."""

    def repeat(self, member: M) -> None:
        """Add a member that was learned before to the scores."""

    def add(self, member: M, rows: Any, scores: np.ndarray) -> None:
        """Add a member to the scores of other rows, shape (n_outputs, n_rows)."""

    def separates(self, member: M) -> bool:
        """Whether a member adds different numbers to different rows."""


S = TypeVar("S", bound=Stage)


class BoostingRounds(Rounds, Generic[S, M]):
    """A sum that grows by a member a round.

    Parameters
    ----------
    stage : Stage
        With the scores of the training rows before the first round.
    fingerprint : str
        Of the training data.
    link : Link
        From the outputs of the members to scores.

    Attributes
    ----------
    members : list
        What the rounds have learned.
    """

    def __init__(self, stage: S, fingerprint: str, link: Link | None = None) -> None:
        self.stage = stage
        self.fingerprint = fingerprint
        self.link = Identity() if link is None else link
        self.members: list[M] = []

    def learn(self, number: int) -> M:
        """The stage's next member."""
        return self.stage.learn(number)

    def scores(self, learned: M, watched: Watched) -> np.ndarray:
        """Add the member to the set's outputs."""
        self.stage.add(learned, watched.rows, watched.scores)
        return self.link.scores(watched.scores)

    def keep(self, learned: M, merit: float | None, n_done: int) -> None:
        """One member more."""
        self.members.append(learned)

    def learned_nothing(self) -> bool:
        """Whether no member moves two rows apart."""
        return not any(map(self.stage.separates, self.members))

    def take_over(
        self,
        earlier: Sequence[M],
        run: Run,
        sets: WatchedSets,
        ends: Callable[[Run], bool],
    ) -> bool:
        """Repeat members without learning.

        The sets are measured again, for they need not be those that were watched before.
        """
        past = Run(run.n_rounds)
        stop = False
        for member in earlier[: run.n_rounds]:
            self.stage.repeat(member)
            add_round(past, self, sets, member)
            stop = ends(past)
            if stop:
                break
        run.history = past.history
        run.n_done = run.n_taken_over = past.n_done
        return stop
