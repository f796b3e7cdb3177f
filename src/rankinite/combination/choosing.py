"""Which way to combine is best: each is tried on queries that it has not learned from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite.combination.combination import Combination
from rankinite.combination.combiner import METHODS, learn
from rankinite.combination.members import as_members, check_members, in_content_order, table_of
from rankinite.data import Dataset
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.measures.evaluation import Evaluator, MeasureLike, mean_value


@dataclass(frozen=True)
class Contender:
    """A way to combine, with what it came to.

    Attributes
    ----------
    method, normalize : str
        As in `Combination`.
    held_out : float
        The mean of the measure over queries from which the weights were not learned.
    """

    method: str
    normalize: str
    held_out: float


def ways_to_combine(normalize: str = "data") -> list[tuple[str, str]]:
    """All methods with a normalisation, and the average of scores normalised by query."""
    ways = [(method, normalize) for method in METHODS]
    return [*ways[:1], *{("average", "query")}.difference(ways), *ways[1:]]


def compare_methods(
    rankers: Any,
    dataset: Dataset,
    measure: MeasureLike = "ndcg@10",
    ways: Sequence[tuple[str, str]] | None = None,
    *,
    n_folds: int = 5,
    random_state: int | None = 0,
    n_threads: int | None = None,
) -> list[Contender]:
    """Cross-validate ways to combine rankers.

    The rankers are as they are; only the weights between them are learned anew for each fold. So
    the data must be other than the rankers were trained on.

    Parameters
    ----------
    rankers : dict or list
        As in `Combination`.
    dataset : Dataset
        With labels.
    measure : str or Measure
    ways : sequence of pairs (method, normalize), optional
        By default all methods, and the average with normalisation by query.
    n_folds : int
    random_state : int or None
        As in `Dataset.folds`. Which queries make a fold does not depend on their order.
    n_threads : int, optional

    Returns
    -------
    list of Contender
        The best first; of equally good ones the one that was named first.
    """
    if not isinstance(dataset, Dataset):
        raise DataError(f"the data must be a Dataset, got a {type(dataset).__name__}")
    models = [
        Combination(rankers, way, measure, normalize, random_state=random_state)
        for way, normalize in map(_checked_way, ways or ways_to_combine())
    ]
    for model in models:
        model.check_params()
    members = as_members(rankers)
    check_members(members, dataset)
    dataset = dataset.that_count()
    told = Evaluator(measure, dataset)
    if told.blank.all():
        raise DataError(
            f"{told.measure} has no value on this data, where no order of a query's documents is "
            "better than another: pass labelled data"
        )
    with threads(n_threads), warnings.catch_warnings():
        # What is amiss with a ranker is told when the chosen combination is fitted.
        warnings.simplefilter("ignore", RankiniteWarning)
        table = in_content_order(table_of(members, dataset, n_threads))
        folds = list(table.folds(n_folds, random_state))
        contenders = [
            Contender(model.method, model.normalize, _held_out(model, folds)) for model in models
        ]
    sign = 1.0 if told.measure.lower_is_better else -1.0
    return sorted(contenders, key=lambda contender: sign * contender.held_out)


def _checked_way(way: Any) -> tuple[str, str]:
    if not isinstance(way, (tuple, list)) or len(way) != 2:
        raise ParameterError(
            f"ways must be pairs of a method and a normalisation, such as ('average', 'data'), got "
            f"{way!r}"
        )
    return way[0], way[1]


def held_out_scores(model: Combination, table: Dataset, parts: np.ndarray) -> np.ndarray:
    """Combined scores of all documents, each by weights learned on the other parts.

    Parameters
    ----------
    model : Combination
        Says how to combine; its rankers are asked nothing.
    table : Dataset
        Its features are the raw scores of the rankers.
    parts : ndarray of int64, shape (n_queries,)
        The part of each query.

    Returns
    -------
    ndarray of float64, shape (n_rows,), in the stored order of the table
    """
    settings = model._settings()
    scores = np.empty(table.n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        for part in np.unique(parts):
            here = parts == part
            combiner = learn(table.select_queries(~here), settings)
            test = table.select_queries(here)
            scores[np.repeat(here, table.query_sizes)] = combiner.scores(test.X, test.offsets)
    return scores


def _held_out(model: Combination, folds: list[tuple[Dataset, Dataset]]) -> float:
    """The mean over all queries of all folds."""
    settings = model._settings()
    sums = []
    for train, test in folds:
        scores = learn(train, settings).scores(test.X, test.offsets)
        evaluator = Evaluator(settings.measure, test)
        sums.append(mean_value(evaluator.values(scores), "skip", evaluator.weight))
    total, mass = np.sum(sums, axis=0)
    return float(total / mass) if mass > 0 else float("nan")
