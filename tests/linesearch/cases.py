"""Scores of two rankers of many kinds, and the measures beside their twins."""

from __future__ import annotations

from functools import partial

import numpy as np

from rankinite import Dataset
from tests.measures.cases import TWINS
from tests.naive import line_search as naive

SPECS = list(TWINS)
CONVEX = [(0.0, 1.0), (0.25, 0.75), (0.5, 1.0)]
ADDITIVE = [(0.1, 100.0), (0.0, 2.0), (-2.0, 2.0), (0.5, 3.0)]


def integers(rng, n, convex):
    """Masses of ties, and of crossings at one α."""
    return rng.integers(-2, 3, n), rng.integers(-2, 3, n)


def tree(rng, n, convex):
    """Few slopes."""
    return rng.integers(0, 6, n) / 2, rng.choice([-0.5, 0.25, 1.0], n)


def parallel(rng, n, convex):
    a = rng.integers(0, 4, n)
    return a, (a if convex else 0) + rng.integers(0, 2, n)


def twice(rng, n, convex):
    """Documents of the same line."""
    lines = rng.normal(size=(2, max(1, n // 2)))
    return lines[:, rng.integers(0, lines.shape[1], n)]


def one_point(rng, n, convex):
    """Most lines meet in one point, all numbers are exact."""
    alpha, height, slope = rng.integers(1, 8) / 8, rng.integers(0, 2, n), rng.integers(-4, 5, n)
    a = height - alpha * slope
    return a, a + slope if convex else slope


def decimals(rng, n, convex):
    """Lines that would meet, if tenths were floats."""
    return rng.integers(0, 10, n) / 10, rng.integers(0, 10, n) / 10


def offset(rng, n, convex):
    """Differences far below the rounding errors of sums."""
    return 1.0 + rng.integers(0, 9, n) * 2.0**-52, rng.integers(0, 9, n) * 2.0**-50 - 3.0


def normal(rng, n, convex):
    return rng.normal(size=n), rng.normal(size=n)


def constant(rng, n, convex):
    return np.zeros(n), rng.integers(0, 4, n)


KINDS = [integers, tree, parallel, twice, one_point, decimals, offset, normal, constant]


def twin_of(spec, y):
    """The naive measure on groups of ties; ERR takes the top of its scale from all labels."""
    value = TWINS[spec]
    if spec.startswith("err") and "max_label" not in spec:
        value = partial(value, max_label=max(1, int(max(y))))
    return partial(naive.expected, value)


def dataset(y, sizes, query_weight=None):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    return Dataset(np.zeros((len(y), 1)), y, qid=qid, query_weight=query_weight)


def queries_of(data, a, b, blank):
    """The twin's queries: those that count."""
    weights = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
    return [
        naive.Query(a[i:j], b[i:j], data.y[i:j], weights[q])
        for q, (i, j) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True))
        if weights[q] > 0 and not blank(data.y[i:j])
    ]


def blank_of(measure):
    return lambda labels: measure.is_blank(np.asarray(labels, dtype=np.float64))
