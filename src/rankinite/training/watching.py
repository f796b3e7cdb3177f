"""The sets that are measured after every round, and which of them leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankinite.data import Dataset, Queries
from rankinite.distributed import Communicator, everywhere
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Measure, PairMeasure
from rankinite.measures.evaluation import Evaluator, mean_value
from rankinite.models.ranker import with_features
from rankinite.training.callbacks import EarlyStopping, best_round
from rankinite.training.run import History


@dataclass(eq=False)
class Watched:
    """A set of rows whose measures are taken after every round.

    Attributes
    ----------
    name : str
    data : Dataset
    measures : sequence of Measure
        The first one decides, if this set leads.
    evaluate : function
        From scores of shape (n_rows,) to the mean of each measure, by its name.
    rows : any
        The features, as the learner takes them.
    scores : ndarray of float64
        Before the first round; a learner whose rounds add up keeps them up to date.
    """

    name: str
    data: Dataset
    measures: Sequence[Measure]
    evaluate: Callable[[np.ndarray], dict[str, float]]
    rows: Any = None
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def measure(self) -> Measure:
        """The measure that decides."""
        return self.measures[0]

    @property
    def what(self) -> str:
        """What errors call the set."""
        return f"the validation set {self.name!r}"


class WatchedSets:
    """The watched sets of a run. One of them leads: it decides when to stop and what was best.

    Parameters
    ----------
    sets : sequence of Watched
        The one called "valid" leads, or the last one.
    """

    def __init__(self, sets: list[Watched]) -> None:
        self._sets = sets
        named = [watched for watched in sets if watched.name == "valid"]
        self.leader = next(iter([*named, *sets[-1:]]), None)

    def __iter__(self) -> Iterator[Watched]:
        return iter(self._sets)

    def merit(self, values: Mapping[str, Mapping[str, float]]) -> float | None:
        """How good a round is by its measures, more is better; None without a set."""
        if self.leader is None:
            return None
        value = values[self.leader.name][str(self.leader.measure)]
        return -value if self.leader.measure.lower_is_better else value

    def best_round(self, history: History, n_done: int) -> int:
        """The round at which the leading set's measure was best; all `n_done` without one."""
        if self.leader is None:
            return n_done
        leading = self.leader.measure
        best = best_round(history, self.leader.name, str(leading), leading.lower_is_better)
        return best or n_done

    def early_stopping(self, rounds: int) -> EarlyStopping:
        """Ends a run when the leading set has not become better for so many rounds."""
        if self.leader is None:
            raise ParameterError(
                f"early_stopping={rounds} needs data to watch: pass valid=, or leave it out"
            )
        leading = self.leader.measure
        return EarlyStopping(rounds, self.leader.name, str(leading), leading.lower_is_better)


def named_sets(
    valid: Dataset | Mapping[str, Dataset] | None, of_a_share: bool = False
) -> dict[str, Dataset]:
    """What ``fit`` was given as `valid`, as sets by name.

    A worker that has a share of the data may have no rows of some of them, which are None then.
    """
    if valid is None:
        valid = {}
    sets = {"valid": valid} if isinstance(valid, Dataset) else valid
    if not isinstance(sets, Mapping):
        raise DataError(
            f"valid must be a Dataset or a dict of Datasets by name, not a {type(valid).__name__}"
        )
    for name, rows in sets.items():
        if rows is None and of_a_share:
            continue
        if not isinstance(rows, Dataset) or (rows.y is None and rows.preferences is None):
            raise DataError(
                f"the validation set {name!r} must be a Dataset with labels or preferences"
            )
    return dict(sets)


def check_measurable(rows: Queries, watched: Measure, name: str) -> None:
    """Refuse a measure that needs what the set called `name` does not have."""
    needed = "preferences" if isinstance(watched, PairMeasure) else "labels"
    if (rows.preferences if needed == "preferences" else rows.y) is None:
        raise DataError(
            f"the validation set {name!r} has no {needed}, on which {watched} is measured: add "
            "them, or set another valid_measure"
        )


def check_watchable(watched: Watched) -> None:
    """Refuse to stop early by a measure that has no value on its set, whatever the scores are."""
    name = str(watched.measure)
    if np.isnan(watched.evaluate(np.zeros(watched.data.n_rows))[name]):
        raise everywhere(
            DataError(
                f"early_stopping cannot watch {name} on the validation set {watched.name!r}, where "
                "it has no value (every query is blank or weighs 0): pass other data, or leave "
                "early_stopping out"
            )
        )


def like_training(rows: Dataset, train: Dataset, name: str) -> Dataset:
    """A validation set with the features of the training data; an error if it has others."""
    what = f"the validation set {name!r}"
    return with_features(what, rows, train.n_features, train.feature_names)


def means_of(
    measures: Sequence[Measure],
    rows: Queries,
    sigma: float = 1.0,
    communicator: Communicator | None = None,
) -> Callable[[np.ndarray], dict[str, float]]:
    """The means of measures on a set, by their names, as a function of the scores.

    `sigma` is the slope of the pair probability, for the log loss of preference pairs. With a
    `communicator` the means are over the queries of all workers.
    """
    evaluators = {str(each): Evaluator(each, rows, sigma, communicator) for each in measures}

    def mean(evaluator: Evaluator, scores: np.ndarray) -> float:
        values = evaluator.values(scores)
        total, mass = mean_value(values, "skip", evaluator.weight, communicator)
        return total / mass if mass > 0 else float("nan")

    def evaluate(scores: np.ndarray) -> dict[str, float]:
        return {name: mean(evaluator, scores) for name, evaluator in evaluators.items()}

    return evaluate
