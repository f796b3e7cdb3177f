"""Kernels of nets: scores of documents, and the step of the weights that λs ask for.

A net is one flat array of float64, its *weights*. A linear net has ``width`` 0 and a weight for
each feature. A net with a hidden layer has `width` units, a multiple of four (units that were not
asked for have zero weights, and keep them): ``weights[f·width + h]`` leads from feature f to unit
h, where f = n_features is the unit's bias, and the last `width` weights lead to the score,

    s = Σ_h v_h tanh(b_h + Σ_f x_f W_fh).

A score has no bias: only differences of scores matter. Features are one flat array too, a
document after the other, standardised.

Products run in blocks of eight documents (or features) by four units, whose 32 sums stay in
registers. A document's sums are added in the same order whatever stands beside it, so its score has
the same bits in every batch; at the end of a batch a block goes over some documents again.
"""

import math

import numpy as np

from rankinite._float_vectors import add4, fill4, fma, fma4, load4, mul4, spread4, store4, sum4
from rankinite._numba import kernel

# Beyond this, tanh is 1 in float64.
_FAR = 22.0
# Adding this to a float64 rounds it to a whole number, which then stands in its lowest bits.
_ROUND = 1.5 * 2.0**52
# Documents that are scored together: what their hidden units give stays in the cache.
BATCH = 64


@kernel()
def tanh_all(values, count):
    """Replace the first `count` values by their tanh, right to a few units in the last place.

    In plain arithmetic: it vectorises, and does not depend on the platform's library. With
    m = e^{−2|x|} − 1 it is −m / (2 + m), with the sign of x. With n the nearest integer to
    −2|x| / ln 2, r the rest and p = e^r − 1 by Taylor's series, m is 2^n p + (2^n − 1), so that
    small values keep all their digits.

    Parameters
    ----------
    values : ndarray of float64
    """
    for k in range(np.uint64(count)):
        x = values[k]
        distance = abs(x)
        distance = _FAR if distance > _FAR else distance
        y = -2.0 * distance
        shifted = fma(y, 1.4426950408889634, _ROUND)
        n = shifted - _ROUND
        r = fma(n, -0.6931471805599453, y)
        r = fma(n, -2.3190468138462996e-17, r)
        p = fma(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)
        p = fma(p, r, 1.0 / 39916800.0)
        p = fma(p, r, 1.0 / 3628800.0)
        p = fma(p, r, 1.0 / 362880.0)
        p = fma(p, r, 1.0 / 40320.0)
        p = fma(p, r, 1.0 / 5040.0)
        p = fma(p, r, 1.0 / 720.0)
        p = fma(p, r, 1.0 / 120.0)
        p = fma(p, r, 1.0 / 24.0)
        p = fma(p, r, 1.0 / 6.0)
        p = fma(p, r, 0.5)
        p = fma(p * r, r, r)
        # 2^n, from the lowest bits of the rounded number.
        exponent = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
        power = np.int64(exponent).view(np.float64)
        m = fma(power, p, power - 1.0)
        values[k] = math.copysign(m / (2.0 + m), x)


