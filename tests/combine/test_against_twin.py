"""The line search against its definition, in exact arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from combine.cases import (
    ADDITIVE,
    CONVEX,
    KINDS,
    SPECS,
    blank_of,
    dataset,
    normal,
    queries_of,
    twin_of,
)
from naive import line_search as naive
from rankinite.combine import LineSearcher, line_search
from rankinite.measures import measure


def check(found, queries, value, low, high, convex):
    """Compare the whole curve and the best interval with the twin's."""
    parts = naive.intervals(value, queries, low, high, convex)
    edges, values = found.curve
    assert edges[0] == low
    assert edges[-1] == high
    assert (np.diff(edges) > 0).all()
    scale = max(1.0, np.abs(values).max())
    for part in parts:
        place = np.searchsorted(edges, (part.low + part.high) / 2) - 1
        assert values[place] == pytest.approx(naive.mean(part, queries), abs=1e-12 * scale)
    together = naive.united(parts)
    np.testing.assert_allclose(edges[1:-1], [part.low for part in together[1:]], rtol=1e-12)
    best = naive.best(together, queries)
    assert found.value == pytest.approx(naive.mean(best, queries), abs=1e-12 * scale)
    np.testing.assert_allclose(found.interval, best[:2], rtol=1e-12)
    assert found.alpha == pytest.approx(sum(found.interval) / 2, rel=1e-12)
    assert found.interval[0] < found.alpha < found.interval[1]


def random_case(rng, kind, spec, most_docs=6, most_queries=4):
    """Search in a few small queries of a kind of scores, and compare."""
    convex = bool(rng.integers(2))
    low, high = (CONVEX if convex else ADDITIVE)[rng.integers(3 if convex else 4)]
    sizes = rng.integers(1, most_docs + 1, rng.integers(1, most_queries + 1))
    sizes[0] = max(2, sizes[0])
    y = rng.integers(0, rng.integers(2, 6), sizes.sum()).astype(np.float64)
    y[:2] = 0, 4
    weight = rng.integers(0, 4, len(sizes)) + (np.arange(len(sizes)) == 0)
    data = dataset(y, sizes, weight if rng.integers(2) else None)
    a, b = (np.asarray(scores, np.float64) for scores in kind(rng, len(y), convex))
    found = line_search(a, b, data, spec, "convex" if convex else "additive", (low, high))
    queries = queries_of(data, a, b, blank_of(measure(spec).resolve(y)))
    check(found, queries, twin_of(spec, y), low, high, convex)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_small_queries(spec, kind):
    rng = np.random.default_rng([SPECS.index(spec), KINDS.index(kind)])
    for _ in range(8):
        random_case(rng, kind, spec)
