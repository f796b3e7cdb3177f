"""Kernels of the λ-gradients: rank a query, take the swap terms, and add up its pairs."""

import math
from typing import NamedTuple

import numpy as np

from rankinite._numba import kernel
from rankinite.lambdas._force_kernels import add_pairs, fill_chunks, fill_mirror
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


class Scratch(NamedTuple):
    """Room for one query after the other, of up to `longest` documents.

    Attributes
    ----------
    chunks : ndarray of float32
        For the documents and their mirror.
    work : ndarray of float64, shape (9, longest)
    spare : ndarray of int64, shape (4, longest)
    """

    chunks: np.ndarray
    work: np.ndarray
    spare: np.ndarray


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


@kernel(inline="always")
def _query_lambdas(query, settings, queries, kept, at, scratch):
    """λ and w of one query that is not blank and has two documents; see `all_lambdas`."""
    general, sigma, units = settings.general, settings.sigma, kept.units
    first, last = queries.offsets[query], queries.offsets[query + 1]
    n = last - first
    work, spare = scratch.work, scratch.spare
    s, scores, ranked, sums, terms = work[0, :n], work[1, :n], work[2, :n], work[3:5], work[5:]
    size = (n + CHUNK - 1) // CHUNK * SIZE
    everyone = settings.top >= n - 1
    chunks = scratch.chunks[:size]
    mirror = scratch.chunks[size : size if everyone else 2 * size]
    order, grades = kept.orders[first:last], queries.grades[first:last]
    by_grade, unsorted = queries.by_grade[first:last], at.scores[first:last]
    lower, own = queries.lower[first:last], queries.own[first:last]
    highest, lowest = -np.inf, np.inf
    for k in range(n):
        scores[k] = unsorted[by_grade[k]]
        s[k] = sigma * scores[k]
        highest = max(highest, s[k])
        lowest = min(lowest, s[k])
    rank_documents(scores, queries.keys[first:last], at.seed, settings.depth, order, spare)
    norms = queries.norms[query]
    cap = ranked_terms(general, settings, norms, grades, own, order, ranked, terms)
    rows = spare[3].view(np.int32)
    rows = rows[: _rows_to_meet(order, n if everyone else settings.top, spare[0], rows)]
    near = highest - lowest < SAFE_RANGE
    close = np.float32(STEPS * CLOSE if settings.normalize else STEPS)
    slope = STEPS if settings.normalize else 0.0
    # The best grade comes first in grade order.
    best = grades[0] * (1.0 if settings.code == LAYERED else norms[0])
    g_exponent = 0 if settings.code == PAIRS else _exponent(best)
    u_exponent = _exponent(_largest_weight(general, terms, n - 1))
    while True:
        unit = units[query]
        g_factor = math.ldexp(1.0, 2 * FORCE_BITS + unit - g_exponent)
        u_factor = math.ldexp(1.0, -u_exponent)
        rule = Rule(s, highest, near, close, slope, np.float32(cap * g_factor))
        fill_chunks(general, terms, order, g_factor, u_factor, rule, chunks)
        if not everyone:
            fill_mirror(chunks, mirror)
        total, largest = add_pairs(general, rows, lower, own, rule, chunks, mirror, sums)
        units[query] = _next_unit(unit, largest)
        if units[query] == unit:
            break
    # The steps of the grid of scores count for FORCE_BITS of the bits.
    value = math.ldexp(1.0, g_exponent + u_exponent - FORCE_BITS - unit)
    if settings.normalize and total > 0.0:
        # Compress the query's sum, so that no query drowns the rest.
        value *= np.log1p(total * value) / (np.log(2.0) * (total * value))
    lam, curvature = at.lam[first:last], at.curvature[first:last]
    for k in range(n):
        lam[by_grade[k]] = sigma * (value * sums[0, k])
        curvature[by_grade[k]] = sigma * sigma * (value * sums[1, k])


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
    offsets, blank, lam, curvature = queries.offsets, queries.blank, at.lam, at.curvature
    longest = longest_of(first_query, last_query, offsets)
    scratch = Scratch(
        np.empty(2 * ((longest + CHUNK - 1) // CHUNK * SIZE), np.float32),
        np.empty((9, longest)),
        np.empty((4, longest), np.int64),
    )
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        if last - first < 2 or blank[query]:
            for row in range(first, last):
                lam[row] = 0.0
                curvature[row] = 0.0
            continue
        _query_lambdas(query, settings, queries, kept, at, scratch)


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
