"""How good rankers are on queries that they have not seen, each query in its turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._text_table import aligned
from rankinite.data import Dataset, Queries
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Comparison, Evaluation, MeasuresLike, compare, evaluate, mean_value
from rankinite.models import Estimator
from rankinite.models.scores import scores_of


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rankers by measures, on queries that they were not trained on; printing shows the tables.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        Of each ranker on all queries, each of them ranked by the model that has not seen it.
    folds : list of dict
        ``folds[k]["ranker"]["ndcg@10"]`` is the mean on the test queries of fold k.
    comparison : Comparison or None
        The rankers with the first one, by paired tests over all queries; None for a single one.
    """

    evaluations: dict[str, Evaluation]
    folds: list[dict[str, dict[str, float]]]
    comparison: Comparison | None

    def spread(self, ranker: str, measure: str) -> float:
        """Standard deviation of the folds' means."""
        return float(np.std([fold[ranker][measure] for fold in self.folds], ddof=1))

    def __str__(self) -> str:
        header = ("measure", "ranker", "mean", "spread")
        numbers = tuple(f"fold {k}" for k, _ in enumerate(self.folds, start=1))
        rows = [
            (
                measure,
                ranker,
                *(f"{value:.4f}" for value in (mean, self.spread(ranker, measure))),
                *(f"{fold[ranker][measure]:.4f}" for fold in self.folds),
            )
            for measure in next(iter(self.evaluations.values())).means
            for ranker, mean in self._means(measure)
        ]
        table = aligned((*header, *numbers), rows, n_left=2)
        return table if self.comparison is None else f"{table}\n\n{self.comparison}"

    def _means(self, measure: str) -> list[tuple[str, float]]:
        return [(ranker, each.means[measure]) for ranker, each in self.evaluations.items()]


def cross_validate(
    rankers: Any,
    data: Dataset,
    measures: MeasuresLike | None = None,
    *,
    n_folds: int = 5,
    random_state: int | None = 0,
    blank: str = "skip",
) -> CrossValidation:
    """Train rankers on a part of the queries and measure them on the others, fold by fold.

    Parameters
    ----------
    rankers : ranker, or dict or sequence of them
        A ranker is copied and trained in every fold; those of a sequence are called by their number
        from 1. One with `early_stopping` (or `n_restarts`) watches a part of the training queries,
        as large as a fold, and learns from the others. It may also be a function from the training
        data to anything that scores.
    data : Dataset
    measures : str, Measure or sequence of them, optional
        See `rankinite.evaluate`.
    n_folds : int
        Each query is a test query in one of them.
    random_state : int or None
        Of the shares of the folds; None draws other ones every time.
    blank : {"skip", "zero", "one"}
        What a blank query counts, see `rankinite.evaluate`.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import rankinite as rk
    >>> data = rk.artificial(n_queries=40, n_docs=10, n_features=5)
    >>> few, many = (rk.LambdaMART(n_estimators=n, min_samples_leaf=5) for n in (1, 20))
    >>> found = rk.cross_validate({"few": few, "many": many}, data, n_folds=4)
    >>> len(found.folds), found.comparison.rows[0].scorer
    (4, 'many')
    """
    if not isinstance(data, Dataset):
        raise DataError(f"cross_validate needs a Dataset, not a {type(data).__name__}")
    named = _named(rankers)
    scores = {name: OutOfFold(data, getattr(each, "sigma", 1.0)) for name, each in named.items()}
    parts = []
    for train, test in data.folds(n_folds, random_state):
        parts.append(np.isin(data.qids, test.qids))
        for name, ranker in named.items():
            model = _trained(ranker, train, n_folds, random_state)
            scores[name].put(parts[-1], scores_of(model, test))
    evaluations = {n: evaluate(each, data, measures, blank=blank) for n, each in scores.items()}
    several = len(scores) > 1
    return CrossValidation(
        evaluations,
        [{name: _means(each, part) for name, each in evaluations.items()} for part in parts],
        compare(scores, data, measures, blank=blank) if several else None,
    )


class OutOfFold:
    """Scores of all documents, each by the model that has not seen its query.

    Parameters
    ----------
    data : Dataset
    sigma : float
        Slope of the pair probability of the rankers, by which ``pair_log_loss`` is measured.
    """

    def __init__(self, data: Dataset, sigma: float) -> None:
        self.sigma = sigma
        self._sizes = data.query_sizes
        self._scores = np.empty(data.n_rows)

    def put(self, queries: np.ndarray, scores: np.ndarray) -> None:
        """Take the scores of some queries' documents, in stored order."""
        self._scores[np.repeat(queries, self._sizes)] = scores

    def score_dataset(self, dataset: Queries) -> np.ndarray:
        """The scores of the whole data, in stored order."""
        return self._scores


def _named(rankers: Any) -> dict[str, Any]:
    if isinstance(rankers, Estimator) or callable(rankers):
        rankers = {getattr(rankers, "__name__", type(rankers).__name__): rankers}
    elif isinstance(rankers, Sequence) and not isinstance(rankers, str):
        rankers = {str(number): ranker for number, ranker in enumerate(rankers, start=1)}
    if not isinstance(rankers, Mapping) or not rankers:
        raise ParameterError(
            "cross_validate needs a ranker, or a dict of them by name, not "
            f"{'an empty' if isinstance(rankers, Mapping) else 'a'} {type(rankers).__name__}"
        )
    for name, ranker in rankers.items():
        if isinstance(ranker, type) or not (isinstance(ranker, Estimator) or callable(ranker)):
            what = f"the class {ranker.__name__}" if isinstance(ranker, type) else repr(ranker)
            raise ParameterError(
                f"the ranker {name!r} is {what}: pass a ranker of rankinite, or a function from "
                "the training data to something that scores"
            )
    return {str(name): ranker for name, ranker in rankers.items()}


def watches(ranker: Any) -> bool:
    """Whether a ranker needs validation data when it is trained."""
    return bool(getattr(ranker, "early_stopping", None) or getattr(ranker, "n_restarts", 0))


def _trained(ranker: Any, train: Dataset, n_folds: int, random_state: int | None) -> Any:
    if not isinstance(ranker, Estimator):
        return ranker(train)
    fresh: Any = ranker.__sklearn_clone__()
    if not watches(ranker):
        return fresh.fit(train)
    if n_folds < 3:
        raise ParameterError(
            f"n_folds={n_folds} leaves no queries to watch for early_stopping: use 3 or more"
        )
    rest, valid = next(iter(train.folds(n_folds - 1, random_state)))
    return fresh.fit(rest, valid=valid)


def _means(evaluation: Evaluation, queries: np.ndarray) -> dict[str, float]:
    """The means over some of the queries."""
    found = {}
    for name, values in evaluation.per_query.items():
        weights = evaluation.weights[name]
        of_these = None if weights is None else weights[queries]
        total, weight = mean_value(values[queries], query_weight=of_these)
        found[name] = total / weight if weight > 0 else float("nan")
    return found
