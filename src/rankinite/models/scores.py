"""Scores from anything that scores: a ranker, a foreign model, a function, an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.data import Dataset, Queries
from rankinite.errors import DataError
from rankinite.models.foreign.forks import all_on_one_thread_if_forked


def scores_of(scorer: Any, dataset: Queries, what: str | None = None) -> np.ndarray:
    """Score every row of `dataset`.

    Parameters
    ----------
    scorer : array, ranker, model or function
        An array holds the scores themselves, in the caller's row order. A ranker of this
        package scores the dataset, anything else with ``predict`` and any function is given
        the feature matrix.
    dataset : Dataset or Queries
        Queries without features are enough for an array.
    what : str, optional
        What an error calls the scores.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        In the dataset's stored order (queries contiguous).
    """
    name = type(scorer).__name__
    if isinstance(scorer, type):
        raise DataError(f"{scorer.__name__} is a class: pass a trained model of it")
    if hasattr(scorer, "score_dataset"):
        scores = scorer.score_dataset(_with_features(dataset, name))
    elif hasattr(scorer, "predict") or callable(scorer):
        function = getattr(scorer, "predict", scorer)
        X = _features(dataset, name if function is not scorer else _name_of(scorer))
        with all_on_one_thread_if_forked():
            scores = function(X)
    else:
        scores = dataset.in_stored_order(as_scores(scorer, dataset.n_rows, "the score array"))
    return as_scores(scores, dataset.n_rows, what or f"the output of {name}")


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _with_features(queries: Queries, name: str) -> Dataset:
    if not isinstance(queries, Dataset):
        raise DataError(
            f"these are queries without features, and {name} needs them: pass a Dataset, or scores"
        )
    return queries


def _features(queries: Queries, name: str) -> np.ndarray:
    return _with_features(queries, name).features.values(
        f"this dataset holds only bins, and {name} needs feature values: "
        "pass the dataset with its features"
    )


def as_scores(values: Any, n_rows: int, what: str) -> np.ndarray:
    """What a scorer gave, as float64 of shape (n_rows,); `what` names it in an error."""
    try:
        found = np.asarray(values)
        if found.dtype.kind == "c":
            raise TypeError
        scores = np.ascontiguousarray(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        kind = type(values).__name__
        raise DataError(
            f"{what} must be one real number a row, but it is a {kind} of something else"
        ) from None
    if scores.shape == (n_rows, 1):
        scores = scores[:, 0]
    if scores.ndim == 2 and len(scores) == n_rows:
        raise DataError(
            f"{what} has {scores.shape[1]} scores a row, and one is needed: "
            "pass a function that makes one of them"
        )
    if scores.shape != (n_rows,):
        raise DataError(f"{what} has shape {scores.shape}, but the data has {n_rows} rows")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise DataError(f"{what} has a score that is NaN or infinite (row {row})")
    return scores
