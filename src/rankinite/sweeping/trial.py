"""A trial: parameters of a ranker, and what they came to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"


class Look(NamedTuple):
    """How good a trial was when it was looked at.

    Attributes
    ----------
    fold : int
        From 0 on.
    round : int
        Rounds of this fold so far; the most that any trial may have stands for its end.
    value : float
        Mean over the folds that are done, and this one.
    """

    fold: int
    round: int
    value: float


@dataclass(frozen=True)
class Trial:
    """Parameters, and what they came to.

    Attributes
    ----------
    number : int
        From 0 on; it decides the parameters, with the seed.
    params : dict
        Those that are swept.
    state : {"complete", "pruned", "failed"}
        Pruned if it was given up because others were better at the same point.
    value : float
        Mean of the measure over all queries, each ranked by a model that has not seen it; NaN
        unless it is complete.
    folds : list of float
        The mean of each fold that was done.
    rounds : list of int
        Rounds (trees, epochs) that were kept in each of them.
    seconds : float
    curve : list of Look
        What it was when it was looked at.
    error : str
        Why it failed.
    """

    number: int
    params: dict[str, Any]
    state: str = COMPLETE
    value: float = math.nan
    folds: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    seconds: float = 0.0
    curve: list[Look] = field(default_factory=list)
    error: str = ""

    @property
    def spread(self) -> float:
        """Standard deviation of the folds' means; NaN of fewer than two."""
        return float(np.std(self.folds, ddof=1)) if len(self.folds) > 1 else math.nan

    @property
    def mean_rounds(self) -> float:
        """Mean of the rounds that were kept; NaN without a fold."""
        return float(np.mean(self.rounds)) if self.rounds else math.nan

    @property
    def is_complete(self) -> bool:
        """Whether it went through all folds."""
        return self.state == COMPLETE


class Task(NamedTuple):
    """A trial that is to be run.

    Attributes
    ----------
    number : int
    params : dict
    rivals : list of list of Look
        The curves of the trials that it is compared with on the way.
    """

    number: int
    params: dict[str, Any]
    rivals: list[list[Look]]
