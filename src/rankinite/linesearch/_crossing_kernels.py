"""Kernels of the sweep: how a measure changes while α goes from the low bound to the high one.

The bundles of a query (see `_start_kernels`) lie in slots by rank, and are numbered by their rank
at the start. Only neighbours can cross next, so a tournament of the neighbours' crossings gives the
next one: memory of O(n) for O(n²) crossings, found in the order of α. Two neighbours that have
crossed are out of order for good, as lines cross once.

Every measure but the pairs has the same form. With d the first position of a slot and t the
places in it,

    Z = Σ_slots above · Σ_t profile_t · w_{d+t}  (+ Σ_t extra_t · w_{d+t} for AP)

where w is the weight of a position, `profile` belongs to the bundle alone, and `above` is what the
slots above leave to this one: below a slot it is above · keep + add, with two numbers that belong
to the bundle.

    measure           profile_t                          above          keep            add
    NDCG, DCG, P@k    mean grade                         1              1               0
    ERR               chance to stop at the t-th place   still reading  chance to pass  0
    AP                share of relevant ones             1 + relevant   1               relevant
    RR                chance of the first relevant one   none yet       1 if it has none, else 0

So a swap of neighbours changes two terms, and one of single documents changes Z by
(g_lower − g_upper) · above · (w_d − w_{d+1}). Several swaps at one α may be taken one after the
other: the orders between them are never seen, and their changes add up to the right one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankinite._numba import kernel
from rankinite.linesearch._start_kernels import SAME
from rankinite.measures.codes import CASCADE, FIRST, LAYERED, PAIRS, PRECISIONS

# A measure of the user's own: every swap is an event, with its slot in place of the change.
OWN = -1
# A sum of changes that is so small beside what was added up is 0 with a rounding error.
CANCELLED = 1e-13
# Changes this small beside the largest that one document can make are left out.
NEGLIGIBLE = 1e-20

# Columns of the numbers of bundles, a row of which fills a cache line.
A, B, GRADE, KEEP, ADD = range(5)


class Measured(NamedTuple):
    """What is to be measured.

    Attributes
    ----------
    code : int
        Of the measure, or `OWN`.
    discounts : ndarray of float64, shape (≥ size of the largest query,)
    norms : ndarray of float64, shape (n_queries, width)
    top : int
        The lowest rank that counts.
    blank : ndarray of bool, shape (n_queries,)
        Queries to leave out.
    weights : ndarray of float64, shape (n_queries,)
    """

    code: int
    discounts: np.ndarray
    norms: np.ndarray
    top: int
    blank: np.ndarray
    weights: np.ndarray


class Bundles(NamedTuple):
    """The n bundles of a query, numbered from 1 on; two that meet nobody stand beside them.

    Attributes
    ----------
    numbers : ndarray of float64, shape (≥ n + 2, 8)
        Line, mean grade, and what a bundle leaves to those below it.
    begin : ndarray of uint64, shape (≥ n + 2,)
        Where the documents of a bundle begin.
    profile, extra : ndarray of float64, shape (≥ number of documents,)
        What the places in a bundle count.
    position_weights : ndarray of float64, shape (> number of documents,)
    """

    numbers: np.ndarray
    begin: np.ndarray
    profile: np.ndarray
    extra: np.ndarray
    position_weights: np.ndarray


class Slots(NamedTuple):
    """The slots of a query at the present α.

    Attributes
    ----------
    bundle : ndarray of uint64, shape (≥ n + 2,)
        The bundle in each slot.
    place : ndarray of uint64, shape (≥ n + 2,)
        The first position of each slot.
    above : ndarray of float64, shape (≥ n + 2,)
        What the slots above leave to each.
    tree : ndarray of float64
        The tournament of the neighbours' crossings.
    """

    bundle: np.ndarray
    place: np.ndarray
    above: np.ndarray
    tree: np.ndarray


class Course(NamedTuple):
    """What the sweep of a query goes by.

    Attributes
    ----------
    code, top : int
    grades : ndarray of float64, shape (number of documents,)
        By rank at the start.
    weight : float
        Multiplies changes.
    scale : float
        Changes up to this are left out.
    convex : bool
    latest : float
        Crossings before this count.
    base : uint64
        Where the leaves of the tournament begin.
    """

    code: int
    top: int
    grades: np.ndarray
    weight: float
    scale: float
    convex: bool
    latest: float
    base: np.uint64


@kernel()
def sweep_queries(first_query, last_query, measured, lines, start, offsets):
    """Find all α at which the measure of a query changes, for some queries.

    Parameters
    ----------
    first_query, last_query : int
    measured : Measured
    lines : Lines
    start : Start
        As `order_queries` wrote it.
    offsets : ndarray of int64, shape (n_queries + 1,)

    Returns
    -------
    alphas, changes : float64, shape (n_events,)
        Where a query changes, and its weight times the change of its value; query after query,
        ascending in each.
    """
    code, discounts, norms, top, blank, weights = measured
    convex, _, high, a, b = lines
    order, ranked, ends, kept = start
    longest = 1
    for q in range(first_query, last_query):
        longest = max(longest, offsets[q + 1] - offsets[q])
    bundles, slots = _room(longest)
    alphas, changes = np.empty(256), np.empty(256)
    n_events = 0
    for q in range(first_query, last_query):
        n = 0 if blank[q] or weights[q] == 0.0 else kept[q]
        if n < 2:
            continue
        first = offsets[q]
        rows = slice(first, first + n)
        n_bundles = _find_lines(a[first:], b[first:], order[rows], ends[rows], bundles)
        if n_bundles < 2:
            continue
        grades = ranked[rows]
        scale = 0.0
        if code != OWN:
            position_weights = bundles.position_weights
            _weigh_positions(code, discounts, norms[q], top, position_weights[: n + 1])
            scale = _describe(code, grades, n_bundles, top, bundles)
            scale = NEGLIGIBLE * position_weights[0] * (1.0 if code == PAIRS else scale)
        latest = high - SAME * abs(high)
        base = _start(convex, latest, bundles, n_bundles, slots)
        course = Course(code, top, grades, weights[q], scale, convex, latest, base)
        while slots.tree[1] < np.inf:
            if n_events == alphas.shape[0]:
                alphas, changes = _longer(alphas), _longer(changes)
            n_events = _sweep(course, bundles, slots, alphas, changes, n_events)
    return alphas[:n_events].copy(), changes[:n_events].copy()


@kernel(inline="always")
def _room(longest):
    """Room for the bundles and the slots of queries of up to `longest` documents."""
    bundles = Bundles(
        np.zeros((longest + 2, 8)),
        np.empty(longest + 2, np.uint64),
        np.empty(longest),
        np.zeros(longest),
        np.empty(longest + 1),
    )
    slots = Slots(
        np.empty(longest + 2, np.uint64),
        np.empty(longest + 2, np.uint64),
        np.empty(longest + 2),
        np.empty(8 * longest + 16),
    )
    return bundles, slots


@kernel()
def _find_lines(a, b, order, ends, bundles):
    """Write the lines of the bundles and where their documents begin; returns their number."""
    numbers, begin, _, _, _ = bundles
    n_bundles = 0
    start = 0
    while start < order.shape[0]:
        n_bundles += 1
        numbers[n_bundles, A] = a[order[start]]
        numbers[n_bundles, B] = b[order[start]]
        begin[n_bundles] = start
        start = ends[start]
    begin[n_bundles + 1] = start
    return n_bundles


@kernel()
def _weigh_positions(code, discounts, norms, top, position_weights):
    """Write the weight of every position: 0 from `top` on, and after the last document.

    For the pairs, which do not look at positions, it is what a pair counts.
    """
    n = position_weights.shape[0] - 1
    for p in range(n):
        norm = norms[p] if code == LAYERED and p < norms.shape[0] else norms[0]
        position_weights[p] = discounts[p] * norm if p < top else 0.0
    position_weights[n] = 0.0


@kernel()
def _describe(code, grades, n_bundles, top, bundles):
    """Write what the measure has to know of each bundle; returns the largest grade."""
    numbers, begin, profile, extra, _ = bundles
    largest = 0.0
    for i in range(1, n_bundles + 1):
        first, last = begin[i], begin[i + 1]
        total = 0.0
        for t in range(first, last):
            total += grades[t]
            largest = max(largest, abs(grades[t]))
        mean = total / (last - first)
        numbers[i, GRADE] = mean
        numbers[i, KEEP] = 1.0
        numbers[i, ADD] = 0.0
        if code == CASCADE:
            numbers[i, KEEP] = _stops(grades[first:last], top, profile[first:last])
        elif code == FIRST:
            numbers[i, KEEP] = 1.0 if total == 0.0 else 0.0
            _first_hits(total, profile[first:last])
        else:
            for t in range(first, last):
                profile[t] = mean
        if code == PRECISIONS:
            numbers[i, ADD] = total
            # If the t-th is relevant, each of those before it is so with this chance.
            rate = (total - 1.0) / (last - first - 1) if last > first + 1 else 0.0
            for t in range(first, last):
                extra[t] = mean * rate * (t - first)
    return largest


@kernel()
def _stops(grades, top, profile):
    """Write the chance to stop at each place of a tie; returns the chance to pass all of them.

    The recurrence of `measures._value_kernels` for the chance to pass t documents. It goes down to
    `top` places; nothing counts below a longer bundle, wherever that lies.
    """
    n = grades.shape[0]
    if n == 1:
        profile[0] = grades[0]
        return 1.0 - grades[0]
    deepest = min(n, top)
    passing = np.zeros(deepest + 1)
    passing[0] = 1.0
    for m in range(1, n + 1):
        stays = 1.0 - grades[m - 1]
        for t in range(min(m, deepest), 0, -1):
            passing[t] = ((m - t) * passing[t] + t * stays * passing[t - 1]) / m
    for t in range(n):
        profile[t] = passing[t] - passing[t + 1] if t < deepest else 0.0
    return passing[deepest]


@kernel()
def _first_hits(relevant, profile):
    """Write the chance that the first relevant document of a tie lies at each place."""
    n = profile.shape[0]
    none_yet = 1.0
    for t in range(n):
        hit = min(1.0, relevant / (n - t))
        profile[t] = none_yet * hit
        none_yet *= 1.0 - hit


@kernel(forceinline=True)
def _crossing(convex, latest, numbers, upper, lower):
    """α at which the bundle `lower` comes up to `upper`, or inf if not before `latest`.

    Without branches: which case it is cannot be foreseen.
    """
    da = numbers[upper, A] - numbers[lower, A]
    db = numbers[upper, B] - numbers[lower, B]
    alpha = da / ((da if convex else 0.0) - db)
    meets = (upper < lower) & (db < 0.0) & ((not convex) | (da > 0.0)) & (alpha < latest)
    return alpha if meets else np.inf


@kernel()
def _start(convex, latest, bundles, n, slots):
    """Put the bundles into their slots, and set up the tournament; returns where its leaves begin.

    Slot 0 and the one after the last hold bundles that meet nobody. Leaf p is the crossing of
    slots p and p + 1; a node above is the smallest of the four below it.
    """
    numbers, begin, _, _, _ = bundles
    bundle, place, above, tree = slots
    base = np.uint64(4)
    while base < n + 1:
        base *= np.uint64(4)
    carried = 1.0
    for p in range(1, n + 1):
        bundle[p] = p
        place[p] = begin[p]
        above[p] = carried
        carried = carried * numbers[p, KEEP] + numbers[p, ADD]
    bundle[0], bundle[n + 1] = n + 1, 0
    numbers[0, A] = numbers[0, B] = numbers[n + 1, A] = numbers[n + 1, B] = 0.0
    for p in range(base):
        tree[base + p] = np.inf
    for p in range(1, n):
        tree[base + np.uint64(p)] = _crossing(convex, latest, numbers, bundle[p], bundle[p + 1])
    level = base // np.uint64(4)
    while level > 0:
        for node in range(level, np.uint64(2) * level):
            tree[node] = _smallest_below(tree, node)
        level //= np.uint64(4)
    return base


@kernel(forceinline=True)
def _smallest_below(tree, node):
    """The smallest of the four below a node."""
    first = np.uint64(4) * node
    one, two, three, four = (
        tree[first],
        tree[first + np.uint64(1)],
        tree[first + np.uint64(2)],
        tree[first + np.uint64(3)],
    )
    left = one if one < two else two
    right = three if three < four else four
    return left if left < right else right


@kernel(forceinline=True)
def _first_leaf(tree, base):
    """The first leaf that holds the smallest value of all."""
    node = np.uint64(1)
    smallest = tree[node]
    while node < base:
        node *= np.uint64(4)
        one = tree[node] != smallest
        two = one & (tree[node + np.uint64(1)] != smallest)
        three = two & (tree[node + np.uint64(2)] != smallest)
        node += np.uint64(one) + np.uint64(two) + np.uint64(three)
    return node


@kernel()
def _sweep(course, bundles, slots, alphas, changes, n_events):
    """Let the bundles of a query cross, as long as there is room for an event.

    Returns the number of events.
    """
    code, top, grades, weight, scale, convex, latest, base = course
    numbers, begin, _, _, position_weights = bundles
    bundle, places, above, tree = slots
    one, two, four = np.uint64(1), np.uint64(2), np.uint64(4)
    most = alphas.shape[0]
    while tree[1] < np.inf and n_events < most:
        alpha = tree[1]
        limit = alpha + SAME * abs(alpha)
        change, size = 0.0, 0.0
        while tree[1] <= limit and n_events < most:
            limit = max(limit, tree[1] + SAME * abs(tree[1]))
            node = _first_leaf(tree, base)
            p = node - base
            upper, lower = bundle[p], bundle[p + one]
            if code == OWN:
                alphas[n_events] = alpha
                changes[n_events] = p - one
                n_events += 1
            elif places[p] < top:
                place = places[p]
                if (begin[upper + one] - begin[upper]) * (begin[lower + one] - begin[lower]) == one:
                    gain = numbers[lower, GRADE] - numbers[upper, GRADE]
                    if code == PAIRS:
                        own = ((gain > 0.0) - (gain < 0.0)) * position_weights[place]
                    else:
                        step = position_weights[place] - position_weights[place + one]
                        own = gain * above[p] * step
                    added = abs(own)
                else:
                    own, added = _bundles_swap(code, grades, bundles, upper, lower, place, above[p])
                change += own
                size += added
            bundle[p], bundle[p + one] = lower, upper
            places[p + one] = places[p] + begin[lower + one] - begin[lower]
            above[p + one] = above[p] * numbers[lower, KEEP] + numbers[lower, ADD]
            tree[node] = np.inf
            tree[node - one] = _crossing(convex, latest, numbers, bundle[p - one], lower)
            tree[node + one] = _crossing(convex, latest, numbers, upper, bundle[p + two])
            # The parents of three neighbours are two at most, and one further up.
            left, right = (node - one) // four, (node + one) // four
            while left > 0:
                tree[left] = _smallest_below(tree, left)
                tree[right] = _smallest_below(tree, right)
                left //= four
                right //= four
        if abs(change) > max(CANCELLED * size, scale):
            alphas[n_events] = alpha
            changes[n_events] = weight * change
            n_events += 1
    return n_events


@kernel()
def _bundles_swap(code, grades, bundles, upper, lower, place, above):
    """Change of the measure when two neighbours swap, and the size of what was added up for it."""
    numbers, begin, _, _, position_weights = bundles
    one = np.uint64(1)
    if code == PAIRS:
        right = 0
        for i in range(begin[upper], begin[upper + one]):
            for j in range(begin[lower], begin[lower + one]):
                right += int(grades[j] > grades[i]) - int(grades[j] < grades[i])
        return right * position_weights[place], position_weights[place]
    before, after = 0.0, 0.0
    for swapped in range(2):
        first, second = (lower, upper) if swapped else (upper, lower)
        below = above * numbers[first, KEEP] + numbers[first, ADD]
        next_place = place + begin[first + one] - begin[first]
        before = after
        after = _block(bundles, first, place, above)
        after += _block(bundles, second, next_place, below)
    return after - before, after + before


@kernel()
def _block(bundles, bundle, place, above):
    """What a bundle adds to the measure from a position on."""
    _, begin, profile, extra, position_weights = bundles
    first = begin[bundle]
    total = 0.0
    for t in range(begin[bundle + np.uint64(1)] - first):
        total += (above * profile[first + t] + extra[first + t]) * position_weights[place + t]
    return total


@kernel()
def _longer(values):
    longer = np.empty(2 * values.shape[0])
    for i in range(values.shape[0]):
        longer[i] = values[i]
    return longer
