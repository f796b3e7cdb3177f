"""The sets that are measured after every round: taking them in, binning and measuring them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rankinite.binning import BinMapper, BinnedMatrix
from rankinite.data import Dataset, Queries
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Measure, PairMeasure
from rankinite.measures.evaluation import Evaluator, mean_value
from rankinite.models.ranker import check_features


def named_sets(
    valid: Dataset | Mapping[str, Dataset] | None, early_stopping: int | None
) -> dict[str, Dataset]:
    """What ``fit`` was given as `valid`, as sets by name."""
    if valid is None:
        valid = {}
    sets = {"valid": valid} if isinstance(valid, Dataset) else valid
    if not isinstance(sets, Mapping):
        raise DataError(
            f"valid must be a Dataset or a dict of Datasets by name, not a {type(valid).__name__}"
        )
    if not sets and early_stopping is not None:
        raise ParameterError(
            f"early_stopping={early_stopping} needs data to watch: pass valid=, or leave it out"
        )
    for name, rows in sets.items():
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


def leading_set(sets: Mapping[str, object]) -> str:
    """The name of the set that decides when to stop and which round was best."""
    return "valid" if "valid" in sets else list(sets)[-1]


def check_watchable(values: dict[str, float], name: str) -> None:
    """Refuse to stop early by measures that have no value on the set called `name`."""
    for measure_name, value in values.items():
        if np.isnan(value):
            raise DataError(
                f"early_stopping cannot watch {measure_name} on the validation set {name!r}, where "
                "it has no value (every query is blank or weighs 0): pass other data, or leave "
                "early_stopping out"
            )


def check_like(rows: Dataset, train: Dataset, name: str) -> None:
    """Refuse a validation set whose features are not those of the training data."""
    check_features(
        f"the validation set {name!r}",
        rows.n_features,
        rows.feature_names,
        train.n_features,
        train.feature_names,
    )


def binned_like(rows: Dataset, train: Dataset, mapper: BinMapper, name: str) -> BinnedMatrix:
    """A validation set in the bins of the training data."""
    check_like(rows, train, name)
    return rows.features.bins_by(
        mapper,
        f"the validation set {name!r} holds only bins, and they are not those of the training "
        "data: save it with like=<the training data>",
    )


def mean_of(
    watched: Measure, rows: Queries, sigma: float = 1.0
) -> Callable[[np.ndarray], dict[str, float]]:
    """The mean of a measure on a set, by its name, as a function of the scores.

    `sigma` is the slope of the pair probability, for the log loss of preference pairs.
    """
    evaluator = Evaluator(watched, rows, sigma)

    def evaluate(scores: np.ndarray) -> dict[str, float]:
        total, mass = mean_value(evaluator.values(scores), "skip", evaluator.weight)
        return {str(watched): total / mass if mass > 0 else float("nan")}

    return evaluate
