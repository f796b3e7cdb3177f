"""Sums that are rounded once, whoever has the terms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.distributed import Serial
from rankinite.distributed._exact_sum_kernels import LIMB_BITS, N_LIMBS, add_exactly
from rankinite.distributed.exact_sums import rounded_once
from tests.workers import deals, found_by_workers

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.lists(NUMBERS, max_size=30))
def test_equals_the_sum_of_fractions(numbers):
    values = np.array(numbers, np.float64)
    found = rounded_once(values, Serial())
    exact = sum(map(Fraction, numbers), Fraction(0))
    assert found == float(exact) == math.fsum(numbers)


def test_the_limbs_hold_every_float():
    largest, smallest = np.finfo(np.float64).max, np.nextafter(0.0, 1.0)
    values = np.array([largest, -largest, smallest, 2.0**-1022, 0.0, -0.0, -1.5, largest / 2])
    limbs = np.zeros(N_LIMBS, np.int64)
    add_exactly(values.view(np.uint64), limbs)
    whole = sum(int(limb) << (LIMB_BITS * k) for k, limb in enumerate(limbs))
    assert Fraction(whole, 2**1074) == sum(map(Fraction, values.tolist()))


def test_any_number_of_workers_has_the_same_bits():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-30, 30, 1000)
    expected = math.fsum(values)
    for dealt in deals(len(values)):
        found = found_by_workers(dealt, lambda c, rows: rounded_once(values[rows], c))
        assert found == [expected] * len(dealt)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([1.0, np.inf], np.inf),
        ([1.0, -np.inf], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan, 1.0], np.nan),
    ],
)
def test_terms_that_are_no_finite_numbers(values, expected):
    np.testing.assert_equal(rounded_once(np.array(values), Serial()), expected)
