"""Checks of what comes with the features: labels, weights, names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankinite.data import frames
from rankinite.data.grouping import gathered
from rankinite.errors import DataError, ParameterError, RowError


def checked_whole(value: Any, parameter: str, lowest: int, highest: int) -> int:
    """A whole number between two others, as an int; a ParameterError for anything else."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
        if lowest <= number <= highest:
            return number
        try:
            told = f"got {number}" if abs(number) < 10**30 else "got one of more than 30 digits"
        except ValueError:  # so many digits that Python does not write them
            told = "got one of thousands of digits"
    else:
        told = f"got {value!r}"
    raise ParameterError(
        f"{parameter} must be a whole number between {lowest} and {highest}, {told}"
    )


def check_length(values: Any, expected: int, what: str, unit: str = "rows") -> None:
    """Raise a DataError if there is not one value for each row, or for each `unit`."""
    if len(values) != expected:
        raise DataError(
            f"{what} has {len(values)} values, but the data has {expected} {unit}: "
            f"pass one value for each"
        )


def checked_labels(y: np.ndarray | None, n_rows: int) -> np.ndarray | None:
    """Labels, all of them finite."""
    if y is None:
        return None
    check_length(y, n_rows, "y")
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise RowError(
            f"y is {y[bad[0]]} in row {bad[0]} ({len(bad)} labels are NaN or infinite): "
            "give every row a finite label, or leave the row out"
        )
    return y


def checked_weight(
    weight: np.ndarray | None, expected: int, what: str = "weight", place: str = "row"
) -> np.ndarray | None:
    """Weights, all of them finite and not negative; `what` and `place` are for messages."""
    if weight is None:
        return None
    check_length(weight, expected, what, "rows" if place == "row" else "queries")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise RowError(
            f"{what} is {weight[bad[0]]} in {place} {bad[0]} ({len(bad)} are negative, NaN or "
            "infinite): weights must be finite and at least 0"
        )
    return weight


def checked_columns(
    y: np.ndarray | None, weight: np.ndarray | None, n_rows: int, order: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Labels and weights of rows, all of them right, and put into the order of storage."""
    y, weight = checked_labels(y, n_rows), checked_weight(weight, n_rows)
    return gathered(y, order), gathered(weight, order)


def query_weights(query_weight: Any, qids: np.ndarray) -> np.ndarray | None:
    """Weights of the queries as an array, from an array or a mapping from ids."""
    if query_weight is None:
        return None
    if isinstance(query_weight, Mapping):
        absent = [qid for qid in qids.tolist() if qid not in query_weight]
        if absent:
            raise DataError(
                f"query_weight has no weight for query {absent[0]!r} ({len(absent)} queries are "
                "missing): give every query a weight"
            )
        query_weight = [query_weight[qid] for qid in qids.tolist()]
    values = frames.numbers_of(query_weight, "query_weight")
    return checked_weight(values, len(qids), "query_weight", "query")


def checked_names(names: Sequence[str] | None, n_features: int) -> list[str] | None:
    """Names of features, one for each."""
    if names is None:
        return None
    if len(names) != n_features:
        raise DataError(
            f"feature_names has {len(names)} names, but the data has {n_features} features"
        )
    return [str(name) for name in names]
