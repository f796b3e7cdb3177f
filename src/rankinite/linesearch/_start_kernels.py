"""Kernels of the start of a line search: the order of the documents right of the low bound.

A document is a line over α: (1 − α)·a + α·b for a convex combination, a + α·b for an additive one.
Documents whose lines coincide never part: they are one bundle, a group of ties for all α.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite._numba import kernel
from rankinite.measures._sorting_kernels import descending, sort_by_key

# α's that differ by no more than this part of themselves are one. A computed crossing is right to
# 2^-51, so crossings that meet in one point are never torn apart.
SAME = 2.0**-46
# Up to this cut-off, documents that never come above it are looked for.
LARGEST_CUT = 256
# Beyond this part of the largest score a difference of two computed scores is real.
ROUNDING = 2.0**-50


class Lines(NamedTuple):
    """The documents as lines over α.

    Attributes
    ----------
    convex : bool
        Scores are (1 − α)·a + α·b; else a + α·b.
    low, high : float
        Bounds of α.
    a, b : ndarray of float64, shape (n_rows,)
    """

    convex: bool
    low: float
    high: float
    a: np.ndarray
    b: np.ndarray


class Start(NamedTuple):
    """The documents by rank right of the low bound.

    Attributes
    ----------
    order : ndarray of int32, shape (n_rows,)
        The documents, numbered inside their query, by rank.
    ranked : ndarray of float64, shape (n_rows,)
        Their grades. Inside a bundle they ascend, so that not even a rounding error depends on the
        row order.
    ends : ndarray of int64, shape (n_rows,)
        Where the bundle ends that starts at a position.
    kept : ndarray of int64, shape (n_queries,)
        The number of documents that are not left out.
    """

    order: np.ndarray
    ranked: np.ndarray
    ends: np.ndarray
    kept: np.ndarray

    @classmethod
    def of_shape(cls, offsets):
        """Room for the documents of queries with these offsets."""
        n_rows = offsets[-1]
        return cls(
            np.empty(n_rows, np.int32),
            np.empty(n_rows),
            np.empty(n_rows, np.int64),
            np.zeros(len(offsets) - 1, np.int64),
        )


@kernel(forceinline=True)
def starts_above(convex, low, da, db):
    """Whether a line lies above another right of `low`; `da` and `db` are the differences.

    The sign of a difference of floats is exact, and where the lines cross is known to the last
    digits: so the answer is that of exact arithmetic, which sums a + α·b would not give.
    """
    if convex:
        if (da > 0.0 and db < 0.0) or (da < 0.0 and db > 0.0):
            crossed = da / (da - db) <= low + SAME * low
            return db > 0.0 if crossed else da > 0.0
        return da > 0.0 or (da == 0.0 and db > 0.0)
    if db == 0.0:
        return da > 0.0
    crossed = -da / db <= low + SAME * abs(low)
    return db > 0.0 if crossed else db < 0.0


@kernel()
def order_queries(first_query, last_query, lines, grades, top, offsets, blank, start):
    """Rank the documents of the queries from `first_query` to `last_query` right of `low`.

    Parameters
    ----------
    first_query, last_query : int
    lines : Lines
    grades : ndarray of float64, shape (n_rows,)
    top : int
        Documents that stay below this rank for all α may be left out.
    offsets : ndarray of int64, shape (n_queries + 1,)
    blank : ndarray of bool, shape (n_queries,)
        Queries to leave out.
    start : Start
        Output.
    """
    convex, low, high, a, b = lines
    order, ranked, ends, kept = start
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, offsets[q + 1] - offsets[q])
    keys, spare_keys = np.empty(longest, np.int64), np.empty(longest, np.int64)
    spare_order = np.empty(longest, np.int32)
    spare = np.empty(longest)
    for q in range(first_query, last_query):
        if blank[q]:
            continue
        rows = slice(offsets[q], offsets[q + 1])
        some_a, some_b, places = a[rows], b[rows], order[rows]
        n = places.shape[0]
        for i in range(n):
            places[i] = i
            spare[i] = (1.0 - low if convex else 1.0) * some_a[i] + low * some_b[i]
            keys[i] = descending(spare[i])
        sort_by_key(keys[:n], places, spare_keys, spare_order)
        begin = 0
        while begin < n:
            end = begin + 1
            while end < n and keys[end] == keys[begin]:
                end += 1
            if end > begin + 1:
                _sort_part(some_b, 1.0, places[begin:end], keys, spare_keys, spare_order)
            begin = end
        _mend(convex, low, some_a, some_b, places)
        kept[q] = _find_bundles(some_a, some_b, places, ends[rows])
        if top <= min(LARGEST_CUT, n // 2):
            share = 1.0 - high if convex else 1.0
            kept[q] = _leave_out(share, high, some_a, some_b, top, places, ends[rows], spare)
        some_grades, some_ends, some_ranked = grades[rows], ends[rows], ranked[rows]
        begin = 0
        while begin < kept[q]:
            end = some_ends[begin]
            if end > begin + 1:
                _sort_part(some_grades, -1.0, places[begin:end], keys, spare_keys, spare_order)
            for p in range(begin, end):
                some_ranked[p] = some_grades[places[p]]
            begin = end


@kernel()
def _sort_part(values, sign, places, keys, spare_keys, spare_order):
    """Sort some documents by value, descending if `sign` is 1 and ascending if it is −1."""
    n = places.shape[0]
    for p in range(n):
        keys[p] = descending(sign * values[places[p]])
    sort_by_key(keys[:n], places, spare_keys, spare_order)


@kernel()
def _mend(convex, low, a, b, places):
    """Sort by insertion what rounding errors have misplaced: in most queries nothing."""
    for p in range(1, places.shape[0]):
        i = places[p]
        j = p
        while j > 0:
            above = places[j - 1]
            if not starts_above(convex, low, a[i] - a[above], b[i] - b[above]):
                break
            places[j] = above
            j -= 1
        places[j] = i


@kernel()
def _find_bundles(a, b, places, ends):
    """Write where the bundles end; returns the number of documents."""
    n = places.shape[0]
    start = 0
    while start < n:
        i = places[start]
        end = start + 1
        while end < n and a[places[end]] == a[i] and b[places[end]] == b[i]:
            end += 1
        ends[start] = end
        start = end
    return n


@kernel()
def _leave_out(share, high, a, b, top, places, ends, spare):
    """Leave out the bundles that never come above the rank `top`; returns how many documents stay.

    Lines cross once at most: where one lies above another at both bounds, it does between them. So
    a bundle stays below `top` for good if `top` documents start above it that also end above it.
    The bundles come by their start, and the highest `top` ends so far are kept. An end must be
    higher by more than its rounding error.
    """
    n = places.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(share * a[i]) + abs(high * b[i]))
    highest = spare[:top]
    n_kept = 0
    start = 0
    while start < n:
        stop = ends[start]
        i = places[start]
        end = share * a[i] + high * b[i]
        if n_kept < top or not highest[top - 1] - end > ROUNDING * largest:
            size = stop - start
            for p in range(start, stop):
                places[n_kept + p - start] = places[p]
            _note(end, min(size, top), highest, min(n_kept, top))
            ends[n_kept] = n_kept + size
            n_kept += size
        start = stop
    return n_kept


@kernel()
def _note(value, times, highest, n):
    """Put a value several times among the `n` values that descend; those past the end are lost."""
    length = highest.shape[0]
    place = n
    while place > 0 and highest[place - 1] < value:
        place -= 1
    for p in range(min(n + times, length) - 1, place + times - 1, -1):
        highest[p] = highest[p - times]
    for p in range(place, min(place + times, length)):
        highest[p] = value
