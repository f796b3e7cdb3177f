"""Gradients as integers: exact where they can be, never overflowing, on any scale of values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.distributed import Serial
from rankinite.errors import DataError
from rankinite.trees import Gradients, gradients, pack_least_squares, pack_newton, sums_over_leaves
from rankinite.trees.fixed_point import MAX_ROWS
from tests.trees.cases import SERIAL, halves_of, packed_of

modest = settings(deadline=None, max_examples=80, derandomize=True)


def is_power_of_two(scale):
    return math.frexp(scale)[0] == 0.5


def test_integers_survive_least_squares_exactly():
    values = np.random.default_rng(0).integers(-10_000, 10_001, 3000).astype(np.float64)
    packed = packed_of(values)
    q, masses = halves_of(packed.cells)
    np.testing.assert_array_equal(np.array(q) / packed.lam_scale, values)
    assert packed.w_scale == 1.0 and set(masses) == {1}


def test_a_sum_of_cells_is_the_sum_of_each_half():
    lam, w = np.array([-3.0, 5.0, -7.0, 0.0, 4.5]), np.array([0.5, 0.125, 2.0, 0.25, 1.0])
    for packed, expected in ((packed_of(lam), 5.0), (packed_of(lam, w), w.sum())):
        (q,), (mass,) = halves_of([packed.cells.sum()])
        assert q / packed.lam_scale == lam.sum()
        assert mass / packed.w_scale == expected


def test_no_row_is_without_mass():
    packed = packed_of(np.ones(6), np.array([0.0, -0.0, 5e-324, 1e-30, 1.0, 3.0]))
    _, masses = halves_of(packed.cells)
    unit = int(packed.w_scale)
    assert masses == [1, 1, 1, 1, unit, 3 * unit] and unit > 10**6


def assert_halves_hold(sum_of_sizes, sum_of_masses):
    assert sum_of_sizes < 2**31
    assert 0 < sum_of_masses < 2**31


@pytest.mark.parametrize("k", [1, 9, 12, 16])
@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("value", [1.0, -1.0, np.nextafter(1, 0), -1 / 3, 1e-300, -1e300])
def test_nothing_overflows_when_all_rows_are_the_largest(k, more, value):
    """A power of two of rows, or of values, is where one bit more is needed."""
    n = 2**k + more
    lam, w = np.full(n, value), np.full(n, abs(value))
    for packed in (packed_of(lam), packed_of(lam, w)):
        (q, *_), (mass, *_) = halves_of(packed.cells[:1])
        assert_halves_hold(n * abs(q), n * mass)
        assert halves_of([packed.cells.sum()]) == ([n * q], [n * mass])
        # Of 30 bits, those of the rows and one to round up are not a value's own.
        precision = 2.0 ** -(29 - n.bit_length())
        assert q / packed.lam_scale == pytest.approx(value, rel=precision)
    assert mass / packed.w_scale == pytest.approx(abs(value), rel=precision)


@pytest.mark.parametrize("n_large", [1, 2, 2**14 + 1, MAX_ROWS - 1, MAX_ROWS])
@pytest.mark.parametrize("value", [1.0, np.nextafter(1, 0), 0.75, 0.5])
def test_as_many_rows_as_there_may_be(n_large, value):
    """More than a test has memory for, but what their sums would be is known from two rows."""
    exponents = np.zeros(2048, np.int64)
    exponents[[0, math.frexp(value)[1] + 1022]] = MAX_ROWS - n_large, n_large
    lam = Gradients(np.array([-value, 0.0]), exponents)
    w = Gradients(np.array([value, 0.0]), exponents)
    for packed in (pack_least_squares(lam, MAX_ROWS), pack_newton(lam, w, MAX_ROWS)):
        (q, zero), (large, small) = halves_of(packed.cells)
        assert zero == 0 and small == 1
        assert_halves_hold(n_large * abs(q), n_large * large + (MAX_ROWS - n_large) * small)
    for pack in (lambda n: pack_least_squares(lam, n), lambda n: pack_newton(lam, w, n)):
        with pytest.raises(DataError, match="1,073,741,825 rows are more than the 1,073,741,824 t"):
            pack(MAX_ROWS + 1)


@modest
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40),
    st.booleans(),
)
def test_any_finite_values(values, newton):
    w = np.abs(values[::-1]) if newton else None
    packed = packed_of(values, w)
    q, masses = halves_of(packed.cells)
    assert is_power_of_two(packed.lam_scale)
    assert is_power_of_two(packed.w_scale)
    assert_halves_hold(sum(map(abs, q)), sum(masses))
    assert halves_of([sum(packed.cells.tolist())]) == ([sum(q)], [sum(masses)])
    for integer, value in zip(q, values, strict=True):
        assert abs(integer - value * packed.lam_scale) <= 0.5
    for integer, value in zip(masses, np.ones(len(values)) if w is None else w, strict=True):
        assert abs(integer - max(value * packed.w_scale, 1.0)) <= 0.5


@modest
@given(st.integers(-960, 1000), st.integers(1, 400), st.integers(0, 2**32))
def test_precision_does_not_depend_on_the_unit(exponent, n, seed):
    """Of 31 bits, those of the count of rows and three to round up are not a value's own."""
    values = np.ldexp(1 + np.random.default_rng(seed).random(n), exponent)
    packed = packed_of(values, values)
    for half in halves_of(packed.cells):
        assert max(half) >= 2 ** (31 - 3 - n.bit_length())


