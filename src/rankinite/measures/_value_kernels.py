"""Kernels of values: a measure of each query, in expectation over the orders of ties.

First `rank_queries`, then the kernel of the measure: apart, because only what a measure needs is
compiled for it. All of them work on the queries from `first_query` to `last_query`:

    scores, grades : float64, shape (n_rows,)
        In stored order. No score is NaN.
    discounts : float64, shape (≥ size of the largest query,)
    norms : float64, shape (n_queries, width)
    offsets : int64, shape (n_queries + 1,)
    blank : bool, shape (n_queries,)
        Queries to leave out.
    ranked : float64, shape (n_rows,)
        The grades of each query by descending score, at least down to the lowest discount above 0.
    ends : int64, shape (n_rows,)
        Where the group of equal scores ends that starts at a position of its query; as far.
    values : float64, shape (n_queries,)
        Output.
"""

from __future__ import annotations

import numpy as np

from rankinite._numba import kernel
from rankinite.measures._sorting_kernels import descending, sort_by_key

# Down to this cut-off, the best documents are found by insertion instead of a whole sort.
SMALL_CUT = 64


@kernel()
def rank_queries(first_query, last_query, scores, grades, discounts, offsets, blank, ranked, ends):
    """Write `ranked` and `ends`.

    A group of equal scores is sorted by grade, so that not even a rounding error depends on the row
    order.
    """
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, offsets[q + 1] - offsets[q])
    keys, spare_keys = np.empty(longest, np.int64), np.empty(longest, np.int64)
    order, spare_order = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for q in range(first_query, last_query):
        if blank[q]:
            continue
        first, last = offsets[q], offsets[q + 1]
        lowest = lowest_candidate(scores[first:last], discounts)
        n = 0
        for row in range(first, last):
            if scores[row] >= lowest:
                keys[n] = descending(scores[row])
                order[n] = row - first
                n += 1
        sort_by_key(keys[:n], order[:n], spare_keys, spare_order)
        for p in range(n):
            ranked[first + p] = grades[first + order[p]]
        start = 0
        while start < n:
            end = start + 1
            while end < n and keys[end] == keys[start]:
                end += 1
            ends[first + start] = end
            if end > start + 1:
                for p in range(start, end):
                    keys[p] = ~descending(ranked[first + p])
                sort_by_key(keys[start:end], order[start:end], spare_keys, spare_order)
                for p in range(start, end):
                    ranked[first + p] = grades[first + order[p]]
            start = end


@kernel()
def lowest_candidate(scores, discounts):
    """The lowest score that can come above the cut-off; −inf unless the cut-off is small.

    Then only those that score no less than the one at the cut-off, with everything tied to it, are
    left to be sorted.
    """
    n = scores.shape[0]
    k = min(SMALL_CUT, n // 2)
    if k == 0 or discounts[k] > 0.0:
        return -np.inf
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
    return best[k - 1]


@kernel()
def linear_values(first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values):
    """Grades times discounts: NDCG, DCG, precision."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _expected_linear(ranked[rows], ends[rows], discounts) * norms[q, 0]


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
def layered_values(first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values):
    """The mean of NDCG@1, NDCG@2, …."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _expected_layered(ranked[rows], ends[rows], discounts, norms[q])


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
def cascade_values(first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values):
    """ERR."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _expected_cascade(ranked[rows], ends[rows], discounts) * norms[q, 0]


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
def precisions_values(
    first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values
):
    """AP."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _expected_precisions(ranked[rows], ends[rows], discounts) * norms[q, 0]


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
def first_values(first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values):
    """RR."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _expected_first(ranked[rows], ends[rows], discounts) * norms[q, 0]


@kernel()
def _expected_first(ranked, ends, discounts):
    """RR under ties: in the first group with relevant documents, the chance of each place."""
    n = ranked.shape[0]
    start = 0
    while start < n and discounts[start] > 0.0:
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
def pairs_values(first_query, last_query, ranked, ends, discounts, norms, offsets, blank, values):
    """Pairs of different grades."""
    for q in range(first_query, last_query):
        if not blank[q]:
            rows = slice(offsets[q], offsets[q + 1])
            values[q] = _right_pairs(ranked[rows], ends[rows]) * norms[q, 0]


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
    n = grades.shape[0]
    keys, spare_keys, levels = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    order, spare_order = np.empty(n, np.int32), np.empty(n, np.int32)
    for p in range(n):
        keys[p] = ~descending(grades[p])
        order[p] = p
    sort_by_key(keys, order, spare_keys, spare_order)
    level = 0
    for p in range(n):
        if p == 0 or grades[order[p]] != grades[order[p - 1]]:
            level += 1
        levels[order[p]] = level
    return levels, level
