"""Kernels of values: a measure of each query, in expectation over the orders of ties."""

from __future__ import annotations

import numba
import numpy as np

from rankinite._numba import kernel, parallel_kernel
from rankinite.measures.codes import CASCADE, FIRST, LAYERED, LINEAR, PRECISIONS

# Down to this cut-off, the best documents are found by insertion instead of a whole sort.
SMALL_CUT = 64


@parallel_kernel()
def expected_values(code, scores, grades, discounts, norms, offsets, blank):
    """Value of every query, in expectation over the orders of documents with equal scores.

    Parameters
    ----------
    code : int
    scores, grades : float64, shape (n_rows,)
        In stored order. No score is NaN.
    discounts : float64, shape (≥ size of the largest query,)
    norms : float64, shape (n_queries, width)
    offsets : int64, shape (n_queries + 1,)
    blank : bool, shape (n_queries,)

    Returns
    -------
    float64, shape (n_queries,)
        NaN for blank queries.
    """
    n_queries = offsets.shape[0] - 1
    values = np.empty(n_queries)
    for q in numba.prange(n_queries):
        if blank[q]:
            values[q] = np.nan
        else:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = expected_value(code, scores[rows], grades[rows], discounts, norms[q])
    return values


@kernel()
def expected_value(code, scores, grades, discounts, norms):
    """Value of one query, in expectation over the orders of documents with equal scores."""
    scores, grades = _candidates(scores, grades, discounts)
    ranked, ends = _rank(scores, grades)
    if code == LINEAR:
        return _expected_linear(ranked, ends, discounts) * norms[0]
    if code == LAYERED:
        return _expected_layered(ranked, ends, discounts, norms)
    if code == CASCADE:
        return _expected_cascade(ranked, ends, discounts) * norms[0]
    if code == PRECISIONS:
        return _expected_precisions(ranked, ends, discounts) * norms[0]
    if code == FIRST:
        return _expected_first(ranked, ends, discounts) * norms[0]
    return _right_pairs(ranked, ends) * norms[0]


