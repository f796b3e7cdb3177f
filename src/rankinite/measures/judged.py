"""The labels of a dataset as one measure sees them: computed once, used in every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankinite.errors import LabelError

LARGEST_GRADE = 1000
"""2^label must stay far from the largest double, also when summed over a query."""

LARGEST_ERR_GRADE = 50
"""1 − (2^label − 1)/2^max_label must not round to 0."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What the kernels need of a measure and the labels of a dataset.

    Attributes
    ----------
    code : int
        The way of computing, one of ``rankinite.measures.codes``.
    grades : ndarray of float64, shape (n_rows,)
        NDCG, DCG: gain; ERR: probability to stop; AP, RR, precision: 0 or 1; pairs: label.
    discounts : ndarray of float64, shape (size of the largest query,)
        Weight of each rank, 0 below the cut-off.
    norms : ndarray of float64, shape (n_queries, width)
        Factor(s) of each query, 0 for blank queries.
    blank : ndarray of bool, shape (n_queries,)
        No order of the query's documents is better than another.
    top : int
        Only swaps whose upper document is at a rank ≤ `top` can change the measure.
    """

    code: int
    grades: np.ndarray
    discounts: np.ndarray
    norms: np.ndarray
    blank: np.ndarray
    top: int


@dataclass(frozen=True, eq=False)
class LabelLayout:
    """Labels and the queries they belong to.

    Attributes
    ----------
    y : ndarray of float64, shape (n_rows,)
    offsets : ndarray of int64, shape (n_queries + 1,)
    query_of_row : ndarray of int64, shape (n_rows,)
    longest : int
        Size of the largest query.
    """

    y: np.ndarray
    offsets: np.ndarray
    query_of_row: np.ndarray
    longest: int

    @classmethod
    def of(cls, name: str, y: np.ndarray, offsets: np.ndarray) -> LabelLayout:
        """Lay out `y`; `name` is the measure that asks, for the error messages."""
        y = np.ascontiguousarray(y, dtype=np.float64)
        offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        sizes = np.diff(offsets)
        query_of_row = np.repeat(np.arange(len(sizes)), sizes)
        layout = cls(y, offsets, query_of_row, int(sizes.max(initial=0)))
        layout.refuse(~np.isfinite(y), name, "which is not a finite number: mend the labels")
        return layout

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    def refuse(self, bad: np.ndarray, name: str, advice: str) -> None:
        """Raise a DataError that names the first bad label, if there is one."""
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            query = int(self.query_of_row[row])
            what = f"has the label {self.y[row]:g}, {advice}"
            place = f"query number {query} (counted from 0 in order of appearance)"
            raise LabelError(f"{name}: {place} {what}", row, query, f"{what} ({name})")

    def per_query(self, values: np.ndarray) -> np.ndarray:
        """Sum values of rows, shape (n_rows,), over each query, shape (n_queries,)."""
        sums = np.bincount(self.query_of_row, weights=values, minlength=self.n_queries)
        return sums.astype(np.float64, copy=False)  # without rows numpy counts in integers

    def best_first(self, grades: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grades of each query in descending order, and the position of each in its query."""
        order = np.lexsort((-grades, self.query_of_row))
        position = np.arange(len(grades)) - self.offsets[self.query_of_row]
        return grades[order], position

    def no_positive(self, grades: np.ndarray) -> np.ndarray:
        """Say for each query whether no grade is above 0."""
        return self.per_query(grades > 0) == 0


def gains(layout: LabelLayout, name: str, gain: str) -> np.ndarray:
    """Gain of each label: 2^l − 1 (``"exp2"``) or l itself (``"label"``), shape (n_rows,)."""
    y = layout.y
    if gain == "label":
        layout.refuse(y < 0, name, "but gain=label needs labels of 0 or more")
        return y
    _check_grades(layout, name, LARGEST_GRADE, "use gain=label or the measure pairs")
    return np.exp2(y) - 1.0


def stop_probabilities(layout: LabelLayout, name: str, max_label: int) -> np.ndarray:
    """Probability R = (2^l − 1)/2^max_label that a document satisfies the user, for ERR."""
    advice = "use ndcg:gain=label or the measure pairs"
    _check_grades(layout, name, LARGEST_ERR_GRADE, advice)
    layout.refuse(layout.y > max_label, name, f"but max_label is {max_label}: raise max_label")
    return (np.exp2(layout.y) - 1.0) / 2.0**max_label


def _check_grades(layout: LabelLayout, name: str, largest: int, advice: str) -> None:
    y = layout.y
    layout.refuse(y < 0, name, "but its gain 2^label - 1 needs labels of 0 or more")
    layout.refuse(y != np.floor(y), name, f"but its gain needs whole numbers: {advice}")
    layout.refuse(y > largest, name, f"but its gain allows labels up to {largest}: {advice}")


def log_discounts(length: int, k: int | None) -> np.ndarray:
    """1/log2(1 + rank) down to rank `k`, then 0; shape (length,)."""
    return _cut(1.0 / np.log2(np.arange(length) + 2.0), k)


def reciprocal_discounts(length: int, k: int | None) -> np.ndarray:
    """1/rank down to rank `k`, then 0; shape (length,)."""
    return _cut(1.0 / np.arange(1.0, length + 1.0), k)


def constant_discounts(length: int, k: int) -> np.ndarray:
    """1/k down to rank `k`, then 0; shape (length,)."""
    return _cut(np.full(length, 1.0 / k), k)


def _cut(discounts: np.ndarray, k: int | None) -> np.ndarray:
    if k is not None:
        discounts[k:] = 0.0
    return discounts


def top_rank(layout: LabelLayout, k: int | None) -> int:
    """Lowest rank that counts: the cut-off, or the size of the largest query if that is less."""
    return layout.longest if k is None else min(k, layout.longest)


def inverse(values: np.ndarray) -> np.ndarray:
    """1/value, and 0 where the value is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def ideal_norms(layout: LabelLayout, grades: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """1/maxDCG of each query, shape (n_queries, 1)."""
    best, position = layout.best_first(grades)
    return inverse(layout.per_query(best * discounts[position]))[:, None]


def layered_norms(
    layout: LabelLayout, grades: np.ndarray, discounts: np.ndarray, depth: int
) -> np.ndarray:
    """Norms of the mean of NDCG@1 .. NDCG@depth, shape (n_queries, depth).

    The document at position p counts in NDCG@k for every k > p, so its gain times discount is
    multiplied by (1/depth) Σ_{k=p+1..depth} 1/maxDCG@k.
    """
    best, position = layout.best_first(grades)
    inside = position < depth
    terms = np.zeros((layout.n_queries, depth))
    rows = layout.query_of_row[inside], position[inside]
    terms[rows] = best[inside] * discounts[position[inside]]
    inverse_ideals = inverse(np.cumsum(terms, axis=1))
    return np.ascontiguousarray(np.cumsum(inverse_ideals[:, ::-1], axis=1)[:, ::-1]) / depth


def different_pairs(layout: LabelLayout) -> np.ndarray:
    """Number of pairs of different labels in each query, shape (n_queries,)."""
    labels, position = layout.best_first(layout.y)
    starts = np.flatnonzero((position == 0) | (np.diff(labels, prepend=np.nan) != 0))
    runs = np.diff(np.append(starts, len(labels))).astype(np.float64)
    squares = np.bincount(
        layout.query_of_row[starts], weights=runs * runs, minlength=layout.n_queries
    )
    sizes = np.diff(layout.offsets).astype(np.float64)
    return (sizes * sizes - squares) / 2.0
