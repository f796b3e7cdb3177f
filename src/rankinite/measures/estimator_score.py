"""The ``score`` of an estimator, as scikit-learn's tools ask for it."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from rankinite.data.weights import in_range
from rankinite.measures.evaluation import evaluate
from rankinite.measures.grammar import measure
from rankinite.measures.protocol import Measure
from rankinite.models.ranker import Ranker, training_data


def estimator_score(
    model: Any, by: Measure, X: Any, y: Any, qid: Any, sample_weight: Any, query_weight: Any
) -> float:
    """The mean of a measure over the queries, without blank ones.

    Parameters
    ----------
    X, y, qid, query_weight
        What ``fit`` takes.
    sample_weight : array-like of shape (n_rows,), optional
        A query counts by the mean of its rows' weights, as in LightGBM, times its own.
    """
    dataset = training_data(X, y, qid, sample_weight, query_weight)
    weight = in_range(dataset.weight)
    if sample_weight is not None and weight is not None:
        means = np.add.reduceat(weight, dataset.offsets[:-1]) / dataset.query_sizes
        own = in_range(dataset.query_weight)
        dataset = copy(dataset)
        dataset.query_weight = means if own is None else means * own
    return evaluate(model, dataset, by)[by]


class MeasuredRanker(Ranker):
    """A ranker that scikit-learn's tools measure by its `measure`."""

    measure: Any

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """The mean of `measure` over the queries, as scikit-learn's tools ask for it.

        Parameters
        ----------
        X : Dataset, matrix or frame
        y, qid, query_weight
            As for `fit`.
        sample_weight : array-like of shape (n_rows,), optional
            A query counts by the mean of its rows' weights.
        """
        self.check_fitted()
        by = measure(self.measure)
        return estimator_score(self, by, X, y, qid, sample_weight, query_weight)
