"""Kernels of the cost whose gradient the λs are: Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) of a query.

They take the ranking from what is kept from round to round, where the λs or `rank_queries` leave
it: costs and λs of one call are those of one ranking. Sums are of float64.
With E = exp(σ(s − s_max)) of each document there is no exponential a pair, and with b ≤ a the E of
two documents log(1 + b/a) = 2 artanh(b / (2a + b)): one division and a short series.
"""

from typing import NamedTuple

import numpy as np

from rankinite._numba import SUM_IN_ANY_ORDER, kernel
from rankinite.lambdas._query_kernels import CLOSE, longest_of, ranked_terms

# Scores further apart than this, in units of 1/σ, have no E.
SAFE_RANGE = 600.0
# The series stops here: b / (2a + b) is at most a third, and the rest is below 1e-14 of the sum.
TERMS = 13


class Ranked(NamedTuple):
    """The documents of a query in rank order, float64 of shape (n,) each.

    Attributes
    ----------
    s : σ·scores
    e : exp(s − highest s)
    weight : of a document; a pair has the mean of its two
    G, S, U, V : terms of `swap_terms`
    """

    s: np.ndarray
    e: np.ndarray
    weight: np.ndarray
    G: np.ndarray
    S: np.ndarray
    U: np.ndarray
    V: np.ndarray


@kernel(inline="always")
def _log1p_of_quotient(b, a):
    """log(1 + b/a) for 0 ≤ b ≤ a."""
    z = b / (2.0 * a + b)
    square = z * z
    series = 0.0
    for k in range(TERMS):
        series = series * square + 2.0 / (2 * (TERMS - k) - 1)
    return z * series


@kernel()
def _far_cost(delta, lead, normalize):
    """Cost and force of a pair from |ΔZ| and the lead of the better document, however far."""
    distance = abs(lead)
    share = delta / (CLOSE + distance) if normalize else delta
    small = np.exp(-distance)
    cost = share * (np.log1p(small) + max(-lead, 0.0))
    return cost, share / (1.0 + small) * (small if lead > 0.0 else 1.0)


@kernel()
def _compressed(cost, total, normalize):
    """The cost of a query, compressed as its λs are; `total` is the sum of the forces."""
    return cost * np.log1p(total) / (np.log(2.0) * total) if normalize and total > 0.0 else cost


@kernel()
def cost_from_deltas(deltas, s, labels, weight, top, normalize):
    """Cost of one query in rank order from a matrix of swap deltas; s = σ·scores."""
    n = s.shape[0]
    cost, total = 0.0, 0.0
    for i in range(min(top, n - 1)):
        for j in range(i + 1, n):
            if labels[i] != labels[j]:
                lead = s[i] - s[j] if labels[i] > labels[j] else s[j] - s[i]
                c, force = _far_cost(abs(deltas[i, j]), lead, normalize)
                cost += 0.5 * (weight[i] + weight[j]) * c
                total += force
    return _compressed(cost, total, normalize)


@kernel(fastmath=SUM_IN_ANY_ORDER)
def _near_row(i, ranked, cap, normalize):
    """Cost and forces of document i with those ranked below it; see `_cost_from_terms`."""
    s, e, weight, G, S, U, V = ranked
    e_i, s_i, weight_i = e[i], s[i], weight[i]
    gain, scale, level = G[i], S[i], U[i]
    e, s, weight, G, V = e[i + 1 :], s[i + 1 :], weight[i + 1 :], G[i + 1 :], V[i + 1 :]
    cost, total = 0.0, 0.0
    for j in range(s.shape[0]):
        won = gain - G[j]
        share = min(abs(won), cap) * scale * (level - V[j])
        gap = s_i - s[j]
        if normalize:
            share /= CLOSE + abs(gap)
        low, high = min(e_i, e[j]), max(e_i, e[j])
        behind = max(-gap if won > 0.0 else gap, 0.0)
        cost += share * (weight_i + weight[j]) * (_log1p_of_quotient(low, high) + behind)
        if normalize:
            total += share * (high if behind > 0.0 else low) / (low + high)
    return 0.5 * cost, total


@kernel()
def _far_row(i, ranked, cap, normalize):
    """As `_near_row`, for scores too far apart: an exponential and a logarithm a pair."""
    s, _, weight, G, S, U, V = ranked
    gain, scale, level = G[i], S[i], U[i]
    cost, total = 0.0, 0.0
    for j in range(i + 1, s.shape[0]):
        won = gain - G[j]
        gap = s[i] - s[j]
        delta = min(abs(won), cap) * scale * (level - V[j])
        c, force = _far_cost(delta, gap if won > 0.0 else -gap, normalize)
        cost += 0.5 * (weight[i] + weight[j]) * c
        total += force
    return cost, total


@kernel()
def _cost_from_terms(ranked, top, cap, normalize):
    """Cost of one query from its scores and terms; `ranked.e` is written.

    Differences of G count up to `cap`.
    """
    s, e = ranked.s, ranked.e
    n = s.shape[0]
    highest, lowest = -np.inf, np.inf
    for p in range(n):
        highest = max(highest, s[p])
        lowest = min(lowest, s[p])
    near = highest - lowest < SAFE_RANGE
    for p in range(n):
        e[p] = np.exp(s[p] - highest)
    cost, total = 0.0, 0.0
    for i in range(min(top, n - 1)):
        if near:
            c, force = _near_row(i, ranked, cap, normalize)
        else:
            c, force = _far_row(i, ranked, cap, normalize)
        cost += c
        total += force
    return _compressed(cost, total, normalize)


@kernel()
def all_costs(first_query, last_query, settings, queries, orders, scores, weight, costs):
    """Cost of each query from `first_query` to `last_query`.

    Parameters
    ----------
    first_query, last_query : int
    settings : LambdaSettings
    queries : GradedQueries
    orders : ndarray of int32, shape (n_rows,)
        The ranking of each query at these scores, by place in grade order.
    scores : ndarray of float64, shape (n_rows,)
    weight : ndarray of float64, shape (n_rows,)
        Of the documents; a pair has the mean of its two.
    costs : ndarray of float64, shape (n_queries,)
        Output.
    """
    offsets, by_grade, blank = queries.offsets, queries.by_grade, queries.blank
    general, sigma = settings.general, settings.sigma
    work = np.empty((8, longest_of(first_query, last_query, offsets)))
    terms = work[4:]
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        n = last - first
        costs[query] = 0.0
        if n < 2 or blank[query]:
            continue
        s, e, pull, ranked_grades = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
        order, norms = orders[first:last], queries.norms[query]
        grades, own = queries.grades[first:last], queries.own[first:last]
        for p in range(n):
            row = first + by_grade[first + order[p]]
            s[p] = sigma * scores[row]
            pull[p] = weight[row]
        cap = ranked_terms(general, settings, norms, grades, own, order, ranked_grades, terms)
        if general is None:
            for p in range(n):
                terms[1, p] = 1.0
                terms[3, p] = terms[2, p]
        ranked = Ranked(s, e, pull, terms[0, :n], terms[1, :n], terms[2, :n], terms[3, :n])
        costs[query] = _cost_from_terms(ranked, settings.top, cap, settings.normalize)
