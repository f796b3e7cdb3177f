"""Kernels of the λ-gradients: rank a query, take the swap terms, and add up its pairs."""

import math

import numpy as np

from rankinite._numba import BORROWS, kernel
from rankinite.lambdas._force_kernels import (
    add_pairs,
    fill_grades,
    fill_scores,
    fill_weights,
    room_for,
    take_out,
)
from rankinite.lambdas._noise_kernels import perturb
from rankinite.lambdas._pair_kernels import FORCE_BITS, SAFE_RANGE, STEPS, Rule, far_force
from rankinite.lambdas._query_kernels import CLOSE, longest_of, ranked_terms
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.measures._swap_kernels import weight_terms
from rankinite.measures.codes import LAYERED, PAIRS

# A query's forces are counted in units of 2 to minus a multiple of STRIDE, such that the largest
# has at most FORCE_BITS bits. The wider the stride, the seldomer a query needs another unit.
STRIDE = 4
# Beyond these a force is nothing beside the largest change of the measure, or not a number.
FINEST, COARSEST = 60, -120
LOG_2 = math.log(2.0)


@kernel(**BORROWS)
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


@kernel(**BORROWS)
def _add_draw(forces, bends, force, bend, first, lam, curvature):
    """Add a draw's forces and bends, in these units, to λ and w; the first one is written."""
    if first:
        for k in range(np.uint64(lam.shape[0])):
            lam[k] = force * forces[k]
            curvature[k] = bend * bends[k]
    else:
        for k in range(np.uint64(lam.shape[0])):
            lam[k] += force * forces[k]
            curvature[k] += bend * bends[k]


@kernel(**BORROWS)
def _write(documents, by_place, numbers):
    """Bring numbers from grade order to the order of the rows."""
    for k in range(documents.shape[0]):
        numbers[np.uint64(documents[k])] = by_place[k]


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


@kernel(**BORROWS)
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


@kernel(**BORROWS)
def _lambdas_of(query, settings, queries, kept, at, room):
    """Write λ and w of one query; see `all_lambdas`."""
    first, last = queries.offsets[query], queries.offsets[query + 1]
    n = last - first
    general, sigma, normalize = settings.general, settings.sigma, settings.normalize
    documents, grades = queries.by_grade[first:last], queries.grades[first:last]
    lower, own, keys = queries.lower[first:last], queries.own[first:last], queries.keys[first:last]
    norms, order, units = queries.norms[query], kept.orders[first:last], kept.units
    by_place, s, terms = room.work[0, :n], room.work[1, :n], room.work[5:]
    lam, curvature = room.work[2, :n], room.work[3, :n]
    close = np.float32(STEPS * CLOSE if normalize else STEPS)
    slope = STEPS if normalize else 0.0
    # The best grade comes first in grade order.
    best = grades[0] * (1.0 if settings.code == LAYERED else norms[0])
    g_exponent = 0 if settings.code == PAIRS else _exponent(best)
    everyone = settings.top >= n - 1
    unit = units[query]
    g_factor = math.ldexp(1.0, 2 * FORCE_BITS + unit - g_exponent)
    fill_grades(settings.code, grades, own, norms, g_factor, room.docs)
    cap, u_exponent = np.inf, 0
    if general is None:
        # Weights that are traded are those of the ranks, whoever is there.
        weight_terms(settings.code, grades, settings.discounts, norms, terms[0], terms[2])
        u_exponent = _exponent(_largest_weight(general, terms, n - 1))
    for draw in range(settings.n_draws):
        highest, lowest = _take_scores(
            at.scores[first:last], documents, keys, at.seed, draw, settings, by_place, s
        )
        near = highest - lowest < SAFE_RANGE
        rank_documents(by_place, keys, at.seed, settings.depth, order, room.spare)
        if general is not None:
            cap = ranked_terms(
                general, settings, norms, grades, own, order, room.work[4, :n], terms
            )
            u_exponent = _exponent(_largest_weight(general, terms, n - 1))
        rows = room.spare[3].view(np.int32)
        rows = rows[: _rows_to_meet(order, n if everyone else settings.top, room.spare[0], rows)]
        fill_scores(s, highest, slope, room.docs, room.steps)
        u_factor = math.ldexp(1.0, -u_exponent)
        fill_weights(general, terms, order, settings.depth, u_factor, room.docs)
        while True:
            if not everyone:
                take_out(n, rows, room.docs)
            rule = Rule(s, near, close, slope, np.float32(cap * g_factor))
            total, largest = add_pairs(general, rows, lower, own, everyone, rule, room)
            tried = unit
            unit = _next_unit(tried, largest)
            if unit == tried:
                break
            g_factor = math.ldexp(1.0, 2 * FORCE_BITS + unit - g_exponent)
            fill_grades(settings.code, grades, own, norms, g_factor, room.docs)
        units[query] = unit
        # The steps of the grid of scores count for FORCE_BITS of the bits.
        value = math.ldexp(1.0, g_exponent + u_exponent - FORCE_BITS - unit)
        if normalize and total > 0.0:
            # Compress the query's sum, so that no query drowns the rest.
            value *= np.log1p(total * value) / (LOG_2 * (total * value))
        force, bend = sigma * value / settings.n_draws, sigma * sigma * value / settings.n_draws
        _add_draw(room.sums[0], room.sums[1], force, bend, draw == 0, lam, curvature)
    _write(documents, lam, at.lam[first:last])
    _write(documents, curvature, at.curvature[first:last])


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
    offsets, blank = queries.offsets, queries.blank
    longest = longest_of(first_query, last_query, offsets)
    room = room_for(longest)
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        if last - first < 2 or blank[query]:
            for row in range(first, last):
                at.lam[row] = 0.0
                at.curvature[row] = 0.0
        else:
            _lambdas_of(query, settings, queries, kept, at, room)


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
