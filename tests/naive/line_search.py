"""The line search by its definition: every crossing as a fraction, every interval evaluated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import fmean
from typing import NamedTuple

Groups = tuple[tuple[float, ...], ...]

# Crossings that differ by less than this part of themselves are one.
SAME = Fraction(1, 2**46)


class Query(NamedTuple):
    """Scores and labels of the documents of a query, and its weight."""

    a: Sequence[float]
    b: Sequence[float]
    labels: Sequence[float]
    weight: float = 1.0


class Interval(NamedTuple):
    """An open interval, and the value of each query in it."""

    low: float
    high: float
    values: tuple[float, ...]


def lines(query: Query, convex: bool) -> list[tuple[int, int]]:
    """Height at α = 0 and slope of every document, as integers in a common unit."""
    start, end = ([Fraction(float(score)) for score in scores] for scores in (query.a, query.b))
    unit = max(score.denominator for score in [*start, *end])
    return [
        (int(a * unit), int((b - a if convex else b) * unit))
        for a, b in zip(start, end, strict=True)
    ]


def crossings(query: Query, convex: bool) -> set[Fraction]:
    """Every α at which two lines meet that are not the same."""
    return {
        Fraction(one[0] - other[0], other[1] - one[1])
        for one, other in itertools.combinations(set(lines(query, convex)), 2)
        if one[1] != other[1]
    }


def far_apart(alphas: set[Fraction], low: float, high: float) -> list[tuple[Fraction, Fraction]]:
    """The bounds and the crossings between them, those that are one as the first and the last."""
    first, last = Fraction(low), Fraction(high)
    groups = [(first, first)]
    for alpha in [*sorted(alpha for alpha in alphas if first < alpha < last), last]:
        if alpha - groups[-1][1] <= SAME * abs(alpha):
            groups[-1] = groups[-1][0], alpha
        else:
            groups.append((alpha, alpha))
    assert groups[-1][1] == last, "the bounds are too close"
    return groups


def ranking(some: list[tuple[int, int]], labels: Sequence[float], alpha: Fraction) -> Groups:
    """Labels by rank; tied documents are one group, sorted."""
    by_score: dict[int, list[float]] = {}
    for (start, slope), label in zip(some, labels, strict=True):
        score = start * alpha.denominator + slope * alpha.numerator
        by_score.setdefault(score, []).append(float(label))
    return tuple(tuple(sorted(by_score[score])) for score in sorted(by_score, reverse=True))


def expected(value: Callable[[Sequence[float]], float], groups: Groups) -> float:
    """Mean value over all orders of the groups."""
    orders = itertools.product(*(list(itertools.permutations(group)) for group in groups))
    return fmean(value(list(itertools.chain(*order))) for order in orders)


def intervals(
    value: Callable[[Groups], float],
    queries: Sequence[Query],
    low: float,
    high: float,
    convex: bool,
) -> list[Interval]:
    """Every interval between crossings of any query."""
    alphas = set().union(*(crossings(query, convex) for query in queries))
    all_lines = [lines(query, convex) for query in queries]
    known: dict[Groups, float] = {}
    found = []
    for (_, left), (right, _) in itertools.pairwise(far_apart(alphas, low, high)):
        values = []
        for query, some in zip(queries, all_lines, strict=True):
            groups = ranking(some, query.labels, (left + right) / 2)
            if groups not in known:
                known[groups] = value(groups)
            values.append(known[groups])
        found.append(Interval(float(left), float(right), tuple(values)))
    return found


def united(parts: Sequence[Interval]) -> list[Interval]:
    """The intervals between which the value of some query changes."""
    result = [parts[0]]
    for part in parts[1:]:
        before = result[-1]
        same = all(abs(x - y) < 1e-12 for x, y in zip(before.values, part.values, strict=True))
        result[-1:] = [before._replace(high=part.high)] if same else [before, part]
    return result


def mean(part: Interval, queries: Sequence[Query]) -> float:
    weights = [query.weight for query in queries]
    total = sum(w * v for w, v in zip(weights, part.values, strict=True))
    return total / sum(weights)


def best(parts: Sequence[Interval], queries: Sequence[Query]) -> Interval:
    """The best interval: the widest of those, and then the lowest."""
    highest = max(mean(part, queries) for part in parts)
    good = [part for part in parts if mean(part, queries) > highest - 1e-12]
    width = max(part.high - part.low for part in good)
    return next(part for part in good if part.high - part.low > width * (1 - 1e-9))
