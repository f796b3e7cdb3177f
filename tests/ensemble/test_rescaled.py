"""Scores put otherwise: probabilities of a MART, and any ranker's query by query."""

from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble import out_of_fold
from rankinite.ensemble.narrowed import Narrowed, narrowed
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.models.storage import from_state, to_state
from tests.subjects import same, saved

TRAIN, TEST = rk.artificial(n_queries=(20, 10), n_docs=8, n_features=5, random_state=2)
FEW = {"n_estimators": 3, "max_leaf_nodes": 4, "min_samples_leaf": 2}
GRADED = {**FEW, "loss": "graded", "sigma": 0.7}


@pytest.fixture(scope="module")
def graded():
    return rk.MART(**GRADED).fit(TRAIN)


def test_probabilities(graded, tmp_path):
    expected = graded.predict_proba(TEST)[:, 1]
    plain = rk.Rescaled(rk.MART(**GRADED), probabilities=True).fit(TRAIN)
    assert same(plain.predict(TEST), expected) and same(plain.predict(TEST.X), expected)
    assert not plain.needs_queries and plain.in_words() == "Probabilities of a MART with 3 trees"
    normal = rk.Rescaled(rk.MART(**GRADED), True, "query_max").fit(TRAIN)
    best = np.repeat(expected.reshape(10, 8).max(axis=1), 8)
    assert same(normal.predict(TEST), best * (1 + expected - best))
    first = saved(normal, tmp_path)
    copy = rk.load(tmp_path / "model.rk")
    assert same(copy.predict(TEST), normal.predict(TEST)) and saved(copy, tmp_path) == first
    with pytest.raises(DataError, match="normalize='query_max' takes the scores of each query"):
        normal.predict(TEST.X)
    # Around the trained one it is the same file.
    assert saved(rk.Rescaled.of(graded, True, "query_max"), tmp_path) == first


def test_scores_of_any_ranker_query_by_query(tmp_path):
    net = rk.LambdaRank(n_hidden=2, n_epochs=2).fit(TRAIN)
    model = rk.Rescaled(rk.LambdaRank(n_hidden=2, n_epochs=2), normalize="query").fit(TRAIN)
    scores = net.predict(TEST).reshape(10, 8)
    centred = scores - scores.mean(axis=1, keepdims=True)
    expected = centred / scores.std(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict(TEST), expected.ravel(), rtol=1e-12, atol=1e-12)
    assert model.in_words() == f"{net.in_words()}, normalised in each query"
    # It can be compared like any other.
    assert rk.compare({"net": net, "model": model}, TEST, "ndcg@10") is not None
    as_is = rk.Rescaled(rk.MART(**FEW)).fit(TRAIN)
    assert same(as_is.predict(TEST), rk.MART(**FEW).fit(TRAIN).predict(TEST))
    assert as_is.plain() is not None
    with pytest.raises(rk.RankiniteError, match=r"cannot be exported .* or normalises each query"):
        model.plain()


def test_of_what_is_made_of_marts(graded):
    """The slope is that of the MART inside, however deep."""
    bag = rk.Bagging(rk.MART(**GRADED), n_folds=2).fit(TRAIN)
    scores = bag.predict(TEST)
    expected = 1 / (1 + np.exp(-2 * 0.7 * scores))
    for model in (
        rk.Rescaled.of(bag, True),
        rk.Rescaled(rk.Bagging(rk.MART(**GRADED), n_folds=2), True).fit(TRAIN),
    ):
        np.testing.assert_allclose(model.predict(TEST), expected, rtol=1e-14)
    part = rk.MART(**GRADED).fit(narrowed(TRAIN, [3, 1]))
    around = rk.Rescaled.of(Narrowed.of(part, [3, 1], TRAIN), True)
    chances = part.predict_proba(TEST.X[:, [3, 1]])[:, 1]
    np.testing.assert_allclose(around.predict(TEST), chances, rtol=1e-14)


def test_inside_others():
    stopped = rk.Rescaled(rk.MART(**{**GRADED, "n_estimators": 30}, early_stopping=2), True)
    bag = rk.Bagging(stopped, n_folds=2).fit(TRAIN)
    assert all(model.ranker_.n_rounds_ < 30 for model in bag.models_)
    assert out_of_fold(stopped, TRAIN, 3).shape == (160,)


def test_what_is_refused(graded):
    whole = rk.Rescaled.of(graded, True)
    for ranker in (rk.MART(), rk.LambdaMART(), rk.Rescaled(rk.MART(**GRADED), True)):
        with pytest.raises(ParameterError, match="must be a MART with a logistic loss"):
            rk.Rescaled(ranker, probabilities=True).fit(TRAIN)
    with pytest.raises(ParameterError, match="'query_max' is for probabilities"):
        rk.Rescaled(rk.MART(**GRADED), normalize="query_max").fit(TRAIN)
    with pytest.raises(ParameterError, match="normalize must be one of"):
        rk.Rescaled(rk.MART(**GRADED), normalize="all").fit(TRAIN)
    assert whole.needs_queries is False


def test_damaged_files_are_refused(graded):
    state, arrays = to_state(rk.Rescaled.of(graded, normalize="query"))
    with pytest.raises(ModelFileError, match="a ranker of 5 features in one of 4"):
        from_state({**state, "n_features": 4}, arrays)
    for params in (
        {"normalize": "all"},
        {"normalize": "query", "probabilities": "yes"},
        {"normalize": "query_max", "probabilities": False},
        {"normalize": "query", "more": 1},
        None,
    ):
        with pytest.raises(ModelFileError, match="damaged"):
            from_state({**state, "params": params}, arrays)


def test_files_of_the_two_classes_that_it_was(graded):
    model = rk.Rescaled.of(graded, True, "query_max")
    state, arrays = to_state(model)
    assert state["kind"] == "Rescaled"
    earlier = {"kind": "Probabilities", "normalize": "query_max", "feature_names": None}
    with_slope = {**state, "params": {"normalize": "query_max", "sigma": 0.7}}
    for old in ({**earlier, "ranker": state["ranker"]}, with_slope):
        again = from_state(old, arrays)
        assert type(again) is rk.Rescaled and same(again.predict(TEST), model.predict(TEST))
        assert to_state(again)[0] == state
    without = from_state({**state, "params": {"normalize": "query", "sigma": None}}, arrays)
    assert without.probabilities is False
    with pytest.raises(ModelFileError, match="another slope"):
        from_state({**state, "params": {"normalize": "query_max", "sigma": 0.8}}, arrays)
