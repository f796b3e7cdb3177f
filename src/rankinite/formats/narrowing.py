"""Rounding to float32 because a user asks for it, and a warning where that merges values."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from rankinite.errors import RankiniteWarning

_ROWS = 10_000
_VALUES = 1 << 22
# Of values that differ in more digits than float32 has, a few always fall together by chance.
_BY_CHANCE = 0.01


def some_rows(n_rows: int, width: int = 1) -> np.ndarray:
    """Rows that are looked at, of so many values each, spread over all of them: int64 array."""
    n_some = min(n_rows, _ROWS, max(1, _VALUES // width))
    return np.linspace(0, n_rows - 1, n_some).astype(np.int64)


def warn_of_merged(columns: Iterable[tuple[str, np.ndarray]], name: str, stacklevel: int) -> None:
    """Warn of columns whose different values are no longer different as float32.

    Parameters
    ----------
    columns : pairs of str and ndarray of float64
        What to call a column, and its values in some rows.
    name : str
        What to call the data in the message.
    stacklevel : int
        Of the warning, seen from the caller.
    """
    merged = []
    for column, values in columns:
        with np.errstate(over="ignore"):
            n_left = len(np.unique(values.astype(np.float32)))
        n_values = len(np.unique(values))
        if n_left < (1 - _BY_CHANCE) * n_values:
            merged.append(f"the {n_values} different values of {column} become {n_left}")
    if merged:
        more = f" (so do those of {len(merged) - 1} more)" if len(merged) > 1 else ""
        warnings.warn(
            f"{name}: in float32 {merged[0]}{more}; leave dtype= out to keep them as they are",
            RankiniteWarning,
            stacklevel=stacklevel + 1,
        )
