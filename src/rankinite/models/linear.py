"""Linear scorers: a weighted sum of the features, added in one fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_labels
from rankinite.errors import DataError, ParameterError
from rankinite.exchange.plain import PlainLinear
from rankinite.models.file import Arrays, State
from rankinite.models.weight_space import WeightSpace


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

    feature_names_in_ = None

    @property
    def n_features_in_(self) -> int:
        """Number of weights."""
        return len(self.weights)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Scores of shape (n_rows,); a missing value counts as 0."""
        if X.shape[1] != len(self.weights):
            raise DataError(
                f"X has {X.shape[1]} features, but there are {len(self.weights)} weights"
            )
        return weighted_sum(np.nan_to_num(X, nan=0.0), self.weights)

    def plain(self) -> PlainLinear:
        """The weights as a plain model."""
        return PlainLinear(self.weights)

    def weight_space(self, dataset: Dataset) -> WeightSpace:
        """The weights as a point that can be moved about, on one dataset."""
        if dataset.n_features != len(self.weights):
            raise DataError(
                f"{len(self.weights)} weights need as many features, and this dataset has "
                f"{dataset.n_features}: pass the features that the weights belong to"
            )
        values = dataset.features.values(
            "this dataset holds only bins, and weights need feature values: pass the dataset with "
            "its features"
        )
        X = np.nan_to_num(values.astype(np.float64), nan=0.0)
        names = feature_labels(dataset.feature_names, dataset.n_features)
        return WeightSpace(self.weights, names, lambda weights: weighted_sum(X, weights))

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        return {}, {"weights": self.weights}

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> LinearScorer:
        """What was saved by `to_state`, after a check."""
        return cls(arrays["weights"])


def weighted_sum(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_j X_ij w_j of every row, shape (n_rows,), whatever the batch and the threads."""
    # einsum adds in one fixed order; a BLAS product may depend on the number of threads.
    return np.einsum("ij,j->i", X, weights)
