"""Kernels of the λ-gradients: rank a query, take the swap terms, and add up its pairs."""

import math

import numpy as np

from rankinite._numba import kernel
from rankinite.lambdas._pair_kernels import (
    AT,
    CHUNK,
    FORCE,
    FORCE_BITS,
    SAFE_RANGE,
    SIZE,
    STEPS,
    E,
    G,
    S,
    U,
    V,
    differences,
    exponential,
    far_force,
    far_row,
    near_row,
    take_sums,
)
from rankinite.lambdas._ranking_kernels import rank_documents
from rankinite.measures._swap_kernels import swap_terms, weight_terms
from rankinite.measures.codes import LAYERED, PAIRS

# With `normalize`, |ΔZ| of a pair is divided by this plus the gap between its scores, in units of
# 1/σ: a pair close in score counts up to a hundredfold. The constant and the idea are LightGBM's.
CLOSE = 0.01
# A query's forces are counted in units of 2 to minus a multiple of STRIDE, such that the largest
# has at most FORCE_BITS bits. The wider the stride, the seldomer a query needs another unit.
STRIDE = 4
# Beyond these a force is nothing beside the largest change of the measure, or not a number.
FINEST, COARSEST = 60, -120


@kernel(inline="always")
def _place(k):
    """Where the chunks hold the document at place k in grade order."""
    return np.uint64(k // CHUNK * SIZE + k % CHUNK)


@kernel(inline="always")
def _exponent(value):
    """The least e with |value| ≤ 2^e; not so small that 2^-e would be no number."""
    return max(math.frexp(value)[1], -1000)


@kernel()
def _terms(code, general, grades, own, discounts, norms, order, ranked, terms):
    """Write G, S, U, V of the documents in rank order; returns the largest difference of G.

    For the pairs, which count 1 each whatever the difference, G is the number of documents that
    are better, turned round.
    """
    n = order.shape[0]
    for p in range(n):
        ranked[p] = grades[order[p]]
    if general is None:
        weight_terms(code, ranked, discounts, norms, terms[0], terms[2])
        return np.inf
    if code == PAIRS:
        for p in range(n):
            terms[0, p] = -own[order[p]]
            terms[1, p] = 1.0
            terms[2, p] = 1.0
            terms[3, p] = 0.0
        return 1.0
    swap_terms(code, ranked, discounts, norms, terms[0], terms[1], terms[2], terms[3])
    return np.inf


@kernel()
def _fill(terms, order, g_factor, u_factor, s, highest, steps, general, chunks):
    """Write the documents: terms, with G and the weights U and V times their factors, and scores.

    Documents past the end have no grade, so they meet nobody.
    """
    n = order.shape[0]
    for c in range(chunks.shape[0] // SIZE):
        first, some = np.uint64(c * SIZE), s[c * CHUNK :]
        length = np.uint64(min(CHUNK, n - c * CHUNK))
        for k in range(length):
            distance = some[k] - highest
            chunks[first + k + E] = exponential(distance)
            chunks[first + k + AT] = np.int32(np.rint(distance * steps)).view(np.float32)
        for k in range(np.uint64(2 * CHUNK)):
            chunks[first + k + FORCE] = 0.0
        for k in range(length, np.uint64(CHUNK)):
            chunks[first + k + E] = 1.0
            chunks[first + k + G] = np.nan
            chunks[first + k + S] = 0.0
            chunks[first + k + U] = 0.0
            chunks[first + k + V] = 0.0
            chunks[first + k + AT] = 0.0
    for p in range(n):
        j = _place(order[p])
        chunks[j + G] = terms[0, p] * g_factor
        chunks[j + U] = terms[2, p] * u_factor
        if general is not None:
            chunks[j + S] = terms[1, p]
            chunks[j + V] = terms[3, p] * u_factor


@kernel()
def _fill_mirror(chunks, mirror):
    """Turn all grades and scores round. E is 1 for the lowest score then, give or take an ulp."""
    lowest = np.float32(1.0)
    for c in range(chunks.shape[0] // SIZE):
        first = np.uint64(c * SIZE)
        for k in range(np.uint64(CHUNK)):
            e = chunks[first + k + E]
            lowest = e if e < lowest else lowest
    for c in range(chunks.shape[0] // SIZE):
        first = np.uint64(c * SIZE)
        for k in range(np.uint64(SIZE)):
            mirror[first + k] = chunks[first + k]
        for k in range(np.uint64(CHUNK)):
            mirror[first + k + E] = lowest / chunks[first + k + E]
            mirror[first + k + G] = -chunks[first + k + G]


@kernel(forceinline=True)
def _meet(chunks, rows, first, last, near, close, cap, general, sign, s, slope, force, bend):
    """Forces of the documents `rows`, all of one grade, on those from `first` to `last`.

    All are numbered in grade order. Returns the sum of the forces, and the bits of the largest.
    """
    total, largest = 0.0, np.int32(0)
    grade = chunks[_place(rows[0]) + G]
    while first < last:
        start = first % CHUNK // 8 * 8
        stop = min(last - first // CHUNK * CHUNK + 7, CHUNK) // 8 * 8
        at, count = np.uint64(first // CHUNK * SIZE + start), np.uint64(stop - start)
        differences(chunks, grade, at, count, cap)
        for r in range(rows.shape[0]):
            i = rows[r]
            if near:
                f, b, m = near_row(chunks, _place(i), at, count, close, general)
            else:
                some = s[first // CHUNK * CHUNK + start :]
                f, b, m = far_row(
                    chunks, _place(i), at, count, close, general, sign, s[i], some, slope
                )
            force[i] += sign * f
            bend[i] += b
            total += f
            largest = max(largest, m)
        first = (first // CHUNK + 1) * CHUNK
    return total, largest


@kernel()
def _take_all_sums(chunks, sign, force, bend):
    for c in range(chunks.shape[0] // SIZE):
        take_sums(chunks, np.uint64(c * SIZE), sign, force[c * CHUNK :], bend[c * CHUNK :])


@kernel()
def _add_pairs(rows, lower, own, near, close, cap, general, s, slope, chunks, mirror, force, bend):
    """Sum the forces of all pairs with one of `rows`, which are in grade order.

    If these are all documents, each has to meet those of lower grades alone, and there is no
    mirror. Otherwise it also meets those that are better: in the mirror, where all grades and
    scores are turned round. Then it is taken out of both.

    Returns
    -------
    total : float
        Sum of the forces, each counted once.
    largest : int32
        The bits of the largest.
    """
    n = lower.shape[0]
    for k in range(n):
        force[k] = 0.0
        bend[k] = 0.0
    total, largest = 0.0, np.int32(0)
    begin, taken = 0, 0
    while begin < rows.shape[0]:
        # A group of one grade, not so long that its sums could overflow.
        end = begin + 1
        while end < min(rows.shape[0], begin + CHUNK - 1) and own[rows[end]] == own[rows[begin]]:
            end += 1
        if end - taken >= CHUNK:
            _take_all_sums(chunks, -1.0, force, bend)
            _take_all_sums(mirror, 1.0, force, bend)
            taken = begin
        group, i = rows[begin:end], rows[begin]
        for turned in range(2 if mirror.shape[0] > 0 else 1):
            others, sign = (mirror, -1.0) if turned else (chunks, 1.0)
            first, last = (0, own[i]) if turned else (lower[i], n)
            t, m = _meet(
                others, group, first, last, near, close, cap, general, sign, s, slope, force, bend
            )
            total += t
            largest = max(largest, m)
        if mirror.shape[0] > 0:
            for r in range(begin, end):
                chunks[_place(rows[r]) + G] = np.nan
                mirror[_place(rows[r]) + G] = np.nan
        begin = end
    _take_all_sums(chunks, -1.0, force, bend)
    _take_all_sums(mirror, 1.0, force, bend)
    return total, largest


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
def _query_lambdas(
    general,
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
    by_grade,
    lower,
    own,
    unit,
    order,
    chunks,
    work,
    spare,
    lam,
    curvature,
):
    """λ and w of one query that is not blank and has two documents; see `all_lambdas`."""
    n = scores.shape[0]
    s, raw, ranked, force, bend = work[0, :n], work[1, :n], work[2, :n], work[3, :n], work[4, :n]
    terms, rows = work[5:], spare[3].view(np.int32)
    size = (n + CHUNK - 1) // CHUNK * SIZE
    everyone = top >= n - 1
    chunks, mirror = chunks[:size], chunks[size : size if everyone else 2 * size]
    highest, lowest = -np.inf, np.inf
    for k in range(n):
        raw[k] = scores[by_grade[k]]
        s[k] = sigma * raw[k]
        highest = max(highest, s[k])
        lowest = min(lowest, s[k])
    near = highest - lowest < SAFE_RANGE
    rank_documents(raw, keys, seed, depth, order, spare)
    cap = _terms(code, general, grades, own, discounts, norms, order, ranked, terms)
    rows = rows[: _rows_to_meet(order, n if everyone else top, spare[0], rows)]
    # The best grade comes first in grade order, and weights do not rise from rank to rank.
    g_exponent = (
        0 if code == PAIRS else _exponent(grades[0] * (1.0 if code == LAYERED else norms[0]))
    )
    weight = max(abs(terms[2, 0]), abs(terms[2, n - 1]))
    if general is not None:
        weight = max(weight, abs(terms[3, 0]), abs(terms[3, n - 1]))
    u_exponent = _exponent(weight)
    close = np.float32(STEPS * CLOSE if normalize else STEPS)
    slope = STEPS if normalize else 0.0
    while True:
        g_factor = math.ldexp(1.0, 2 * FORCE_BITS + unit[0] - g_exponent)
        u_factor = math.ldexp(1.0, -u_exponent)
        _fill(terms, order, g_factor, u_factor, s, highest, slope, general, chunks)
        if not everyone:
            _fill_mirror(chunks, mirror)
        most = np.float32(cap * g_factor)
        total, largest = _add_pairs(
            rows, lower, own, near, close, most, general, s, slope, chunks, mirror, force, bend
        )
        better = _next_unit(unit[0], largest)
        if better == unit[0]:
            break
        unit[0] = better
    # The steps of the grid of scores count for FORCE_BITS of the bits.
    value = math.ldexp(1.0, g_exponent + u_exponent - FORCE_BITS - unit[0])
    if normalize and total > 0.0:
        # Compress the query's sum, so that no query drowns the rest.
        value *= np.log1p(total * value) / (np.log(2.0) * (total * value))
    for k in range(n):
        lam[by_grade[k]] = sigma * (value * force[k])
        curvature[by_grade[k]] = sigma * sigma * (value * bend[k])


@kernel()
def all_lambdas(
    first_query,
    last_query,
    general,
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
    by_grade,
    lower,
    own,
    units,
    orders,
    lam,
    curvature,
):
    """λ and w of the documents of the queries from `first_query` to `last_query`.

    Documents are numbered inside their query; "in grade order" means from the best grade down.

    Parameters
    ----------
    general : None or True
        None if the measure trades weights alone (its code is LINEAR or LAYERED). It is a type of
        its own: for these measures nothing else is compiled.
    code, discounts, norms, blank
        The labels as the measure sees them (`rankinite.measures.Judged`).
    scores : ndarray of float64, shape (n_rows,)
    grades, keys : ndarray of float64 and of uint64, shape (n_rows,)
        Grades, and the documents' own random numbers, which with `seed` order equal scores. In
        grade order.
    offsets : ndarray of int64, shape (n_queries + 1,)
    depth : int
        The measure sees the order of the first `depth` ranks, and of the rest only what is there.
    top : int
        Only pairs whose upper document is among the first `top` count.
    normalize : bool
        Divide |ΔZ| by the gap between the scores, and compress each query's sum.
    by_grade : ndarray of int32, shape (n_rows,)
        The documents in grade order.
    lower, own : ndarray of int32, shape (n_rows,)
        For each place in grade order, where the lower grades begin and where its own does.
    units : ndarray of int64, shape (n_queries,)
        Exponents of the units in which forces are counted; kept from call to call, for speed alone.
    orders : ndarray of int32, shape (n_rows,)
        The ranking of each query, by place in grade order; kept from call to call, for speed alone.
    lam, curvature : ndarray of float64, shape (n_rows,)
        Output.
    """
    longest = 0
    for query in range(first_query, last_query):
        longest = max(longest, offsets[query + 1] - offsets[query])
    chunks = np.empty(2 * ((longest + CHUNK - 1) // CHUNK * SIZE), np.float32)
    work = np.empty((9, longest))
    spare = np.empty((4, longest), np.int64)
    for query in range(first_query, last_query):
        first, last = offsets[query], offsets[query + 1]
        if last - first < 2 or blank[query]:
            for row in range(first, last):
                lam[row] = 0.0
                curvature[row] = 0.0
            continue
        _query_lambdas(
            general,
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
            by_grade[first:last],
            lower[first:last],
            own[first:last],
            units[query : query + 1],
            orders[first:last],
            chunks,
            work,
            spare,
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
