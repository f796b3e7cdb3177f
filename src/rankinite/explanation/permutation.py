"""How much a measure loses when the values of a feature are dealt anew to the documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._hash_kernels import keys_from_seed
from rankinite._text_table import aligned
from rankinite.data import Dataset, FeatureValues
from rankinite.data.feature_labels import feature_labels
from rankinite.errors import DataError
from rankinite.measures import Measure, evaluate
from rankinite.measures import measure as measure_of
from rankinite.models.parameters import Whole
from rankinite.models.scores import scores_of
from rankinite.order.canonical import canonical
from rankinite.order.seeds import seed_of

# Half the width of a 95 % interval, in standard errors.
_SIGMAS = 1.96


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """What a measure loses without each feature; printing shows the table, the largest first.

    Attributes
    ----------
    measure : str
    value : float
        With all features as they are.
    names : list of str
    importances : ndarray of float64, shape (n_features,)
        Mean loss over the queries and the repeats: what the measure falls by, or rises by if lower
        is better.
    low, high : ndarray of float64, shape (n_features,)
        95 % confidence interval of the mean over queries.
    """

    measure: str
    value: float
    names: list[str]
    importances: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __str__(self) -> str:
        order = np.argsort(-self.importances, kind="stable")
        rows = [
            (
                self.names[j],
                f"{self.importances[j]:.4f}",
                f"{self.low[j]:.4f} to {self.high[j]:.4f}",
            )
            for j in order
        ]
        table = aligned(("feature", f"loss of {self.measure}", "95 % interval"), rows)
        return f"{self.measure} {self.value:.4f}\n{table}"


def permutation_importance(
    ranker: Any,
    data: Dataset,
    measure: str | Measure | None = None,
    *,
    n_repeats: int = 5,
    random_state: int | None = 0,
) -> PermutationImportance:
    """How much a measure loses when the values of a feature are dealt anew (Breiman 2001).

    Values are dealt among all documents of the data, not within queries: so features that are the
    same for all documents of a query count as well. Who gets which value depends on the content of
    the rows and the seed, not on their order. Intervals are over queries: a query's loss is the
    mean of its losses in the repeats.

    Parameters
    ----------
    ranker : anything that scores
    data : Dataset
        With values and labels; best data that the ranker was not trained on.
    measure : str or Measure, optional
        By default what the ranker learned, or ndcg@10.
    n_repeats : int
    random_state : int
    """
    Whole(1).check("n_repeats", n_repeats)
    if not isinstance(data, Dataset) or data.y is None:
        raise DataError("permutation importance needs a Dataset with labels: pass data=")
    by = measure_of(measure if measure is not None else getattr(ranker, "measure", "ndcg@10"))
    sign = -1.0 if by.lower_is_better else 1.0
    X = data.features.values("this dataset holds only bins, and features are dealt by values")
    before = evaluate(data.in_caller_order(scores_of(ranker, data)), data, by)
    own = before.per_query[str(by)]
    known = ~np.isnan(own)
    if not known.any():
        raise DataError(f"{by} has no value on this data: no query tells documents apart")
    losses = np.zeros((data.n_features, int(known.sum())))
    for j in _features_that_count(ranker, data.n_features):
        for receivers, givers in _deals(data, j, n_repeats, seed_of(random_state)):
            changed = X.copy()
            changed[receivers, j] = X[givers, j]
            rows = Dataset.of(data, FeatureValues(changed, data.feature_names))
            scores = data.in_caller_order(scores_of(ranker, rows))
            after = evaluate(scores, data, by).per_query[str(by)]
            losses[j] += sign * (own - after)[known] / n_repeats
    mean = losses.mean(axis=1)
    n_queries = losses.shape[1]
    error = losses.std(axis=1, ddof=1) / np.sqrt(n_queries) if n_queries > 1 else np.inf * mean
    half = _SIGMAS * error
    names = feature_labels(data.feature_names, data.n_features)
    return PermutationImportance(str(by), before[by], names, mean, mean - half, mean + half)


def _features_that_count(ranker: Any, n_features: int) -> list[int]:
    """Features that scores may depend on: of a forest those it splits by, else all."""
    forest = getattr(ranker, "forest_", None)
    if forest is None or getattr(ranker, "base_model", None) is not None:
        return list(range(n_features))
    return np.unique(forest.feature).tolist()


def _deals(
    data: Dataset, feature: int, n_repeats: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each repeat, the rows in an order made of content, and those whose values they get."""
    receivers = canonical(data).rows
    for repeat in range(n_repeats):
        words = np.random.SeedSequence([seed, feature, repeat]).generate_state(1, np.uint64)
        keys = keys_from_seed(len(receivers), words[0])
        yield receivers, receivers[np.argsort(keys, kind="stable")]
