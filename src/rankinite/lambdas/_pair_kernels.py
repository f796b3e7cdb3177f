"""Kernels of pairs: λ and w of some documents with many others, in integers that add up exactly.

The documents of a query lie in the order of their grades, so that one document beats a contiguous
run of others. These lie in vectors of `LANES`, and each document at work meets one vector after
the other. A pair without a difference of grades has no force.

A force is rounded to an integer in units that are a power of two. So sums do not depend on the
order of the documents, on the number of threads or on the width of the vectors.
"""

from typing import NamedTuple

import numpy as np

from rankinite._numba import BORROWS, kernel
from rankinite.lambdas._vector_kernels import (
    LANES,
    add_to,
    as_floats,
    bits,
    fill,
    larger,
    largest,
    load,
    minus,
    nearest,
    over,
    plus,
    size,
    smaller,
    spread,
    store,
    times,
)

# The documents of a query in grade order are rows of float32, with room for whole vectors. One at
# work that meets lower grades takes the first of each two, one that meets higher grades the
# second: there all grades and scores are turned round.
# - E: exp(σ(s − s_max)), and this turned round: 1 for the lowest score, give or take an ulp;
# - G, AGAINST: G of the swap terms for the document at work, and turned once more for those it
#   meets, so that the sum of both is the difference. Minus infinity takes a document out;
# - S, U, V of the swap terms.
E, G, AGAINST, S, U, V = 0, 2, 4, 6, 7, 8
ROWS = 9
# Scores are placed on a grid of this many steps a unit of 1/σ: differences of integers are exact.
STEPS = 2.0**24
# Scores further apart than this, in units of 1/σ, have no place on that grid.
SAFE_RANGE = 64.0
# The sum of so many forces fits 32 bits if each is below 2 to FORCE_BITS.
FORCE_BITS = 24
MOST = 127


class Room(NamedTuple):
    """Where a query is worked on.

    Attributes
    ----------
    docs : ndarray of float32, shape (ROWS, width)
    steps : ndarray of int32, shape (width,)
        Where the scores lie.
    met : ndarray of int32, shape (3 · LANES · MOST,)
        For each document at work LANES sums of the forces that it wins, that it loses, and of the
        bends.
    sums : ndarray of float64, shape (2, width)
        The forces and the bends of each document.
    work, spare : ndarray of float64 and of int64, shape (9, ≥ n), (4, ≥ n)
    """

    docs: np.ndarray
    steps: np.ndarray
    met: np.ndarray
    sums: np.ndarray
    work: np.ndarray
    spare: np.ndarray


class Rule(NamedTuple):
    """How the scores and the grades of a pair make its force.

    Attributes
    ----------
    s : ndarray of float64, shape (n,)
        σ·scores in grade order.
    near : bool
        Whether they all have a place on the grid of scores.
    close : float32
    slope : float
        |ΔZ| is divided by `close` + `slope`·|s_i − s_j|.
    cap : float32
        Differences of G count up to this.
    """

    s: np.ndarray
    near: bool
    close: np.float32
    slope: float
    cap: np.float32


@kernel()
def exponential(x):
    """e^x as a float32, for float64 x from −SAFE_RANGE to 0, to one unit in the last place.

    In plain arithmetic: it vectorises, and does not depend on the platform's library. With n the
    nearest integer to x / ln 2 and r = x − n ln 2, it is Taylor's series of e^r times 2^n.
    """
    n = np.rint(x * 1.4426950408889634)
    r = np.float32(x - n * 0.6931471805599453)
    y = np.float32(1 / 5040) * r + np.float32(1 / 720)
    y = y * r + np.float32(1 / 120)
    y = y * r + np.float32(1 / 24)
    y = y * r + np.float32(1 / 6)
    y = y * r + np.float32(1 / 2)
    y = y * r + np.float32(1)
    y = y * r + np.float32(1)
    return y * np.int32((np.int32(n) + 127) << 23).view(np.float32)


