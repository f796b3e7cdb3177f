"""Giving up trials that are behind, by the curve of the queries that are watched.

A trial goes through the same folds in the same order as all others, so it can be compared with
them at any point: in fold k after t rounds, by the mean over the folds that are done, on their test
queries, and the best value so far in fold k, on the queries that early stopping watches. So a
trial can be given up inside its first fold. One that watches nothing is looked at between folds.

A trial is compared with those that were complete some trials before it, whoever ran them. So
which are pruned does not depend on how many run at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.sweeping.trial import Look
from rankinite.training.run import Run

# A trial is given up if it is behind so large a share of its rivals.
SHARES = {"none": None, "median": 0.5, "quarter": 0.75}
# Fewer rivals than that say too little.
_FEWEST_RIVALS = 5
# How often a fold is looked at: seldom, for each look is one more chance to give up a good trial by
# accident, and small learning rates are behind at the start, whatever they come to.
_LOOKS = 5


class PrunedError(Exception):
    """The trial is behind: its training ends here."""


class Curve:
    """The curve of a trial as it goes; a callback of the trainings of its folds.

    Parameters
    ----------
    rivals : sequence of list of Look
        Curves of complete trials.
    share : float or None
        A trial is given up when it is behind so large a share of them; None never gives up.
    longest : int
        Most rounds of any trial.
    n_folds : int
        After the last of them nothing is given up.
    measure : str
        What is watched.
    sign : float
        −1 if less is better.

    Attributes
    ----------
    looks : list of Look
    folds : list of float
        The means over the test queries of the folds that are done.
    """

    def __init__(
        self,
        rivals: Sequence[list[Look]],
        share: float | None,
        longest: int,
        n_folds: int,
        measure: str,
        sign: float,
    ) -> None:
        self.looks: list[Look] = []
        self.folds: list[float] = []
        self._rivals, self._share, self._longest = rivals, share, longest
        self._n_folds, self._measure, self._sign = n_folds, measure, sign
        self._every = max(1, longest // _LOOKS)

    def after_round(self, run: Run) -> bool:
        """Look at the watched queries now and then; never stops a run, but may give up the trial.

        The curve has all looks, whether trials are pruned or not: those of the first trials
        are what the others are compared with.
        """
        if run.n_done % self._every == 0 and run.n_done < self._longest:
            values = run.history.get("valid", {}).get(self._measure, [])
            if values and not np.isnan(values).all():
                best = self._sign * np.nanmax(self._sign * np.array(values))
                self._look(run.n_done, [*self.folds, float(best)])
        return False

    def finish(self, run: Run) -> None:
        """The fold ends when its test queries are measured."""

    def end_fold(self, value: float) -> None:
        """Take the mean over the test queries of a fold."""
        self.folds.append(value)
        self._look(self._longest, self.folds)

    def _look(self, n_rounds: int, values: list[float]) -> None:
        known = [value for value in values if not np.isnan(value)]
        if not known:
            return
        look = Look(len(values) - 1, n_rounds, float(np.mean(known)))
        self.looks.append(look)
        if len(self.folds) < self._n_folds and self._is_behind(look):
            raise PrunedError

    def _is_behind(self, look: Look) -> bool:
        if self._share is None:
            return False
        values = [value for each in self._rivals if (value := self._at(each, look)) is not None]
        if len(values) < _FEWEST_RIVALS:
            return False
        signed = self._sign * np.array(values)
        return bool(self._sign * look.value < np.quantile(signed, 1 - self._share))

    def _at(self, rival: list[Look], look: Look) -> float | None:
        """What a rival had come to at the point of a look; None if nobody looked.

        One whose fold had ended by then counts by what it had come to, on the same queries.
        """
        ends = look.round == self._longest
        values = [
            each.value
            for each in rival
            if each.fold == look.fold
            and (each.round == self._longest if ends else each.round <= look.round)
        ]
        return values[-1] if values else None
