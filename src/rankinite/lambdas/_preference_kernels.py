"""Kernels of the λs of preference pairs.

A pair's force is rounded to a multiple of a power of two, so that a document's sum is exact in
float64 and does not depend on the order of its pairs (`measures._preference_kernels`).
"""

import math

from rankinite._numba import kernel
from rankinite.measures._preference_kernels import largest, rounded, unit_of


@kernel()
def pair_lambdas(start, first, other, probability, weight, scores, sigma, lam, w):
    """λ and w of the documents of one query, from its pairs.

    Parameters
    ----------
    start : int
        The row of the query's first document.
    first, other : ndarray of int64, shape (n_pairs,)
        Rows, counted as `start` is.
    probability, weight : ndarray of float64, shape (n_pairs,)
    scores : ndarray of float64, shape (n_docs,)
    sigma : float
    lam, w : ndarray of float64, shape (n_docs,)
        Output.
    """
    for document in range(scores.shape[0]):
        lam[document] = 0.0
        w[document] = 0.0
    n_pairs = first.shape[0]
    unit = unit_of(largest(weight), n_pairs)
    for pair in range(n_pairs):
        i, j = first[pair] - start, other[pair] - start
        x = sigma * (scores[i] - scores[j])
        # The smaller one of P and 1 − P; computed so, nothing overflows.
        small = math.exp(-abs(x))
        small /= 1.0 + small
        above = 1.0 - small if x >= 0.0 else small
        miss = probability[pair] - above
        force = rounded(weight[pair] * miss, unit)
        bend = rounded(weight[pair] * small * (1.0 - small), unit)
        lam[i] += force
        lam[j] -= force
        w[i] += bend
        w[j] += bend
    for document in range(scores.shape[0]):
        lam[document] *= sigma
        w[document] *= sigma * sigma


@kernel()
def preference_lambdas(
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
    lam,
    w,
):
    """λ and w of the documents of some queries.

    Parameters
    ----------
    pair_offsets, offsets : ndarray of int64, shape (n_queries + 1,)
        Of the pairs and of the rows of each query.
    scores, lam, w : ndarray of float64, shape (n_rows,)
    """
    for query in range(first_query, last_query):
        start, stop = offsets[query], offsets[query + 1]
        a, b = pair_offsets[query], pair_offsets[query + 1]
        pair_lambdas(
            start,
            first[a:b],
            other[a:b],
            probability[a:b],
            weight[a:b],
            scores[start:stop],
            sigma,
            lam[start:stop],
            w[start:stop],
        )
