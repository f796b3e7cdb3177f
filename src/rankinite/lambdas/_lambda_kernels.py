"""Kernels of the λ-gradients: ranking a query, then a loop over its pairs."""

import numpy as np
from numba import prange

from rankinite._numba import SUM_IN_ANY_ORDER, kernel, parallel_kernel
from rankinite.data._row_key_kernels import mix
from rankinite.measures._swap_kernels import swap_terms

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
def rank_documents(scores, row_keys, seed, depth, order):
    """Sort `order` by descending score, ties by a shuffle; at least its first `depth` places.

    It starts from the order it had: scores move little from one tree to the next.
    """
    n = order.shape[0]
    keys = np.empty(n, np.uint64)
    for document in range(n):
        keys[document] = mix(row_keys[document] ^ seed)
    if depth <= n // 2:
        _rank_top(scores, keys, depth, order)
    else:
        _rank_all(scores, keys, order)


@kernel()
def _rank_top(scores, keys, depth, order):
    """Insert each document that belongs among the first `depth`; what it pushes out goes on."""
    for i in range(order.shape[0]):
        document = order[i]
        last = min(i, depth) - 1
        if i >= depth:
            if not _before(document, order[last], scores, keys):
                continue
            order[i] = order[last]
            last -= 1
        j = last
        while j >= 0 and _before(document, order[j], scores, keys):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = document


@kernel()
def _rank_all(scores, keys, order):
    """Sort short runs by insertion and merge them; runs that fit together already are skipped."""
    n = order.shape[0]
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
            for k in range(width):
                spare[k] = order[first + k]
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


@kernel()
def _rounder(n, largest):
    """A number r such that (x + r) − r rounds x to a grid on which sums of n such x are exact.

    With |x| ≤ `largest` and r = 1.5·2^e ≥ 1.5·n·largest, every sum is a multiple of 2^(e − 52)
    below 2^(e + 1), that is, a float64 without rounding. So the order of the additions does not
    matter, and neither does the width of the vectors they are done in.
    """
    return 1.5 * 2.0 ** np.ceil(np.log2(n * largest))


@kernel()
def _pair_forces(i, s, E, grades, base, normalize, rounder, G, S, U, V, force, bend):
    """ρ·|ΔZ| and ρ(1 − ρ)·|ΔZ| of the document at position i with all those ranked below it.

    s = σ·scores and E = exp(s − s_max), so that ρ is a quotient of two E: no exponential here,
    and one division. The force is positive if i is the better document of the two. Entry j of
    the output belongs to position i + 1 + j.
    """
    s_i, e_i, g_i, G_i, S_i, U_i = s[i], E[i], grades[i], G[i], S[i], U[i]
    # Slices that begin at 0: the compiler then knows that no index is negative, and vectorises.
    below = i + 1
    s, E, grades, G, V = s[below:], E[below:], grades[below:], G[below:], V[below:]
    for j in range(s.shape[0]):
        delta = np.abs(G_i - G[j]) * (S_i * np.abs(U_i - V[j]))
        delta += base if grades[j] != g_i else 0.0
        e_j = E[j]
        gap = CLOSE + (s_i - s[j]) if normalize else 1.0
        both = e_i + e_j
        inverse = 1.0 / (both * gap)
        share = delta * inverse
        x = share * (e_j if g_i > grades[j] else -e_i)
        force[j] = (x + rounder) - rounder
        x = share * (e_i * e_j) * (inverse * gap)
        bend[j] = (x + rounder) - rounder


@kernel()
def _far_pair_forces(i, s, grades, base, normalize, rounder, G, S, U, V, force, bend):
    """As `_pair_forces`, for scores too far apart for a common E: one exponential a pair."""
    for j in range(i + 1, s.shape[0]):
        delta = np.abs(G[i] - G[j]) * (S[i] * np.abs(U[i] - V[j]))
        delta += base if grades[i] != grades[j] else 0.0
        gap = s[i] - s[j]
        if normalize:
            delta /= CLOSE + gap
        # ρ is the chance that the worse document wins: small where the better one is i.
        small = np.exp(-gap)
        x = delta / (1.0 + small)
        x *= small if grades[i] > grades[j] else -1.0
        force[j - i - 1] = (x + rounder) - rounder
        x = delta * small / ((1.0 + small) * (1.0 + small))
        bend[j - i - 1] = (x + rounder) - rounder


