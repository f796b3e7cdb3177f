"""Features of queries from scores, and scores that do not know their labels."""

from itertools import pairwise

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble import (
    fold_numbers,
    out_of_fold,
    query_features,
    with_features,
    with_query_features,
)
from tests.subjects import plain_rows, quiet, same


def data(**more):
    X, y, qid = plain_rows()
    return rk.Dataset(X, y, qid=qid, **more)


def test_query_features_as_defined():
    rng = np.random.default_rng(0)
    sizes = np.array([1, 2, 3, 4, 30])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = rng.normal(size=offsets[-1])
    found = query_features(scores, offsets)
    for first, last in pairwise(offsets):
        own = scores[first:last]
        top = np.sort(own)[::-1][:3]
        expected = [own.max(), own.mean(), top.max(), top.mean()]
        np.testing.assert_allclose(found[first:last], np.tile(expected, (last - first, 1)), 1e-14)


def test_query_features_do_not_depend_on_the_order_of_documents():
    rng = np.random.default_rng(1)
    scores, offsets = rng.normal(size=1000) ** 9, np.array([0, 1000])
    expected = query_features(scores, offsets)
    for _ in range(5):
        assert same(query_features(rng.permutation(scores), offsets), expected)


def test_query_features_of_extreme_scores():
    huge = query_features([1.7e308, 1.7e308, -1.7e308], np.array([0, 3]))
    np.testing.assert_allclose(huge[0], [1.7e308, 1.7e308 / 3, 1.7e308, 1.7e308 / 3])
    assert query_features([0.0, 0.0], np.array([0, 2]))[0].tolist() == [0, 0, 0, 0]
    assert query_features([], np.array([0])).shape == (0, 4)
    with pytest.raises(rk.DataError, match="scores has shape"):
        query_features([1.0, 2.0], np.array([0, 3]))
    with pytest.raises(rk.DataError, match="scores has a score that is NaN or infinite"):
        query_features([1.0, np.nan], np.array([0, 2]))


def test_with_features():
    X, y, qid = plain_rows()
    order = np.random.default_rng(2).permutation(len(y))
    shuffled = quiet(X[order], y[order], qid=qid[order], feature_names=list("abcdefgh"))
    new = np.random.default_rng(3).normal(size=(len(y), 2))
    wide = with_features(shuffled, new, ["one", "two"])
    assert wide.feature_names == [*"abcdefgh", "one", "two"]
    assert same(shuffled.in_caller_order(wide.X), np.column_stack([X[order], new]))
    assert same(wide.y, shuffled.y) and wide.order is shuffled.order
    narrow = rk.Dataset(X.astype(np.float32), qid=qid)
    assert with_features(narrow, new.astype(np.float32), ["x", "y"]).X.dtype == np.float32
    assert with_features(narrow, new, ["x", "y"]).X.dtype == np.float64
    assert with_features(narrow, new, ["x", "y"]).feature_names is None


def test_with_features_that_do_not_fit(tmp_path):
    whole = data(feature_names=list("abcdefgh"))
    new = np.zeros((600, 2))
    for columns, names, sentence in (
        (new[1:], ["x", "y"], "the dataset has 600 rows"),
        (new, ["x"], "columns must be a matrix of floats with 1 columns"),
        (new[:, 0], ["x"], "columns must be a matrix of floats"),
        (new, ["x", "a"], "has a feature 'a' already"),
        (new, ["x", "x"], "has a feature 'x' already"),
    ):
        with pytest.raises(rk.DataError, match=sentence):
            with_features(whole, columns, names)
    whole.save(tmp_path / "bins")
    with pytest.raises(rk.DataError, match="holds only bins, and new features are put beside"):
        with_features(rk.read(tmp_path / "bins"), new, ["x", "y"])


def test_query_features_beside_those_of_the_data():
    X, y, qid = plain_rows()
    order = np.random.default_rng(4).permutation(len(y))
    scores = np.random.default_rng(5).normal(size=len(y))
    straight = with_query_features(rk.Dataset(X, y, qid=qid), {"a": scores, "b": -scores})
    shuffled = quiet(X[order], y[order], qid=qid[order])
    turned = with_query_features(shuffled, {"a": scores[order], "b": -scores[order]})
    assert straight.n_features == 8 + 8
    assert same(straight.X[order], turned.in_caller_order(turned.X))
    for first in range(0, 600, 20):
        own = scores[first : first + 20]
        assert straight.X[first, 8] == np.float32(own.max())
        assert straight.X[first, 12] == np.float32(-own.min())
    named = with_query_features(data(feature_names=list("abcdefgh")), {"mart": scores})
    assert named.feature_names[8:] == [
        "mart max",
        "mart mean",
        "mart max of top 3",
        "mart mean of top 3",
    ]


