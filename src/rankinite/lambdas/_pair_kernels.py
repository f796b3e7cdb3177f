"""Kernels of pairs: λ and w of one document with many others, in integers that add up exactly.

The documents of a query lie in the order of their grades, so that one document beats a
contiguous run of others, in chunks of `CHUNK`. A chunk is `ROWS` rows of float32: vectors of
eight lanes fit it, and with all rows at constant distances the compiler needs no checks whether
they overlap. Runs are rounded to whole vectors; the documents that this adds have no lower grade,
and a pair without a difference of grades has no force. All chunks are one flat array, and places
in it are unsigned, so that no index has to be looked at.

A force is rounded to an integer in units that are a power of two. So sums do not depend on the
order of the documents, on the number of threads or on the width of the vectors.
"""

from typing import NamedTuple

import numpy as np

from rankinite._numba import kernel

CHUNK = 128
LANES = np.uint64(8)
# The rows of a chunk: exp(σ(s − s_max)); G, S, U and V of the swap terms; where the score lies;
# the differences of G to the grade at work; and the sums of the forces and of the bends. Where a
# score lies, and the sums, are integers in the bits of the floats.
E, G, S, U, V, AT, WON, FORCE, BEND = (np.uint64(CHUNK * row) for row in range(9))
SIZE = 9 * CHUNK
# Scores are placed on a grid of this many steps a unit of 1/σ: differences of integers are exact.
STEPS = 2.0**24
# Scores further apart than this, in units of 1/σ, have no place on that grid.
SAFE_RANGE = 64.0
# Sums of as many forces as a chunk has documents fit 32 bits if a force is below 2 to this.
FORCE_BITS = 24


class Rule(NamedTuple):
    """How the scores and the grades of a pair make its force.

    Attributes
    ----------
    s : ndarray of float64, shape (n,)
        σ·scores in grade order.
    highest : float
        The highest of them.
    near : bool
        Whether they all have a place on the grid of scores.
    close : float32
    slope : float
        |ΔZ| is divided by `close` + `slope`·|s_i − s_j|.
    cap : float32
        Differences of G count up to this.
    """

    s: np.ndarray
    highest: float
    near: bool
    close: np.float32
    slope: float
    cap: np.float32


