"""Small trained models of other libraries, made once; a library that is absent skips the test."""

from functools import cache

import numpy as np
import pytest

import rankinite as rk

QUICK = {"n_estimators": 4, "max_leaf_nodes": 6, "min_samples_leaf": 5}
N_FEATURES = 6


@cache
def train_and_valid():
    """Two datasets; a tenth of the values is missing."""
    rng = np.random.default_rng(0)
    sets = rk.artificial(n_queries=(60, 15), n_docs=20, n_features=N_FEATURES)
    for rows in sets:
        rows.X[rng.random(rows.X.shape) < 0.1] = np.nan
    return sets


def qid_of(dataset):
    return np.repeat(dataset.qids, dataset.query_sizes)


def frame_of(X, names):
    return pytest.importorskip("pandas").DataFrame(X, columns=names)


def _lightgbm(kind):
    lgb = pytest.importorskip("lightgbm")
    train, _ = train_and_valid()
    params = {"n_estimators": 5, "num_leaves": 6, "verbose": -1}
    if kind == "ranker":
        return lgb.LGBMRanker(**params).fit(train.X, train.y, group=train.query_sizes)
    if kind == "native":
        rows = lgb.Dataset(train.X, train.y, group=train.query_sizes)
        return lgb.train({"objective": "lambdarank", "num_leaves": 6, "verbose": -1}, rows, 5)
    if kind == "classes":
        return lgb.LGBMClassifier(**params).fit(train.X, train.y)
    kinds = {"regressor": lgb.LGBMRegressor, "classifier": lgb.LGBMClassifier}
    return kinds[kind](**params).fit(train.X, train.y > 1)


def _xgboost(kind):
    xgb = pytest.importorskip("xgboost")
    train, _ = train_and_valid()
    params = {"n_estimators": 5, "max_depth": 3}
    if kind == "ranker":
        return xgb.XGBRanker(**params).fit(train.X, train.y, qid=qid_of(train))
    if kind == "native":
        return xgb.train({"max_depth": 3}, xgb.DMatrix(train.X, train.y), 5)
    if kind == "classes":
        return xgb.XGBClassifier(**params).fit(train.X, train.y)
    kinds = {"regressor": xgb.XGBRegressor, "classifier": xgb.XGBClassifier}
    return kinds[kind](**params).fit(train.X, train.y > 1)


def _catboost(kind):
    cb = pytest.importorskip("catboost")
    train, _ = train_and_valid()
    params = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
    if kind == "ranker":
        return cb.CatBoostRanker(**params).fit(train.X, train.y, group_id=qid_of(train))
    if kind == "native":
        return cb.CatBoost(params).fit(train.X, train.y)
    if kind == "classes":
        return cb.CatBoostClassifier(**params).fit(train.X, train.y)
    kinds = {"regressor": cb.CatBoostRegressor, "classifier": cb.CatBoostClassifier}
    return kinds[kind](**params).fit(train.X, train.y > 1)


_MAKERS = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}
LIBRARIES = tuple(_MAKERS)
KINDS = ("ranker", "native", "regressor", "classifier")


@cache
def booster(library, kind):
    return _MAKERS[library](kind)


def own_raw_scores(library, model, X):
    """The raw scores by the library's own calls."""
    if library == "lightgbm":
        return model.predict(X, raw_score=True)
    if library == "xgboost":
        import xgboost as xgb

        native = model if isinstance(model, xgb.Booster) else model.get_booster()
        return native.predict(xgb.DMatrix(X), output_margin=True)
    import catboost as cb

    return cb.CatBoost.predict(model, X, prediction_type="RawFormulaVal")
