import numpy as np
import pytest

import rankinite as rk
from tests.boosting.small import QUICK, qid_of, train_and_valid, with_labels


def few_values(n_rows=600, n_features=8, seed=0):
    """Features of 21 values each, so that every value has a bin, and smooth labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-10, 11, (n_rows, n_features)) / 10
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.1 * rng.normal(size=n_rows)
    return X, y, np.repeat(np.arange(n_rows // 20), 20)


@pytest.mark.parametrize("settings", [(1, 2, 20), (1, 8, 20), (5, 8, 7), (20, 5, 40)])
def test_least_squares_against_scikit_learn(settings):
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

    n_trees, n_leaves, smallest = settings
    X, y, qid = few_values()
    model = rk.MART(
        n_estimators=n_trees, max_leaf_nodes=n_leaves, min_samples_leaf=smallest, learning_rate=0.3
    ).fit(X, y, qid=qid)
    shared = {"learning_rate": 0.3, "max_leaf_nodes": n_leaves, "min_samples_leaf": smallest}
    histogram = HistGradientBoostingRegressor(
        max_iter=n_trees, early_stopping=False, max_depth=None, l2_regularization=0.0, **shared
    ).fit(X, y)
    exact = GradientBoostingRegressor(
        n_estimators=n_trees, max_depth=None, random_state=0, **shared
    ).fit(X, y)
    assert np.allclose(model.predict(X), histogram.predict(X), rtol=0, atol=1e-6)
    assert np.allclose(model.predict(X), exact.predict(X), rtol=0, atol=1e-6)


def test_missing_values_against_scikit_learn():
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, qid = few_values()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    shared = {"learning_rate": 0.3, "max_leaf_nodes": 6, "min_samples_leaf": 20}
    model = rk.MART(n_estimators=4, **shared).fit(X, y, qid=qid)
    peer = HistGradientBoostingRegressor(max_iter=4, early_stopping=False, **shared).fit(X, y)
    assert np.allclose(model.predict(X), peer.predict(X), rtol=0, atol=1e-6)


def test_weights_are_repetitions():
    X, y, qid = few_values()
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    settings = {"n_estimators": 5, "max_leaf_nodes": 6, "min_samples_leaf": 1}
    repeated = (np.repeat(part, weight, axis=0) for part in (X, y, qid))
    Xr, yr, qr = repeated
    assert all(len(np.unique(Xr[:, j])) == 21 for j in range(8))
    weighted = rk.MART(**settings).fit(X, y, qid=qid, sample_weight=weight)
    plain = rk.MART(**settings).fit(Xr, yr, qid=qr)
    assert np.allclose(weighted.predict(X), plain.predict(X), rtol=0, atol=1e-9)


def leaf_steps(scores, start, pull, bend):
    """Every leaf's Newton step by a loop over the rows that share its score."""
    steps = {}
    for value in np.unique(scores):
        above, below = 0.0, 0.0
        for i in np.flatnonzero(scores == value):
            above += pull[i]
            below += bend[i]
        steps[value] = start + above / below
    return steps


@pytest.mark.parametrize("sigma", [1.0, 0.5])
@pytest.mark.parametrize("loss", ["logistic", "balanced"])
def test_one_tree_takes_the_step_of_the_paper(loss, sigma):
    train, _ = train_and_valid()
    y = np.where(train.y >= 2, 1.0, -1.0)
    model = rk.MART(loss, n_estimators=1, max_leaf_nodes=4, learning_rate=1.0, sigma=sigma)
    model.fit(with_labels(train, y))
    n_up, n_down = (y > 0).sum(), (y < 0).sum()
    # Burges 2010, section 6: classes by their number, or both alike (Eq. 15).
    balance = np.where(y > 0, 1 / n_up, 1 / n_down) if loss == "balanced" else np.ones(len(y))
    odds = 1.0 if loss == "balanced" else n_up / n_down
    start = np.log(odds) / (2 * sigma)
    pull = 2 * y * sigma / (1 + np.exp(2 * y * sigma * start))
    bend = np.abs(pull) * (2 * sigma - np.abs(pull))
    scores = model.predict(train)
    steps = leaf_steps(scores, start, balance * pull, balance * bend)
    assert len(steps) == 4
    for value, expected in steps.items():
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_sigma_of_a_logistic_loss_scales_the_scores():
    train, _ = train_and_valid()
    data = with_labels(train, (train.y >= 1).astype(float))
    one, four = (rk.MART("logistic", sigma=s, **QUICK).fit(data) for s in (1.0, 4.0))
    assert np.array_equal(four.predict(train) * 4, one.predict(train))
    assert np.array_equal(four.predict_proba(train), one.predict_proba(train))