@kernel(inline="always")
def place_of(k):
    """Where the chunks hold the document at place k in grade order."""
    return np.uint64(k // CHUNK * SIZE + k % CHUNK)


@kernel(inline="always")
def _document_at(place):
    """The place in grade order of the document that the chunks hold at `place`."""
    return np.int64(place) // SIZE * CHUNK + np.int64(place) % SIZE


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


@kernel(forceinline=True)
def differences(chunks, grade, first, count, cap):
    """Write by how much `grade` is better than the grades of `count` documents from `first` on.

    At least 0, at most `cap`, and 0 where the difference is not a number: so documents are taken
    out.
    """
    zero = np.float32(0.0)
    for k in range(count):
        j = first + k
        won = grade - chunks[j + G]
        won = won if won > zero else zero
        chunks[j + WON] = won if won < cap else cap


@kernel(inline="always")
def _delta(general, chunks, s_i, u_i, v_i, j):
    """|ΔZ| of a pair over the difference of G (see `swap_terms`); S = 1, V = U if not general."""
    if general is None:
        return abs(u_i - chunks[j + U])
    if_above = s_i * (u_i - chunks[j + V])
    if_below = chunks[j + S] * (chunks[j + U] - v_i)
    return if_above if if_above > if_below else if_below


@kernel(forceinline=True)
def near_row(general, chunks, i, first, count, close):
    """Forces that document `i` wins from `count` others, a multiple of LANES, from `first` on.

    With |ΔZ| of the pair, the E of both and `gap` = `close` + |s_i − s_j| (or `close` alone, where
    all lie at 0), the force is |ΔZ| ρ / gap and the bend |ΔZ| ρ (1 − ρ) / gap, where ρ is
    E_j / (E_i + E_j): no exponential, and one division. Both are added to the sums of the others.

    Parameters
    ----------
    general : None or True
        None if only weights are traded. It is a type of its own: a loop without the rest.
    chunks : ndarray of float32
    i, first, count : uint64
        The places of the documents in `chunks`. The others lie in one chunk.
    close : float32

    Returns
    -------
    force, bend : int32
        The sums of document i.
    largest : int32
        The bits of the largest force; as it is not negative, they are in the order of the floats.
    """
    one = np.float32(1.0)
    e_i, s_i, u_i, v_i = chunks[i + E], chunks[i + S], chunks[i + U], chunks[i + V]
    at_i = np.float32(chunks[i + AT]).view(np.int32)
    forces, bends, largest = np.int32(0), np.int32(0), np.int32(0)
    for k in range(count // LANES * LANES):
        j = first + k
        e_j = chunks[j + E]
        delta = chunks[j + WON] * _delta(general, chunks, s_i, u_i, v_i, j)
        steps = np.int32(at_i - np.float32(chunks[j + AT]).view(np.int32))
        gap = close + np.float32(np.int32(abs(steps)))
        inverse = one / ((e_i + e_j) * gap)
        force = delta * (e_j * inverse)
        bend = force * ((e_i * inverse) * gap)
        largest = max(largest, np.float32(force).view(np.int32))
        rounded = np.int32(np.rint(force))
        forces = np.int32(forces + rounded)
        chunks[j + FORCE] = _plus(chunks[j + FORCE], rounded)
        rounded = np.int32(np.rint(bend))
        bends = np.int32(bends + rounded)
        chunks[j + BEND] = _plus(chunks[j + BEND], rounded)
    return forces, bends, largest


@kernel(inline="always")
def _plus(stored, number):
    """Add to an integer of 32 bits that is stored as the bits of a float."""
    return np.int32(np.float32(stored).view(np.int32) + number).view(np.float32)


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


@kernel()
def far_row(general, chunks, i, first, count, sign, rule):
    """As `near_row`, for scores too far apart for the grid: one exponential a pair.

    With `sign` −1 all scores are turned round.
    """
    s_own, s = rule.s[_document_at(i)], rule.s[_document_at(first) :]
    close, slope = rule.close, rule.slope
    s_i, u_i, v_i = chunks[i + S], chunks[i + U], chunks[i + V]
    forces, bends, largest = np.int32(0), np.int32(0), np.int32(0)
    for k in range(count):
        j = first + k
        if chunks[j + WON] == 0.0:
            continue
        delta = np.float64(chunks[j + WON]) * _delta(general, chunks, s_i, u_i, v_i, j)
        force, bend = far_force(delta, sign * (s_own - s[k]), close, slope)
        # Beyond this the units are wrong anyway, and the integers must not overflow.
        force = min(force, 2.0**30)
        largest = max(largest, np.float32(force).view(np.int32))
        rounded = np.int32(np.rint(force))
        forces = np.int32(forces + rounded)
        chunks[j + FORCE] = _plus(chunks[j + FORCE], rounded)
        rounded = np.int32(np.rint(bend))
        bends = np.int32(bends + rounded)
        chunks[j + BEND] = _plus(chunks[j + BEND], rounded)
    return forces, bends, largest


@kernel()
def take_sums(chunks, first, sign, force, bend):
    """Move the sums of the chunk at `first`, the forces times `sign`, to whole float64."""
    for k in range(np.uint64(min(force.shape[0], CHUNK))):
        j = first + k
        force[k] += sign * np.float64(np.float32(chunks[j + FORCE]).view(np.int32))
        bend[k] += np.float64(np.float32(chunks[j + BEND]).view(np.int32))
        chunks[j + FORCE] = np.float32(0.0)
        chunks[j + BEND] = np.float32(0.0)
