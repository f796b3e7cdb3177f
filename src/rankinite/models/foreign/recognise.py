"""Whose model an object is, and the scorer for it."""

from __future__ import annotations

from typing import Any

from rankinite.models.foreign.common import not_fitted
from rankinite.models.foreign.estimators import estimator_scorer
from rankinite.models.foreign.libraries import LIBRARIES
from rankinite.models.foreign.scorer import scorer_of


def _packages(model: Any) -> set[str]:
    """The packages that the object's class and its ancestors come from."""
    return {kind.__module__.partition(".")[0] for kind in type(model).__mro__}


def is_foreign(model: Any) -> bool:
    """Whether `as_foreign_scorer` knows this kind of object."""
    known = {library.package for library in LIBRARIES.values()}
    return not _packages(model).isdisjoint({*known, "sklearn"})


def as_foreign_scorer(model: Any) -> Any:
    """The scorer of a model of LightGBM, XGBoost, CatBoost or scikit-learn."""
    packages = _packages(model)
    # Before scikit-learn, which the wrappers of these derive from as well.
    for library in LIBRARIES.values():
        if library.package in packages:
            if library.package == "catboost" and not model.is_fitted():
                raise not_fitted(type(model).__name__)
            return scorer_of(model, library)
    return estimator_scorer(model)
