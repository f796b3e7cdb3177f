"""Kernels that lay out the documents of a query for its pairs, and add up the forces of all.

`_pair_kernels` has the layout, and what happens between documents and a vector of others.
"""

import numpy as np

from rankinite._numba import BORROWS, kernel
from rankinite.lambdas._pair_kernels import (
    AGAINST,
    MOST,
    ROWS,
    E,
    G,
    Room,
    S,
    U,
    V,
    exponential,
    far_vector,
    near_vector,
)
from rankinite.lambdas._vector_kernels import LANES, fill, load, store, total
from rankinite.measures.codes import LAYERED, PAIRS


@kernel(inline="always")
def whole_vectors(n):
    """How many documents whole vectors have, of which n are there."""
    return (n + LANES - 1) // LANES * LANES


@kernel()
def room_for(n):
    """Room to work on queries of up to n documents."""
    width = whole_vectors(n)
    return Room(
        np.empty((ROWS, width), np.float32),
        np.empty(width, np.int32),
        np.empty(3 * LANES * MOST, np.int32),
        np.empty((2, width)),
        np.empty((9, n)),
        np.empty((4, n), np.int64),
    )


@kernel(**BORROWS)
def fill_grades(code, grades, own, norms, g_factor, docs):
    """Write G times a factor, which does not depend on the ranking.

    For the pairs, which count 1 each whatever the difference, it is the number of documents that
    are better, turned round. Past the end nobody is met.

    Parameters
    ----------
    grades, own : ndarray of float64 and of int32, shape (n,)
        In grade order.
    """
    n = np.uint64(grades.shape[0])
    norm = 1.0 if code == LAYERED else norms[0]
    for k in range(n):
        docs[G, k] = (-own[k] if code == PAIRS else grades[k] * norm) * g_factor
        docs[G + 1, k] = -docs[G, k]
        docs[AGAINST, k] = -docs[G, k]
    for k in range(n, np.uint64(whole_vectors(np.int64(n)))):
        docs[AGAINST, k] = -np.inf
        docs[AGAINST + 1, k] = -np.inf


@kernel(**BORROWS)
def fill_scores(s, highest, slope, docs, steps):
    """Write what depends on the scores: E, also turned round, and where they lie."""
    n = np.uint64(s.shape[0])
    lowest = np.float32(1.0).view(np.int32)
    for k in range(n):
        distance = s[k] - highest
        docs[E, k] = exponential(distance)
        steps[k] = np.int32(np.rint(distance * slope))
    for k in range(n):
        lowest = min(lowest, np.float32(docs[E, k]).view(np.int32))
    smallest = np.int32(lowest).view(np.float32)
    for k in range(n):
        docs[E + 1, k] = smallest / docs[E, k]
    for k in range(n, np.uint64(whole_vectors(np.int64(n)))):
        docs[E, k] = 1.0
        docs[E + 1, k] = 1.0
        steps[k] = 0


@kernel(**BORROWS)
def fill_weights(general, terms, order, depth, u_factor, docs):
    """Write S, U and V, the weights U and V times their factor, from the terms in rank order.

    Weights that are traded are 0 below the first `depth` ranks.
    """
    n = order.shape[0]
    width = whole_vectors(n)
    for k in range(np.uint64(width)):
        docs[U, k] = 0.0
    if general is None:
        for p in range(min(depth, n)):
            docs[U, np.uint64(order[p])] = terms[2, p] * u_factor
        return
    for k in range(n, width):
        docs[S, k] = 0.0
        docs[V, k] = 0.0
    for p in range(n):
        k = np.uint64(order[p])
        docs[S, k] = terms[1, p]
        docs[U, k] = terms[2, p] * u_factor
        docs[V, k] = terms[3, p] * u_factor


@kernel(**BORROWS)
def take_out(n, rows, docs):
    """Let nobody of lower grade meet the documents of `rows`, who meet the lower grades."""
    for k in range(np.uint64(n)):
        docs[AGAINST + 1, k] = docs[G, k]
    for r in range(rows.shape[0]):
        docs[AGAINST + 1, np.uint64(rows[r])] = -np.inf


@kernel(**BORROWS)
def _clear(numbers):
    for k in range(np.uint64(numbers.shape[0])):
        numbers[k] = 0


@kernel(**BORROWS)
def _take_met(rows, met, sums):
    """Move what the documents of `rows` got to their sums; returns the sum of the forces."""
    forces = 0.0
    for r in range(rows.shape[0]):
        at, i = 3 * r * LANES, rows[r]
        won = np.float64(total(load(met, at)))
        lost = np.float64(total(load(met, at + LANES)))
        sums[0, i] += won - lost
        sums[1, i] += np.float64(total(load(met, at + 2 * LANES)))
        forces += won + lost
        for side in range(3):
            store(met, at + side * LANES, fill(np.int32(0)))
    return forces


@kernel(**BORROWS)
def add_pairs(general, rows, lower, own, everyone, rule, room):
    """Sum the forces of all pairs with one of `rows`, which are in grade order.

    Each of them meets those of lower grades, and, if `rows` are not all documents, those of higher
    grades that are not among them. Their sums are of 32 bits, so there are at most MOST at work,
    and what they got is moved on after as many vectors.

    Parameters
    ----------
    general : None or True
    rows : ndarray of int32, shape (n_met,)
    lower, own : ndarray of int32, shape (n,)
        For each place in grade order, where the lower grades begin and where its own does.
    everyone : bool
    rule : Rule
    room : Room
        Has the documents, and gets their sums.

    Returns
    -------
    forces : float
        Sum of the forces, each counted once.
    highest : int32
        The bits of the largest.
    """
    n, near, close, cap = lower.shape[0], rule.near, rule.close, rule.cap
    docs, steps, met, sums = room.docs, room.steps, room.met, room.sums
    width = whole_vectors(n)
    _clear(sums[0, :width])
    _clear(sums[1, :width])
    forces, highest = 0.0, np.int32(0)
    for begin in range(0, rows.shape[0], MOST):
        part = rows[begin : begin + MOST]
        _clear(met[: 3 * LANES * part.shape[0]])
        # Better than the last of a vector are the first documents, worse than its first the last.
        better, worse = 0, 0 if not everyone else part.shape[0]
        for k in range(0, n, LANES):
            while better < part.shape[0] and lower[part[better]] < min(k + LANES, n):
                better += 1
            while worse < part.shape[0] and own[part[worse]] <= k:
                worse += 1
            for side in range(2):
                first, last = (worse, part.shape[0]) if side else (0, better)
                if first == last:
                    continue
                if near:
                    h = near_vector(
                        general, docs, steps, side, k, part, first, last, close, cap, met, sums
                    )
                else:
                    h = far_vector(general, docs, side, k, part, first, last, rule, met, sums)
                highest = max(highest, h)
            if k // LANES % MOST == MOST - 1:
                forces += _take_met(part, met, sums)
        forces += _take_met(part, met, sums)
    return forces, highest