def test_few_large_values_leave_the_bits_to_the_many_small_ones():
    """A half holds the sum of all values, not so many times the largest."""
    n = 100_000
    values = np.full(n, 1e-3)
    values[::10_000] = 1.0
    packed = packed_of(values, values)
    # Ten times 2 and the others times 1/512 (powers of two above the values) are below 2^8, and
    # that may grow to 2^30. With 100,000 times 2 the small values would be 4.
    assert [half[1] for half in halves_of(packed.cells)] == [round(1e-3 * 2**22)] * 2


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_zero_gradients(value):
    packed = packed_of(np.full(7, value))
    assert packed.lam_scale == 1.0
    np.testing.assert_array_equal(packed.cells, 1)


def test_values_below_what_a_scale_can_lift_become_zero():
    for values in ([5e-324, -5e-324], [2.2e-308, 1e-310, -5e-324]):
        q, _ = halves_of(packed_of(values).cells)
        assert q[-1] == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_no_numbers_are_refused(value):
    with pytest.raises(DataError, match="2 gradients are infinite or not numbers: look at"):
        gradients(np.array([1.0, value, value]), SERIAL)


@pytest.mark.parametrize("unit", [1.0, 0.25, 1e-300, 1e-20, 1e300])
def test_the_size_is_the_sum_of_magnitudes_to_a_quarter_or_so(unit):
    rng = np.random.default_rng(4)
    for values in (
        rng.normal(size=1000),
        rng.standard_cauchy(1000),
        np.full(7, -0.5),
        np.array([0.0, 0.999, 0.0]),
    ):
        size, exponent = gradients(values * unit, SERIAL).size()
        exact = math.fsum(np.ldexp(np.abs(values * unit), -exponent))
        assert 0.74 * exact < size < 1.51 * exact
        # The largest value is between a half and one, or its unit would be out of range.
        assert 0.5 <= np.ldexp(np.abs(values * unit).max(), -exponent) < 8.0
    assert gradients(np.zeros(3), SERIAL).size() == (0.0, 0)
    assert gradients(np.zeros(0), SERIAL).size() == (0.0, 0)


