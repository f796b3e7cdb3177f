"""How scores depend on the values of one feature, on average (Friedman 2001, section 8.2)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._text_table import aligned
from rankinite.data import Dataset, FeatureValues
from rankinite.data.feature_labels import feature_labels
from rankinite.errors import DataError, ParameterError
from rankinite.models.parameters import Whole
from rankinite.models.scores import scores_of
from rankinite.plots.figures import new_figure, write_figure


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """Mean scores by the value of a feature; printing shows the table.

    Attributes
    ----------
    feature : str
    values : ndarray of float64, shape (n_values,)
    mean : ndarray of float64, shape (n_values,)
        Of the scores of all documents, were this the value of each.
    low, high : ndarray of float64, shape (n_values,)
        The 10 % and 90 % quantiles over documents, each less its own mean over the values: how
        differently they depend on it.
    """

    feature: str
    values: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __str__(self) -> str:
        cells = zip(self.values, self.mean, self.low, self.high, strict=True)
        rows = [tuple(f"{number:.6g}" for number in row) for row in cells]
        return aligned((self.feature, "mean score", "10 %", "90 %"), rows, 0)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the curve to a .png or .svg file."""
        figure = new_figure(5.0, 3.5)
        panel = figure.subplots()
        panel.fill_between(self.values, self.low, self.high, color="#30638e", alpha=0.2, lw=0)
        panel.plot(self.values, self.mean, color="#30638e")
        panel.set_xlabel(self.feature)
        panel.set_ylabel("mean score")
        panel.spines[["top", "right"]].set_visible(False)
        write_figure(figure, path)


def partial_dependence(
    ranker: Any,
    data: Dataset,
    feature: int | str,
    values: Sequence[float] | None = None,
    *,
    n_values: int = 20,
    most_rows: int = 5000,
) -> PartialDependence:
    """The mean score of all documents, were a feature the same for each.

    Parameters
    ----------
    ranker : anything that scores
    data : Dataset
        With values; labels play no part.
    feature : int or str
        Its number from 0, or its name.
    values : sequence of float, optional
        By default quantiles of the values that there are.
    n_values : int
        How many of them.
    most_rows : int
        Of more documents as many are taken, evenly over the data.
    """
    Whole(2).check("n_values", n_values)
    Whole(1).check("most_rows", most_rows)
    X = data.features.values("this dataset holds only bins, and dependence is that on values")
    names = feature_labels(data.feature_names, data.n_features)
    j = _number(feature, data)
    if values is None:
        present = X[np.isfinite(X[:, j]), j].astype(np.float64)
        if len(present) == 0:
            raise DataError(f"{names[j]} has no value in this data: pass values=")
        grid = np.unique(np.quantile(present, np.linspace(0, 1, n_values), method="nearest"))
    else:
        grid = np.asarray(values, np.float64)
    if len(X) > most_rows:
        n_queries = max(1, most_rows * data.n_queries // len(X))
        evenly = np.linspace(0, data.n_queries - 1, n_queries).astype(np.int64)
        data = data.select_queries(np.unique(evenly))
        X = data.features.values()
    scores = np.empty((len(grid), len(X)))
    changed = X.astype(np.float64)  # a value that is asked for may be no float32
    for k, value in enumerate(grid):
        changed[:, j] = value
        scores[k] = scores_of(ranker, Dataset.of(data, FeatureValues(changed, data.feature_names)))
    around = scores - scores.mean(axis=0)
    low, high = np.quantile(around, (0.1, 0.9), axis=1) + scores.mean()
    return PartialDependence(names[j], grid, scores.mean(axis=1), low, high)


def _number(feature: int | str, data: Dataset) -> int:
    """The number of a feature."""
    if isinstance(feature, str):
        if data.feature_names is None or feature not in data.feature_names:
            raise ParameterError(f"there is no feature {feature!r} in the data")
        return data.feature_names.index(feature)
    Whole(0, data.n_features - 1).check("feature", feature)
    return int(feature)
