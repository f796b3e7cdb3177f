"""What a line search promises, beside the right answer."""

import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import threads
from rankinite.errors import DataError, ParameterError
from rankinite.linesearch import LineSearch, LineSearcher, line_search
from rankinite.linesearch.searching import _by_alpha
from rankinite.measures import Measure
from tests.linesearch.cases import SPECS, dataset, integers, normal, tree
from tests.naive import measures as naive


class OwnNDCG(Measure):
    """A measure that the kernels do not know; it counts how often it is asked."""

    name = "own ndcg@3"

    def __init__(self):
        self.calls = 0

    def value(self, labels):
        self.calls += 1
        return naive.ndcg(labels, k=3)


def some_data(seed=0, n_queries=40, largest=30, weighted=True):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest, n_queries)
    y = rng.integers(0, 4, sizes.sum()).astype(np.float64)
    y[0] = 3.0
    return rng, dataset(y, sizes, rng.uniform(size=n_queries) if weighted else None)


def assert_same(one: LineSearch, other: LineSearch) -> None:
    assert (one.alpha, one.value, one.interval) == (other.alpha, other.value, other.interval)
    np.testing.assert_array_equal(one.curve.edges, other.curve.edges)
    np.testing.assert_array_equal(one.curve.values, other.curve.values)


