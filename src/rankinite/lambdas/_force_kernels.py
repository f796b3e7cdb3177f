"""Kernels that add up the forces of all pairs of a query, its documents in chunks by grade.

`_pair_kernels` has the chunks, and what happens between one document and a run of others.
"""

import numpy as np

from rankinite._numba import kernel
from rankinite.lambdas._pair_kernels import (
    AT,
    CHUNK,
    FORCE,
    SIZE,
    E,
    G,
    S,
    U,
    V,
    differences,
    exponential,
    far_row,
    near_row,
    place_of,
    take_sums,
)


@kernel()
def fill_chunks(general, terms, order, g_factor, u_factor, rule, chunks):
    """Write the documents: terms, with G and the weights U and V times their factors, and scores.

    Documents past the end have no grade, so they meet nobody.

    Parameters
    ----------
    terms : ndarray of float64, shape (4, ≥ n)
        In rank order (`_query_kernels.ranked_terms`).
    order : ndarray of int32, shape (n,)
        The ranking, by place in grade order.
    """
    n = order.shape[0]
    s, highest, steps = rule.s, rule.highest, rule.slope
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
        j = place_of(order[p])
        chunks[j + G] = terms[0, p] * g_factor
        chunks[j + U] = terms[2, p] * u_factor
        if general is not None:
            chunks[j + S] = terms[1, p]
            chunks[j + V] = terms[3, p] * u_factor


@kernel()
def fill_mirror(chunks, mirror):
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
def _meet(general, chunks, rows, first, last, sign, rule, sums):
    """Forces of the documents `rows`, all of one grade, on those from `first` to `last`.

    All are numbered in grade order. Returns the sum of the forces, and the bits of the largest.
    """
    near, close, cap = rule.near, rule.close, rule.cap
    total, largest = 0.0, np.int32(0)
    grade = chunks[place_of(rows[0]) + G]
    while first < last:
        start = first % CHUNK // 8 * 8
        stop = min(last - first // CHUNK * CHUNK + 7, CHUNK) // 8 * 8
        at, count = np.uint64(first // CHUNK * SIZE + start), np.uint64(stop - start)
        differences(chunks, grade, at, count, cap)
        for r in range(rows.shape[0]):
            i = rows[r]
            if near:
                f, b, m = near_row(general, chunks, place_of(i), at, count, close)
            else:
                f, b, m = far_row(general, chunks, place_of(i), at, count, sign, rule)
            sums[0, i] += sign * f
            sums[1, i] += b
            total += f
            largest = max(largest, m)
        first = (first // CHUNK + 1) * CHUNK
    return total, largest


@kernel()
def _take_all_sums(chunks, sign, sums):
    for c in range(chunks.shape[0] // SIZE):
        first = c * CHUNK
        take_sums(chunks, np.uint64(c * SIZE), sign, sums[0, first:], sums[1, first:])


@kernel()
def add_pairs(general, rows, lower, own, rule, chunks, mirror, sums):
    """Sum the forces of all pairs with one of `rows`, which are in grade order.

    If these are all documents, each has to meet those of lower grades alone, and there is no
    mirror. Otherwise it also meets those that are better: in the mirror, where all grades and
    scores are turned round. Then it is taken out of both.

    Parameters
    ----------
    general : None or True
    rows : ndarray of int32, shape (n_met,)
    lower, own : ndarray of int32, shape (n,)
        For each place in grade order, where the lower grades begin and where its own does.
    rule : Rule
    chunks, mirror : ndarray of float32
        The mirror has no documents if there is none.
    sums : ndarray of float64, shape (2, ≥ n)
        Output: the forces and the bends of each document.

    Returns
    -------
    total : float
        Sum of the forces, each counted once.
    largest : int32
        The bits of the largest.
    """
    n = lower.shape[0]
    for k in range(n):
        sums[0, k] = 0.0
        sums[1, k] = 0.0
    total, largest = 0.0, np.int32(0)
    begin, taken = 0, 0
    while begin < rows.shape[0]:
        # A group of one grade, not so long that its sums could overflow.
        end = begin + 1
        while end < min(rows.shape[0], begin + CHUNK - 1) and own[rows[end]] == own[rows[begin]]:
            end += 1
        if end - taken >= CHUNK:
            _take_all_sums(chunks, -1.0, sums)
            _take_all_sums(mirror, 1.0, sums)
            taken = begin
        group, i = rows[begin:end], rows[begin]
        for turned in range(2 if mirror.shape[0] > 0 else 1):
            others, sign = (mirror, -1.0) if turned else (chunks, 1.0)
            first, last = (0, own[i]) if turned else (lower[i], n)
            t, m = _meet(general, others, group, first, last, sign, rule, sums)
            total += t
            largest = max(largest, m)
        if mirror.shape[0] > 0:
            for r in range(begin, end):
                chunks[place_of(rows[r]) + G] = np.nan
                mirror[place_of(rows[r]) + G] = np.nan
        begin = end
    _take_all_sums(chunks, -1.0, sums)
    _take_all_sums(mirror, 1.0, sums)
    return total, largest
