"""Whose model an object is, and the scorer for it."""

from __future__ import annotations

from typing import Any

from rankinite.models.foreign.boosters import (
    BoosterScorer,
    CatBoostScorer,
    LightGBMScorer,
    XGBoostScorer,
)
from rankinite.models.foreign.estimators import estimator_scorer

# Before scikit-learn, which the wrappers of these derive from as well.
BOOSTERS: dict[str, type[BoosterScorer]] = {
    scorer.package: scorer for scorer in (LightGBMScorer, XGBoostScorer, CatBoostScorer)
}


def _libraries(model: Any) -> set[str]:
    """The packages that the object's class and its ancestors come from."""
    return {kind.__module__.partition(".")[0] for kind in type(model).__mro__}


def is_foreign(model: Any) -> bool:
    """Whether `as_foreign_scorer` knows this kind of object."""
    return not _libraries(model).isdisjoint({*BOOSTERS, "sklearn"})


def as_foreign_scorer(model: Any) -> Any:
    """The scorer of a model of LightGBM, XGBoost, CatBoost or scikit-learn."""
    libraries = _libraries(model)
    for package, scorer in BOOSTERS.items():
        if package in libraries:
            return scorer.of(model)
    return estimator_scorer(model)
