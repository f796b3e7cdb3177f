"""What all rankers share: taking data in, giving scores out, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from rankinite._numba import number_of_threads, threads
from rankinite.data import Dataset, FeatureBins
from rankinite.data.frames import features_of
from rankinite.errors import DataError, ParameterError
from rankinite.models.estimator import Estimator
from rankinite.models.storage import save
from rankinite.trees import SERIAL_ROWS


class Ranker(Estimator):
    """A model that gives documents scores by which they are ranked.

    Subclasses store ``n_features_in_`` and ``feature_names_in_`` in ``fit`` and implement
    `_score_matrix` and, if they can, `_score_bins`.
    """

    n_features_in_: int
    feature_names_in_: list[str] | None
    n_threads: int | None

    def predict(self, X: Any, **options: Any) -> np.ndarray:
        """Scores, shape (n_rows,), in the caller's row order.

        Parameters
        ----------
        X : Dataset, matrix or frame
        options
            What the ranker's own scoring takes, such as ``n_trees`` to stop early.
        """
        self._check_fitted()
        if isinstance(X, Dataset):
            return X.in_caller_order(self.score_dataset(X, **options))
        matrix, names = features_of(X)
        self._check_features(matrix.shape[1], names)
        with self._threads_for(len(matrix)):
            return self._score_matrix(matrix, **options)

    def score_dataset(self, dataset: Dataset, **options: Any) -> np.ndarray:
        """Scores, shape (n_rows,), in the dataset's stored order (queries contiguous)."""
        self._check_fitted()
        self._check_features(dataset.n_features, dataset.feature_names)
        with self._threads_for(dataset.n_rows):
            if isinstance(dataset.features, FeatureBins):
                return self._score_bins(dataset, **options)
            return self._score_matrix(dataset.X, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file; `rankinite.load` reads it."""
        self._check_fitted()
        save(self, path)

    @abstractmethod
    def _score_matrix(self, X: np.ndarray, *args: Any, **options: Any) -> np.ndarray:
        """Scores of raw features."""

    def _score_bins(self, dataset: Dataset, *args: Any, **options: Any) -> np.ndarray:
        # Rankers that can score bins have their own; the others say that they need values.
        return self._score_matrix(self._feature_values(dataset), *args, **options)

    def _feature_values(self, rows: Dataset, what: str = "this dataset") -> np.ndarray:
        """The feature matrix; an error, which calls the data `what`, if there are only bins."""
        return rows.features.values(
            f"{what} holds only bins, and a {type(self).__name__} needs feature values: pass "
            "the dataset with its features"
        )

    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        """The scope in which `n_rows` rows are scored."""
        # Small batches stay on the calling thread; a scope would take a tenth of their time.
        n_threads = number_of_threads(self.n_threads)
        return nullcontext(1) if n_rows <= SERIAL_ROWS else threads(n_threads)

    def _check_features(self, n_features: int, names: list[str] | None) -> None:
        check_features("the data", n_features, names, self.n_features_in_, self.feature_names_in_)


def check_features(
    what: str, n_features: int, names: list[str] | None, n_known: int, known: list[str] | None
) -> None:
    """Refuse data whose features are not those of the training data; `what` names the data."""
    if n_features != n_known:
        raise DataError(
            f"{what} has {n_features} features, but the model was trained on {n_known}: "
            "pass the features of the training data"
        )
    if names is not None and known is not None and names != known:
        first = next(i for i in range(n_known) if names[i] != known[i])
        raise DataError(
            f"{what} calls feature {first} {names[first]!r}, but the model was trained with "
            f"{known[first]!r} there: pass the columns in the order of the training data"
        )


def training_data(X: Any, y: Any, qid: Any, weight: Any, query_weight: Any) -> Dataset:
    """What ``fit`` was given, as a dataset."""
    if isinstance(X, Dataset):
        if any(part is not None for part in (y, qid, weight, query_weight)):
            raise ParameterError(
                "fit was given a Dataset and also y, qid or weights: put these into the Dataset"
            )
        return X
    return Dataset(X, y, qid=qid, weight=weight, query_weight=query_weight)
