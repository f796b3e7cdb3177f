"""Kernels of the λ-gradients: ranking a query, then a loop over its pairs."""

import numpy as np
from numba import prange

from rankinite._numba import SUM_IN_ANY_ORDER, kernel, parallel_kernel
from rankinite.data._row_key_kernels import mix
from rankinite.measures._measure_kernels import swap_terms

# Where σ(s_max − s_min) is below this, E = exp(σ(s − s_max)) and the product of two of them are
# normal numbers for every document, so that neither ρ nor ρ(1 − ρ) loses anything.
SAFE_RANGE = 300.0
# With `normalize`, |ΔZ| of a pair is divided by this plus the gap between its scores, in units of
# 1/σ: a pair close in score counts up to a hundredfold. The constant and the idea are LightGBM's.
CLOSE = 0.01
# Runs of this length are sorted by insertion before they are merged.
RUN = 16


@kernel(inline="always")
def _before(a, b, scores, keys):
    """Whether document a is ranked above b: by score, and equal scores by their random keys."""
    return scores[a] > scores[b] or (scores[a] == scores[b] and keys[a] < keys[b])


@kernel()
def rank_documents(scores, row_keys, seed, order):
    """Sort `order` by descending score, ties by a shuffle: merging runs, from the order it had.

    Scores move little from one tree to the next, so most runs are in place already and the
    merge of two runs that fit together is skipped.
    """
    n = order.shape[0]
    keys = np.empty(n, np.uint64)
    for document in range(n):
        keys[document] = mix(row_keys[document] ^ seed)
    spare = np.empty(n, np.int32)
    for first in range(0, n, RUN):
        for i in range(first + 1, min(first + RUN, n)):
            document = order[i]
            j = i - 1
            while j >= first and _before(document, order[j], scores, keys):
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = document
    width = RUN
    while width < n:
        for first in range(0, n - width, 2 * width):
            middle = first + width
            last = min(first + 2 * width, n)
            if not _before(order[middle], order[middle - 1], scores, keys):
                continue
            spare[:width] = order[first:middle]
            i, j, k = 0, middle, first
            while i < width and j < last:
                if _before(order[j], spare[i], scores, keys):
                    order[k] = order[j]
                    j += 1
                else:
                    order[k] = spare[i]
                    i += 1
                k += 1
            while i < width:
                order[k] = spare[i]
                i += 1
                k += 1
        width *= 2


# Said aloud, because a kernel without a word of its own on fastmath takes its caller's.
@kernel(fastmath=False)
def _gap(s_i, s_j):
    """CLOSE + (s_i − s_j) in this order; CLOSE + s_i, taken first, would lose CLOSE far from 0."""
    return CLOSE + (s_i - s_j)


@kernel(fastmath=SUM_IN_ANY_ORDER)
def _pairs_of(i, s, E, grades, base, normalize, G, S, U, V, lam, curvature):
    """Add the pairs of the document at position i with all those ranked below it.

    s = σ·scores and E = exp(s − s_max), so that ρ for the pair is a quotient of two E: no
    exponential here. Returns Σ|λ_ij| of the pairs, in units of σ.
    """
    lam_i = 0.0
    curvature_i = 0.0
    total = 0.0
    s_i, e_i, g_i, G_i, S_i, U_i = s[i], E[i], grades[i], G[i], S[i], U[i]
    for j in range(i + 1, s.shape[0]):
        delta = np.abs(G_i - G[j]) * (S_i * np.abs(U_i - V[j]))
        delta += base if grades[j] != g_i else 0.0
        e_j = E[j]
        gap = _gap(s_i, s[j]) if normalize else 1.0
        share = delta / ((e_i + e_j) * gap)
        # ρ·|ΔZ|, positive if i is the better document of the two, else negative.
        force = share * (e_j if g_i > grades[j] else -e_i)
        # ρ(1 − ρ)·|ΔZ|
        bend = share * (e_i * e_j) / (e_i + e_j)
        lam_i += force
        lam[j] -= force
        curvature_i += bend
        curvature[j] += bend
        total += np.abs(force)
    lam[i] += lam_i
    curvature[i] += curvature_i
    return total


@kernel()
def _pairs_of_far_scores(i, s, grades, base, normalize, G, S, U, V, lam, curvature):
    """As `_pairs_of`, for scores too far apart for a common E: one exponential a pair."""
    total = 0.0
    for j in range(i + 1, s.shape[0]):
        if grades[i] == grades[j]:
            continue
        delta = base + np.abs(G[i] - G[j]) * (S[i] * np.abs(U[i] - V[j]))
        gap = s[i] - s[j]
        if normalize:
            delta /= CLOSE + gap
        # ρ is the chance that the worse document wins: small where the better one is i.
        small = np.exp(-gap)
        force = delta / (1.0 + small)
        force *= small if grades[i] > grades[j] else -1.0
        lam[i] += force
        lam[j] -= force
        bend = delta * small / ((1.0 + small) * (1.0 + small))
        curvature[i] += bend
        curvature[j] += bend
        total += np.abs(force)
    return total


