"""Kernels that measure scores on preference pairs, by sums that do not depend on their order.

A term is rounded to a multiple of a power of two that is large enough for all partial sums to be
exact in float64 (`unit_of`). So the pairs of a query may come in any order.
"""

import math

import numpy as np

from rankinite._numba import kernel


@kernel()
def unit_of(bound, n_terms):
    """The power of two such that `n_terms` multiples of it, up to `bound`, add up exactly.

    It is below ``bound * n_terms / 2**50``; 1 if nothing but zeros is to be added.
    """
    if bound == 0.0 or n_terms == 0:
        return 1.0
    # bound < 2^e, the sum of all is below 2^(e + b), and a double has 53 bits.
    e = math.frexp(bound)[1]
    b = math.frexp(float(n_terms))[1]
    return math.ldexp(1.0, min(max(e + b - 52, -1000), 1000))


@kernel(inline="always")
def rounded(x, unit):
    """The nearest multiple of a power of two; ``1 / unit`` is exact, and moved out of loops."""
    return np.rint(x * (1.0 / unit)) * unit


@kernel()
def largest(values):
    """The largest of some values, none of them negative; 0 if there are none."""
    top = 0.0
    for value in values:
        top = max(top, value)
    return top


@kernel(inline="always")
def pair_cost(x, probability):
    """−P̄ log P − (1 − P̄) log(1 − P) for P = 1 / (1 + e^−x): safe for any x.

    With x ≥ 0, log P = −log(1 + e^−x) and log(1 − P) = −x − log(1 + e^−x); turned round otherwise.
    """
    wrong = 1.0 - probability if x >= 0.0 else probability
    distance = abs(x)
    # An impossible outcome costs nothing however far it is away.
    missed = wrong * distance if wrong > 0.0 else 0.0
    return math.log1p(math.exp(-distance)) + missed


@kernel()
def pair_masses(first_query, last_query, weight, probability, decided, offsets, masses):
    """Sum of the weights of the pairs of some queries.

    Parameters
    ----------
    weight, probability : ndarray of float64, shape (n_pairs,)
    decided : bool
        Leave out pairs of even odds.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Of the pairs of each query.
    masses : ndarray of float64, shape (n_queries,)
        Output.
    """
    for query in range(first_query, last_query):
        start, stop = offsets[query], offsets[query + 1]
        unit = unit_of(largest(weight[start:stop]), stop - start)
        mass = 0.0
        for pair in range(start, stop):
            if not decided or probability[pair] != 0.5:
                mass += rounded(weight[pair], unit)
        masses[query] = mass


@kernel()
def pair_hits(first_query, last_query, first, other, probability, weight, offsets, scores, hits):
    """Weight of the pairs of some queries that are ordered as they should be; ties count half.

    Parameters
    ----------
    first, other : ndarray of int64, shape (n_pairs,)
        Rows.
    probability, weight : ndarray of float64, shape (n_pairs,)
        Below ½ the other document should be the first; pairs of even odds are left out.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Of the pairs of each query.
    scores : ndarray of float64, shape (n_rows,)
    hits : ndarray of float64, shape (n_queries,)
        Output.
    """
    for query in range(first_query, last_query):
        start, stop = offsets[query], offsets[query + 1]
        unit = unit_of(largest(weight[start:stop]), stop - start)
        hit = 0.0
        for pair in range(start, stop):
            # No branches: nobody could predict them.
            odds, even = probability[pair], 0.5
            above, below = scores[first[pair]], scores[other[pair]]
            wanted = np.int64(odds > even) - np.int64(odds < even)
            found = np.int64(above > below) - np.int64(above < below)
            halves = wanted * found + abs(wanted)
            hit += 0.5 * halves * rounded(weight[pair], unit)
        hits[query] = hit


@kernel()
def query_cost(start, first, other, probability, weight, scores, sigma):
    """Weighted sum of the costs of the pairs of one query.

    Parameters
    ----------
    start : int
        The row of the query's first document.
    first, other : ndarray of int64, shape (n_pairs,)
        Rows, counted as `start` is.
    probability, weight : ndarray of float64, shape (n_pairs,)
    scores : ndarray of float64, shape (n_docs,)
    sigma : float
    """
    n_pairs = first.shape[0]
    low = high = scores[0]
    for score in scores:
        low, high = min(low, score), max(high, score)
    # log(1 + e^−x) is below 1.
    unit = unit_of(largest(weight) * (sigma * (high - low) + 1.0), n_pairs)
    cost = 0.0
    for pair in range(n_pairs):
        x = sigma * (scores[first[pair] - start] - scores[other[pair] - start])
        cost += rounded(weight[pair] * pair_cost(x, probability[pair]), unit)
    return cost


@kernel()
def pair_costs(
    first_query,
    last_query,
    first,
    other,
    probability,
    weight,
    pair_offsets,
    offsets,
    scores,
    sigma,
    costs,
):
    """Sum of the costs of the pairs of each of some queries; parameters as in `pair_hits`.

    `offsets` are those of the rows of each query.
    """
    for query in range(first_query, last_query):
        start, stop = offsets[query], offsets[query + 1]
        a, b = pair_offsets[query], pair_offsets[query + 1]
        costs[query] = query_cost(
            start,
            first[a:b],
            other[a:b],
            probability[a:b],
            weight[a:b],
            scores[start:stop],
            sigma,
        )
