"""Vectors of four float64 inside kernels."""

import numpy as np
import pytest

from rankinite._float_vectors import (
    add4,
    div4,
    fill4,
    fma,
    fma4,
    lane4,
    load4,
    mul4,
    reaches4,
    spread4,
    store4,
    sum4,
)
from rankinite._numba import kernel


@kernel()
def all_of_them(a, b, out):
    x, y = load4(a, 1), load4(b, 0)
    store4(out, 0, add4(x, y))
    store4(out, 4, mul4(x, y))
    store4(out, 8, div4(x, y))
    store4(out, 12, fma4(x, y, fill4(0.5)))
    store4(out, 16, spread4(a, 2))
    out[20] = sum4(x)
    for lane in range(4):
        out[21 + lane] = lane4(x, lane)
    out[25] = fma(a[0], b[0], -a[0] * b[0])


def test_by_numpy():
    rng = np.random.default_rng(0)
    a, b, out = rng.normal(size=5), rng.normal(size=4), np.zeros(26)
    all_of_them(a, b, out)
    x = a[1:]
    np.testing.assert_array_equal(out[:4], x + b)
    np.testing.assert_array_equal(out[4:8], x * b)
    np.testing.assert_array_equal(out[8:12], x / b)
    np.testing.assert_allclose(out[12:16], x * b + 0.5, rtol=1e-15)
    assert (out[16:20] == a[2]).all()
    assert out[20] == (x[0] + x[2]) + (x[1] + x[3])
    np.testing.assert_array_equal(out[21:25], x)
    # The product is not rounded before the addition: what is left is its rounding error.
    assert 0 < abs(out[25]) < 1e-16


@pytest.mark.parametrize("value", [0.0, -1e300, np.inf])
def test_odd_numbers(value):
    out = np.zeros(26)
    all_of_them(np.full(5, value), np.ones(4), out)
    assert (out[:4] == value + 1).all() and (out[16:20] == value).all()


@kernel()
def reached(a, bound):
    return reaches4(load4(a, 0), bound)


def test_whether_any_lane_reaches_a_bound():
    for lane in range(4):
        a = np.full(4, -1.0)
        a[lane] = 0.5
        assert reached(a, 0.5) and reached(a, 0.25) and not reached(a, 0.75)
    assert not reached(np.full(4, np.nan), 0.0)
