"""λ is the negative gradient of the loss and w its second derivative, at any scores."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.objectives import (
    LeastSquares,
    Logistic,
    balancing_weights,
    binary_targets,
    document_weights,
    exact_sum,
    graded_targets,
    probability,
)
from rankinite.distributed import Serial
from tests.boosting.small import train_and_valid, with_labels

RNG = np.random.default_rng(0)
N = 40
STEP = 1e-4


def cross_entropy(scores, targets, weight, sigma):
    """Σ weight · (−R log P − (1 − R) log(1 − P)), P = 1 / (1 + e^{−2σF})."""
    total = 0.0
    for s, r, w in zip(scores, targets, weight, strict=True):
        p = 1 / (1 + np.exp(-2 * sigma * s))
        total += w * (-r * np.log(p) - (1 - r) * np.log(1 - p))
    return total


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("graded", [False, True])
def test_logistic_gradients_are_finite_differences(sigma, graded):
    scores = RNG.normal(size=N)
    targets = RNG.random(N) if graded else RNG.integers(0, 2, N).astype(float)
    weight = RNG.uniform(0.5, 2, N)
    lam, w = Logistic(targets, weight, sigma, Serial()).gradients(scores[np.newaxis], 0)[0]
    for i in range(N):
        loss = []
        for step in (-STEP, 0.0, STEP):
            moved = scores.copy()
            moved[i] += step
            loss.append(cross_entropy(moved, targets, weight, sigma))
        assert lam[i] == pytest.approx(-(loss[2] - loss[0]) / (2 * STEP), abs=1e-5)
        assert w[i] == pytest.approx((loss[2] - 2 * loss[1] + loss[0]) / STEP**2, abs=1e-3)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_logistic_gradients_are_those_of_the_paper(sigma):
    scores = RNG.normal(size=N)
    y = RNG.choice([-1.0, 1.0], N)
    lam, w = Logistic(binary_targets(y, Serial()), np.ones(N), sigma, Serial()).gradients(
        scores[np.newaxis], 0
    )[0]
    # Burges 2010, section 6: ȳ = 2yσ / (1 + e^{2yσF}), and w = |ȳ|(2σ − |ȳ|).
    pull = 2 * y * sigma / (1 + np.exp(2 * y * sigma * scores))
    assert np.allclose(lam, pull, rtol=1e-12)
    assert np.allclose(w, np.abs(pull) * (2 * sigma - np.abs(pull)), rtol=1e-9)


def test_the_start_of_the_logistic_loss_has_no_gradient():
    targets, weight = RNG.random(N), RNG.uniform(0.5, 2, N)
    objective = Logistic(targets, weight, 2.0, Serial())
    start = objective.start()[0]
    mean = (weight * targets).sum() / weight.sum()
    assert start == pytest.approx(np.log(mean / (1 - mean)) / 4)
    lam, _ = objective.gradients(np.full((1, N), start), 0)[0]
    assert lam.sum() == pytest.approx(0, abs=1e-12)
    for constant in (0.0, 1.0):
        start = Logistic(np.full(N, constant), weight, 1.0, Serial()).start()[0]
        assert np.isfinite(start) and np.sign(start) == 2 * constant - 1


def test_probability_of_any_score():
    scores = np.array([-1e300, -800.0, -1.0, 0.0, 1.0, 800.0, 1e300])
    p = probability(scores, 1.0)
    assert p.tolist() == [0, 0, 1 / (1 + np.exp(2)), 0.5, 1 / (1 + np.exp(-2)), 1, 1]
    assert np.allclose(p + probability(-scores, 1.0), 1)


def test_balanced_weights():
    targets = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    weight = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    balanced = balancing_weights(targets, weight, Serial())
    # I₊/n₊ + I₋/n₋, times half the number of rows.
    assert np.allclose(balanced, weight * np.where(targets == 1, 1 / 2, 1 / 5) * 7 / 2)
    assert balanced[targets == 1].sum() == pytest.approx(balanced[targets == 0].sum())
    for one_class in (np.ones(6), np.zeros(6)):
        with pytest.raises(rk.DataError, match="the balanced loss needs rows of both classes"):
            balancing_weights(one_class, weight, Serial())


def test_graded_targets():
    labels = np.array([0.0, 1, 2, 3, 4, 0])
    assert graded_targets(labels, Serial()).tolist() == [0, 1 / 16, 3 / 16, 7 / 16, 15 / 16, 0]
    assert graded_targets(labels[:3], Serial()).tolist() == [(2**i - 1) / 2**2 for i in range(3)]
    assert graded_targets(np.zeros(3), Serial()).tolist() == [0, 0, 0]
    for label in (-1, 0.5, 51):
        with pytest.raises(
            rk.DataError, match=f"row 6 .* the label {label}, .*whole labels from 0 to 50:"
        ):
            graded_targets(np.append(labels, label), Serial())


def test_binary_targets():
    assert binary_targets(np.array([-1.0, 1, 1, -1]), Serial()).tolist() == [0, 1, 1, 0]
    assert binary_targets(np.array([0.0, 1, 1, 0]), Serial()).tolist() == [0, 1, 1, 0]
    assert binary_targets(np.array([1.0, 1]), Serial()).tolist() == [1, 1]
    for labels in ([0.0, 1, 2], [-1.0, 0, 1], [0.5, 1]):
        with pytest.raises(rk.DataError, match=r'needs labels -1 and 1 .*use loss="graded"'):
            binary_targets(np.array(labels), Serial())


def test_least_squares():
    train, _ = train_and_valid()
    data = rk.Dataset(
        train.X,
        train.y,
        qid=np.repeat(train.qids, 20),
        weight=RNG.uniform(0, 2, train.n_rows),
        query_weight=RNG.uniform(0, 2, 30),
    )
    objective = LeastSquares(data, Serial())
    weight = data.weight * np.repeat(data.query_weight, 20)
    assert np.array_equal(document_weights(data), weight)
    assert objective.start()[0] == pytest.approx((weight * data.y).sum() / weight.sum())
    scores = RNG.normal(size=data.n_rows)
    lam, w = objective.gradients(scores[np.newaxis], 0)[0]
    assert np.array_equal(lam, weight * (data.y - scores)) and np.array_equal(w, weight)


def test_the_start_does_not_depend_on_the_order_of_the_rows():
    train, _ = train_and_valid()
    for _ in range(20):
        labels = RNG.uniform(0, 3, train.n_rows)
        order = RNG.permutation(train.n_rows)
        starts = [
            LeastSquares(with_labels(train, rows), Serial()).start()[0]
            for rows in (labels, labels[order])
        ]
        assert starts[0] == starts[1] == pytest.approx(labels.mean(), rel=1e-14)


def test_exact_sums():
    values = np.array([0.5, -3.0, 1e6, 0.25])
    assert exact_sum(values, Serial()) == 999997.75
    assert exact_sum(np.zeros(3), Serial()) == 0.0
