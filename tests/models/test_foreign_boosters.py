"""LightGBM, XGBoost and CatBoost models as base models."""

import os
import pickle
import signal
import sys

import numpy as np
import pytest

import rankinite as rk
from rankinite.models import NotFittedError
from rankinite.models.base_model import as_scorer
from rankinite.models.foreign.common import real_names
from rankinite.models.ranker import feature_names_of
from rankinite.models.storage import from_state, to_state
from rankinite.training import Checkpoint
from tests.models.foreign_models import (
    KINDS,
    LIBRARIES,
    N_FEATURES,
    QUICK,
    booster,
    frame_of,
    own_raw_scores,
    qid_of,
    train_and_valid,
)

NAMES = [f"a {j}" for j in range(N_FEATURES)]
EMPTY = {
    "lightgbm": lambda library: library.LGBMRanker(),
    "xgboost": lambda library: library.XGBRanker(),
    "catboost": lambda library: library.CatBoostRanker(),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    pytest.importorskip(request.param)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_raw_scores_and_their_round_trip(library, kind):
    train, valid = train_and_valid()
    model = booster(library, kind)
    scorer = as_scorer(model)
    assert isinstance(scorer, rk.Imported)
    assert scorer.n_features_in_ == N_FEATURES and feature_names_of(scorer) is None
    copy = from_state(*to_state(scorer))
    for X in (train.X, valid.X.astype(np.float64), valid.X[:1]):
        scores = scorer.predict(X)
        assert np.array_equal(scores, own_raw_scores(library, model, X))
        assert np.array_equal(scores, copy.predict(X))
    again = pickle.loads(pickle.dumps(copy))
    assert np.array_equal(again.predict(valid.X), scorer.predict(valid.X))


def test_one_file_for_any_number_of_threads(library, tmp_path):
    train, valid = train_and_valid()
    base = booster(library, "ranker")
    files = []
    for n_threads in (1, 2):
        model = rk.LambdaMART(base_model=base, n_threads=n_threads, **QUICK)
        path = tmp_path / f"{n_threads}.rk"
        model.fit(train, valid=valid, callbacks=[Checkpoint(tmp_path / "checkpoint.rk", 2)])
        model.save(path)
        files.append(path.read_bytes())
        assert model.base_model is base
    assert files[0] == files[1] == (tmp_path / "checkpoint.rk").read_bytes()
    order = np.random.default_rng(1).permutation(train.n_rows)
    order = order[np.argsort(qid_of(train)[order], kind="stable")]
    other = rk.Dataset(train.X[order], train.y[order], qid=qid_of(train)[order])
    rk.LambdaMART(base_model=base, **QUICK).fit(other, valid=valid).save(path)
    assert path.read_bytes() == files[0]


def test_a_loaded_model_scores_and_saves_the_same(library, tmp_path):
    train, valid = train_and_valid()
    base = booster(library, "ranker")
    inner = rk.LambdaMART(base_model=base, **QUICK).fit(train)
    assert np.array_equal(inner.predict(valid.X, n_rounds=0), as_scorer(base).predict(valid.X))
    outer = rk.MART(base_model=inner, **QUICK).fit(train)
    for model in (inner, outer):
        model.save(tmp_path / "a.rk")
        copy = rk.load(tmp_path / "a.rk")
        for rows in (valid, valid.X, valid.X[:3]):
            assert np.array_equal(copy.predict(rows), model.predict(rows))
        copy.save(tmp_path / "b.rk")
        assert (tmp_path / "a.rk").read_bytes() == (tmp_path / "b.rk").read_bytes()
    # What was loaded is a base model like any other.
    scorer = rk.load(tmp_path / "a.rk").base_model.base_model
    again = rk.LambdaMART(base_model=scorer, **QUICK).fit(train)
    assert np.array_equal(again.predict(valid), inner.predict(valid))


def test_resuming_looks_at_the_base(library, tmp_path):
    train, _ = train_and_valid()
    base = booster(library, "ranker")
    part = {**QUICK, "n_estimators": 2}
    rk.LambdaMART(base_model=base, **part).fit(train).save(tmp_path / "part.rk")
    model = rk.LambdaMART(base_model=base, **QUICK)
    whole = model.fit(train).predict(train)
    assert np.array_equal(model.fit(train, resume=tmp_path / "part.rk").predict(train), whole)
    with pytest.raises(rk.DataError, match="or on another base model"):
        model.set_params(base_model=booster(library, "regressor"))
        model.fit(train, resume=tmp_path / "part.rk")


def test_clones_and_parameters(library):
    from sklearn.base import clone

    base = booster(library, "ranker")
    model = rk.LambdaMART(base_model=base, **QUICK)
    assert clone(model).base_model is base
    assert model.get_params(deep=False)["base_model"] is base
    assert set(model.get_params()) > set(rk.LambdaMART().get_params())
    assert repr(model).startswith("LambdaMART(")


def test_several_scores_a_row(library):
    train, _ = train_and_valid()
    kind = type(booster(library, "classes")).__name__
    n_classes = len(np.unique(train.y))
    expected = f"the output of base_model, a {kind}, has {n_classes} scores a row, and one is need"
    with pytest.raises(rk.DataError, match=expected):
        rk.LambdaMART(base_model=booster(library, "classes"), **QUICK).fit(train)


def test_other_features(library):
    train, _ = train_and_valid()
    narrow = rk.Dataset(train.X[:, :4], train.y, qid=qid_of(train))
    with pytest.raises(rk.DataError, match="base_model has 6 features, but the data has 4: pass"):
        rk.LambdaMART(base_model=booster(library, "ranker"), **QUICK).fit(narrow)
    with pytest.raises(rk.DataError, match="the data has 3 features, but the model was"):
        as_scorer(booster(library, "ranker")).predict(np.zeros((2, 3)))


def test_names_of_features(library):
    train, _ = train_and_valid()
    kinds = {"lightgbm": "LGBMRegressor", "xgboost": "XGBRegressor"}
    make = getattr(sys.modules[library], kinds.get(library, "CatBoostRegressor"))
    quiet = {"lightgbm": {"verbose": -1}, "catboost": {"verbose": 0, "allow_writing_files": False}}
    base = make(n_estimators=3, **quiet.get(library, {}))
    base.fit(frame_of(train.X, NAMES), train.y)
    scorer = as_scorer(base)
    assert feature_names_of(from_state(*to_state(scorer))) == feature_names_of(scorer)

    def fit(names):
        rows = rk.Dataset(train.X, train.y, qid=qid_of(train), feature_names=names)
        return rk.LambdaMART(base_model=base, **QUICK).fit(rows)

    scores = fit(NAMES).predict(train.X)
    assert np.array_equal(fit(None).predict(train.X), scores)
    with pytest.raises(rk.DataError, match=r"trained with 'a.0' as feature 1, but the data has 'b"):
        fit(["b", *NAMES[1:]])


def test_stand_ins_are_no_names():
    assert real_names(["Column_0", "Column_1"], "Column_") is None
    assert real_names(["Column_1", "Column_0"], "Column_") == ["Column_1", "Column_0"]
    assert real_names(["0", "1", "2"], "") is None
    assert real_names(None, "f") is None


def test_not_trained(library):
    train, _ = train_and_valid()
    base = EMPTY[library](sys.modules[library])
    expected = f"base_model is a {type(base).__name__} that is not trained: call its fit first"
    with pytest.raises(NotFittedError, match=expected):
        rk.LambdaMART(base_model=base, **QUICK).fit(train)


def test_the_library_is_not_needed(library, monkeypatch, tmp_path):
    train, valid = train_and_valid()
    path = tmp_path / "model.rk"
    model = rk.LambdaMART(base_model=booster(library, "ranker"), **QUICK).fit(train)
    model.save(path)
    expected = model.predict(valid.X)
    monkeypatch.setitem(sys.modules, library, None)
    assert np.array_equal(rk.load(path).predict(valid.X), expected)


def test_the_best_iteration_is_the_last_one():
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    train, valid = train_and_valid()
    rows = lgb.Dataset(train.X, train.y)
    stop = lgb.early_stopping(2, verbose=False)
    watched = [lgb.Dataset(valid.X, valid.y, reference=rows)]
    light = lgb.train({"verbose": -1}, rows, 60, valid_sets=watched, callbacks=[stop])
    extreme = xgb.XGBRegressor(n_estimators=60, early_stopping_rounds=2)
    extreme.fit(train.X, train.y, eval_set=[(valid.X, valid.y)], verbose=False)
    assert light.best_iteration < 60 and extreme.best_iteration < 59
    for base in (light, extreme):
        scorer = as_scorer(base)
        own = base.predict(valid.X)
        assert np.allclose(scorer.predict(valid.X), own, rtol=1e-6)
        assert np.array_equal(
            from_state(*to_state(scorer)).predict(valid.X), scorer.predict(valid.X)
        )


@pytest.mark.parametrize(
    "params",
    [
        {"linear_tree": True},
        {"boosting": "dart"},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"zero_as_missing": True, "min_data_per_group": 5},
    ],
    ids=str,
)
def test_kinds_of_lightgbm_models(params):
    lgb = pytest.importorskip("lightgbm")
    train, _ = train_and_valid()
    X = np.column_stack([np.arange(train.n_rows) % 7, train.X[:, 1:]])
    y = train.y + X[:, 0] % 2
    model = lgb.train(
        {"verbose": -1, "num_leaves": 5, **params}, lgb.Dataset(X, y, categorical_feature=[0]), 4
    )
    scorer = as_scorer(model)
    assert np.array_equal(scorer.predict(X), model.predict(X))
    assert np.array_equal(from_state(*to_state(scorer)).predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["gblinear", "dart"])
def test_kinds_of_xgboost_models(kind):
    xgb = pytest.importorskip("xgboost")
    train, _ = train_and_valid()
    rows = xgb.DMatrix(train.X, train.y)
    params = {"rate_drop": 0.5, "max_depth": 2} if kind == "dart" else {}
    model = xgb.train({"booster": kind, **params}, rows, 4)
    scorer = as_scorer(model)
    scores = model.predict(rows, output_margin=True)
    assert np.array_equal(scorer.predict(train.X), scores)
    assert np.array_equal(from_state(*to_state(scorer)).predict(train.X), scores)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_after_a_fork(library):
    train, _ = train_and_valid()
    model = rk.LambdaMART(base_model=booster(library, "ranker"), n_threads=2, **QUICK).fit(train)
    X = np.tile(train.X, (2, 1))
    expected = model.predict(X)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs fails
        try:
            os._exit(0 if np.array_equal(model.predict(X), expected) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
