"""Contributions are Shapley values: by their definition, by LightGBM and by shap."""

import numpy as np
import pytest

import rankinite as rk
from tests.exchange.test_readers import awkward_rows, data
from tests.exchange.writers.cases import awkward, rows_around, trained
from tests.naive import shapley


@pytest.mark.parametrize("seed", range(4))
def test_by_the_definition(seed):
    from rankinite.attribution import contributions

    plain = awkward(seed, np.arange(-3.0, 4.0), (1, 2, 3, 7, 12, 20), 4)
    rows = rows_around(plain, 20, seed)
    found = contributions(plain, rows)
    for row, own in zip(rows.astype(float), found, strict=True):
        expected = shapley.contributions(plain.forest, plain.leaf_cover, row, 4)
        assert np.allclose(own, expected, rtol=1e-10, atol=1e-10)
    assert np.allclose(found.sum(axis=1), plain.scores(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("leaves", [2, 31, 255])
def test_lightgbm_says_the_same(leaves, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data()
    params = {"verbose": -1, "num_threads": 1, "num_leaves": leaves, "min_data_in_leaf": 2}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), 10)
    booster.save_model(tmp_path / "model.txt")
    model = rk.load(tmp_path / "model.txt")
    rows = awkward_rows(X, model.forest_.threshold, 200)
    expected = booster.predict(rows, pred_contrib=True, num_threads=1)
    found = model.contributions(rows)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def test_shap_says_the_same(tmp_path):
    shap, lightgbm = pytest.importorskip("shap"), pytest.importorskip("lightgbm")
    model, X = trained()
    model.export(tmp_path / "model.txt", "lightgbm")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    found = model.contributions(X[:50])
    expected = shap.TreeExplainer(booster).shap_values(X[:50])
    assert np.abs(found[:, :-1] - expected).max() <= 1e-9 * np.abs(expected).max()


def test_rows_and_threads_do_not_matter():
    model, X = trained()
    whole = model.contributions(X)
    assert np.array_equal(model.set_params(n_threads=1).contributions(X), whole)
    assert np.array_equal(model.contributions(X[3:17]), whole[3:17])
    assert np.allclose(whole.sum(axis=1), model.predict(X), rtol=1e-12)


def test_of_rankers_that_are_sums(tmp_path):
    model, X = trained()
    y = np.arange(len(X)) % 3
    rows = rk.Dataset(X, y, qid=np.repeat(np.arange(30), 20))
    other = rk.MART(n_estimators=3, base_model=model).fit(rows)
    both = rk.Combination([model, other]).fit(rows)
    filled = rk.Dataset(np.nan_to_num(X), y, qid=np.repeat(np.arange(30), 20))
    linear = rk.LambdaRank(n_hidden=0, n_epochs=2).fit(filled)
    for ranker in (other, both, linear):
        found = ranker.contributions(filled)
        assert found.shape == (len(X), X.shape[1] + 1)
        assert np.allclose(found.sum(axis=1), ranker.predict(filled), rtol=1e-9, atol=1e-9)
    with pytest.raises(rk.ParameterError, match="net with hidden units"):
        rk.LambdaRank(n_hidden=2, n_epochs=1).fit(filled).contributions(filled)
    with pytest.raises(rk.ParameterError, match="grades"):
        rk.McRank(n_estimators=1).fit(filled).contributions(filled)


def test_leaves_and_frame():
    model, X = trained()
    leaves = model.leaves(X)
    assert leaves.shape == (len(X), model.n_rounds_) and leaves.dtype == np.int32
    forest = model.forest_
    values = forest.value[leaves + forest.leaf_offsets[:-1]]
    start = model.predict(X) - values.sum(axis=1)
    assert np.allclose(start, start[0])
    for library in ("pandas", "polars"):
        frame = model.to_frame(library)
        assert len(frame) == len(forest.feature) + len(forest.value)
        assert {"tree", "feature", "threshold", "value"} <= set(frame.columns)
        # Of leaves, which have no split, nothing is said about one.
        for name in ("leaf", "feature", "missing", "threshold"):
            column = frame[name]
            gone = int(column.isna().sum() if library == "pandas" else column.null_count())
            assert gone == len(forest.feature if name == "leaf" else forest.value)