@pytest.mark.parametrize("kind", [normal, integers, tree], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("spec", ["ndcg@5", "err", "map", "mrr", "pairs", "avendcg"])
def test_threads_and_the_order_of_rows_change_no_bit(spec, kind):
    rng, data = some_data(n_queries=400)
    a, b = kind(rng, data.n_rows, True)
    with threads(1):
        alone = line_search(a, b, data, spec)
    with threads(2):
        assert_same(line_search(a, b, data, spec), alone)
    order = rng.permutation(data.n_rows)
    qid = np.repeat(data.qids, data.query_sizes)[order]
    weight = dict(zip(data.qids.tolist(), data.query_weight.tolist(), strict=True))
    with pytest.warns(rk.RankiniteWarning, match="did not lie together"):
        other = rk.Dataset(data.X[order], data.y[order], qid=qid, query_weight=weight)
    assert_same(line_search(a[order], b[order], other, spec), alone)


def test_events_at_one_alpha_have_an_order_of_their_own():
    rng = np.random.default_rng(6)
    alphas, changes = rng.integers(0, 40, 3000) / 7, rng.normal(size=3000)
    order = rng.permutation(3000)
    first, second = _by_alpha(alphas, changes), order[_by_alpha(alphas[order], changes[order])]
    np.testing.assert_array_equal(changes[first], changes[second])
    np.testing.assert_array_equal(first, np.lexsort((changes, alphas)))
    assert len(_by_alpha(alphas[:0], changes[:0])) == 0


def test_the_value_of_scores_is_their_mean():
    rng, data = some_data()
    scores = rng.integers(0, 5, data.n_rows).astype(np.float64)
    for spec in ("ndcg@5", "map"):
        searcher = LineSearcher(spec, data)
        assert searcher.value(scores) == rk.evaluate(scores, data, spec)[spec]
        assert not searcher.lower_is_better


def test_ties_of_intervals_go_to_the_widest_then_to_the_lowest():
    a = np.array([0.0, 1.0, 3.0, 0.0, 1.0, 0.0])
    b = np.array([4.0, 0.0, 0.0, 2.0, 0.0, 4.0])
    y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    # The first query is right from 0.2 on, the second up to 0.6, the third up to 0.2.
    found = line_search(a, b, dataset(y, [2, 2, 2]), "p@1")
    np.testing.assert_allclose(found.curve.edges, [0, 0.2, 0.6, 1])
    np.testing.assert_allclose(found.curve.values, [2 / 3, 2 / 3, 1 / 3])
    np.testing.assert_allclose(found.interval, (0.2, 0.6))


def test_crossings_at_the_bounds_are_outside():
    a, b, y = [2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 1.0, 0.0]
    data = dataset(np.array(y), [3])
    # All lines meet at 1/2.
    for bounds, value in [((0.0, 0.5), 0.0), ((0.5, 1.0), 1.0)]:
        found = line_search(a, b, data, "p@1", bounds=bounds)
        assert found.curve.edges.tolist() == list(bounds)
        assert found.interval == bounds
        assert found.value == value
    assert line_search(a, b, data, "p@1").interval == (0.5, 1.0)


def test_a_document_that_comes_up_by_less_than_a_rounding_error_is_not_left_out():
    # The scores at 2 are equal in floats, but the lines cross before it.
    a = np.array([1.0 + 7 * 2.0**-52, 1.0])
    b = np.array([-3.0, -3.0 + 2.0**-50])
    assert (a + 2 * b)[0] == (a + 2 * b)[1]
    found = line_search(a, b, dataset(np.array([0.0, 1.0]), [2]), "p@1", "additive", (0, 2))
    assert found.curve.edges.tolist() == [0, 1.75, 2]
    assert found.curve.values.tolist() == [0, 1]


@pytest.mark.parametrize(("mode", "middle"), [("convex", 0.5), ("additive", 50.05)])
def test_without_a_crossing_the_middle_of_the_bounds_is_taken(mode, middle):
    _, data = some_data()
    scores = np.random.default_rng(1).normal(size=data.n_rows)
    flat = np.zeros(data.n_rows)
    for a, b in [(scores, scores), (scores, flat), (flat, scores), (flat, flat)]:
        found = line_search(a, b, data, "ndcg@10", mode)
        assert found.alpha == pytest.approx(middle)
        assert len(found.curve.values) == 1
        combined = a + b
        assert found.value == pytest.approx(rk.evaluate(combined, data)["ndcg@10"], abs=1e-12)


def test_one_document_and_blank_queries_change_nothing():
    rng, data = some_data(weighted=False)
    a, b = normal(rng, data.n_rows, True)
    found = line_search(a, b, data)
    sizes = [*data.query_sizes, 1, 3]
    more = dataset(np.concatenate([data.y, [0.0, 0, 0, 0]]), sizes)
    extra = rng.normal(size=4)
    assert_same(line_search(np.append(a, extra), np.append(b, extra[::-1]), more), found)


def test_rankers_functions_and_rows_in_any_order_are_taken():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    with pytest.warns(rk.RankiniteWarning, match="did not lie together"):
        data = rk.Dataset(X, rng.integers(0, 3, 300), qid=rng.integers(0, 20, 300))

    class Second:
        def predict(self, X):
            return X[:, 1]

    found = line_search(X[:, 0], X[:, 1], data)
    assert_same(line_search(lambda X: X[:, 0], Second(), data), found)
    combined = (1 - found.alpha) * X[:, 0] + found.alpha * X[:, 1]
    assert rk.evaluate(combined, data)["ndcg@10"] == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("kind", [normal, integers, tree], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("mode", ["convex", "additive"])
def test_own_measures_equal_the_built_in(kind, mode):
    rng, data = some_data(n_queries=8, largest=7)
    a, b = (np.asarray(some, np.float64) for some in kind(rng, data.n_rows, mode == "convex"))
    own, built_in = (line_search(a, b, data, m, mode) for m in (OwnNDCG(), "ndcg@3"))
    np.testing.assert_allclose(own.curve.edges, built_in.curve.edges, rtol=1e-12)
    np.testing.assert_allclose(own.curve.values, built_in.curve.values, atol=1e-12)
    assert own.value == pytest.approx(built_in.value, abs=1e-12)
    assert own.interval == pytest.approx(built_in.interval, rel=1e-12)


def test_own_measures_of_long_queries_are_asked_once_for_a_ranking():
    # 780 crossings, more than the first buffer holds, some of them at one α.
    n = 40
    a, b = np.arange(n, dtype=np.float64), -(np.arange(n, dtype=np.float64) ** 2)
    y = (np.arange(n) % 7 == 0) * 1.0
    data = dataset(y, [n])
    own = OwnNDCG()
    found = line_search(a, b, data, own, "additive", (0.0, 2.0))
    built_in = line_search(a, b, data, "ndcg@3", "additive", (0.0, 2.0))
    np.testing.assert_allclose(found.curve.edges, built_in.curve.edges, rtol=1e-12)
    np.testing.assert_allclose(found.curve.values, built_in.curve.values, atol=1e-12)
    crossings = {1 / (i + j) for i in range(n) for j in range(i)}
    assert own.calls <= len(crossings) + 1


def test_a_measure_of_which_less_is_better():
    class Loss(OwnNDCG):
        name = "loss"
        lower_is_better = True

        def value(self, labels):
            return 1.0 - super().value(labels)

    rng, data = some_data(n_queries=8, largest=7)
    a, b = normal(rng, data.n_rows, True)
    loss, gain = line_search(a, b, data, Loss()), line_search(a, b, data, "ndcg@3")
    assert loss.value == pytest.approx(1.0 - gain.value, abs=1e-12)
    assert loss.interval == pytest.approx(gain.interval, rel=1e-12)


def test_a_searcher_is_used_many_times():
    rng, data = some_data()
    searcher = LineSearcher("ndcg@10", data)
    for low, high in [(0.1, 100.0), (-1.0, 1.0)]:
        a, b = normal(rng, data.n_rows, False)
        assert_same(
            searcher.search(a, b, low, high),
            line_search(a, b, data, mode="additive", bounds=(low, high)),
        )
    assert_same(searcher.search(a, b, 0, 1, convex=True), line_search(a, b, data))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("factor", [1e-300, 1e300, 1.7e308])
def test_the_size_of_scores_does_not_matter(spec, factor):
    rng, data = some_data(n_queries=5)
    a, b = (rng.integers(-9, 10, data.n_rows) / 10.0 for _ in range(2))
    plain, huge = line_search(a, b, data, spec), line_search(a * factor, b * factor, data, spec)
    assert huge.value == pytest.approx(plain.value, abs=1e-12)
    assert huge.interval == pytest.approx(plain.interval)


@pytest.mark.parametrize("spec", ["ndcg@10", "err"])
def test_a_ranking_that_turns_round(spec):
    """Two million crossings, all near one α: the errors of the changes do not add up."""
    rng = np.random.default_rng(0)
    n = 2_000
    data = dataset(rng.integers(0, 5, n).astype(np.float64), [n])
    a = rng.normal(size=n)
    b = 1e-3 * rng.normal(size=n) - a
    values = line_search(a, b, data, spec).curve.values
    assert values[0] == pytest.approx(rk.evaluate(a, data, spec)[spec], abs=1e-12)
    assert values[-1] == pytest.approx(rk.evaluate(b, data, spec)[spec], abs=1e-12)


def test_it_prints_without_the_curve():
    _, data = some_data()
    flat = np.zeros(data.n_rows)
    text = repr(line_search(flat, flat, data, "p@1"))
    assert text.startswith("LineSearch(alpha=0.5, value=0.")
    assert text.endswith("interval=(0.0, 1.0))")


def test_bad_input_is_refused_in_a_sentence():
    _, data = some_data()
    good = np.zeros(data.n_rows)

    def refused(kind, match, a=good, b=good, data=data, measure="ndcg@10", **options):
        with pytest.raises(kind, match=match):
            line_search(a, b, data, measure, **options)

    n = data.n_rows
    refused(DataError, rf"has shape \({n - 1},\), but the data has {n} rows", a=good[1:])
    refused(DataError, rf"has shape \({n + 1},\), but the data has {n} rows", b=np.append(good, 1))
    for bad in (np.nan, np.inf):
        refused(DataError, r"score that is NaN or infinite \(row 0\)", b=np.append(bad, good[1:]))
    refused(ParameterError, "mode must be 'convex' or 'additive', got 'best'", mode="best")
    for bounds in (1.0, (0, 1, 2), ("a", "b")):
        refused(ParameterError, "bounds must be two numbers", bounds=bounds)
    refused(ParameterError, "bounds must be finite, got 0 and inf", bounds=(0, np.inf))
    refused(ParameterError, "bounds must be finite, got nan and 1", bounds=(np.nan, 1))
    refused(ParameterError, "a lower number and a higher one, got 1 and 0", bounds=(1, 0))
    refused(ParameterError, "a lower number and a higher one", bounds=(0.5, 0.5))
    refused(ParameterError, "must lie between 0 and 1, got 0 and 2: use mode=", bounds=(0, 2))
    refused(ParameterError, "must lie between 0 and 1, got -1 and 1", bounds=(-1, 1))
    nothing = dataset(np.zeros(n), data.query_sizes)
    refused(DataError, r"ndcg@10 has no value on this data: no query", data=nothing)
    weightless = dataset(data.y, data.query_sizes, np.zeros(data.n_queries))
    refused(DataError, r"no query with a weight has documents", data=weightless)
    refused(DataError, "the data has no labels", data=rk.Dataset(data.X, qid=np.zeros(n)))
    refused(ParameterError, "unknown measure 'best'", measure="best")
    pairs = rk.Dataset(data.X, data.y, qid=np.zeros(n)).with_preferences(preferred=[0], other=[1])
    refused(
        ParameterError,
        "pair_accuracy is one of preference pairs",
        data=pairs,
        measure="pair_accuracy",
    )


def test_arguments_of_a_wrong_kind_are_refused_in_a_sentence():
    _, data = some_data()
    good = np.zeros(data.n_rows)
    with pytest.raises(rk.ParameterError, match="mode must be"):
        rk.line_search(good, good, data, mode=["convex"])
    with pytest.raises(rk.ParameterError, match="bounds must be two numbers"):
        rk.line_search(good, good, data, mode="additive", bounds=(0, 10**400))
    with pytest.raises(rk.DataError, match="must be one real number a row, but it is a str"):
        rk.line_search("scores", good, data)
    with pytest.raises(rk.DataError, match="must be a Dataset, got a NoneType"):
        rk.line_search(good, good, None)
