"""Kernels of the λs of preference pairs.

A pair's force is rounded to a multiple of a power of two, so that a document's sum is exact in
float64 and does not depend on the order of its pairs (`measures._preference_kernels`).
"""

import math
from typing import NamedTuple

import numpy as np

from rankinite._numba import kernel
from rankinite.measures._pair_measure_kernels import largest, rounded, unit_of

# Sums of two exponentials below this are not trusted: numbers near the smallest have few digits.
LEAST = 1e-280


class PairArrays(NamedTuple):
    """Preference pairs of all queries (`rankinite.data.preferences`).

    Attributes
    ----------
    first, other : ndarray of int64, shape (n_pairs,)
        Rows.
    probability, weight : ndarray of float64, shape (n_pairs,)
    offsets : ndarray of int64, shape (n_queries + 1,)
        Of the pairs of each query.
    """

    first: np.ndarray
    other: np.ndarray
    probability: np.ndarray
    weight: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, preferences):
        """The pairs of `Preferences`."""
        return cls(*(getattr(preferences, name) for name in cls._fields))


@kernel()
def pair_lambdas(query, pairs, start, scores, sigma, lam, w):
    """λ and w of the documents of one query, from its pairs.

    Parameters
    ----------
    query : int
    pairs : PairArrays
    start : int
        The row of the query's first document.
    scores : ndarray of float64, shape (n_docs,)
    sigma : float
    lam, w : ndarray of float64, shape (n_docs,)
        Output.
    """
    begin, end = pairs.offsets[query], pairs.offsets[query + 1]
    first, other = pairs.first[begin:end], pairs.other[begin:end]
    probability, weight = pairs.probability[begin:end], pairs.weight[begin:end]
    n_docs, n_pairs = scores.shape[0], first.shape[0]
    top = scores[0]
    for document in range(n_docs):
        top = max(top, scores[document])
    # One exponential a document, and none a pair: P = E_i / (E_i + E_j).
    E = np.empty(n_docs)
    for document in range(n_docs):
        E[document] = math.exp(sigma * (scores[document] - top))
        lam[document] = 0.0
        w[document] = 0.0
    unit = unit_of(largest(weight), n_pairs)
    for pair in range(n_pairs):
        i, j = first[pair] - start, other[pair] - start
        up, down = E[i], E[j]
        if up + down < LEAST:
            # Both are so far below the top that their exponentials have lost their digits.
            x = sigma * (scores[i] - scores[j])
            up, down = math.exp(min(x, 0.0)), math.exp(min(-x, 0.0))
        share = 1.0 / (up + down)
        p = up * share
        force = rounded(weight[pair] * (probability[pair] - p), unit)
        bend = rounded(weight[pair] * p * (down * share), unit)
        lam[i] += force
        lam[j] -= force
        w[i] += bend
        w[j] += bend
    for document in range(n_docs):
        lam[document] *= sigma
        w[document] *= sigma * sigma


@kernel()
def preference_lambdas(first_query, last_query, pairs, offsets, scores, sigma, lam, w):
    """λ and w of the documents of some queries.

    Parameters
    ----------
    first_query, last_query : int
    pairs : PairArrays
    offsets : ndarray of int64, shape (n_queries + 1,)
        Of the rows of each query.
    scores, lam, w : ndarray of float64, shape (n_rows,)
    sigma : float
    """
    for query in range(first_query, last_query):
        start, stop = offsets[query], offsets[query + 1]
        own = scores[start:stop]
        pair_lambdas(query, pairs, start, own, sigma, lam[start:stop], w[start:stop])
