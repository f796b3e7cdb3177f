"""Why one document of a query is above another: the difference of their contributions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._text_table import aligned
from rankinite.data import Dataset
from rankinite.data.feature_labels import feature_labels
from rankinite.errors import DataError, ParameterError
from rankinite.models.parameters import Whole
from rankinite.plots.figures import new_figure, write_figure

# Features that are named one by one; the rest is added up.
_SHOWN = 10
_RAISES, _LOWERS, _TOGETHER = "#30638e", "#c1272d", "#999999"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Two documents of a query, and what sets their scores apart; printing tells it in words.

    Attributes
    ----------
    query : str
    above, below : int
        The documents, by their places in the query from 1, as they come in the data.
    ranks : tuple of int
        Their ranks.
    scores : tuple of float
    names : list of str
        Of the features, the largest share of the difference first.
    shares : ndarray of float64
        What each feature adds to the difference of the scores.
    values : ndarray, shape (n_features, 2)
        Of the features in the two documents.
    """

    query: str
    above: int
    below: int
    ranks: tuple[int, int]
    scores: tuple[float, float]
    names: list[str]
    shares: np.ndarray
    values: np.ndarray

    @property
    def difference(self) -> float:
        """The score of the one less that of the other."""
        return self.scores[0] - self.scores[1]

    def __str__(self) -> str:
        word = "above" if self.difference >= 0 else "below"
        first = (
            f"query {self.query}: document {self.above} (rank {self.ranks[0]}, score "
            f"{self.scores[0]:.4f}) is {abs(self.difference):.4f} {word} document {self.below} "
            f"(rank {self.ranks[1]}, score {self.scores[1]:.4f})"
        )
        rows = [
            (name, f"{share:+.4f}", f"{_value(one)} against {_value(other)}")
            for name, share, (one, other) in zip(
                self.names[:_SHOWN], self.shares, self.values, strict=False
            )
        ]
        rest = self.shares[_SHOWN:]
        if len(rest):
            rows.append((_others(rest), f"{rest.sum():+.4f}", ""))
        return f"{first}\n{aligned(('feature', 'share', 'values'), rows)}"

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the shares as bars to a .png or .svg file."""
        shares, rest = self.shares[:_SHOWN], self.shares[_SHOWN:]
        colours = [_RAISES if share >= 0 else _LOWERS for share in shares]
        labels = [
            f"{name}  ({_value(one)} | {_value(other)})"
            for name, (one, other) in zip(self.names[:_SHOWN], self.values, strict=False)
        ]
        if len(rest):
            shares = np.append(shares, rest.sum())
            colours.append(_TOGETHER)
            labels.append(_others(rest))
        places = np.arange(len(labels))[::-1]
        figure = new_figure(6.5, 0.6 + 0.32 * len(labels))
        panel = figure.subplots()
        panel.barh(places, shares, color=colours)
        panel.set_yticks(places, labels, fontsize=8)
        panel.axvline(0.0, color="#777777", linewidth=0.8)
        panel.set_xlabel(
            f"share in the {self.difference:+.3f} of document {self.above} over {self.below}",
            fontsize=8,
        )
        panel.spines[["top", "right"]].set_visible(False)
        write_figure(figure, path)


def explain(
    ranker: Any,
    data: Dataset,
    query: Any = None,
    above: int | None = None,
    below: int | None = None,
) -> Explanation:
    """Why one document of a query is above another.

    Parameters
    ----------
    ranker : Ranker
        Made of trees, or linear; see `contributions`.
    data : Dataset
        With feature values.
    query : optional
        The id of the query; the first one by default.
    above, below : int, optional
        Documents by their places in the query, from 1, as they come in the data. By default the
        first and the second of the ranking.
    """
    place = _place(data, query)
    rows = data.select_queries(np.array([place]))
    n_docs = rows.n_rows
    if n_docs < 2:
        raise DataError(f"query {rows.qids[0]} has one document: there is none to compare it with")
    shares = ranker.contributions(rows)
    scores = ranker.predict(rows)
    values = rows.in_caller_order(rows.features.values())
    ranking = np.argsort(-scores, kind="stable")
    rank_of = np.empty(n_docs, np.int64)
    rank_of[ranking] = np.arange(1, n_docs + 1)
    one = ranking[0] if above is None else _document("above", above, n_docs)
    others = ranking[ranking != one]
    other = others[0] if below is None else _document("below", below, n_docs)
    if one == other:
        raise ParameterError(f"above and below are both document {one + 1}: name two")
    change = (shares[one] - shares[other])[:-1]
    order = np.argsort(-np.abs(change), kind="stable")
    names = feature_labels(rows.feature_names, rows.n_features)
    return Explanation(
        str(rows.qids[0]),
        int(one) + 1,
        int(other) + 1,
        (int(rank_of[one]), int(rank_of[other])),
        (float(scores[one]), float(scores[other])),
        [names[j] for j in order],
        change[order],
        values[[one, other]].T[order],
    )


def _place(data: Dataset, query: Any) -> int:
    """Which of the queries has this id."""
    if query is None:
        return 0
    found = np.flatnonzero(np.asarray(data.qids).astype(str) == str(query))
    if len(found) == 0:
        raise DataError(
            f"there is no query {query!r} in the data, which begins with {data.qids[0]}"
        )
    return int(found[0])


def _document(name: str, number: int, n_docs: int) -> int:
    Whole(1, n_docs).check(name, number)
    return int(number) - 1


def _others(rest: np.ndarray) -> str:
    return "1 other feature" if len(rest) == 1 else f"{len(rest)} other features"


def _value(number: float) -> str:
    return "missing" if np.isnan(number) else f"{number:.4g}"
