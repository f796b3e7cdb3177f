"""Scores far apart, far from zero, and too many of them: finite, and equal to the twin."""

import resource

import numpy as np
import pytest

from rankinite.lambdas import _pair_kernels as kernels
from tests.lambdas.cases import assert_close, lambdas_of, random_keys, twin_lambdas
from tests.measures.cases import TWINS

LABELS = np.array([0.0, 4.0, 1.0, 3.0, 0.0, 2.0])
WIDE = {
    "a million": [1e6, -1e6, 3.0, 2.0, -1e6, 2.5],
    "1e300": [1e300, -1e300, 0.0, 1.0, 1e300, 2.0],
    "nearly the largest": [1.7e308, -1.7e308, 0.0, 1e308, -1e308, 1.0],
    "a tail far below": [0.0, -500.0, -500.5, -599.0, -598.5, -598.8],
    "a tail within reach": [0.0, -50.0, -50.5, -62.0, -62.5, -63.8],
    "subnormal": [1e-310, 2e-310, 3e-310, 4e-310, 5e-310, 6e-310],
}


@pytest.mark.parametrize("scores", WIDE.values(), ids=list(WIDE))
@pytest.mark.parametrize("spec", ["ndcg", "err", "pairs"])
@pytest.mark.parametrize("normalize", [False, True])
def test_wide_scores_equal_the_twin(scores, spec, normalize):
    found = lambdas_of(spec, LABELS, scores, normalize=normalize)
    with np.errstate(over="ignore"):
        expected = twin_lambdas(TWINS[spec], [LABELS], [np.array(scores)], normalize=normalize)
    assert_close(found, expected)


@pytest.mark.parametrize("spec", ["ndcg", "pairs"])
@pytest.mark.parametrize("normalize", [False, True])
def test_both_ways_agree_at_the_border_of_the_safe_range(spec, normalize):
    """Just inside, ρ is a quotient of exponentials; just outside there is one for each pair."""
    inner = np.array([0.0, -20.0, -62.0, -63.5, -30.0])
    results = []
    for width in (np.nextafter(kernels.SAFE_RANGE, 0), kernels.SAFE_RANGE):
        scores = np.append(inner, -width)
        results.append(lambdas_of(spec, LABELS, scores, normalize=normalize))
    assert_close(*results)


def test_curvature_of_a_pair_far_below_the_best_document():
    """Its exponentials are tiny, but ρ = 1/2 and so w = |ΔZ|/4."""
    for depth in (10.0, 63.0, 64.0, 360.0, 700.0):
        _, w = lambdas_of("pairs", [1, 1, 0], [0.0, -depth, -depth])
        assert w[1] == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e3, 2.0**40, 2.0**60, -(2.0**60)])
def test_a_common_shift_of_the_scores_changes_nothing(shift):
    """With `normalize` too, where 0.01 is added to a small difference of large numbers."""
    scores = np.array([0.0, 1024.0, 0.0, 2048.0, 0.0, 0.0])
    for normalize in (False, True):
        for sigma in (1.0, 2.0**-8):
            found = lambdas_of("ndcg", LABELS, shift + scores, sigma=sigma, normalize=normalize)
            base = lambdas_of("ndcg", LABELS, scores, sigma=sigma, normalize=normalize)
            np.testing.assert_array_equal(found, base)


def test_normalising_a_query_whose_lambdas_are_tiny():
    """log2(1 + S)/S tends to 1/ln 2 for S → 0, where 1 + S keeps few digits of S."""
    for gap in (5.0, 15.0, 20.0):
        lam, w = lambdas_of("pairs", [1, 0], [gap, 0.0], normalize=True)
        rho = 1 / (1 + np.exp(gap))
        total = rho / (0.01 + gap)
        np.testing.assert_allclose(lam, np.array([1, -1]) * np.log1p(total) / np.log(2), rtol=1e-6)
        np.testing.assert_allclose(w, (1 - rho) * np.log1p(total) / np.log(2), rtol=1e-6)


@pytest.mark.parametrize("top", [5, 10, 20, 30, 50])
@pytest.mark.parametrize("normalize", [False, True])
def test_err_on_long_scales_of_labels(top, normalize):
    """The best label stops all but 2^-top of the users; what they find below it still counts."""
    scores = np.array([0.3, 0.1, 0.0, -0.2, 0.5])
    for labels in ([0, top, 1, 0, 2], [top - 1, top, 1, 0, top], [0, 0, 1, top, top - 2]):
        labels = np.array(labels, np.float64)
        found = lambdas_of("err", labels, scores, normalize=normalize)
        expected = twin_lambdas(TWINS["err"], [labels], [scores], normalize=normalize)
        assert_close(found, expected)


def test_a_hundred_thousand_documents_need_no_square():
    n, top = 100_000, 10
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, n).astype(np.float64)
    scores = rng.normal(size=n)
    lambdas_of("ndcg@10", labels[:100], scores[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lam, w = lambdas_of("ndcg@10", labels, scores, keys=random_keys(n))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kilobytes < 100 * 1024

    order = np.argsort(-scores)
    gain, s = 2.0 ** labels[order] - 1, scores[order]
    discount = np.where(np.arange(n) < top, 1 / np.log2(np.arange(n) + 2), 0.0)
    ideal = np.sort(gain)[::-1] @ discount
    expected = np.zeros((2, n))
    largest = 0.0
    for i in range(top):
        delta = np.abs(gain[i] - gain) * np.abs(discount[i] - discount) / ideal
        delta[: i + 1] = 0.0
        wins = gain[i] > gain
        rho = 1 / (1 + np.exp(np.where(wins, s[i] - s, s - s[i])))
        force = np.where(wins, 1.0, -1.0) * delta * rho
        largest = max(largest, np.abs(force).max())
        expected += [-force, delta * rho * (1 - rho)]
        expected[:, i] += [force.sum(), (delta * rho * (1 - rho)).sum()]
    # A document below the top has ten pairs, each rounded to 2^-20 of the largest.
    np.testing.assert_allclose(lam[order], expected[0], rtol=1e-6, atol=1e-5 * largest)
    np.testing.assert_allclose(w[order], expected[1], rtol=1e-6, atol=1e-5 * largest)


def test_the_exponential():
    """As a float32, to one unit in its last place, over the whole range it is used in."""
    x = np.append(np.linspace(-kernels.SAFE_RANGE, 0.0, 20_001), -np.logspace(-300, 1, 500))
    found = np.array([kernels.exponential(each) for each in x])
    np.testing.assert_array_equal(found, found.astype(np.float32))
    np.testing.assert_allclose(found, np.exp(x), rtol=1.2e-7)
    assert kernels.exponential(0.0) == 1.0


@pytest.mark.parametrize("spec", ["ndcg", "ndcg@2", "dcg", "avendcg:depth=2"])
def test_labels_as_large_as_they_may_be(spec):
    """Gains of 2^1000 are beyond float32; the λs are what they are for the gains over 2^996."""
    scores = np.array([0.3, 0.1, 0.0, -0.2, 0.5])
    large = lambdas_of(spec, np.array([999, 1000, 0, 0, 0]), scores)
    by_label = spec + (",gain=label" if ":" in spec else ":gain=label")
    small = lambdas_of(by_label, [1, 2, 0, 0, 0], scores)
    factor = 2.0**999 if spec == "dcg" else 1.0
    assert_close(np.array(large) / factor, small)