def test_labels_minus_one_are_labels_zero():
    train, _ = train_and_valid()
    up = train.y >= 1
    for loss in ("logistic", "balanced"):
        scores = [
            rk.MART(loss, **QUICK).fit(with_labels(train, labels)).predict(train)
            for labels in (up.astype(float), np.where(up, 1.0, -1.0))
        ]
        assert np.array_equal(*scores)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    n = 6000
    X = rng.uniform(-2, 2, (n, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (rng.random(n) < chance).astype(float)
    qid = np.arange(n) // 20
    model = rk.MART("logistic", n_estimators=40, max_leaf_nodes=4).fit(X, y, qid=qid)
    both = model.predict_proba(X)
    assert both.shape == (n, 2)
    assert np.array_equal(both[:, 0], 1 - both[:, 1])
    p = both[:, 1]
    assert ((p > 0) & (p < 1)).all()
    for low in np.arange(0, 1, 0.2):
        rows = (chance >= low) & (chance < low + 0.2)
        assert p[rows].mean() == pytest.approx(chance[rows].mean(), abs=0.04)
    assert p.mean() == pytest.approx(y.mean(), abs=0.01)


def test_balanced_loss_gives_both_classes_even_odds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (rng.random(4000) < 0.03).astype(float)  # rare, and nothing to learn
    qid = np.arange(4000) // 20
    settings = {"n_estimators": 3, "max_leaf_nodes": 4, "min_samples_leaf": 1000}
    plain = rk.MART("logistic", **settings).fit(X, y, qid=qid).predict_proba(X)[:, 1]
    balanced = rk.MART("balanced", **settings).fit(X, y, qid=qid).predict_proba(X)[:, 1]
    assert plain.mean() == pytest.approx(0.03, abs=0.01)
    assert balanced.mean() == pytest.approx(0.5, abs=0.05)


def test_graded_probabilities():
    train, _ = train_and_valid()
    model = rk.MART("graded", **{**QUICK, "n_estimators": 60, "max_leaf_nodes": 20}).fit(train)
    p = model.predict_proba(train)[:, 1]
    assert ((p > 0) & (p < 1)).all()
    targets = (2**train.y - 1) / 2**4
    assert p.mean() == pytest.approx(targets.mean(), abs=0.01)
    assert np.corrcoef(p, targets)[0, 1] > 0.9
    fewer = model.predict_proba(train, n_rounds=1)[:, 1]
    assert np.ptp(fewer) < np.ptp(p)


def test_probabilities_need_a_logistic_loss():
    train, _ = train_and_valid()
    with pytest.raises(rk.ParameterError, match="predict_proba needs a logistic loss"):
        rk.MART(**QUICK).fit(train).predict_proba(train)


def test_labels_are_named_when_they_do_not_fit_the_loss():
    train, _ = train_and_valid()
    X, qid = train.X, qid_of(train)
    for loss in ("logistic", "balanced"):
        with pytest.raises(
            rk.DataError, match=r"has the label [234], but the logistic loss needs labels -1 and 1"
        ):
            rk.MART(loss, **QUICK).fit(train)
    for labels, shown in ((train.y - 1, "-1"), (train.y + 0.5, r"\d.5"), (train.y * 30, "60|90")):
        with pytest.raises(
            rk.DataError, match=f"has the label ({shown}), but the graded loss .*: map"
        ):
            rk.MART("graded", **QUICK).fit(X, labels, qid=qid)
    # Least squares takes any number.
    scores = rk.MART(**QUICK).fit(X, -1.5 * train.y, qid=qid).predict(X)
    assert np.ptp(scores) > 0
