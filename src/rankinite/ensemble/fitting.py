"""Rankers inside others: copies that are not trained yet, and their training."""

from __future__ import annotations

import inspect
from typing import Any

from rankinite.data import Dataset
from rankinite.errors import ParameterError
from rankinite.models.ranker import Ranker


def check_ranker(ranker: Any, name: str) -> None:
    """Refuse anything but a ranker that can be copied and trained; `name` is the parameter."""
    if isinstance(ranker, type):
        raise ParameterError(f"{name} is the class {ranker.__name__}: pass a ranker of it")
    if not isinstance(ranker, Ranker) or not hasattr(ranker, "fit"):
        raise ParameterError(
            f"{name} must be a ranker of rankinite, which is copied and trained, but it is a "
            f"{type(ranker).__name__}"
        )
    ranker.check_params()


def fresh(ranker: Ranker, n_threads: int | None) -> Any:
    """An untrained copy of a ranker, on so many threads if a number is given."""
    copy = ranker.__sklearn_clone__()
    if n_threads is not None:
        copy.set_params(n_threads=n_threads)
    return copy


def fitted(ranker: Ranker, train: Dataset, valid: Any, n_threads: int | None) -> Any:
    """A copy of a ranker, trained; it watches `valid` if there is some and it can."""
    copy = fresh(ranker, n_threads)
    if valid is not None and "valid" in inspect.signature(copy.fit).parameters:
        return copy.fit(train, valid=valid)
    return copy.fit(train)
