"""Anything that scores, as a base model: a ranker, a foreign model, weights, a function."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.data import Dataset
from rankinite.data.scorers import as_scores, scores_of
from rankinite.errors import DataError, ParameterError, RankiniteError
from rankinite.models.file import Arrays, State
from rankinite.models.weight_space import WeightSpace, feature_labels


class LinearScorer:
    """The score is the weighted sum of the features.

    Parameters
    ----------
    weights : array, shape (n_features,)
    """

    def __init__(self, weights: Any) -> None:
        self.weights = np.array(weights, dtype=np.float64)
        if self.weights.ndim != 1 or not np.isfinite(self.weights).all():
            raise ParameterError(
                "the weights of a linear scorer must be one row of finite numbers, but they have "
                f"the shape {self.weights.shape} or hold NaN or infinity"
            )

        self.n_features_in_ = len(self.weights)
        self.feature_names_in_ = None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores of shape (n_rows,); a missing value counts as 0."""
        if X.shape[1] != len(self.weights):
            raise DataError(
                f"X has {X.shape[1]} features, but there are {len(self.weights)} weights"
            )
        return _weighted_sums(np.nan_to_num(X, nan=0.0), self.weights)

    def _weight_space(self, dataset: Dataset) -> WeightSpace:
        if dataset.X is None or dataset.n_features != len(self.weights):
            raise DataError(
                f"{len(self.weights)} weights need as many features, and this dataset has "
                f"{dataset.n_features}, or only bins of them"
            )
        X = np.nan_to_num(dataset.X.astype(np.float64), nan=0.0)
        names = feature_labels(dataset.feature_names, dataset.n_features)
        return WeightSpace(self.weights, names, lambda weights: _weighted_sums(X, weights))

    def _state(self) -> tuple[State, Arrays]:
        return {}, {"weights": self.weights}

    @classmethod
    def _from_state(cls, state: State, arrays: Arrays) -> LinearScorer:
        return cls(arrays["weights"])


def _weighted_sums(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    # einsum adds in one fixed order; a BLAS product may depend on the number of threads.
    return np.einsum("ij,j->i", X, weights)


def as_scorer(base_model: Any) -> Any:
    """A base model as something that `scores_of` takes; weights become a `LinearScorer`."""
    if hasattr(base_model, "predict") or callable(base_model):
        return base_model
    try:
        return LinearScorer(base_model)
    except RankiniteError as error:
        raise ParameterError(f"base_model cannot be used: {error}") from None
    except (TypeError, ValueError):
        raise ParameterError(
            "base_model must have predict, be a function of the feature matrix, or be a weight "
            f"vector, but it is a {type(base_model).__name__}"
        ) from None


def base_scores(base_model: Any, data: Dataset | np.ndarray) -> np.ndarray | float:
    """Scores of the base model, shape (n_rows,); 0 without one."""
    if base_model is None:
        return 0.0
    if isinstance(data, Dataset):
        return scores_of(base_model, data)
    predict = getattr(base_model, "predict", base_model)
    return as_scores(predict(data), len(data), f"the output of {type(base_model).__name__}")
