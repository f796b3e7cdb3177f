"""Kernels of RankNet's cost: cross-entropy of pairs of different labels (Burges 2010, section 2).

For documents i ▷ j (i has the better label), with ρ_ij = 1 / (1 + e^{σ(s_i − s_j)}),

    C_ij = log(1 + e^{−σ(s_i − s_j)}) = −log(1 − ρ_ij),   λ_ij = −∂C_ij/∂s_i = σ ρ_ij.

λ_i is the sum over the pairs that document i wins less that over those it loses: all that the
weights need to know of the pairs. All in float64.

With E_i = exp(σ(s_i − c)), ρ_ij is E_j / (E_i + E_j): one exponential a document. The four pairs of
four documents of one label with a worse one take one division together, of the product of the four
sums, and four worse documents are met at once. The cost is Σ log(E_i + E_j) − Σ log E_i: a
logarithm of products, whose exponents are counted apart. Where scores lie so far apart that
products could leave the range of float64, each pair takes an exponential of its own.
"""

import math

import numpy as np

from rankinite._float_vectors import (
    LANES,
    add4,
    div4,
    fill4,
    fma4,
    lane4,
    load4,
    mul4,
    spread4,
    store4,
    sum4,
)
from rankinite._numba import kernel

# Scores further apart than this, in units of 1/σ, take the slow way. Sums of two E lie within
# 2 e^{±RANGE/2} then, and products of 4 · STEPS of them within float64.
RANGE = 40.0
STEPS = 8
_ONES = np.uint64(0x3FF0000000000000)
_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)


@kernel(inline="always")
def _split(number, exponents):
    """A positive number as one from 1 to 2, and `exponents` plus its exponent."""
    bits = np.float64(number).view(np.uint64)
    exponents += np.int64(bits >> np.uint64(52)) - 1023
    return np.uint64((bits & _FRACTION) | _ONES).view(np.float64), exponents


@kernel(inline="always")
def _take_lanes(product, mantissa, exponents):
    """Multiply a number from 1 to 2 by the four lanes of a product; its exponent is counted."""
    for lane in range(LANES):
        # Each lane lies within float64, and 2 times its fraction too.
        own, exponents = _split(lane4(product, lane), exponents)
        mantissa, exponents = _split(mantissa * own, exponents)
    return mantissa, exponents


@kernel()
def _meet_four(i, first, last, e, force, mantissa, exponents):
    """The pairs of four documents from `i` on with the worse ones from `first` to `last`.

    Adds ρ to the forces of the better, takes it from those of the worse.
    """
    e0, e1, e2, e3 = spread4(e, i), spread4(e, i + 1), spread4(e, i + 2), spread4(e, i + 3)
    f0 = f1 = f2 = f3 = fill4(0.0)
    one, minus = fill4(1.0), fill4(-1.0)
    j = first
    while j < last:
        product = one
        stop = min(j + STEPS * LANES, last)
        while j < stop:
            other = load4(e, j)
            s0, s1, s2, s3 = add4(e0, other), add4(e1, other), add4(e2, other), add4(e3, other)
            s01, s23 = mul4(s0, s1), mul4(s2, s3)
            all_four = mul4(s01, s23)
            product = mul4(product, all_four)
            inverse = div4(other, all_four)
            i01, i23 = mul4(inverse, s23), mul4(inverse, s01)
            r0, r1, r2, r3 = mul4(i01, s1), mul4(i01, s0), mul4(i23, s3), mul4(i23, s2)
            f0, f1, f2, f3 = add4(f0, r0), add4(f1, r1), add4(f2, r2), add4(f3, r3)
            lost = add4(add4(r0, r1), add4(r2, r3))
            store4(force, j, fma4(minus, lost, load4(force, j)))
            j += LANES
        mantissa, exponents = _take_lanes(product, mantissa, exponents)
    force[i] += sum4(f0)
    force[i + 1] += sum4(f1)
    force[i + 2] += sum4(f2)
    force[i + 3] += sum4(f3)
    return mantissa, exponents


@kernel()
def _meet_one(i, first, last, e, force, mantissa, exponents):
    """As `_meet_four`, for one document."""
    own = spread4(e, i)
    won = fill4(0.0)
    one, minus = fill4(1.0), fill4(-1.0)
    j = first
    while j < last:
        product = one
        stop = min(j + 4 * STEPS * LANES, last)
        while j < stop:
            other = load4(e, j)
            both = add4(own, other)
            product = mul4(product, both)
            share = div4(other, both)
            won = add4(won, share)
            store4(force, j, fma4(minus, share, load4(force, j)))
            j += LANES
        mantissa, exponents = _take_lanes(product, mantissa, exponents)
    force[i] += sum4(won)
    return mantissa, exponents


@kernel()
def _near_pairs(s, lower, e, force):
    """Forces of all pairs by exponentials of documents; returns the cost."""
    n = s.shape[0]
    mantissa, exponents, logs = 1.0, 0, 0.0
    i = 0
    while i < n and lower[i] < n:
        first = lower[i]
        # Past the end E is 0: no force, and log(E_i + 0) − log E_i is no cost.
        met = (n - first + LANES - 1) // LANES * LANES
        while i + 4 <= first:
            mantissa, exponents = _meet_four(i, first, first + met, e, force, mantissa, exponents)
            logs += met * (s[i] + s[i + 1] + s[i + 2] + s[i + 3])
            i += 4
        while i < first:
            mantissa, exponents = _meet_one(i, first, first + met, e, force, mantissa, exponents)
            logs += met * s[i]
            i += 1
    return exponents * math.log(2.0) + math.log(mantissa) - logs


@kernel()
def pair_share(lead):
    """ρ and the cost of a pair from σ(s_i − s_j), however far the scores lie apart."""
    small = math.exp(-abs(lead))
    share = (small if lead > 0.0 else 1.0) / (1.0 + small)
    return share, math.log1p(small) + (0.0 if lead > 0.0 else -lead)


@kernel()
def _far_pairs(s, lower, force):
    """Forces of all pairs by an exponential of each pair; returns the cost."""
    n = s.shape[0]
    total = 0.0
    for i in range(n):
        for j in range(lower[i], n):
            share, cost = pair_share(s[i] - s[j])
            total += cost
            force[i] += share
            force[j] -= share
    return total


@kernel()
def ranknet_lambdas(scores, lower, sigma, work, lam):
    """λ of the documents of one query; returns the sum of the costs of its pairs.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        In the order of the labels, the best one first.
    lower : ndarray of int64, shape (n,)
        Where the labels worse than a document's begin; n if there are none.
    work : ndarray of float64, shape (3, ≥ n + 4)
        For use inside.
    lam : ndarray of float64, shape (n,)
        Output.
    """
    n = scores.shape[0]
    s, e, force = work[0, :n], work[1], work[2]
    highest, lowest = -math.inf, math.inf
    for k in range(n):
        highest = max(highest, scores[k])
        lowest = min(lowest, scores[k])
    for k in range(n + LANES):
        force[k] = 0.0
        e[k] = 0.0
    if sigma * (highest - lowest) <= RANGE:
        centre = 0.5 * highest + 0.5 * lowest
        for k in range(n):
            s[k] = sigma * (scores[k] - centre)
            e[k] = math.exp(s[k])
        cost = _near_pairs(s, lower, e, force)
    else:
        for k in range(n):
            s[k] = sigma * scores[k]
        cost = _far_pairs(s, lower, force)
    for k in range(n):
        lam[k] = sigma * force[k]
    # What rounding leaves of nothing must not be less than nothing.
    return max(cost, 0.0)
