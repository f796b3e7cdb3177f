"""Gradients as integers: exact where they can be, never overflowing, on any scale of values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.distributed import Serial
from rankinite.errors import DataError
from rankinite.trees import gradients, pack_least_squares, sums_over_leaves
from rankinite.trees.fixed_point import EXACT_BITS, ROWS_AT_MOST, count_bits_for
from tests.trees.cases import SERIAL, fields_of, packed_of

modest = settings(deadline=None, max_examples=80, derandomize=True)


def is_power_of_two(scale):
    return math.frexp(scale)[0] == 0.5


def test_integers_survive_least_squares_exactly():
    values = np.random.default_rng(0).integers(-10_000, 10_001, 3000).astype(np.float64)
    packed = packed_of(values)
    np.testing.assert_array_equal(np.array(fields_of(packed)[0]) / packed.lam_scale, values)
    assert (packed.count_bits, packed.cell_count_bits) == (12, 12)


def test_a_sum_of_cells_is_the_sum_of_each_field():
    lam, w = np.array([-3.0, 5.0, -7.0, 0.0, 4.5]), np.array([0.5, 0.0, 2.0, 0.25, 1.0])
    for packed in (packed_of(lam), packed_of(lam, w)):
        (q,), (v,), (count,) = fields_of(packed, [packed.cells.sum()])
        assert q / packed.lam_scale == lam.sum()
        assert count == 5
        if packed.n_channels > 1:
            assert v / packed.w_scale == w.sum()


def test_count_bits():
    assert [count_bits_for(n) for n in (1, 2, 3, 4, 255, 256)] == [1, 2, 2, 3, 8, 9]


@pytest.mark.parametrize("k", [1, 9, 10, 12, 16])
@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize("value", [1.0, -1.0, np.nextafter(1, 0), -1 / 3, 1e-300, -1e300])
def test_nothing_overflows_when_all_rows_are_the_largest(k, more, value):
    """2^k − 1 rows fill the count field; 2^k rows need one bit more."""
    n = 2**k + more
    lam, w = np.full(n, value), np.full(n, abs(value))
    for packed in (packed_of(lam), packed_of(lam, w)):
        (q, *_), (v, *_), _ = fields_of(packed)
        together = n if packed.n_channels == 1 else min(n, ROWS_AT_MOST)
        exact = sum(packed.cells[:together].tolist())
        assert -(2**63) <= exact < 2**63
        (sum_q,), (sum_v,), (count,) = fields_of(packed, [exact])
        assert (sum_q, sum_v, count) == (together * q, together * v, together)
        # What a histogram holds of all rows.
        assert abs(n * q) <= 2**EXACT_BITS
        assert n * v <= 2**EXACT_BITS
        assert -(2**63) <= (n * q << packed.count_bits) + n < 2**63
        assert q / packed.lam_scale == pytest.approx(value, rel=2.0**-11)
        if packed.n_channels > 1:
            assert v / packed.w_scale == pytest.approx(abs(value), rel=2.0**-11)


@modest
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40),
    st.booleans(),
)
def test_any_finite_values(values, newton):
    w = np.abs(values[::-1]) if newton else None
    packed = packed_of(values, w)
    q, v, ones = fields_of(packed)
    assert is_power_of_two(packed.lam_scale)
    assert is_power_of_two(packed.w_scale)
    assert sum(map(abs, q)) <= 2**EXACT_BITS
    assert fields_of(packed, [sum(packed.cells.tolist())]) == ([sum(q)], [sum(v)], [len(q)])
    assert set(ones) == {1}
    for integer, value in zip(q, values, strict=True):
        assert abs(integer - value * packed.lam_scale) <= 0.5
    if newton:
        for integer, value in zip(v, w, strict=True):
            assert abs(integer - value * packed.w_scale) <= 0.5


@modest
@given(st.integers(-960, 1000), st.integers(1, 400), st.integers(0, 2**32))
def test_precision_does_not_depend_on_the_unit(exponent, n, seed):
    """Of 53 bits, those of the count of rows and three to round up are not a value's own."""
    values = np.ldexp(1 + np.random.default_rng(seed).random(n), exponent)
    assert max(fields_of(packed_of(values))[0]) >= 2 ** (53 - 3 - n.bit_length())


def test_few_large_values_leave_the_bits_to_the_many_small_ones():
    """A field holds the sum of the largest that can come together, not so many times the max."""
    n = 100_000
    lam = np.full(n, 1e-3)
    lam[::10_000] = 1.0
    packed = packed_of(lam, np.ones(n))
    # Ten times 2 and 4,086 times 1/512 (powers of two above the values) are below 2^5, and that
    # may grow to 2^24. With 4,096 times 2 the small values would be 2.
    assert fields_of(packed)[0][1] == round(1e-3 * 2**19)


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_zero_gradients(value):
    packed = packed_of(np.full(7, value))
    assert packed.lam_scale == 1.0
    np.testing.assert_array_equal(packed.cells, 1)


def test_values_below_what_a_scale_can_lift_become_zero():
    for values in ([5e-324, -5e-324], [2.2e-308, 1e-310, -5e-324]):
        q = fields_of(packed_of(values))[0]
        assert q[-1] == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_no_numbers_are_refused(value):
    with pytest.raises(DataError, match="2 gradients are infinite or not numbers: look at"):
        gradients(np.array([1.0, value, value]), SERIAL)


def leaves_of(sizes, seed):
    stops = np.cumsum(sizes).astype(np.int64)
    rows = np.random.default_rng(seed).permutation(stops[-1]).astype(np.uint32)
    return rows, stops - sizes, stops


@pytest.mark.parametrize("unit", [1.0, 1e-290, 1e300 / 2**17, 1e-20])
def test_leaf_sums_are_as_good_as_fsum(unit):
    rng = np.random.default_rng(3)
    rows, starts, stops = leaves_of(np.array([1, 2, 50, 3000, 65_536]), 0)
    for values in (rng.random(len(rows)) + 0.1, np.full(len(rows), -1 / 3)):
        values = values * unit
        sums = sums_over_leaves(gradients(values, SERIAL), rows, starts, stops, len(rows), SERIAL)
        expected = [
            math.fsum(values[rows[a:b]].tolist()) for a, b in zip(starts, stops, strict=True)
        ]
        np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=0)


@modest
@given(st.integers(1, 3000), st.integers(0, 2**32))
def test_leaf_sums_do_not_depend_on_the_order_of_rows(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n)
    rows, starts, stops = leaves_of(np.array([n]), seed)
    sums = [
        sums_over_leaves(
            gradients(values, SERIAL), own.astype(np.uint32), starts, stops, n, SERIAL
        ).tobytes()
        for own in (rows, np.sort(rows))
    ]
    assert sums[0] == sums[1]
    exact = math.fsum(values.tolist())
    assert np.frombuffer(sums[0])[0] == pytest.approx(exact, abs=1e-12 * np.abs(values).sum())


def test_leaf_sums_of_zeros_and_of_an_empty_leaf():
    rows, starts, stops = leaves_of(np.array([0, 3]), 0)
    sums = sums_over_leaves(gradients(np.zeros(3), SERIAL), rows, starts, stops, 3, SERIAL)
    np.testing.assert_array_equal(sums, [0.0, 0.0])
    sums = sums_over_leaves(gradients(np.ones(3), SERIAL), rows, starts, stops, 3, SERIAL)
    np.testing.assert_array_equal(sums, [0.0, 3.0])


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
    assert (mine.lam_scale, mine.count_bits) == (alone.lam_scale, alone.count_bits)
    np.testing.assert_array_equal(mine.cells, alone.cells[:4])