@kernel()
def hidden_sums(x, n_features, first, n, weights, width, out):
    """Write b_h + Σ_f x_f W_fh of `n` documents from `first` on, `width` numbers a document."""
    bias = n_features * width
    for start in range(0, n, 8):
        p0 = start
        p1, p2, p3 = min(start + 1, n - 1), min(start + 2, n - 1), min(start + 3, n - 1)
        p4, p5, p6 = min(start + 4, n - 1), min(start + 5, n - 1), min(start + 6, n - 1)
        p7 = min(start + 7, n - 1)
        x0, x1 = (first + p0) * n_features, (first + p1) * n_features
        x2, x3 = (first + p2) * n_features, (first + p3) * n_features
        x4, x5 = (first + p4) * n_features, (first + p5) * n_features
        x6, x7 = (first + p6) * n_features, (first + p7) * n_features
        for h in range(0, width, 4):
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = load4(weights, bias + h)
            for f in range(n_features):
                w = load4(weights, f * width + h)
                a0 = fma4(spread4(x, x0 + f), w, a0)
                a1 = fma4(spread4(x, x1 + f), w, a1)
                a2 = fma4(spread4(x, x2 + f), w, a2)
                a3 = fma4(spread4(x, x3 + f), w, a3)
                a4 = fma4(spread4(x, x4 + f), w, a4)
                a5 = fma4(spread4(x, x5 + f), w, a5)
                a6 = fma4(spread4(x, x6 + f), w, a6)
                a7 = fma4(spread4(x, x7 + f), w, a7)
            store4(out, p0 * width + h, a0)
            store4(out, p1 * width + h, a1)
            store4(out, p2 * width + h, a2)
            store4(out, p3 * width + h, a3)
            store4(out, p4 * width + h, a4)
            store4(out, p5 * width + h, a5)
            store4(out, p6 * width + h, a6)
            store4(out, p7 * width + h, a7)


@kernel()
def _add_hidden_gradient(x, n_features, first, n, deltas, width, factor, out):
    """Add `factor` · Σ_d x_df δ_dh over `n` documents to the weights from feature f to unit h."""
    rate = fill4(factor)
    for start in range(0, n_features, 8):
        # Past the last feature the last one is done again: all are read before one is written.
        f0 = start
        f1, f2 = min(start + 1, n_features - 1), min(start + 2, n_features - 1)
        f3, f4 = min(start + 3, n_features - 1), min(start + 4, n_features - 1)
        f5, f6 = min(start + 5, n_features - 1), min(start + 6, n_features - 1)
        f7 = min(start + 7, n_features - 1)
        for h in range(0, width, 4):
            a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = fill4(0.0)
            for d in range(n):
                delta = load4(deltas, d * width + h)
                at = (first + d) * n_features
                a0 = fma4(spread4(x, at + f0), delta, a0)
                a1 = fma4(spread4(x, at + f1), delta, a1)
                a2 = fma4(spread4(x, at + f2), delta, a2)
                a3 = fma4(spread4(x, at + f3), delta, a3)
                a4 = fma4(spread4(x, at + f4), delta, a4)
                a5 = fma4(spread4(x, at + f5), delta, a5)
                a6 = fma4(spread4(x, at + f6), delta, a6)
                a7 = fma4(spread4(x, at + f7), delta, a7)
            a0 = fma4(rate, a0, load4(out, f0 * width + h))
            a1 = fma4(rate, a1, load4(out, f1 * width + h))
            a2 = fma4(rate, a2, load4(out, f2 * width + h))
            a3 = fma4(rate, a3, load4(out, f3 * width + h))
            a4 = fma4(rate, a4, load4(out, f4 * width + h))
            a5 = fma4(rate, a5, load4(out, f5 * width + h))
            a6 = fma4(rate, a6, load4(out, f6 * width + h))
            a7 = fma4(rate, a7, load4(out, f7 * width + h))
            store4(out, f0 * width + h, a0)
            store4(out, f1 * width + h, a1)
            store4(out, f2 * width + h, a2)
            store4(out, f3 * width + h, a3)
            store4(out, f4 * width + h, a4)
            store4(out, f5 * width + h, a5)
            store4(out, f6 * width + h, a6)
            store4(out, f7 * width + h, a7)


@kernel()
def _linear_scores(x, n_features, first, n, weights, scores):
    """Write Σ_f x_f w_f of `n` documents from `first` on, four features at a time."""
    whole = n_features // 4 * 4
    for d in range(n):
        at = (first + d) * n_features
        total = fill4(0.0)
        for f in range(0, whole, 4):
            total = fma4(load4(x, at + f), load4(weights, f), total)
        score = sum4(total)
        for f in range(whole, n_features):
            score = fma(x[np.uint64(at + f)], weights[np.uint64(f)], score)
        scores[d] = score


