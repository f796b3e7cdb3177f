"""Importance by permutation, dependence, and why a document is above another."""

import numpy as np
import pytest

import rankinite as rk


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = np.clip(np.rint(2 * X[:, 0] + X[:, 1]), 0, 4)
    rows = rk.Dataset(X, y, qid=np.arange(1200) // 20, feature_names=["a", "b", "c", "d"])
    return rk.LambdaMART(n_estimators=20).fit(rows), rows


def test_importance_by_permutation(made):
    model, rows = made
    found = model.feature_importance("permutation", rows, "ndcg@10", n_repeats=2)
    assert found.importances.argmax() == 0 and found.importances[0] > 0.1
    assert (found.low <= found.importances).all() and (found.importances <= found.high).all()
    assert found.low[0] > 0 and abs(found.importances[2]) < 0.05
    assert str(found).splitlines()[2].startswith("a ")
    order = np.random.default_rng(1).permutation(rows.n_rows)
    mixed = rk.Dataset(
        rows.X[order], rows.y[order], qid=(np.arange(1200) // 20)[order], feature_names=list("abcd")
    )
    again = rk.permutation_importance(model, mixed, "ndcg@10", n_repeats=2)
    assert np.allclose(found.importances, again.importances, rtol=0, atol=1e-12)
    with pytest.raises(rk.ParameterError, match="pass data="):
        model.feature_importance("permutation")


def test_partial_dependence(made, tmp_path):
    model, rows = made
    found = rk.partial_dependence(model, rows, "a", n_values=8)
    assert found.mean[-1] > found.mean[0] + 0.5 and len(found.values) == 8
    changed = rows.X.copy()
    changed[:, 0] = found.values[3]
    assert np.isclose(found.mean[3], model.predict(changed).mean())
    found.plot(tmp_path / "dependence.png")
    assert (tmp_path / "dependence.png").stat().st_size > 5000


def test_dependence_on_values_that_are_no_float32(made):
    model, rows = made
    narrow = rk.Dataset(rows.X.astype(np.float32), rows.y, qid=np.arange(rows.n_rows) // 20)
    thresholds = np.sort(model.forest_.threshold[model.forest_.feature == 0])
    at = thresholds[len(thresholds) // 2]
    values = [at, np.nextafter(at, np.inf)]
    found = rk.partial_dependence(model, narrow, 0, values)
    changed = narrow.X.astype(np.float64)
    for value, mean in zip(values, found.mean, strict=True):
        changed[:, 0] = value
        assert np.isclose(mean, model.predict(changed).mean(), rtol=1e-12)
    assert found.mean[0] != found.mean[1]


def test_features_that_are_not_there(made):
    model, rows = made
    with pytest.raises(rk.ParameterError, match="no feature 'x'"):
        rk.partial_dependence(model, rows, "x")


def test_why_a_document_is_above_another(made, tmp_path):
    model, rows = made
    found = rk.explain(model, rows, 3)
    assert found.ranks == (1, 2) and found.difference >= 0
    assert np.isclose(found.shares.sum(), found.difference, rtol=1e-9)
    assert (np.diff(np.abs(found.shares)) <= 0).all()
    assert "query 3: document" in str(found) and "above" in str(found)
    turned = rk.explain(model, rows, 3, above=found.below, below=found.above)
    assert np.isclose(turned.difference, -found.difference)
    found.plot(tmp_path / "why.png")
    assert (tmp_path / "why.png").stat().st_size > 5000
    both = {"above": 2, "below": 2}
    for wrong in ({"query": 999}, {"above": 21}, {"above": "a"}, {"below": 1.5}, both):
        with pytest.raises(rk.RankiniteError):
            rk.explain(model, rows, **wrong)
