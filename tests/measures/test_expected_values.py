"""Values under ties, against the mean over all orders; and what holds of any values."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.errors import DataError
from rankinite.measures import ERR, Measure, measure
from rankinite.measures import _value_kernels as kernels
from rankinite.measures.values import expected_values
from tests.measures.cases import TWINS, with_twin
from tests.naive.measures import candidates, expected

quick = settings(deadline=None, max_examples=50, derandomize=True)
SPECS = list(TWINS)
IN_UNIT = [spec for spec in SPECS if not spec.startswith("dcg")]
BEST_IS_ONE = [
    s for s in SPECS if s.startswith(("ndcg", "avendcg", "map", "mrr", "pairs")) and s != "map@3"
]


@st.composite
def query(draw, largest=6):
    n = draw(st.integers(1, largest))
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-1e6, -1.0, 0.0, 0.5, 1e6]), min_size=n, max_size=n))
    return np.array(scores), np.array(labels, dtype=np.float64)


@with_twin
def test_values_without_ties_equal_the_definition(spec, twin):
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 5, 8, 13, 40):
        labels = rng.integers(0, 5, n).astype(np.float64)
        assert measure(spec).value(labels) == pytest.approx(twin(labels), abs=1e-12)


def tie_patterns(n):
    return [np.array(p, dtype=np.float64) for p in itertools.product((0, 1, 2), repeat=n)]


@with_twin
def test_values_with_ties_equal_the_mean_over_all_orders(spec, twin):
    rng = np.random.default_rng(7)
    built_in = measure(spec)
    patterns = [*tie_patterns(3), *rng.integers(0, 3, (8, 5)).astype(float), np.zeros(6)]
    for scores in patterns:
        labels = rng.integers(0, 5, len(scores)).astype(np.float64)
        slow = expected(twin, scores, labels)
        assert built_in.expected_value(scores, labels) == pytest.approx(slow, abs=1e-12)
        by_protocol = Measure.expected_value(built_in, scores, labels)
        assert by_protocol == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("spec", SPECS)
def test_many_queries_at_once_equal_one_by_one(spec):
    rng = np.random.default_rng(11)
    sizes = rng.integers(1, 20, 60)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    y = rng.integers(0, 4, offsets[-1]).astype(np.float64)
    y[offsets[3] : offsets[4]] = 0.0
    y[0] = 3.0
    scores = rng.integers(0, 6, offsets[-1]).astype(np.float64)
    built_in = measure(spec).resolve(y)
    seen = built_in.judge(y, offsets)
    values = expected_values(seen, scores, offsets)
    assert np.isnan(values[3])
    for q, (a, b) in enumerate(itertools.pairwise(offsets)):
        assert seen.blank[q] == built_in.is_blank(y[a:b])
        if seen.blank[q]:
            assert np.isnan(values[q])
            assert built_in.expected_value(scores[a:b], y[a:b]) == 0.0
        else:
            assert values[q] == pytest.approx(built_in.expected_value(scores[a:b], y[a:b]))


@quick
@given(query(), st.sampled_from(SPECS), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_to_the_last_bit(case, spec, random):
    scores, labels = case
    order = list(range(len(scores)))
    random.shuffle(order)
    built_in = measure(spec)
    assert built_in.expected_value(scores[order], labels[order]) == built_in.expected_value(
        scores, labels
    )


@quick
@given(query(largest=30), st.sampled_from(IN_UNIT))
def test_values_lie_between_0_and_1(case, spec):
    value = measure(spec).expected_value(*case)
    assert -1e-12 <= value <= 1.0 + 1e-12


@quick
@given(query(largest=30), st.sampled_from(BEST_IS_ONE))
def test_the_perfect_order_has_value_1(case, spec):
    labels = case[1]
    built_in = measure(spec)
    if not built_in.is_blank(labels):
        assert built_in.expected_value(labels, labels) == pytest.approx(1.0)
        # Nor does a strictly increasing change of the scores matter, however extreme.
        assert built_in.expected_value(labels * 1e300, labels) == pytest.approx(1.0)


@quick
@given(query(), st.sampled_from(SPECS))
def test_the_labels_own_order_is_the_best(case, spec):
    scores, labels = case
    built_in = measure(spec)
    best = built_in.expected_value(labels, labels)
    assert built_in.expected_value(scores, labels) <= best + 1e-12


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 127, 128, 129, 500])
@pytest.mark.parametrize("k", [1, 2, 10, 63, 64, 65])
@pytest.mark.parametrize("n_levels", [1, 3, 40, 10_000])
def test_only_what_can_come_above_a_small_cut_off_is_sorted(n, k, n_levels):
    scores = np.random.default_rng(n).integers(0, n_levels, n).astype(np.float64)
    scores[scores == 0] = -np.inf
    rows = np.arange(n)
    discounts = np.where(rows < k, 1.0 / (rows + 1.0), 0.0)
    kept = np.flatnonzero(scores >= kernels.lowest_candidate(scores, discounts))
    small = k <= min(kernels.SMALL_CUT, n // 2)
    assert list(kept) == (candidates(scores, k) if small else list(rows))


def test_all_tied_values_spelled_out():
    scores, labels = np.zeros(3), np.array([1.0, 0.0, 0.0])
    assert measure("p@1").expected_value(scores, labels) == pytest.approx(1 / 3)
    reciprocal = (1 + 1 / 2 + 1 / 3) / 3
    assert measure("mrr").expected_value(scores, labels) == pytest.approx(reciprocal)
    assert measure("map").expected_value(scores, labels) == pytest.approx(reciprocal)
    assert measure("err").expected_value(scores, labels) == pytest.approx(reciprocal / 2)
    assert measure("pairs").expected_value(scores, labels) == pytest.approx(1 / 2)
    log_discounts = (1 + 1 / np.log2(3) + 1 / 2) / 3
    assert measure("ndcg").expected_value(scores, labels) == pytest.approx(log_discounts)


def test_negative_zero_ties_with_zero():
    labels = np.array([1.0, 0.0])
    assert measure("p@1").expected_value(np.array([-0.0, 0.0]), labels) == 0.5


def test_pairs_with_many_distinct_labels_and_ties():
    rng = np.random.default_rng(2)
    y = rng.normal(size=300)
    scores = rng.integers(0, 50, 300).astype(np.float64)
    order = np.sign(y[:, None] - y) * np.sign(scores[:, None] - scores)
    upper = np.triu_indices(300, k=1)
    right = (order[upper] > 0).sum() + 0.5 * (order[upper] == 0).sum()
    assert measure("pairs").expected_value(scores, y) == pytest.approx(right / len(upper[0]))


@pytest.mark.parametrize("spec", ["ndcg", "avendcg", "err@10", "map", "mrr", "p@10", "pairs"])
@pytest.mark.parametrize("ties", ["none", "some", "all"])
def test_a_query_of_100_000_documents_is_no_trouble(spec, ties):
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.integers(0, 5, n).astype(np.float64)
    scores = {
        "none": rng.permutation(n).astype(np.float64),
        "some": rng.integers(0, 1000, n).astype(np.float64),
        "all": np.zeros(n),
    }[ties]
    built_in = measure(spec)
    built_in.value(y[:3])  # compiled before the clock starts
    start = time.perf_counter()
    value = built_in.expected_value(scores, y)
    assert time.perf_counter() - start < 5.0
    assert 0.0 <= value <= 1.0
    if ties == "all" and spec in ("p@10", "map"):
        # Random order: the share of relevant documents, at any depth.
        assert value == pytest.approx((y >= 1).mean(), abs=1e-3)
    if ties == "all" and spec == "pairs":
        assert value == pytest.approx(0.5)


def test_reciprocal_rank_of_one_relevant_among_many_ties_is_the_harmonic_mean():
    n = 100_000
    y = np.zeros(n)
    y[777] = 1.0
    mean = np.sum(1.0 / np.arange(1, n + 1)) / n
    assert measure("mrr").expected_value(np.zeros(n), y) == pytest.approx(mean)
    assert measure("map").expected_value(np.zeros(n), y) == pytest.approx(mean)
    assert ERR(max_label=1).expected_value(np.zeros(1000), y[:1000]) == pytest.approx(
        0.5 * np.sum(1.0 / np.arange(1, 1001)) / 1000
    )


def test_largest_gains_do_not_overflow():
    y = np.where(np.arange(10_000) % 2 == 0, 1000.0, 999.0)
    assert measure("ndcg").expected_value(y, y) == pytest.approx(1.0)
    assert np.isfinite(measure("ndcg").expected_value(np.zeros(10_000), y))


def test_scores_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="ndcg: score 1 of the query is NaN"):
        measure("ndcg").expected_value(np.array([1.0, np.nan]), np.array([1.0, 0.0]))
    with pytest.raises(DataError, match=r"scores of shape \(3,\) for labels of shape \(2,\)"):
        measure("ndcg").expected_value(np.zeros(3), np.zeros(2))