@kernel()
def _candidates(scores, grades, discounts):
    """Scores and grades of the documents that can come above the cut-off, in any order.

    That is all of them, unless the cut-off is small: then only those that score no less than
    the one at the cut-off, with everything tied to it, are left to be sorted.
    """
    n = scores.shape[0]
    k = min(SMALL_CUT, n // 2)
    if k == 0 or discounts[k] > 0.0:
        return scores, grades
    while discounts[k - 1] == 0.0:
        k -= 1
    best = np.full(k, -np.inf)
    for row in range(n):
        score = scores[row]
        if score > best[k - 1]:
            place = k - 1
            while place > 0 and best[place - 1] < score:
                best[place] = best[place - 1]
                place -= 1
            best[place] = score
    kept = np.flatnonzero(scores >= best[k - 1])
    return scores[kept], grades[kept]


@kernel()
def _rank(scores, grades):
    """Grades by descending score, and the end of the tie group that starts at each position.

    A tie group is sorted by grade, so that not even a rounding error depends on the row order.
    """
    n = scores.shape[0]
    order = _ascending(-scores)
    ranked = np.empty(n)
    for p in range(n):
        ranked[p] = grades[order[p]]
    ends = np.empty(n, np.int64)
    start = 0
    while start < n:
        end = start + 1
        score = scores[order[start]]
        while end < n and scores[order[end]] == score:
            end += 1
        ends[start] = end
        if end > start + 1:
            tied = ranked[start:end].copy()
            tied_order = _ascending(tied)
            for p in range(start, end):
                ranked[p] = tied[tied_order[p - start]]
        start = end
    return ranked, ends


@kernel()
def _ascending(keys):
    """Order of the keys: a function of its own, so that the sort is compiled once."""
    return np.argsort(keys, kind="mergesort")


@kernel()
def _expected_linear(ranked, ends, discounts):
    """Each document of a tie group meets each of its discounts equally often."""
    n = ranked.shape[0]
    total = 0.0
    start = 0
    while start < n and discounts[start] > 0.0:
        end = ends[start]
        grade = 0.0
        weight = 0.0
        for p in range(start, end):
            grade += ranked[p]
            weight += discounts[p]
        total += grade / (end - start) * weight
        start = end
    return total


@kernel()
def _expected_layered(ranked, ends, discounts, norms):
    """As above, with a norm a rank."""
    n = ranked.shape[0]
    depth = norms.shape[0]
    total = 0.0
    start = 0
    while start < min(n, depth):
        end = ends[start]
        grade = 0.0
        weight = 0.0
        for p in range(start, end):
            grade += ranked[p]
            if p < depth:
                weight += discounts[p] * norms[p]
        total += grade / (end - start) * weight
        start = end
    return total


@kernel()
def _expected_cascade(ranked, ends, discounts):
    """ERR under ties.

    The user still reads after t documents of a group with probability P_t, the mean of Π T over
    its subsets of size t, and stops at the t-th with P_{t−1} − P_t. P is a normalised elementary
    symmetric polynomial; adding the n-th document gives (without any binomial to overflow)

        P_t ← (n − t)/n · P_t + t/n · T_n · P_{t−1}.

    Only the P_t down to the cut-off are kept.
    """
    n = ranked.shape[0]
    cut = n
    while cut > 0 and discounts[cut - 1] == 0.0:
        cut -= 1
    total = 0.0
    reading = 1.0
    start = 0
    while start < cut:
        end = ends[start]
        if end == start + 1:
            total += reading * ranked[start] * discounts[start]
            reading *= 1.0 - ranked[start]
        else:
            deepest = min(end, cut) - start
            survival = np.zeros(deepest + 1)
            survival[0] = 1.0
            for m in range(1, end - start + 1):
                stays = 1.0 - ranked[start + m - 1]
                for t in range(min(m, deepest), 0, -1):
                    survival[t] = ((m - t) * survival[t] + t * stays * survival[t - 1]) / m
            for t in range(1, deepest + 1):
                total += reading * (survival[t - 1] - survival[t]) * discounts[start + t - 1]
            reading *= survival[deepest]
        start = end
    return total


@kernel()
def _expected_precisions(ranked, ends, discounts):
    """AP under ties (McSherry and Najork 2008).

    In a group of m documents, r of them relevant, below R relevant ones, the document at the
    i-th place is relevant with probability r/m; then each of the i − 1 before it is relevant
    with probability (r − 1)/(m − 1).
    """
    n = ranked.shape[0]
    total = 0.0
    above = 0.0
    start = 0
    while start < n and discounts[start] > 0.0:
        end = ends[start]
        m = end - start
        relevant = 0.0
        for p in range(start, end):
            relevant += ranked[p]
        if relevant > 0.0:
            rate = (relevant - 1.0) / (m - 1) if m > 1 else 0.0
            for p in range(start, end):
                total += relevant / m * (above + 1.0 + (p - start) * rate) * discounts[p]
        above += relevant
        start = end
    return total


@kernel()
def _expected_first(ranked, ends, discounts):
    """RR under ties: in the first group with relevant documents, the chance of each place."""
    n = ranked.shape[0]
    start = 0
    while start < n:
        end = ends[start]
        relevant = 0.0
        for p in range(start, end):
            relevant += ranked[p]
        if relevant > 0.0:
            total = 0.0
            none_yet = 1.0
            for p in range(start, end):
                hit = min(1.0, relevant / (end - p))
                total += none_yet * hit * discounts[p]
                none_yet *= 1.0 - hit
            return total
        start = end
    return 0.0


@kernel()
def _right_pairs(ranked, ends):
    """Number of pairs of different grades in the right order; a pair of equal scores counts 1/2.

    Sweeps down the ranking with a Fenwick tree that counts the documents above by the level of
    their grade: O(n log n) time and O(n) memory for any number of grades.
    """
    n = ranked.shape[0]
    levels, n_levels = _levels(ranked)
    tree = np.zeros(n_levels + 1, np.int64)
    higher = 0
    tied = 0
    start = 0
    while start < n:
        end = ends[start]
        # A group is sorted by grade, so the lower grades of a tie end where its own begin.
        own = start
        for p in range(start, end):
            if levels[p] != levels[own]:
                own = p
            tied += own - start
            higher += start
            node = levels[p]
            while node > 0:
                higher -= tree[node]
                node -= node & -node
        for p in range(start, end):
            node = levels[p]
            while node <= n_levels:
                tree[node] += 1
                node += node & -node
        start = end
    return higher + 0.5 * tied


@kernel()
def _levels(grades):
    """Rank of each grade among the distinct ones, from 1, and their number."""
    order = _ascending(grades)
    levels = np.empty(grades.shape[0], np.int64)
    level = 0
    for p in range(grades.shape[0]):
        if p == 0 or grades[order[p]] != grades[order[p - 1]]:
            level += 1
        levels[order[p]] = level
    return levels, level
