"""Gradients as integers: exact where they can be, never overflowing, on any scale of values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.distributed import Serial
from rankinite.trees import pack_gradients, sums_over_leaves
from rankinite.trees.fixed_point import EXACT_BITS, count_bits_for
from trees.cases import SERIAL, integers_of

modest = settings(deadline=None, max_examples=80, derandomize=True)


def packed_of(values, with_counts=True):
    values = np.asarray(values, np.float64)
    return pack_gradients(values, len(values), with_counts, SERIAL)


def is_power_of_two(scale):
    return math.frexp(scale)[0] == 0.5


@pytest.mark.parametrize("with_counts", [True, False])
def test_integers_survive_exactly(with_counts):
    values = np.random.default_rng(0).integers(-10_000, 10_001, 3000).astype(np.float64)
    packed = packed_of(values, with_counts)
    np.testing.assert_array_equal(integers_of(packed) / packed.scale, values)
    assert packed.count_bits == (12 if with_counts else 0)


def test_a_sum_of_cells_is_a_sum_and_a_count():
    values = np.array([-3.0, 5.0, -7.0, 0.0, 4.5])
    packed = packed_of(values)
    cell = int(packed.cells.sum())
    assert (cell >> packed.count_bits) / packed.scale == values.sum()
    assert cell & (2**packed.count_bits - 1) == 5


def test_count_bits():
    assert [count_bits_for(n) for n in (1, 2, 3, 4, 255, 256)] == [1, 2, 2, 3, 8, 9]


@pytest.mark.parametrize("k", [1, 9, 10, 16])
@pytest.mark.parametrize("more", [-1, 0])
@pytest.mark.parametrize("value", [1.0, -1.0, np.nextafter(1, 0), -1 / 3, 1e-300, -1e300])
def test_nothing_overflows_when_all_rows_are_the_largest(k, more, value):
    """2^k − 1 rows fill the count field; 2^k rows need one bit more."""
    n = 2**k + more
    for with_counts in (True, False):
        packed = packed_of(np.full(n, value), with_counts)
        q = int(integers_of(packed)[0])
        exact = sum(packed.cells.tolist())
        assert -(2**63) <= exact < 2**63
        assert exact >> packed.count_bits == n * q
        if with_counts:
            assert exact & (2**packed.count_bits - 1) == n
        assert abs(n * q) <= 2**EXACT_BITS
        assert q / packed.scale == pytest.approx(value, rel=2.0**-24)


@modest
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_any_finite_values(values):
    for with_counts in (True, False):
        packed = packed_of(values, with_counts)
        q = [int(x) for x in integers_of(packed)]
        assert is_power_of_two(packed.scale)
        assert sum(map(abs, q)) <= 2**EXACT_BITS
        for integer, value in zip(q, values, strict=True):
            assert abs(integer - value * packed.scale) <= 0.5


@modest
@given(st.integers(-960, 1000), st.integers(1, 400), st.integers(0, 2**32))
def test_precision_does_not_depend_on_the_unit(exponent, n, seed):
    """Of 53 bits, those of the count of rows and three to round up are not a value's own."""
    values = np.ldexp(1 + np.random.default_rng(seed).random(n), exponent)
    assert np.abs(integers_of(packed_of(values))).max() >= 2 ** (53 - 3 - n.bit_length())


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_zero_gradients(value):
    packed = packed_of(np.full(7, value))
    assert packed.scale == 1.0
    np.testing.assert_array_equal(packed.cells, 1)


def test_values_below_what_a_scale_can_lift_become_zero():
    packed = packed_of([5e-324, -5e-324])
    np.testing.assert_array_equal(integers_of(packed), 0)


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
        sums = sums_over_leaves(values, rows, starts, stops, len(rows), SERIAL)
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
        sums_over_leaves(values, own.astype(np.uint32), starts, stops, n, SERIAL).tobytes()
        for own in (rows, np.sort(rows))
    ]
    assert sums[0] == sums[1]
    exact = math.fsum(values.tolist())
    assert np.frombuffer(sums[0])[0] == pytest.approx(exact, abs=1e-12 * np.abs(values).sum())


def test_leaf_sums_of_zeros_and_of_an_empty_leaf():
    rows, starts, stops = leaves_of(np.array([0, 3]), 0)
    sums = sums_over_leaves(np.zeros(3), rows, starts, stops, 3, SERIAL)
    np.testing.assert_array_equal(sums, [0.0, 0.0])
    sums = sums_over_leaves(np.ones(3), rows, starts, stops, 3, SERIAL)
    np.testing.assert_array_equal(sums, [0.0, 3.0])


class OneOfTwo(Serial):
    """A worker that holds half of the rows; the other half is known to the test."""

    size = 2

    def __init__(self, other_sum, other_max):
        self.other_sum, self.other_max = other_sum, other_max

    def sum(self, array):
        array += self.other_sum.pop(0)
        return array

    def max(self, array):
        return np.maximum(array, self.other_max)


def test_workers_agree_on_the_scale_of_all_rows():
    """The sum of magnitudes on the first scale: of the other worker it is 4 values of 8."""
    values = np.array([1.0, -2.0, 3.0, 0.5, 8.0, -8.0, 8.0, 8.0])
    alone = pack_gradients(values, 8, True, SERIAL)
    # 8 < 2^4 and 8 rows have 4 bits, so the first scale is 2^(62 − 4 − 4).
    others = [4 * (8 * 2**54 + 1)]
    mine = pack_gradients(values[:4], 8, True, OneOfTwo(others, 8.0))
    assert (mine.scale, mine.count_bits) == (alone.scale, alone.count_bits)
    np.testing.assert_array_equal(mine.cells, alone.cells[:4])
