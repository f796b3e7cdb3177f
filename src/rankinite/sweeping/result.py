"""What a sweep has found: its trials, the best of them, and how to train with its parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankinite._text_table import aligned
from rankinite.data import Dataset
from rankinite.errors import DataError
from rankinite.measures import Measure
from rankinite.sweeping.space import Space
from rankinite.sweeping.trial import FAILED, PRUNED, Trial
from rankinite.training import Learner
from rankinite.training.cross_validation import watches
from rankinite.training.run import Callback

# Rows of the table.
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Sweep:
    """Trials of a sweep; printing shows the best of them.

    Attributes
    ----------
    ranker : Learner
        Untrained, with the parameters that are fixed.
    space : Space
    measure : Measure
        What trials are judged by.
    trials : list of Trial
        All that have ended, by their numbers.
    n_trials : int
        How many there are to be.
    n_folds, seed : int
    """

    ranker: Learner
    space: Space
    measure: Measure
    trials: list[Trial]
    n_trials: int
    n_folds: int
    seed: int

    @property
    def ranking(self) -> list[Trial]:
        """The complete trials, the best first; of equally good ones the one that came first."""
        complete = [each for each in self.trials if each.is_complete and each.value == each.value]
        sign = 1.0 if self.measure.lower_is_better else -1.0
        return sorted(complete, key=lambda trial: (sign * trial.value, trial.number))

    @property
    def best(self) -> Trial:
        """The best trial; an error if none is complete."""
        if not self.ranking:
            failed = [each for each in self.trials if each.state == FAILED]
            why = f", the first to fail because {failed[0].error}" if failed else ""
            raise DataError(f"none of {len(self.trials)} trials is complete{why}")
        return self.ranking[0]

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        return dict(self.best.params)

    @property
    def best_value(self) -> float:
        """The mean of the measure of the best trial; the best of many is flattered by chance."""
        return self.best.value

    @property
    def best_ranker(self) -> Learner:
        """An untrained ranker with the best parameters, for all data.

        A sum of rounds that stopped early has as many as were kept on average over the folds, and
        needs no other data to watch. Others that watch, nets, still do.
        """
        best = self.best
        ranker = self.ranker.__sklearn_clone__().set_params(**best.params)
        if watches(ranker) and ranker.sums_rounds:
            n_rounds = max(1, round(best.mean_rounds))
            ranker.set_params(**{ranker._rounds: n_rounds, "early_stopping": None})
        return ranker

    def train(self, data: Dataset, callbacks: Sequence[Callback] = ()) -> Learner:
        """Train with the best parameters on all data.

        A ranker that must watch other queries than it learns from watches a part as large as a
        fold.
        """
        ranker = self.best_ranker
        if not watches(ranker):
            return ranker.fit(data, callbacks=callbacks)
        rest, valid = next(iter(data.folds(self.n_folds, self.seed)))
        return ranker.fit(rest, valid=valid, callbacks=callbacks)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the trials to a .png or .svg file, a panel for each parameter."""
        from rankinite.sweeping.plot import draw

        draw(self, path)

    def __str__(self) -> str:
        if not self.ranking:
            return self._summary()
        header = ("trial", *self.space.names, str(self.measure), "spread", self._unit, "seconds")
        rows = [self._row(each) for each in self.ranking[:_SHOWN]]
        return f"{aligned(header, rows, n_left=0)}\n{self._summary()}"

    @property
    def _unit(self) -> str:
        return f"{self.ranker.unit}s"

    def _row(self, trial: Trial) -> tuple[str, ...]:
        return (
            str(trial.number),
            *(_in_words(trial.params[name]) for name in self.space.names),
            f"{trial.value:.4f}",
            "–" if math.isnan(trial.spread) else f"{trial.spread:.4f}",
            f"{trial.mean_rounds:.0f}",
            f"{trial.seconds:.1f}",
        )

    def _summary(self) -> str:
        """How many trials have ended, and how."""
        told = [f"{len(self.trials)} of {self.n_trials} trials"]
        n_more = len(self.ranking) - _SHOWN
        if n_more > 0:
            told.append(f"the best {_SHOWN} are shown")
        n_pruned = sum(each.state == PRUNED for each in self.trials)
        if n_pruned:
            told.append(f"{n_pruned} pruned")
        failed = [each for each in self.trials if each.state == FAILED]
        if failed:
            first = failed[0]
            told.append(f"{len(failed)} failed, the first (trial {first.number}): {first.error}")
        return "; ".join(told)


def _in_words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
