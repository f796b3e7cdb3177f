"""Models of other libraries score as their libraries do, bit for bit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import rankinite as rk

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def data(n_rows=3000, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] *= rng.random(n_rows) < 0.5
    y = np.clip(np.rint(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows)), 0, 4)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def awkward_rows(X, thresholds, n_rows=10_000, infinite=True):
    """Values of the data, at thresholds, at their neighbours in single precision, and missing."""
    rng = np.random.default_rng(1)
    at = np.asarray(thresholds, np.float32)
    pool = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
    pool = np.concatenate([*pool, [0.0, 1e-36, -1e-36]]).astype(np.float64)
    rows = X[rng.integers(len(X), size=n_rows)].copy()
    swap = rng.random(rows.shape)
    rows = np.where(swap < 0.3, rng.choice(pool, rows.shape), rows)
    rows[swap > 0.9] = np.nan
    if infinite:
        rows[(swap > 0.88) & (swap < 0.9)] = np.inf
        rows[(swap > 0.86) & (swap < 0.88)] = -np.inf
    return rows


LIGHTGBM = {
    "plain": {},
    "zero_as_missing": {"zero_as_missing": True},
    "no_missing": {"use_missing": False},
    "random_forest": {
        "boosting": "rf", "bagging_fraction": 0.6, "bagging_freq": 1, "objective": "regression",
    },
    "binary": {"objective": "binary"},
    "large": {"num_leaves": 200, "min_data_in_leaf": 2},
}  # fmt: skip


@pytest.mark.parametrize("kind", LIGHTGBM)
@pytest.mark.parametrize("form", ["text", "json"])
def test_lightgbm(kind, form, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data()
    y = y > 1 if kind == "binary" else y
    params = {"verbose": -1, "num_threads": 1, "objective": "lambdarank", **LIGHTGBM[kind]}
    rows = lightgbm.Dataset(X, y, group=[30] * 100)
    booster = lightgbm.train(params, rows, 30)
    path = tmp_path / "model"
    if form == "text":
        booster.save_model(path)
    else:
        path.write_text(json.dumps(booster.dump_model()))
    model = rk.load(path)
    probes = awkward_rows(X, model.forest_.threshold)
    # The raw scores of a random forest are those of the sum; its predictions are means.
    expected = booster.predict(probes, raw_score=kind != "random_forest", num_threads=1)
    assert np.array_equal(model.predict(probes), expected)


XGBOOST = {
    "rank": {"objective": "rank:ndcg"},
    "logistic": {"objective": "binary:logistic", "base_score": 0.3},
    "squares": {"objective": "reg:squarederror"},
    "parallel": {"objective": "reg:squarederror", "num_parallel_tree": 3, "subsample": 0.5},
    "large": {"objective": "rank:ndcg", "max_leaves": 200, "max_depth": 0,
              "grow_policy": "lossguide"},
}  # fmt: skip


@pytest.mark.parametrize("kind", XGBOOST)
@pytest.mark.parametrize("form", ["json", "ubj"])
def test_xgboost(kind, form, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y = data()
    y = (y > 1).astype(float) if kind == "logistic" else y
    rows = xgboost.DMatrix(X, y, group=[30] * 100 if "rank" in XGBOOST[kind]["objective"] else None)
    params = {"tree_method": "hist", "nthread": 1, **XGBOOST[kind]}
    booster = xgboost.train(params, rows, 30)
    path = tmp_path / f"model.{form}"
    booster.save_model(path)
    model = rk.load(path)
    probes = awkward_rows(X, model.forest_.threshold, infinite=False)
    expected = booster.predict(xgboost.DMatrix(probes), output_margin=True)
    assert np.array_equal(model.predict(probes).astype(np.float32), expected)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide", "Depthwise"])
@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_catboost_json(policy, nan_mode, tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y = data()
    booster = catboost.CatBoost(
        {"loss_function": "YetiRank", "iterations": 30, "grow_policy": policy, "thread_count": 1,
         "nan_mode": nan_mode, "logging_level": "Silent", "allow_writing_files": False}
    ).fit(X, y, group_id=np.repeat(np.arange(100), 30))  # fmt: skip
    booster.save_model(str(tmp_path / "model.json"), format="json")
    model = rk.load(tmp_path / "model.json")
    probes = awkward_rows(X, model.forest_.threshold)
    expected = booster.predict(probes, prediction_type="RawFormulaVal")
    ulp = np.spacing(np.abs(expected).astype(np.float32))
    assert (np.abs(model.predict(probes) - expected) <= ulp).all()


def lines_of(path):
    with gzip.open(path, "rt") as file:
        return file.read()


@pytest.mark.skipif(not (SHARED / "formats/models").exists(), reason="the models are not here")
@pytest.mark.parametrize("name", ["ranklib_100", "ranklib_34", "quickrank_100"])
def test_models_of_ranklib_and_quickrank(name, tmp_path):
    folder = SHARED / "formats" / "models"
    (tmp_path / "model.xml").write_text(lines_of(folder / f"{name}.xml.gz"))
    model = rk.load(tmp_path / "model.xml")
    rows = rk.read(SHARED / "data" / "mq2008" / "S5.txt.gz")
    told = [float(line.split()[-1]) for line in lines_of(folder / f"{name}.scores.gz").split("\n")
            if line.strip()]  # fmt: skip
    found = model.predict(rows.X)
    if name.startswith("ranklib"):
        assert np.array_equal(found.astype(np.float32), np.array(told, np.float32))
    else:
        assert np.allclose(found, told, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"boosting": "dart"}, None),
        ({"linear_tree": True, "objective": "regression"}, "linear"),
        ({"objective": "multiclass", "num_class": 3}, "3 scores a row"),
    ],
)
def test_what_lightgbm_has_and_we_have_not(params, told, tmp_path):
    """DART is a sum of trees as they are in the file; the others are no sum of our trees."""
    from rankinite.exchange.readers import read

    lightgbm = pytest.importorskip("lightgbm")
    X, y = data(600)
    params = {"verbose": -1, "num_threads": 1, "objective": "regression", **params}
    booster = lightgbm.train(params, lightgbm.Dataset(X, np.minimum(y, 2)), 5)
    content = booster.model_to_string().encode()
    if told is None:
        expected = booster.predict(X, raw_score=True)
        assert np.array_equal(read(content, "model").scores(X), expected)
        return
    with pytest.raises(rk.ModelFileError, match=told):
        read(content, "model")


def test_categories_are_scored_by_their_library_alone(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data(600)
    X[:, 1] = np.abs(np.nan_to_num(X[:, 1]))
    rows = lightgbm.Dataset(X, y, categorical_feature=[1])
    booster = lightgbm.train({"verbose": -1, "num_threads": 1, "min_data_per_group": 5}, rows, 20)
    booster.save_model(tmp_path / "model.txt")
    assert "num_cat=1" in booster.model_to_string() or "num_cat=2" in booster.model_to_string()
    assert np.array_equal(rk.load(tmp_path / "model.txt").predict(X), booster.predict(X))


def test_an_imported_model_is_a_ranker(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data()
    qid = np.repeat(np.arange(100), 30)
    rows = lightgbm.Dataset(X, y, group=[30] * 100)
    booster = lightgbm.train({"verbose": -1, "objective": "lambdarank"}, rows, 10)
    booster.save_model(tmp_path / "model.txt")
    model = rk.load(tmp_path / "model.txt")
    whole = rk.Dataset(X, y, qid=qid)
    expected = booster.predict(X)
    assert np.array_equal(model.predict(whole), expected)
    model.save(tmp_path / "model.rk")
    assert np.array_equal(rk.load(tmp_path / "model.rk").predict(X), expected)
    more = rk.LambdaMART(n_estimators=3, base_model=model).fit(whole)
    more.save(tmp_path / "more.rk")
    assert np.array_equal(rk.load(tmp_path / "more.rk").predict(X), more.predict(X))
    both = rk.Combination({"theirs": model, "ours": more}).fit(whole)
    assert np.isfinite(both.predict(X)).all()
    with pytest.raises(rk.RankiniteError, match="train"):
        model.fit(whole)
