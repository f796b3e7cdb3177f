"""Anything that scores, as a base model: a ranker, a foreign model, weights, a function."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_label
from rankinite.errors import DataError, ParameterError, RankiniteError
from rankinite.models.foreign import as_foreign_scorer, is_foreign
from rankinite.models.foreign.forks import all_on_one_thread_if_forked
from rankinite.models.linear import LinearScorer
from rankinite.models.ranker import feature_names_of, takes_width
from rankinite.models.scores import as_scores, scores_of


def as_scorer(base_model: Any) -> Any:
    """A base model as something that `scores_of` takes.

    Models of other libraries get a scorer that knows how to ask them, and how to keep them in a
    model file; weights become a `LinearScorer`.
    """
    if isinstance(base_model, type):
        raise ParameterError(
            f"base_model is the class {base_model.__name__}: pass a trained model of it"
        )
    if is_foreign(base_model):
        return as_foreign_scorer(base_model)
    if hasattr(base_model, "predict") or callable(base_model):
        return base_model
    try:
        return LinearScorer(base_model)
    except RankiniteError as error:
        raise ParameterError(f"base_model cannot be used: {error}") from None
    except (TypeError, ValueError):
        if isinstance(base_model, (str, os.PathLike)):
            raise ParameterError(
                f"base_model is the path {str(base_model)!r}: pass what rankinite.load reads from "
                "there"
            ) from None
        raise ParameterError(
            "base_model must have predict, be a function of the feature matrix, or be a weight "
            f"vector, but it is a {type(base_model).__name__}"
        ) from None


def check_base(base: Any, dataset: Dataset) -> None:
    """Refuse a base model that is not trained, or was trained on other features than the data's.

    Parameters
    ----------
    base : what `as_scorer` gave
    """
    if hasattr(base, "check_fitted"):
        base.check_fitted()
    if not takes_width(base, dataset.n_features):
        raise DataError(
            f"base_model has {base.n_features_in_} features, but the data has "
            f"{dataset.n_features}: pass the features that it was trained on"
        )
    known, names = feature_names_of(base), dataset.feature_names
    if known is None or names is None:
        return
    for j, (theirs, ours) in enumerate(zip(known, names, strict=True)):
        # LightGBM puts underscores into names.
        if theirs not in (ours, ours.replace(" ", "_")):
            raise DataError(
                f"base_model was trained with {theirs!r} as {feature_label(j)}, but the data has "
                f"{ours!r} there: pass the columns in the order in which it was trained"
            )


def base_scores(base: Any, data: Dataset | np.ndarray) -> np.ndarray | float:
    """Scores of the base model, shape (n_rows,); 0 without one."""
    if base is None:
        return 0.0
    if isinstance(data, Dataset):
        return scores_of(base, data, _output_of(base))
    predict = getattr(base, "predict", base)
    with all_on_one_thread_if_forked():
        return as_scores(predict(data), len(data), _output_of(base))


def checked_base_scores(base: Any, scores: np.ndarray) -> np.ndarray:
    """Scores that were taken of the base model in another way, after the check of `base_scores`."""
    if np.isfinite(scores).all():
        return scores
    return as_scores(scores, len(scores), _output_of(base))


def _output_of(base: Any) -> str:
    return f"the output of base_model, a {getattr(base, 'origin', type(base).__name__)},"
