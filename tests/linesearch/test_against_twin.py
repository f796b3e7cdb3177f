"""The line search against its definition, in exact arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.linesearch import line_search
from rankinite.measures import evaluate, measure
from tests.linesearch.cases import (
    ADDITIVE,
    CONVEX,
    KINDS,
    SPECS,
    blank_of,
    dataset,
    integers,
    normal,
    one_point,
    queries_of,
    tree,
    twin_of,
)
from tests.naive import line_search as naive


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


def compare(a, b, data, spec, low, high, convex):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    found = line_search(a, b, data, spec, "convex" if convex else "additive", (low, high))
    queries = queries_of(data, a, b, blank_of(measure(spec).resolve(data.y)))
    check(found, queries, twin_of(spec, data.y), low, high, convex)


def labels_of(rng, sizes):
    """Random labels; the first query is never blank, and the others may be."""
    y = rng.integers(0, rng.integers(2, 6), sizes.sum()).astype(np.float64)
    y[:2] = 0, 4
    return y


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_small_queries(spec, kind):
    rng = np.random.default_rng([SPECS.index(spec), KINDS.index(kind)])
    for _ in range(8):
        convex = bool(rng.integers(2))
        low, high = (CONVEX if convex else ADDITIVE)[rng.integers(3 if convex else 4)]
        sizes = rng.integers(1, 7, rng.integers(1, 5))
        sizes[0] = max(2, sizes[0])
        y = labels_of(rng, sizes)
        weight = rng.integers(0, 4, len(sizes)) + (np.arange(len(sizes)) == 0)
        data = dataset(y, sizes, weight if rng.integers(2) else None)
        compare(*kind(rng, len(y), convex), data, spec, low, high, convex)


SCORES = st.sampled_from([-1e300, -2.0, -1.0, -0.0, 0.0, 5e-324, 0.1, 0.2, 0.3, 1.0, 3.0, 1e16])


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.lists(st.tuples(SCORES, SCORES, st.integers(0, 4)), min_size=1, max_size=6),
    st.sampled_from(SPECS),
    st.booleans(),
)
def test_odd_numbers(documents, spec, convex):
    a, b, y = np.array([*documents, (1.0, 0.5, 4), (0.5, 1.0, 0)], np.float64).T
    low, high = (0.0, 1.0) if convex else (0.1, 100.0)
    compare(a, b, dataset(y, [len(y)]), spec, low, high, convex)


@pytest.mark.parametrize("spec", ["ndcg@3", "ndcg", "err@3", "map", "mrr@4:relevant=3", "pairs"])
@pytest.mark.parametrize("n_docs", [17, 60, 200])
def test_long_queries(spec, n_docs):
    # Few of the crossings lie inside the bounds, as the twin takes a while for each.
    rng = np.random.default_rng(n_docs)
    sizes = np.array([n_docs, 1, n_docs // 2])
    data = dataset(labels_of(rng, sizes), sizes)
    width = min(0.5, 100 / n_docs**2)
    compare(*normal(rng, sizes.sum(), True), data, spec, 0.4, 0.4 + width, True)
    compare(*normal(rng, sizes.sum(), False), data, spec, -0.5, -0.5 + width, False)


@pytest.mark.parametrize("spec", ["ndcg@5", "avendcg:depth=3", "p@3", "map@3", "pairs"])
@pytest.mark.parametrize("kind", [integers, tree, one_point], ids=lambda kind: kind.__name__)
def test_many_documents_in_a_bundle(spec, kind):
    """Orders are too many to enumerate, so the twin's values are those of `expected_value`."""
    rng = np.random.default_rng(3)
    sizes = np.array([80, 30])
    data = dataset(labels_of(rng, sizes), sizes)
    built_in = measure(spec)

    def value(groups):
        scores = -np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return built_in.expected_value(scores, np.concatenate(groups))

    for convex, low, high in [(True, 0.0, 1.0), (False, 0.1, 10.0)]:
        a, b = (np.asarray(some, np.float64) for some in kind(rng, sizes.sum(), convex))
        found = line_search(a, b, data, spec, "convex" if convex else "additive", (low, high))
        check(found, queries_of(data, a, b, blank_of(built_in)), value, low, high, convex)


@pytest.mark.parametrize("spec", SPECS)
def test_the_curve_is_what_evaluation_says(spec):
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 90, 20)
    y = labels_of(rng, sizes)
    data = dataset(y, sizes, rng.uniform(size=len(sizes)))
    a, b = normal(rng, len(y), True)
    found = line_search(a, b, data, spec)
    edges, values = found.curve
    assert len(values) > 5
    wide = np.flatnonzero(np.diff(edges) > 1e-9)
    for place in rng.choice(wide, 25):
        alpha = edges[place : place + 2].mean()
        scores = (1 - alpha) * a + alpha * b
        assert evaluate(scores, data, spec)[spec] == pytest.approx(values[place], abs=1e-12)
    scores = (1 - found.alpha) * a + found.alpha * b
    assert evaluate(scores, data, spec)[spec] == pytest.approx(found.value, abs=1e-12)
    grid = [evaluate((1 - x) * a + x * b, data, spec)[spec] for x in np.linspace(0.01, 0.99, 50)]
    assert found.value >= max(grid) - 1e-12
