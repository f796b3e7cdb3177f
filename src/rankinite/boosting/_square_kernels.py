"""Kernels that add the squared error of the labels to λ and w, query by query.

Documents come in any order, so sums over those of a query are taken in integers.
"""

import math
from typing import NamedTuple

import numpy as np

from rankinite._numba import BORROWS, SUM_IN_ANY_ORDER, kernel
from rankinite.lambdas._query_kernels import longest_of

# Of the bits of a float64, all but the sign.
MAGNITUDE = np.int64(2**63 - 1)


class LabelledQueries(NamedTuple):
    """What stays from round to round.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
    labels : ndarray of float64, shape (n_rows,)
    means : ndarray of float64, shape (n_queries,)
        Mean labels.
    masses : ndarray of float64, shape (n_queries,)
        Sums of the weights; 0 for queries that take no part.
    """

    offsets: np.ndarray
    labels: np.ndarray
    means: np.ndarray
    masses: np.ndarray


@kernel(fastmath=SUM_IN_ANY_ORDER, **BORROWS)
def total_in_any_order(terms):
    """Σ terms, the same in any order: of integers, in a unit that the largest one sets.

    No sum of them has more than the 53 bits of float64, so none is rounded.
    """
    patterns, largest = terms.view(np.int64), np.int64(0)
    for k in range(np.uint64(terms.shape[0])):
        largest = max(largest, patterns[k] & MAGNITUDE)
    exponent = (largest >> 52) - 1022
    if largest == 0 or exponent > 1023:
        return np.int64(largest).view(np.float64)  # 0, not a number, or about to be infinite
    bits = 52 - math.frexp(np.float64(terms.shape[0]))[1]
    # Not so small that its inverse would be no number.
    exponent = max(exponent - bits, -1000)
    scale, total = math.ldexp(1.0, -exponent), 0.0
    for k in range(np.uint64(terms.shape[0])):
        total += np.rint(terms[k] * scale)
    return math.ldexp(total, exponent)


@kernel(inline="always")
def _weight(factor, row):
    return 1.0 if factor is None else factor[row]


@kernel()
def write_label_moments(first_query, last_query, factor, blank, queries, spreads):
    """Write mean labels and sums of weights, and Σ f (l − mean)² of every query.

    Parameters
    ----------
    first_query, last_query : int
    factor : None or ndarray of float64, shape (n_rows,)
        The weights f of the documents.
    blank : ndarray of bool, shape (n_queries,)
        Queries that take no part.
    queries : LabelledQueries
        Its means and masses are written.
    spreads : ndarray of float64, shape (n_queries,)
        Output.
    """
    offsets, labels, means, masses = queries
    terms = np.empty(longest_of(first_query, last_query, offsets))
    for query in range(first_query, last_query):
        first, n = offsets[query], offsets[query + 1] - offsets[query]
        means[query] = masses[query] = spreads[query] = 0.0
        if blank[query]:
            continue
        for k in range(n):
            terms[k] = _weight(factor, first + k)
        mass = total_in_any_order(terms[:n])
        if mass == 0.0:
            continue
        for k in range(n):
            terms[k] = _weight(factor, first + k) * labels[first + k]
        mean = total_in_any_order(terms[:n]) / mass
        for k in range(n):
            terms[k] = _weight(factor, first + k) * (labels[first + k] - mean) ** 2
        means[query], masses[query] = mean, mass
        spreads[query] = total_in_any_order(terms[:n])


@kernel()
def write_score_moments(
    first_query, last_query, factor, queries, unit, sigma, scores, curvature, moments
):
    """Write what the scores of every query are beside its labels.

    Parameters
    ----------
    unit : float
        What labels are multiplied by; their spread is 1 then.
    sigma : float
    scores, curvature : ndarray of float64, shape (n_rows,)
        The curvature is w of the λs, with the weights of the documents.
    moments : ndarray of float64, shape (4, n_queries)
        Output: the mean of σs, Σ f t u and Σ f u² with labels t and σ-fold scores u less their
        means, and the mean of w / f.
    """
    offsets, labels, means, masses = queries
    terms = np.empty((2, longest_of(first_query, last_query, offsets)))
    for query in range(first_query, last_query):
        first, n = offsets[query], offsets[query + 1] - offsets[query]
        mass = masses[query]
        for k in range(4):
            moments[k, query] = 0.0
        if mass == 0.0:
            continue
        for k in range(n):
            terms[0, k] = _weight(factor, first + k) * (sigma * scores[first + k])
        mean = total_in_any_order(terms[0, :n]) / mass
        for k in range(n):
            t = unit * (labels[first + k] - means[query])
            u = sigma * scores[first + k] - mean
            weighted = _weight(factor, first + k) * u
            terms[0, k] = weighted * t
            terms[1, k] = weighted * u
        moments[0, query] = mean
        moments[1, query] = total_in_any_order(terms[0, :n])
        moments[2, query] = total_in_any_order(terms[1, :n])
        moments[3, query] = total_in_any_order(curvature[first : first + n]) / mass


@kernel()
def add_squares(
    first_query,
    last_query,
    factor,
    queries,
    unit,
    sigma,
    scores,
    moments,
    slope,
    strength,
    lam,
    curvature,
):
    """Add the pull of the labels to λ and w.

    Parameters
    ----------
    slope : float
        The labels are fitted by `slope` times the scores u.
    strength : float
        A square counts so many times the mean w of its query.
    lam, curvature : ndarray of float64, shape (n_rows,)
        Added to.
    """
    offsets, labels, means, masses = queries
    for query in range(first_query, last_query):
        if masses[query] == 0.0:
            continue
        # The mean w has σ² in it already.
        bend = strength * moments[3, query] * slope
        mean_label, mean = means[query], moments[0, query]
        for row in range(offsets[query], offsets[query + 1]):
            t = unit * (labels[row] - mean_label)
            u = sigma * scores[row] - mean
            own = _weight(factor, row) * bend
            lam[row] += own / sigma * (t - slope * u)
            curvature[row] += own * slope