@kernel()
def _compress(total, lam, curvature):
    """Scale a query's λ and w by log2(1 + Σ|λ_ij|) / Σ|λ_ij|, so that no query drowns the rest."""
    if total > 0.0:
        factor = np.log1p(total) / (np.log(2.0) * total)
        lam *= factor
        curvature *= factor


@kernel()
def _query_lambdas(
    code, scores, grades, discounts, norms, keys, seed, top, sigma, normalize, order, lam, curvature
):
    """λ and w of one query; see `all_lambdas`."""
    n = scores.shape[0]
    rank_documents(scores, keys, seed, order)
    terms = np.empty((4, n))
    G, S, U, V = terms[0], terms[1], terms[2], terms[3]
    ranked = np.empty((5, n))
    s, g, E, lam_ranked, curvature_ranked = ranked[0], ranked[1], ranked[2], ranked[3], ranked[4]
    for position in range(n):
        document = order[position]
        s[position] = sigma * scores[document]
        g[position] = grades[document]
        lam_ranked[position] = 0.0
        curvature_ranked[position] = 0.0
    base = swap_terms(code, g, discounts, norms, G, S, U, V)
    n_upper = min(top, n - 1)
    total = 0.0
    if s[0] - s[n - 1] < SAFE_RANGE:
        for position in range(n):
            E[position] = np.exp(s[position] - s[0])
        for i in range(n_upper):
            total += _pairs_of(
                i, s, E, g, base, normalize, G, S, U, V, lam_ranked, curvature_ranked
            )
    else:
        for i in range(n_upper):
            total += _pairs_of_far_scores(
                i, s, g, base, normalize, G, S, U, V, lam_ranked, curvature_ranked
            )
    if normalize:
        _compress(total, lam_ranked, curvature_ranked)
    for position in range(n):
        document = order[position]
        lam[document] = sigma * lam_ranked[position]
        curvature[document] = sigma * sigma * curvature_ranked[position]


@parallel_kernel()
def all_lambdas(
    code,
    scores,
    grades,
    discounts,
    norms,
    blank,
    offsets,
    keys,
    seed,
    top,
    sigma,
    normalize,
    orders,
    lam,
    curvature,
):
    """λ and w of every document, query by query.

    Parameters
    ----------
    code, grades, discounts, norms, blank
        The labels as the measure sees them (`rankinite.measures.Judged`).
    scores : ndarray of float64, shape (n_rows,)
    offsets : ndarray of int64, shape (n_queries + 1,)
    keys : ndarray of uint64, shape (n_rows,)
        The documents' own random numbers; with `seed` they order equal scores.
    top : int
        Only pairs whose upper document is among the first `top` count.
    normalize : bool
        Divide |ΔZ| by the gap between the scores, and compress each query's sum.
    orders : ndarray of int32, shape (n_rows,)
        The ranking of each query, by position in the query; kept from call to call.
    lam, curvature : ndarray of float64, shape (n_rows,)
        Output.
    """
    for query in prange(offsets.shape[0] - 1):
        first, last = offsets[query], offsets[query + 1]
        if last - first < 2 or blank[query]:
            for row in range(first, last):
                lam[row] = 0.0
                curvature[row] = 0.0
            continue
        _query_lambdas(
            code,
            scores[first:last],
            grades[first:last],
            discounts,
            norms[query],
            keys[first:last],
            seed,
            top,
            sigma,
            normalize,
            orders[first:last],
            lam[first:last],
            curvature[first:last],
        )


@kernel()
def lambdas_from_deltas(deltas, s, labels, top, normalize, lam, curvature):
    """λ and w of one query in rank order from a matrix of swap deltas; s = σ·scores.

    For measures defined in Python, whose deltas have no closed form here.
    """
    n = s.shape[0]
    zeros = np.zeros(n)
    # The terms G, S, U, V of a row such that |G_i − G_j|·S_i·|U_i − V_j| is its entry: only row
    # i is ever read, with G_i = S_i = 1, U_i = 0 and G_j = 0, V_j the entry.
    unit = np.zeros(n)
    total = 0.0
    for i in range(min(top, n - 1)):
        unit[i] = 1.0
        total += _pairs_of_far_scores(
            i, s, labels, 0.0, normalize, unit, unit, zeros, deltas[i], lam, curvature
        )
        unit[i] = 0.0
    if normalize:
        _compress(total, lam, curvature)
