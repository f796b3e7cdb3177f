"""What the scorers of foreign models share: names of features, and errors that people can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np

from rankinite.errors import DataError
from rankinite.models.estimator import NotFittedError
from rankinite.models.foreign.forks import forked
from rankinite.models.imported import refuse_missing
from rankinite.trees import SERIAL_ROWS

# Rows that a model is tried on.
_PROBES = 64
# Letters of a message that people read.
_LONGEST = 300


@contextmanager
def using(name: str, X: np.ndarray | None = None) -> Iterator[None]:
    """Turn whatever a foreign model raises into one sentence about ``base_model``.

    Parameters
    ----------
    name : str
        The class of the model.
    X : ndarray, optional
        The features it is given.
    """
    try:
        yield
    except Exception as error:
        if _says_not_fitted(error):
            raise not_fitted(name) from error
        if X is not None and "nan" in str(error).lower() and np.isnan(X).any():
            refuse_missing(f"base_model, a {name},", X)
        raise DataError(
            f"base_model, a {name}, cannot score the data: {first_line(error)}"
        ) from error


def _says_not_fitted(error: Exception) -> bool:
    return any("NotFitted" in kind.__name__ for kind in type(error).__mro__)


def not_fitted(name: str) -> NotFittedError:
    """The error for a model that cannot score yet."""
    return NotFittedError(f"base_model is a {name} that is not trained: call its fit first")


def first_line(error: Exception | str) -> str:
    """The beginning of another library's message, which may go on for pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = (lines[0] if lines else type(error).__name__).rstrip(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def check_width(name: str, X: np.ndarray, n_features: int) -> None:
    """Refuse rows of another number of features than the model has."""
    if X.ndim != 2 or X.shape[1] != n_features:
        raise DataError(
            f"X has the shape {X.shape}, but base_model, a {name}, has {n_features} features"
        )


def real_names(names: Iterable[Any] | None, stand_in: str) -> list[str] | None:
    """Names of features; None if they are only what a library calls features without names.

    Parameters
    ----------
    names : iterable of str, optional
    stand_in : str
        What comes before the number of the feature, such as ``"Column_"``.
    """
    if names is None:
        return None
    found = [str(name) for name in names]
    return None if found == [f"{stand_in}{j}" for j in range(len(found))] else found


def n_threads_for(X: np.ndarray) -> int:
    """Threads for a batch, as for our own trees: one if it is small, else those of the scope.

    In a forked process it is one; see `rankinite.models.foreign.forks`.
    """
    return 1 if forked() or len(X) <= SERIAL_ROWS else numba.get_num_threads()


def probes(n_features: int, thresholds: np.ndarray) -> np.ndarray:
    """Rows to try a model on, with values around and at the thresholds of its trees."""
    rng = np.random.default_rng(0)
    pool = np.append(rng.normal(size=100), thresholds[np.abs(thresholds) < 1e30])
    return rng.choice(pool, (_PROBES, n_features)).astype(np.float32)