@kernel(forceinline=True, **BORROWS)
def near_vector(general, docs, steps, side, k, rows, first, last, close, cap, met, sums):
    """Forces between the documents at `rows[first:last]` and the vector of others at k.

    With |ΔZ| of the pair, the E of both and `gap` = `close` + |s_i − s_j| (or `close` alone, where
    all lie at 0), the force is |ΔZ| ρ / gap and the bend |ΔZ| ρ (1 − ρ) / gap, where ρ is
    E_j / (E_i + E_j): no exponential, and one division.

    Parameters
    ----------
    general : None or True
        None if only weights are traded. It is a type of its own: a loop without the rest.
    docs, steps : ndarray of float32 and of int32, shape (ROWS, width), (width,)
    side : int
        0 if the documents at work are better, 1 if they are worse.
    k : int
        The others are at the places from k on.
    rows : ndarray of int32
    first, last : int
    close, cap : float32
    met : ndarray of int32, shape (3 · LANES · MOST,)
        Output: what the documents at work get is added to it, lane by lane (see `Room`).
    sums : ndarray of float64, shape (2, width)
        Output: the forces and the bends of the others are added to it.

    Returns
    -------
    int32
        The bits of the largest force; as it is not negative, they are in the order of the floats.
    """
    width = docs.shape[1]
    e, g = (E + side) * width, (G + side) * width
    zero, one, cap, close = fill(np.float32(0)), fill(np.float32(1)), fill(cap), fill(close)
    e_j, g_j = load(docs, e + k), load(docs, (AGAINST + side) * width + k)
    s_j, u_j, v_j = load(docs, S * width + k), load(docs, U * width + k), load(docs, V * width + k)
    at_j, forces = load(steps, k), fill(np.int32(0))
    bends, highest = forces, forces
    for r in range(first, last):
        i = np.int64(rows[r])
        e_i, u_i = spread(docs, e + i), spread(docs, U * width + i)
        won = smaller(larger(plus(spread(docs, g + i), g_j), zero), cap)
        if general is None:
            delta = times(won, size(minus(u_i, u_j)))
        else:
            if_above = times(spread(docs, S * width + i), minus(u_i, v_j))
            if_below = times(s_j, minus(u_j, spread(docs, V * width + i)))
            delta = times(won, larger(if_above, if_below))
        gap = plus(close, as_floats(size(minus(spread(steps, i), at_j))))
        inverse = over(one, times(plus(e_i, e_j), gap))
        force = times(delta, times(e_j, inverse))
        bend = times(force, times(times(e_i, inverse), gap))
        highest = larger(highest, bits(force))
        rounded, rounded_bend = nearest(force), nearest(bend)
        forces, bends = plus(forces, rounded), plus(bends, rounded_bend)
        own_force, own_bend = (3 * r + side) * LANES, (3 * r + 2) * LANES
        store(met, own_force, plus(load(met, own_force), rounded))
        store(met, own_bend, plus(load(met, own_bend), rounded_bend))
    add_to(sums, k, forces if side else minus(fill(np.int32(0)), forces))
    add_to(sums, width + k, bends)
    return largest(highest)


@kernel()
def far_force(delta, lead, close, slope):
    """Force and bend of a pair from |ΔZ| and the lead of the better document, however far.

    |ΔZ| is divided by `close` + `slope`·|lead|.
    """
    distance = abs(lead)
    small = np.exp(-distance)
    share = delta / (1.0 + small) / (close + slope * distance if slope > 0.0 else close)
    bend = share * small / (1.0 + small)
    return (share * small if lead > 0.0 else share), bend


@kernel(**BORROWS)
def far_vector(general, docs, side, k, rows, first, last, rule, met, sums):
    """As `near_vector`, for scores too far apart for the grid: one exponential a pair."""
    s, sign = rule.s, -1.0 if side else 1.0
    highest = np.int32(0)
    for r in range(first, last):
        i = rows[r]
        for j in range(k, min(k + LANES, s.shape[0])):
            won = min(docs[G + side, i] + docs[AGAINST + side, j], rule.cap)
            if not won > 0.0:
                continue
            if general is None:
                delta = abs(docs[U, i] - docs[U, j])
            else:
                if_above = docs[S, i] * (docs[U, i] - docs[V, j])
                delta = max(if_above, docs[S, j] * (docs[U, j] - docs[V, i]))
            lead = sign * (s[i] - s[j])
            force, bend = far_force(np.float64(won) * delta, lead, rule.close, rule.slope)
            # Beyond this the units are wrong anyway, and the integers must not overflow.
            force = min(force, 2.0**30)
            highest = max(highest, np.float32(force).view(np.int32))
            rounded = np.int32(np.rint(force))
            met[(3 * r + side) * LANES] += rounded
            sums[0, j] += -sign * rounded
            rounded = np.int32(np.rint(bend))
            met[(3 * r + 2) * LANES] += rounded
            sums[1, j] += rounded
    return highest