def test_folds_are_even_and_go_by_id():
    whole = data()
    folds = fold_numbers(whole, 7, 3)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 4, 4, 4, 5, 5]
    order = np.random.default_rng(6).permutation(30)
    assert same(fold_numbers(whole.select_queries(order), 7, 3), folds[order])
    assert not same(fold_numbers(whole, 7, 4), folds)
    weight = (np.arange(30) % 4 > 0).astype(float)
    weighed = fold_numbers(data(query_weight=weight), 7, 3)
    assert (weighed[weight == 0] == -1).all()
    rest = whole.select_queries(weight > 0)
    assert same(weighed[weight > 0], fold_numbers(rest, 7, 3))
    with pytest.raises(rk.ParameterError, match=r"n_folds=31 needs as many queries, and .* 30"):
        fold_numbers(whole, 31)


def test_each_query_is_scored_by_a_model_without_it():
    whole = data()
    folds = fold_numbers(whole, 3, 1)
    ranker = rk.LambdaMART(n_estimators=4, min_samples_leaf=5)
    scores = out_of_fold(ranker, whole, 3, 1)
    for fold in range(3):
        model = ranker.__sklearn_clone__().fit(whole.select_queries(folds != fold))
        expected = model.predict(whole.select_queries(folds == fold))
        assert same(scores[np.repeat(folds == fold, 20)], expected)
    assert not hasattr(ranker, "n_features_in_")
    by_id = dict(zip(whole.qids.tolist(), folds.tolist(), strict=True))
    assert same(out_of_fold(ranker, whole, 3, folds=by_id), scores)
    X, y, qid = plain_rows()
    order = np.random.default_rng(7).permutation(len(y))
    assert same(out_of_fold(ranker, quiet(X[order], y[order], qid=qid[order]), 3, 1), scores[order])


def test_a_ranker_that_stops_early_does_not_watch_what_it_scores():
    whole = data()
    folds = fold_numbers(whole, 3)
    ranker = rk.LambdaMART(n_estimators=20, early_stopping=2, min_samples_leaf=5)
    scores = out_of_fold(ranker, whole, 3)
    parts = [whole.select_queries(folds == fold) for fold in range(3)]
    model = ranker.__sklearn_clone__().fit(parts[2], valid=parts[1])
    assert same(scores[np.repeat(folds == 0, 20)], model.predict(parts[0]))
    with pytest.raises(rk.ParameterError, match="n_folds must be a whole number at least 3"):
        out_of_fold(ranker, whole, 2)


def test_queries_that_weigh_nothing_are_scored_too():
    weight = (np.arange(30) % 4 > 0).astype(float)
    scores = out_of_fold(rk.LambdaMART(n_estimators=3), data(query_weight=weight), 3)
    absent = np.repeat(weight == 0, 20)
    assert np.isfinite(scores).all() and np.ptp(scores[absent]) > 0
    rest = out_of_fold(rk.LambdaMART(n_estimators=3), data().select_queries(weight > 0), 3)
    assert same(scores[~absent], rest)


def test_wrong_folds_and_rankers():
    whole, ranker = data(), rk.LambdaMART(n_estimators=2)
    for folds, sentence in (
        (np.zeros(29, int), "folds has 29 values, but the data has 30 queries"),
        (np.zeros(30), "folds must be whole numbers"),
        (np.arange(30), "folds has the number 3, and with n_folds=3 they go from 0 to 2"),
        (np.arange(30) % 2, "fold 2 has no query that counts"),
        ({0: 1}, "folds has no fold for query 1 .29 queries are missing"),
    ):
        with pytest.raises(rk.DataError, match=sentence):
            out_of_fold(ranker, whole, 3, folds=folds)
    for wrong, sentence in (
        (rk.LambdaMART, "ranker is the class LambdaMART"),
        (lambda X: X[:, 0], "ranker must be a ranker of rankinite"),
        (rk.LambdaMART(sigma=0), "sigma must be a number above 0"),
    ):
        with pytest.raises(rk.ParameterError, match=sentence):
            out_of_fold(wrong, whole, 3)
    with pytest.raises(rk.DataError, match="out_of_fold needs a Dataset, not a ndarray"):
        out_of_fold(ranker, whole.X)
    unlabelled = rk.Dataset(whole.X, qid=plain_rows()[2])
    with pytest.raises(rk.DataError, match="in fold 0: the data has no labels"):
        out_of_fold(ranker, unlabelled, 3)
