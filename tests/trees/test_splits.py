"""The best split of each feature against an exhaustive search."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.trees._split_kernels import N_SCRATCH, Limits, best_splits
from tests.naive import trees as naive
from tests.trees.cases import binned_of, bins_of, halves_of, integer_features, packed_of, problem_of


def histogram_by_loops(problem, rows):
    """The histogram of `rows` in the layout of the kernels, (n_blocks, 16 · 256)."""
    n_features = problem.bins.shape[1]
    n_blocks = -(-n_features // 16)
    sums = np.zeros((n_blocks * 16, 256), np.int64)
    cells = [q * 2**32 + mass for q, mass in zip(problem.lam, problem.mass, strict=True)]
    sums[:n_features] = naive.histogram(problem.bins, rows, cells)
    return sums.reshape(n_blocks, 16 * 256)


def kernel_splits(problem, rows, allowed=None, n_parts=None):
    """Gain, bin and missing direction of every feature.

    By default each feature is searched by itself, and none is left behind by a better one.
    """
    n_features = problem.bins.shape[1]
    n_parts = 2 * n_features if n_parts is None else n_parts
    histogram = histogram_by_loops(problem, rows)
    gains, bins = np.full((2, n_features), -1.0), np.zeros((2, n_features), np.uint8)
    missing_left = np.zeros((2, n_features), np.bool_)
    features = np.full(2, -1)
    allowed = np.ones(n_features, np.bool_) if allowed is None else allowed
    # As a pair of siblings, the other one given by the parent of both (here twice the node).
    best_splits(
        histogram,
        2 * histogram,
        2,
        True,
        np.asarray(problem.n_bins),
        np.stack([allowed, allowed]),
        Limits(float(problem.least), problem.l2),
        np.empty((n_parts, N_SCRATCH, 256)),
        gains,
        bins,
        missing_left,
        features,
    )
    if n_parts % 2 == 0:  # both siblings are cut into the same parts
        assert gains[0].tobytes() == gains[1].tobytes()
    assert features.tolist() == np.argmax(gains, axis=1).tolist()
    return gains[0], bins[0], missing_left[0]


def assert_equals_search(problem, rows):
    gains, bins, missing_left = kernel_splits(problem, rows)
    for feature in range(problem.bins.shape[1]):
        best = naive.best_split(problem, rows, [feature])
        assert gains[feature] == (0.0 if best is None else best.gain)
        if best is not None:
            assert (bins[feature], missing_left[feature]) == (best.bin, best.missing_left)
    # With several features a part the best one is the same; others may be left behind.
    chosen = np.argmax(gains)
    for n_parts in (1, 2, 3, 4):
        other_gains, *others = kernel_splits(problem, rows, n_parts=n_parts)
        assert np.argmax(other_gains) == chosen
        assert other_gains[chosen] == gains[chosen]
        assert [each[chosen] for each in others] == [bins[chosen], missing_left[chosen]]
        assert ((other_gains == gains) | (other_gains == 0.0)).all()


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    n=st.integers(2, 40),
    n_values=st.integers(1, 8),
    missing=st.sampled_from([0.0, 0.2, 0.9]),
    min_samples_leaf=st.sampled_from([1, 3, 10]),
    newton=st.booleans(),
    levels=st.sampled_from([1, 3, 10_000]),
    seed=st.integers(0, 2**32),
)
def test_equals_exhaustive_search(n, n_values, missing, min_samples_leaf, newton, levels, seed):
    rng = np.random.default_rng(seed)
    binned = binned_of(integer_features(n, 5, n_values=n_values, missing=missing, seed=seed))
    # Few levels of λ make many equal splits; a w of 0 has the least mass there is.
    lam = rng.integers(-levels, levels + 1, n)
    packed = packed_of(lam, rng.integers(0, 4, n) if newton else None)
    problem = problem_of(binned, packed, min_samples_leaf)
    assert_equals_search(problem, np.arange(n))
    assert_equals_search(problem, np.arange(0, n, 2))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    n=st.integers(2, 40),
    missing=st.sampled_from([0.0, 0.3]),
    newton=st.booleans(),
    min_mass=st.sampled_from([1.0, 4.0, 9.5]),
    l2=st.sampled_from([0.0, 0.25, 3.0, 1e4]),
    seed=st.integers(0, 2**32),
)
def test_regularised_splits_equal_exhaustive_search(n, missing, newton, min_mass, l2, seed):
    rng = np.random.default_rng(seed)
    binned = binned_of(integer_features(n, 5, n_values=6, missing=missing, seed=seed))
    packed = packed_of(rng.integers(-50, 51, n), rng.integers(0, 4, n) if newton else None)
    unit = packed.w_scale
    problem = replace(problem_of(binned, packed), least=max(min_mass * unit, 1.0), l2=l2 * unit)
    assert_equals_search(problem, np.arange(n))


def test_the_gain_with_l2_is_that_of_the_formula():
    """G²/(M + c) on both sides less that of the whole, for λ = 1, 1, 5, 7 and c = 2."""
    packed = packed_of(np.array([1.0, 1.0, 5.0, 7.0]))
    bins = np.array([[0], [0], [1], [1]], np.uint8)
    problem = naive.Problem(bins, [2], *halves_of(packed.cells), l2=2.0)
    gains, *_ = kernel_splits(problem, range(4))
    formula = 2**2 / (2 + 2) + 12**2 / (2 + 2) - 14**2 / (4 + 2)
    assert gains[0] / packed.lam_scale**2 == pytest.approx(formula)
    # Held back far enough, no split is worth it.
    assert kernel_splits(replace(problem, l2=100.0), range(4))[0][0] == 0.0


def test_real_gradients():
    rng = np.random.default_rng(5)
    for newton in (False, True):
        binned = binned_of(rng.normal(size=(90, 3)))
        packed = packed_of(rng.normal(size=90), rng.random(90) if newton else None)
        problem = problem_of(binned, packed, 4)
        assert_equals_search(problem, np.arange(90))


@pytest.mark.parametrize("sign", [-1, 1, 0])
def test_sums_that_fill_their_halves(sign):
    """Σ mass and |Σλ| of 2^31 − 1, all of one sign, or up to there and back."""
    n, most = 40, 2**31 - 1
    rng = np.random.default_rng(6)
    binned = binned_of(integer_features(n, 5, missing=0.2, seed=6))
    lam, mass = ([most - (n - 1) * (most // n), *[most // n] * (n - 1)] for _ in range(2))
    signs = rng.choice([-1, 1], n) if sign == 0 else np.full(n, sign)
    lam = [int(s) * q for s, q in zip(signs, rng.permutation(lam), strict=True)]
    problem = naive.Problem(bins_of(binned), binned.mapper.n_bins, lam, mass)
    assert sum(mass) == most == sum(map(abs, lam))
    assert_equals_search(problem, np.arange(n))
    # One row with nearly everything, beside rows with the least there is.
    lam = [sign * (most - n + 1), *[1] * (n - 1)]
    problem = replace(problem, lam=lam, mass=[most - n + 1, *[1] * (n - 1)])
    assert_equals_search(problem, np.arange(n))


def one_feature(bins, lam, n_bins, min_samples_leaf=1, w=None):
    packed = packed_of(lam, w)
    own = np.array(bins, np.uint8)[:, None]
    problem = naive.Problem(own, [n_bins], *halves_of(packed.cells), min_samples_leaf)
    gains, found, missing_left = kernel_splits(problem, range(len(lam)))
    return gains[0] / packed.lam_scale**2, found[0], missing_left[0]


def test_the_gain_is_the_fall_of_the_squared_error():
    """λ = 1, 1, 5, 7 cut in the middle: Σ(λ − mean)² falls from 27 to 0 + 2."""
    gain, b, missing_left = one_feature([0, 0, 1, 2], [1, 1, 5, 7], 3)
    assert (gain, b, missing_left) == (25.0, 0, False)


def test_of_equal_splits_the_lowest_bin_wins():
    """Bins 1 and 2 are empty here, so three cuts are the same; and −1, 2, −1 has two equal cuts."""
    assert one_feature([0, 3, 3], [4, 0, 0], 4)[1] == 0
    gain, b, _ = one_feature([0, 1, 2], [-1, 2, -1], 3)
    assert (gain, b) == (1.5, 0)


def test_missing_rows_go_where_they_belong_and_right_in_doubt():
    # They are like the rows of bin 0.
    assert one_feature([0, 0, 1, 1, 255], [5, 5, 0, 0, 5], 2)[1:] == (0, True)
    assert one_feature([0, 0, 1, 1, 255], [5, 5, 0, 0, 0], 2)[1:] == (0, False)
    # In the middle of both: as good on the left as on the right.
    assert one_feature([0, 1, 255], [-1, 1, 0], 2)[1:] == (0, False)
    # Nothing but missing or not: cut at the last bin.
    assert one_feature([0, 1, 255, 255], [0, 0, 3, 3], 2)[1:] == (1, False)


def test_without_missing_rows_they_would_follow_the_heavier_side():
    assert one_feature([0, 0, 1], [1, 1, 0], 2)[2]
    assert not one_feature([0, 1, 1], [1, 0, 0], 2)[2]
    assert not one_feature([0, 0, 1, 1], [1, 1, 0, 0], 2)[2]
    assert one_feature([0, 1, 1], [1, 0, 0], 2, w=[5, 2, 2])[2]
    assert not one_feature([0, 0, 1], [1, 1, 0], 2, w=[1, 1, 3])[2]
    assert not one_feature([0, 0, 1], [1, 1, 0], 2, w=[1, 1, 2])[2]


def test_min_samples_leaf_holds_on_both_sides():
    lam = [9, 0, 0, 0, 0, -9]
    assert one_feature(range(6), lam, 6, 1)[1] in (0, 4)
    assert one_feature(range(6), lam, 6, 2)[1] in (1, 3)
    assert one_feature(range(6), lam, 6, 3)[1] == 2
    assert one_feature(range(6), lam, 6, 4)[0] == 0.0


def test_features_that_are_not_allowed_have_no_gain():
    binned = binned_of(integer_features(30, 6))
    packed = packed_of(np.random.default_rng(0).normal(size=30))
    problem = problem_of(binned, packed)
    allowed = np.array([True, False, True, False, False, True])
    free = kernel_splits(problem, range(30))[0]
    gains = kernel_splits(problem, range(30), allowed)[0]
    assert (free > 0).all()
    np.testing.assert_array_equal(gains, np.where(allowed, free, 0.0))


def test_features_without_a_cut():
    """A constant feature, one that is missing everywhere, and both mixed."""
    X = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, np.nan], [1.0, np.nan, 2.0]])
    binned = binned_of(X)
    packed = packed_of([3.0, 0.0, 3.0])
    problem = problem_of(binned, packed)
    np.testing.assert_array_equal(bins_of(binned)[:, 1], 255)
    gains, bins, missing_left = kernel_splits(problem, range(3))
    assert gains[0] == gains[1] == 0.0
    assert gains[2] / packed.lam_scale**2 == pytest.approx(6.0)
    assert (bins[2], missing_left[2]) == (0, False)


@pytest.mark.parametrize("n", [10, 100, 300, 5000])
@pytest.mark.parametrize("value", [1 / 3, 0.1, np.pi, 1e-300])
def test_equal_rows_are_never_worth_a_split(n, value):
    """Sums are exact in float64, so the means of two sides are equal to the last bit."""
    binned = binned_of(np.arange(n, dtype=np.float64)[:, None])
    for w in (None, np.full(n, 0.7 * value)):
        packed = packed_of(np.full(n, value), w)
        gains, _, _ = kernel_splits(problem_of(binned, packed), range(n))
        assert gains[0] == 0.0
