"""Kernels of the λ-gradients: rank a query, take the swap terms, and add up its pairs."""

import math

import numpy as np

from rankinite._numba import kernel
from rankinite.lambdas._force_kernels import add_pairs, fill_chunks, fill_mirror
from rankinite.lambdas._noise_kernels import perturb
from rankinite.lambdas._pair_kernels import (
    CHUNK,
    FORCE_BITS,
    SAFE_RANGE,
    SIZE,
    STEPS,
    Rule,
    far_force,
)
from rankinite.lambdas._query_kernels import CLOSE, longest_of, ranked_terms
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.measures.codes import LAYERED, PAIRS

# A query's forces are counted in units of 2 to minus a multiple of STRIDE, such that the largest
# has at most FORCE_BITS bits. The wider the stride, the seldomer a query needs another unit.
STRIDE = 4
# Beyond these a force is nothing beside the largest change of the measure, or not a number.
FINEST, COARSEST = 60, -120


@kernel()
def _take_scores(scores, documents, keys, seed, draw, settings, by_place, s):
    """Write the scores in grade order, and σ times them; returns the highest of these, the lowest.

    `documents` and `keys` are those of the query in grade order.
    """
    sigma = settings.sigma
    for k in range(documents.shape[0]):
        by_place[k] = scores[documents[k]]
    if settings.noise > 0.0:
        perturb(by_place, keys, seed, draw, settings.noise / sigma, by_place)
    highest, lowest = -np.inf, np.inf
    for k in range(documents.shape[0]):
        s[k] = sigma * by_place[k]
        highest = max(highest, s[k])
        lowest = min(lowest, s[k])
    return highest, lowest


@kernel()
def _write(documents, sums, value, sigma, draw, n_draws, lam, curvature):
    """Write λ and w from the sums in grade order, whose unit is `value`: a mean over the draws."""
    force, bend = sigma * value / n_draws, sigma * sigma * value / n_draws
    if draw == 0:
        for k in range(documents.shape[0]):
            lam[documents[k]] = force * sums[0, k]
            curvature[documents[k]] = bend * sums[1, k]
    else:
        for k in range(documents.shape[0]):
            lam[documents[k]] += force * sums[0, k]
            curvature[documents[k]] += bend * sums[1, k]


@kernel(inline="always")
def _exponent(value):
    """The least e with |value| ≤ 2^e; not so small that 2^-e would be no number."""
    return max(math.frexp(value)[1], -1000)


@kernel(inline="always")
def _largest_weight(general, terms, last):
    """The largest |U| or |V|: neither rises from rank to rank."""
    weight = max(abs(terms[2, 0]), abs(terms[2, last]))
    if general is not None:
        weight = max(weight, abs(terms[3, 0]), abs(terms[3, last]))
    return weight


