"""The vectors inside kernels against numpy, lane by lane."""

import numpy as np

from rankinite._numba import kernel
from rankinite.lambdas import _vector_kernels as vectors
from rankinite.lambdas._vector_kernels import LANES


@kernel()
def _of_floats(a, b, out, near):
    x, y = vectors.load(a, 0), vectors.load(b, 0)
    vectors.store(out, 0, vectors.larger(x, y))
    vectors.store(out, LANES, vectors.smaller(x, y))
    vectors.store(out, 2 * LANES, vectors.over(vectors.size(x), vectors.spread(b, 3)))
    vectors.store(out, 3 * LANES, vectors.times(vectors.plus(x, y), vectors.minus(x, y)))
    vectors.store(near, 0, vectors.nearest(x))
    vectors.store(near, LANES, vectors.bits(x))


@kernel()
def _of_integers(a, sums, out):
    x = vectors.load(a, 0)
    vectors.add_to(sums, 1, x)
    vectors.store(out, 0, vectors.as_floats(vectors.size(x)))
    return vectors.total(x), vectors.largest(x)


def test_floats_equal_numpy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(scale=3.0, size=(2, LANES)).astype(np.float32)
    a[:4] = 0.5, 1.5, -2.5, np.float32(2**24)
    out, near = np.empty(4 * LANES, np.float32), np.empty(2 * LANES, np.int32)
    _of_floats(a, b, out, near)
    expected = [np.maximum(a, b), np.minimum(a, b), np.abs(a) / b[3], (a + b) * (a - b)]
    np.testing.assert_array_equal(out, np.concatenate(expected))
    np.testing.assert_array_equal(near, np.concatenate([np.rint(a), a.view(np.int32)]))


def test_integers_equal_numpy_and_their_total_does_not_overflow():
    a = np.random.default_rng(1).integers(2**30, 2**31, LANES).astype(np.int32)
    a[5] = -7
    sums, out = np.ones(LANES + 2), np.empty(LANES, np.float32)
    assert _of_integers(a, sums, out) == (a.astype(np.int64).sum(), a.max())
    np.testing.assert_array_equal(sums, np.concatenate([[1.0], 1.0 + a, [1.0]]))
    np.testing.assert_array_equal(out, np.abs(a).astype(np.float32))