@kernel()
def _add_linear_gradient(x, n_features, first, n, lam, factor, out):
    """Add `factor` · Σ_d λ_d x_df over `n` documents to the weight of each feature f."""
    whole = n_features // 4 * 4
    for f in range(0, whole, 4):
        total = fill4(0.0)
        for d in range(n):
            total = fma4(spread4(lam, d), load4(x, (first + d) * n_features + f), total)
        store4(out, f, fma4(fill4(factor), total, load4(out, f)))
    for f in range(whole, n_features):
        rest = 0.0
        for d in range(n):
            rest = fma(lam[d], x[np.uint64((first + d) * n_features + f)], rest)
        out[f] = fma(factor, rest, out[f])


@kernel()
def score_documents(x, n_features, first, n, weights, width, hidden, scores):
    """Write the scores of `n` documents from `first` on.

    Parameters
    ----------
    x : ndarray of float64
        Standardised features.
    weights : ndarray of float64
    width : int
        Number of hidden units, a multiple of four; 0 for a linear net.
    hidden : ndarray of float64, shape (≥ n · width,)
        Output: what the hidden units give.
    scores : ndarray of float64, shape (≥ n,)
        Output.
    """
    if width == 0:
        _linear_scores(x, n_features, first, n, weights, scores)
        return
    hidden_sums(x, n_features, first, n, weights, width, hidden)
    tanh_all(hidden, n * width)
    top = (n_features + 1) * width
    for d in range(n):
        total = fill4(0.0)
        for h in range(0, width, 4):
            total = fma4(load4(hidden, d * width + h), load4(weights, top + h), total)
        scores[d] = sum4(total)


@kernel()
def add_gradient(x, n_features, first, n, lam, weights, width, factor, hidden, deltas, out):
    """Add `factor` · Σ_d λ_d ∂s_d/∂weights over `n` documents from `first` on to `out`.

    With `out` the weights themselves and `factor` the learning rate this is a step uphill.

    Parameters
    ----------
    lam : ndarray of float64, shape (≥ n,)
    hidden : ndarray of float64, shape (≥ n · width,)
        As `score_documents` left it at these weights.
    deltas : ndarray of float64, shape (≥ n · width,)
        For use inside.
    out : ndarray of float64
        As long as `weights`.
    """
    if width == 0:
        _add_linear_gradient(x, n_features, first, n, lam, factor, out)
        return
    bias, top = n_features * width, (n_features + 1) * width
    rate, minus = fill4(factor), fill4(-1.0)
    for h in range(0, width, 4):
        v = load4(weights, top + h)
        to_bias, to_top = fill4(0.0), fill4(0.0)
        for d in range(n):
            t = load4(hidden, d * width + h)
            force = spread4(lam, d)
            # λ v (1 − t²)
            slope = fma4(mul4(minus, t), t, fill4(1.0))
            delta = mul4(mul4(force, v), slope)
            store4(deltas, d * width + h, delta)
            to_bias = add4(to_bias, delta)
            to_top = fma4(force, t, to_top)
        store4(out, bias + h, fma4(rate, to_bias, load4(out, bias + h)))
        store4(out, top + h, fma4(rate, to_top, load4(out, top + h)))
    _add_hidden_gradient(x, n_features, first, n, deltas, width, factor, out)


@kernel()
def score_batch(first, last, x, n_features, weights, width, scores):
    """Write the scores of the documents from `first` to `last`, some at a time."""
    hidden = np.empty(min(BATCH, last - first) * width)
    while first < last:
        n = min(BATCH, last - first)
        score_documents(x, n_features, first, n, weights, width, hidden, scores[first:])
        first += n


@kernel()
def add_start(start, scores):
    """Add a base model's scores; returns whether all are numbers, and not infinite."""
    total = 0.0
    for d in range(scores.shape[0]):
        scores[d] += start[d]
        total += abs(scores[d])
    return total < math.inf
