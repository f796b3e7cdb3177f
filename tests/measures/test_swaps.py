"""Every swap of every built-in measure, against evaluating the swapped list anew."""

import itertools

import numpy as np
import pytest

from rankinite.measures import Measure, measure
from rankinite.measures._swap_kernels import swap_terms
from tests.measures.cases import with_twin
from tests.naive.measures import swap_delta


def lists_of_labels():
    rng = np.random.default_rng(3)
    for n in range(1, 9):
        for top in (1, 2, 4):
            for _ in range(6):
                yield rng.integers(0, top + 1, n).astype(np.float64)
    yield np.zeros(4)
    yield np.full(5, 4.0)
    for labels in itertools.product((0.0, 1.0), repeat=5):
        yield np.array(labels)


@with_twin
def test_swap_deltas_equal_evaluating_anew(spec, twin):
    built_in = measure(spec)
    for labels in lists_of_labels():
        n = len(labels)
        fast = built_in.swap_deltas(labels)
        slow = [[swap_delta(twin, labels, i, j) for j in range(n)] for i in range(n)]
        np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12, err_msg=f"{labels}")


@with_twin
def test_the_brute_force_of_the_protocol_agrees(spec, twin):
    built_in = measure(spec)
    labels = np.array([1.0, 0.0, 2.0, 2.0, 0.0, 4.0])
    np.testing.assert_allclose(
        built_in.swap_deltas(labels), Measure.swap_deltas(built_in, labels), atol=1e-12
    )


@with_twin
def test_swaps_below_the_top_change_nothing(spec, twin):
    labels = np.random.default_rng(0).integers(0, 5, 12).astype(np.float64)
    top = measure(spec).judge(labels, np.array([0, 12])).top
    assert 1 <= top <= 12
    deltas = [swap_delta(twin, labels, i, j) for i in range(top, 12) for j in range(i + 1, 12)]
    np.testing.assert_allclose(deltas, 0.0, atol=1e-15)


@with_twin
def test_the_better_document_of_a_swap_may_be_on_either_side(spec, twin):
    """|ΔZ| from the terms as `swap_terms` says, without asking which document is ranked above."""
    if spec == "pairs":
        return  # Each pair counts 1 in the λs, whatever lies between.
    rng = np.random.default_rng(3)
    for n in (2, 5, 9):
        labels = rng.integers(0, 5, n).astype(np.float64)
        labels[rng.integers(n)] = 4.0
        G, S, U, V = measure(spec)._terms(labels)
        for i, j in itertools.permutations(range(n), 2):
            if G[i] > G[j]:
                change = (G[i] - G[j]) * max(S[i] * (U[i] - V[j]), S[j] * (U[j] - V[i]))
                exact = abs(swap_delta(twin, labels, min(i, j), max(i, j)))
                assert change == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("spec", ["ndcg", "err", "map", "map@20", "mrr", "avendcg", "p@7"])
def test_weights_do_not_rise_from_rank_to_rank(spec):
    """Not even by a rounding error: then no change of a measure has the wrong sign."""
    rng = np.random.default_rng(4)
    for n in (50, 3000):
        labels = rng.integers(0, 5, n).astype(np.float64)
        _, _, U, V = measure(spec)._terms(labels)
        if spec.startswith("map"):
            relevant = labels > 0
            for down in (np.where(relevant, U, V), np.where(relevant, V, U)):
                assert (np.diff(down) <= 0).all()
        else:
            assert (np.diff(U) <= 0).all()


@pytest.mark.parametrize("spec", ["ndcg@10", "err@10", "map", "mrr", "p@10", "avendcg"])
def test_the_scale_of_swaps_is_never_negative(spec):
    labels = np.random.default_rng(1).integers(0, 5, 50).astype(np.float64)
    seen = measure(spec).judge(labels, np.array([0, 50]))
    terms = np.empty((4, 50))
    swap_terms(seen.code, seen.grades, seen.discounts, seen.norms[0], *terms)
    assert (terms[1] >= 0).all()
    assert np.isfinite(terms).all()


def test_err_swaps_stay_exact_at_the_largest_scale():
    labels = np.array([50.0, 0.0, 49.0, 50.0, 1.0])
    fast = measure("err:max_label=50").swap_deltas(labels)
    assert np.isfinite(fast).all()
    # The first document satisfies for certain: moving it down to rank 4 trades it for its equal.
    assert fast[0, 3] == 0.0
    assert fast[0, 1] == pytest.approx(1 / 2 - 1)