@kernel(inline="always")
def _next_unit(unit, largest):
    """The exponent of the finest unit at which the largest force has at most FORCE_BITS bits.

    The force is known by its bits at this unit. What comes out depends on the query alone, not on
    the exponent that was tried first.
    """
    bits = np.int64(largest) >> 23
    finer = FORCE_BITS if bits == 0 else FORCE_BITS - 1 - (bits - 127)
    return max(min((unit + finer) // STRIDE * STRIDE, FINEST), COARSEST)


@kernel()
def _rows_to_meet(order, top, marks, rows):
    """Write the first `top` documents of the ranking, in grade order; returns their number."""
    n = order.shape[0]
    for k in range(n):
        marks[k] = 1 if top >= n else 0
    for p in range(min(top, n)):
        marks[order[p]] = 1
    count = 0
    for k in range(n):
        rows[count] = k
        count += marks[k]
    return count


@kernel()
def all_lambdas(first_query, last_query, settings, queries, kept, at):
    """λ and w of the documents of the queries from `first_query` to `last_query`.

    Parameters
    ----------
    first_query, last_query : int
    settings : LambdaSettings
    queries : GradedQueries
    kept : Kept
    at : Round
        The λs are written to it.
    """
    # Fields are taken out once and not for every query: each time, references are counted.
    offsets, blank, norms, grades, keys, by_grade, lower, own = queries
    orders, units = kept
    scores, seed, lam, curvature = at
    general, sigma, normalize = settings.general, settings.sigma, settings.normalize
    close = np.float32(STEPS * CLOSE if normalize else STEPS)
    slope = STEPS if normalize else 0.0
    longest = longest_of(first_query, last_query, offsets)
    room = np.empty(2 * ((longest + CHUNK - 1) // CHUNK * SIZE), np.float32)
    work, spare = np.empty((9, longest)), np.empty((4, longest), np.int64)
    sums, terms = work[3:5], work[5:]
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        n = last - first
        if n < 2 or blank[query]:
            for row in range(first, last):
                lam[row] = 0.0
                curvature[row] = 0.0
            continue
        documents, own_scores, order = by_grade[first:last], scores[first:last], orders[first:last]
        own_grades, own_norms, starts = grades[first:last], norms[query], own[first:last]
        own_keys, by_place, s = keys[first:last], work[0, :n], work[1, :n]
        # The best grade comes first in grade order.
        best = own_grades[0] * (1.0 if settings.code == LAYERED else own_norms[0])
        g_exponent = 0 if settings.code == PAIRS else _exponent(best)
        everyone = settings.top >= n - 1
        size = (n + CHUNK - 1) // CHUNK * SIZE
        chunks, mirror = room[:size], room[size : size if everyone else 2 * size]
        for draw in range(settings.n_draws):
            highest, lowest = _take_scores(
                own_scores, documents, own_keys, seed, draw, settings, by_place, s
            )
            near = highest - lowest < SAFE_RANGE
            rank_documents(by_place, own_keys, seed, settings.depth, order, spare)
            cap = ranked_terms(
                general, settings, own_norms, own_grades, starts, order, work[2, :n], terms
            )
            u_exponent = _exponent(_largest_weight(general, terms, n - 1))
            rows = spare[3].view(np.int32)
            rows = rows[: _rows_to_meet(order, n if everyone else settings.top, spare[0], rows)]
            while True:
                unit = units[query]
                g_factor = math.ldexp(1.0, 2 * FORCE_BITS + unit - g_exponent)
                u_factor = math.ldexp(1.0, -u_exponent)
                rule = Rule(s, highest, near, close, slope, np.float32(cap * g_factor))
                fill_chunks(general, terms, order, g_factor, u_factor, rule, chunks)
                if not everyone:
                    fill_mirror(chunks, mirror)
                total, largest = add_pairs(
                    general, rows, lower[first:last], starts, rule, chunks, mirror, sums
                )
                units[query] = _next_unit(unit, largest)
                if units[query] == unit:
                    break
            # The steps of the grid of scores count for FORCE_BITS of the bits.
            value = math.ldexp(1.0, g_exponent + u_exponent - FORCE_BITS - unit)
            if normalize and total > 0.0:
                # Compress the query's sum, so that no query drowns the rest.
                value *= np.log1p(total * value) / (np.log(2.0) * (total * value))
            _write(
                documents,
                sums,
                value,
                sigma,
                draw,
                settings.n_draws,
                lam[first:last],
                curvature[first:last],
            )


@kernel()
def lambdas_from_deltas(deltas, s, labels, top, normalize, lam, curvature):
    """λ and w of one query in rank order from a matrix of swap deltas; s = σ·scores.

    For measures defined in Python, whose deltas have no closed form here.
    """
    n = s.shape[0]
    close, slope = (CLOSE, 1.0) if normalize else (1.0, 0.0)
    total = 0.0
    for i in range(min(top, n - 1)):
        for j in range(i + 1, n):
            if labels[i] != labels[j]:
                sign = 1.0 if labels[i] > labels[j] else -1.0
                lead = sign * (s[i] - s[j])
                force, bend = far_force(abs(deltas[i, j]), lead, close, slope)
                lam[i] += sign * force
                lam[j] -= sign * force
                curvature[i] += bend
                curvature[j] += bend
                total += force
    if normalize and total > 0.0:
        factor = np.log1p(total) / (np.log(2.0) * total)
        for k in range(n):
            lam[k] *= factor
            curvature[k] *= factor
