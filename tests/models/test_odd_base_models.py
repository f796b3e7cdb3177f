"""Base models that are easily taken for something else, and what cannot be one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

import rankinite as rk
from rankinite.models.base_model import as_scorer
from rankinite.models.foreign.estimators import LinearEstimator, OtherEstimator


@pytest.fixture(scope="module")
def data() -> rk.Dataset:
    return rk.artificial(n_queries=10, n_docs=8, n_features=3)


def test_a_scaler_that_clips_is_not_linear(data):
    X = 1000.0 * data.X
    for scaler in (MinMaxScaler(clip=True), MaxAbsScaler()):
        scaler.clip = True  # MaxAbsScaler has it since scikit-learn 1.8
        model = make_pipeline(scaler, Ridge()).fit(X, data.y)
        assert isinstance(as_scorer(model), OtherEstimator)


def test_min_max_scalers_can_be_saved(data, tmp_path):
    X = np.column_stack([data.X[:, :2], np.full(data.n_rows, 7.0)]).astype(np.float32)
    model = make_pipeline(MinMaxScaler((-2, 5)), Ridge()).fit(X, data.y)
    scorer = as_scorer(model)
    assert isinstance(scorer, LinearEstimator)
    assert np.allclose(scorer.predict(3 * X), model.predict(3 * X), atol=1e-5)
    rows = rk.Dataset(X, data.y, qid=np.repeat(data.qids, data.query_sizes))
    ranker = rk.LambdaBoost(n_estimators=2, base_model=model).fit(rows)
    ranker.save(tmp_path / "model.rk")
    assert np.array_equal(rk.load(tmp_path / "model.rk").predict(rows), ranker.predict(rows))


@pytest.mark.parametrize("kind", [Ridge, rk.LambdaMART])
def test_a_class_is_no_model(data, kind):
    with pytest.raises(rk.ParameterError, match="is the class"):
        rk.LambdaBoost(base_model=kind).fit(data)
    with pytest.raises(rk.DataError, match="is a class"):
        rk.evaluate(kind, data)


@pytest.mark.parametrize("score", [lambda X: ["a"] * len(X), lambda X: 1j * X[:, 0]])
def test_scores_must_be_numbers(data, score):
    with pytest.raises(rk.DataError, match="one real number a row"):
        rk.LambdaBoost(base_model=score).fit(data)


def test_evaluating_on_an_array_names_what_is_needed(data):
    with pytest.raises(rk.DataError, match="needs a Dataset"):
        rk.evaluate(data.X[:, 0], data.X)
