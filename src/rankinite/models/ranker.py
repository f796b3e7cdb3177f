"""What all rankers share: taking data in, giving scores out, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from rankinite._numba import number_of_threads, threads
from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_label
from rankinite.data.frames import features_of, listed
from rankinite.errors import DataError, ExportError, ParameterError
from rankinite.exchange.exporting import Exported, export
from rankinite.exchange.plain import Plain
from rankinite.models.estimator import Estimator
from rankinite.models.explainable import Explainable
from rankinite.models.storage import save
from rankinite.trees import SERIAL_ROWS


class Ranker(Estimator, Explainable):
    """A model that gives documents scores by which they are ranked.

    Subclasses store ``n_features_in_`` and ``_feature_names`` in ``fit`` and implement
    `_score_matrix`, and `_score_rows` if bins are enough for them.
    """

    n_features_in_: int
    n_threads: int | None
    _feature_names: list[str] | None
    # Why there is no plain model, and what to do: the end of a sentence about the ranker.
    _not_plain: ClassVar[str] = "is no sum of trees, linear model or net: distil it to a forest"

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, shape (n_features_in_,); an AttributeError if there are none."""
        names = getattr(self, "_feature_names", None)
        if names is None:
            raise AttributeError(
                f"this {type(self).__name__} has no feature_names_in_: it is not trained, or on "
                "features without names"
            )
        return np.array(names, dtype=object)

    def predict(self, X: Any, *, n_rounds: int | None = None, **unknown: Any) -> np.ndarray:
        """Scores, shape (n_rows,), in the caller's row order.

        Parameters
        ----------
        X : Dataset, matrix or frame
            Of a frame, and of a Dataset with names, the columns that the model was trained on are
            taken by their names, wherever they stand and whatever else there is.
        n_rounds : int, optional
            Score with the first so many rounds (trees, or features) alone: less accurate, and
            faster. All by default; rankers that are no sum over rounds take nothing else.
        """
        self.check_fitted()
        self._refuse_unknown("predict", unknown)
        if isinstance(X, Dataset):
            return X.in_caller_order(self.score_dataset(X, n_rounds=n_rounds))
        matrix, names = features_of(X, self._feature_names)
        self._check_features(matrix.shape[1], names)
        self._check_rounds(n_rounds)
        with self._threads_for(len(matrix)):
            return self._score_matrix(matrix, n_rounds)

    def score_dataset(self, dataset: Dataset, *, n_rounds: int | None = None) -> np.ndarray:
        """Scores, shape (n_rows,), in the dataset's stored order (queries contiguous)."""
        self.check_fitted()
        dataset = self._with_known_features(dataset)
        self._check_rounds(n_rounds)
        with self._threads_for(dataset.n_rows):
            return self._score_rows(dataset, n_rounds)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to one file; `rankinite.load` reads it."""
        self.check_fitted()
        save(self, path)

    def plain(self) -> Plain:
        """The trained ranker as arrays with a stated arithmetic, for the files of other engines.

        An `ExportError` says why, if it cannot be told as such.
        """
        self.check_fitted()
        raise ExportError(
            f"a {type(self).__name__} cannot be exported to other engines, because it "
            f"{self._not_plain}"
        )

    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        sample: Any = None,
        **options: Any,
    ) -> Exported:
        """Write the trained ranker in the format of another library or engine.

        What is written is read again as the engine reads it, and scores some rows; only if it
        scores as this ranker does, as exactly as the format can, is there a file.

        Parameters
        ----------
        path : path
            Where to write it.
        format : str, optional
            "lightgbm", "xgboost", "ranklib", "quickrank", "solr", "elasticsearch", "opensearch",
            "vespa" or "c"; by default the one whose files have the suffix of `path`.
        sample : Dataset, matrix or frame, optional
            Rows to check with; by default they are made of the thresholds of the trees.
        **options
            Those of the format, see its section in the guide.

        Returns
        -------
        Exported
            With the largest difference between the scores of the file and those of the ranker.
        """
        plain = self.plain()
        rows = None if sample is None else self._rows_of(sample)

        def scores(X: np.ndarray) -> np.ndarray:
            with self._threads_for(len(X)):
                return self._score_matrix(X, None)

        return export(plain, path, format, sample=rows, scores=scores, **options)

    def _rows_of(self, X: Any) -> np.ndarray:
        """The feature values of some rows, shape (n_rows, n_features)."""
        if isinstance(X, Dataset):
            return self._feature_values(self._with_known_features(X), "the data")
        matrix, names = features_of(X, self._feature_names)
        self._check_features(matrix.shape[1], names)
        return matrix

    @abstractmethod
    def _score_matrix(self, X: np.ndarray, n_rounds: int | None) -> np.ndarray:
        """Scores of raw features by the first rounds, or by all."""

    def _score_rows(self, dataset: Dataset, n_rounds: int | None) -> np.ndarray:
        """Scores of a dataset; an error if it has only bins, and this ranker needs values."""
        X, rows = self._feature_source(dataset)
        if rows is None:
            return self._score_matrix(X, n_rounds)
        # Each document is scored once, unless most of them are not asked for.
        if len(rows) >= len(X):
            return self._score_matrix(X, n_rounds)[rows]
        return self._score_matrix(X[rows], n_rounds)

    def _check_rounds(self, n_rounds: int | None) -> None:
        """Refuse a number of rounds; rankers that are a sum over rounds check it instead."""
        if n_rounds is not None:
            raise ParameterError(
                f"n_rounds={n_rounds!r} asks for the first rounds of a sum, and a "
                f"{type(self).__name__} is none: leave it out"
            )

    def _feature_values(self, rows: Dataset, what: str = "this dataset") -> np.ndarray:
        """The feature matrix; an error, which calls the data `what`, if there are only bins."""
        return rows.features.values(self._needs_values(what))

    def _feature_source(self, rows: Dataset) -> tuple[np.ndarray, np.ndarray | None]:
        """A feature matrix and which of its rows those of the data are; None: all of them."""
        return rows.features.source(self._needs_values("this dataset"))

    def _needs_values(self, what: str) -> str:
        return (
            f"{what} holds only bins, and a {type(self).__name__} needs feature values: pass "
            "the dataset with its features"
        )

    def _threads_for(self, n_rows: int) -> AbstractContextManager[int]:
        """The scope in which `n_rows` rows are scored."""
        # Small batches stay on the calling thread; a scope would take a tenth of their time.
        n_threads = number_of_threads(self.n_threads)
        return nullcontext(1) if n_rows <= SERIAL_ROWS else threads(n_threads)

    def _with_known_features(self, rows: Dataset) -> Dataset:
        return with_features("the data", rows, self.n_features_in_, self._feature_names)

    def _check_features(self, n_features: int, names: list[str] | None) -> None:
        check_features("the data", n_features, names, self.n_features_in_, self._feature_names)


def with_features(what: str, rows: Dataset, n_known: int, known: list[str] | None) -> Dataset:
    """The dataset with the features of the training data, found by their names if both have some.

    An error if it does not have them; `what` names the data.
    """
    names = rows.feature_names
    if names is not None and known is not None and names != known:
        places = {name: j for j, name in enumerate(names)}
        if rows.features.has_values and set(known) <= set(names):
            columns = [places[name] for name in known]
            return Dataset.of(rows, rows.features.select_columns(columns, known))
    check_features(what, rows.n_features, names, n_known, known)
    return rows


def check_features(
    what: str, n_features: int, names: list[str] | None, n_known: int, known: list[str] | None
) -> None:
    """Refuse data whose features are not those of the training data; `what` names the data."""
    if names is not None and known is not None and names != known:
        missing = sorted(set(known) - set(names), key=known.index)
        if missing:
            raise DataError(
                f"{what} has no feature {listed(missing)}, which the model was trained on: it has "
                f"{listed(names)}"
            )
    if n_features != n_known:
        raise DataError(
            f"{what} has {n_features} features, but the model was trained on {n_known}: "
            "pass the features of the training data"
        )
    if names is not None and known is not None and names != known:
        first = next(i for i in range(n_known) if names[i] != known[i])
        raise DataError(
            f"{what} calls {feature_label(first)} {names[first]!r}, but the model was trained with "
            f"{known[first]!r} there: pass the columns in the order of the training data"
        )


def feature_names_of(model: Any) -> list[str] | None:
    """The names of the features of anything that scores, if it knows them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def takes_width(model: Any, n_features: int) -> bool:
    """Whether anything that scores takes rows of so many features, as far as it says."""
    known = getattr(model, "n_features_in_", None)
    if known is None or known == n_features:
        return True
    return bool(getattr(model, "open_ended", False)) and n_features > known


def training_data(X: Any, y: Any, qid: Any, weight: Any, query_weight: Any) -> Dataset:
    """What ``fit`` or ``score`` was given, as a dataset."""
    if isinstance(X, Dataset):
        if any(part is not None for part in (y, qid, weight, query_weight)):
            raise ParameterError(
                "fit was given a Dataset and also y, qid or weights: put these into the Dataset"
            )
        return X
    return Dataset(X, y, qid=qid, weight=weight, query_weight=query_weight)