@kernel(fastmath=SUM_IN_ANY_ORDER)
def _add_pairs(i, force, bend, lam, curvature):
    """Add the pairs of document i to both sides; returns Σ|force|. All sums are exact."""
    lam_i = 0.0
    curvature_i = 0.0
    total = 0.0
    lam_below, curvature_below = lam[i + 1 :], curvature[i + 1 :]
    for j in range(lam_below.shape[0]):
        lam_i += force[j]
        total += np.abs(force[j])
        curvature_i += bend[j]
        lam_below[j] -= force[j]
        curvature_below[j] += bend[j]
    lam[i] += lam_i
    curvature[i] += curvature_i
    return total


@kernel()
def _compress(total, lam, curvature):
    """Scale a query's λ and w by log2(1 + Σ|λ_ij|) / Σ|λ_ij|, so that no query drowns the rest."""
    if total > 0.0:
        factor = np.log1p(total) / (np.log(2.0) * total)
        lam *= factor
        curvature *= factor


@kernel()
def _largest_delta(base, normalize, G, S, U, V):
    """A bound on |ΔZ| of any pair, times what the normalisation may add.

    Each document is held against the extremes below it. The extremes of each term alone would
    not do: ERR's S_i goes up to 2^50, and U_i − V_j is as small where it does.
    """
    n = G.shape[0]
    low_G, high_G, low_V, high_V = G[n - 1], G[n - 1], V[n - 1], V[n - 1]
    largest = 0.0
    for i in range(n - 2, -1, -1):
        span = max(high_G - G[i], G[i] - low_G)
        largest = max(largest, span * (S[i] * max(high_V - U[i], U[i] - low_V)))
        low_G, high_G = min(low_G, G[i]), max(high_G, G[i])
        low_V, high_V = min(low_V, V[i]), max(high_V, V[i])
    largest += base
    return largest / CLOSE if normalize else largest


@kernel()
def _query_lambdas(
    code,
    scores,
    grades,
    discounts,
    norms,
    keys,
    seed,
    depth,
    top,
    sigma,
    normalize,
    order,
    lam,
    curvature,
):
    """λ and w of one query; see `all_lambdas`."""
    n = scores.shape[0]
    rank_documents(scores, keys, seed, depth, order)
    terms = np.empty((4, n))
    G, S, U, V = terms[0], terms[1], terms[2], terms[3]
    ranked = np.zeros((7, n))
    s, g, E, force, bend = ranked[0], ranked[1], ranked[2], ranked[3], ranked[4]
    lam_ranked, curvature_ranked = ranked[5], ranked[6]
    for position in range(n):
        document = order[position]
        s[position] = sigma * scores[document]
        g[position] = grades[document]
    base = swap_terms(code, g, discounts, norms, G, S, U, V)
    largest = _largest_delta(base, normalize, G, S, U, V)
    if largest > 0.0:
        rounder = _rounder(n, largest)
        highest = s.max()
        near = highest - s.min() < SAFE_RANGE
        if near:
            for position in range(n):
                E[position] = np.exp(s[position] - highest)
        total = 0.0
        for i in range(min(top, n - 1)):
            if near:
                _pair_forces(i, s, E, g, base, normalize, rounder, G, S, U, V, force, bend)
            else:
                _far_pair_forces(i, s, g, base, normalize, rounder, G, S, U, V, force, bend)
            total += _add_pairs(i, force, bend, lam_ranked, curvature_ranked)
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
    depth,
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
    depth : int
        The measure sees the order of the first `depth` ranks, and of the rest only what is there.
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
            depth,
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
    largest = np.abs(deltas).max() / (CLOSE if normalize else 1.0)
    if largest == 0.0:
        return
    rounder = _rounder(n, largest)
    scratch = np.zeros((4, n))
    # The terms of row i are such that |G_i − G_j|·S_i·|U_i − V_j| is its entry: G_i = S_i = 1,
    # U_i = 0, and for the others G_j = 0 and V_j the entry.
    unit, zeros, force, bend = scratch[0], scratch[1], scratch[2], scratch[3]
    total = 0.0
    for i in range(min(top, n - 1)):
        unit[i] = 1.0
        _far_pair_forces(
            i, s, labels, 0.0, normalize, rounder, unit, unit, zeros, deltas[i], force, bend
        )
        for j in range(i + 1, n):
            if labels[j] == labels[i]:
                force[j - i - 1] = 0.0
                bend[j - i - 1] = 0.0
        unit[i] = 0.0
        total += _add_pairs(i, force, bend, lam, curvature)
    if normalize:
        _compress(total, lam, curvature)