def test_the_size_is_that_of_all_workers_in_any_order():
    values = np.random.default_rng(5).standard_cauchy(500)
    others = gradients(values[200:], SERIAL).exponents
    sizes = {
        gradients(own, communicator).size()
        for own, communicator in (
            (values, SERIAL),
            (values[::-1].copy(), SERIAL),
            (values[:200], OneOfTwo(others)),
        )
    }
    assert len(sizes) == 1


def some_leaves(sizes, seed):
    """The leaves of rows, so many in each leaf, in any order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


def sums_of(values, leaf_of, n_leaves):
    terms = gradients(values, SERIAL)
    return sums_over_leaves(terms, leaf_of.astype(np.int32), n_leaves, len(values), SERIAL)


@pytest.mark.parametrize("unit", [1.0, 1e-290, 1e300 / 2**17, 1e-20])
def test_leaf_sums_are_as_good_as_fsum(unit):
    rng = np.random.default_rng(3)
    leaf_of = some_leaves([1, 2, 50, 3000, 65_536], 0)
    for values in (rng.random(len(leaf_of)) + 0.1, np.full(len(leaf_of), -1 / 3)):
        values = values * unit
        expected = [math.fsum(values[leaf_of == leaf].tolist()) for leaf in range(5)]
        np.testing.assert_allclose(sums_of(values, leaf_of, 5), expected, rtol=1e-12, atol=0)


@modest
@given(st.integers(1, 3000), st.integers(0, 2**32))
def test_leaf_sums_do_not_depend_on_the_order_of_rows(n, seed):
    rng = np.random.default_rng(seed)
    values, leaf_of = rng.normal(size=n), rng.integers(0, 3, n)
    order = rng.permutation(n)
    sums = sums_of(values, leaf_of, 3)
    assert sums_of(values[order], leaf_of[order], 3).tobytes() == sums.tobytes()
    exact = [math.fsum(values[leaf_of == leaf].tolist()) for leaf in range(3)]
    assert sums.tolist() == pytest.approx(exact, abs=1e-12 * np.abs(values).sum())


def test_leaf_sums_of_zeros_and_of_an_empty_leaf():
    in_the_second = np.ones(3)
    np.testing.assert_array_equal(sums_of(np.zeros(3), in_the_second, 2), [0.0, 0.0])
    np.testing.assert_array_equal(sums_of(np.ones(3), in_the_second, 2), [0.0, 3.0])


@modest
@given(st.integers(0, 3000), st.integers(0, 2**32))
def test_rows_apart_have_sums_of_their_own(n, seed):
    rng = np.random.default_rng(seed)
    values, leaf_of = rng.normal(size=n), rng.integers(0, 3, n).astype(np.int32)
    apart = rng.random(n) < rng.choice([0.0, 0.2, 1.0])
    place = (gradients(values, SERIAL), leaf_of, 3, n, SERIAL)
    found = sums_over_leaves(*place, apart)
    sides = [
        [math.fsum(values[(leaf_of == leaf) & (apart == side)].tolist()) for leaf in range(3)]
        for side in (False, True)
    ]
    np.testing.assert_allclose(found, sides, atol=1e-12 * (1 + np.abs(values).sum()))
    np.testing.assert_allclose(found.sum(axis=0), sums_over_leaves(*place), atol=1e-300, rtol=1e-12)


class OneOfTwo(Serial):
    """A worker that holds half of the rows; the other half is known to the test."""

    size = 2

    def __init__(self, others):
        self.others = others

    def sum(self, array):
        return array + self.others


def test_workers_agree_on_the_scale_of_all_rows():
    values = np.array([1.0, -2.0, 3.0, 0.5, 8.0, -8.0, 8.0, 8.0])
    alone = pack_least_squares(gradients(values, SERIAL), 8)
    others = gradients(values[4:], SERIAL).exponents
    mine = pack_least_squares(gradients(values[:4], OneOfTwo(others)), 8)
    assert mine.lam_scale == alone.lam_scale
    np.testing.assert_array_equal(mine.cells, alone.cells[:4])
