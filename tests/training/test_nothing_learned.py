"""Training on nothing says what was missing, in one sentence, for every ranker."""

import warnings

import numpy as np
import pytest

import rankinite as rk

RANKERS = (
    rk.LambdaMART(n_estimators=3, min_samples_leaf=2),
    rk.LambdaMART(n_estimators=3, min_samples_leaf=2, step="line_search", learning_rate=1.0),
    rk.LambdaBoost(n_estimators=3),
    rk.LambdaRank(n_epochs=3),
    rk.RankNet(n_epochs=3),
)
POINTWISE = (
    rk.MART(n_estimators=3, min_samples_leaf=2),
    rk.McRank(n_estimators=3, min_samples_leaf=2),
    rk.McRank("ordinal", n_estimators=3, min_samples_leaf=2),
)
by_name = pytest.mark.parametrize("ranker", (*RANKERS, *POINTWISE), ids=repr)

X = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.tile([0.0, 1.0, 2.0], 4)
QID = np.repeat([1, 2, 3], 4)


def told(ranker, *data, **options):
    with pytest.warns(rk.NothingLearnedWarning) as caught:
        ranker.fit(*data, **options)
    assert len(caught) == 1 and caught[0].filename == __file__
    message = str(caught[0].message)
    assert message.startswith("nothing was learned: ") and "\n" not in message
    assert np.ptp(ranker.predict(X)) == 0 or "epoch" in ranker.unit
    return message.removeprefix("nothing was learned: ")


@by_name
def test_equal_labels(ranker):
    pairs = ranker.learns_from_pairs
    missing = "no query has two documents with different labels" if pairs else "all labels are the"
    for value in (0.0, 1.0):
        assert told(ranker, X, np.full(12, value), qid=QID).startswith(missing)
    if pairs:
        assert told(ranker, X, QID.astype(float), qid=QID) == missing
        assert told(ranker, X, LABELS, qid=np.arange(12)) == missing


@by_name
def test_no_weight(ranker):
    missing = "no document has a weight above 0"
    assert told(ranker, X, LABELS, qid=QID, sample_weight=np.zeros(12)) == missing
    assert told(ranker, X, LABELS, qid=QID, query_weight=np.zeros(3)) == missing


@by_name
def test_features_that_tell_nothing(ranker):
    same = np.ones((12, 3))
    assert told(ranker, same, LABELS, qid=QID) == "no feature tells the documents apart"


@pytest.mark.parametrize("kind", (rk.LambdaMART, rk.MART, rk.McRank))
def test_leaves_larger_than_the_data(kind):
    assert (
        told(kind(n_estimators=2), X, LABELS, qid=QID)
        == "min_samples_leaf=20 leaves no split of 12 rows"
    )


def test_a_measure_that_does_not_care():
    missing = "map is the same for every order of a query's documents"
    for ranker in (rk.LambdaMART("map", 3, min_samples_leaf=2), rk.LambdaRank("map", n_epochs=2)):
        assert told(ranker, X, LABELS + 1, qid=QID) == missing


def test_preferences():
    def rows(**options):
        queries = rk.Dataset(X, qid=QID)
        return queries.with_preferences(preferred=[0, 4], other=[1, 5], **options)

    for ranker in (rk.LambdaMART(n_estimators=2, min_samples_leaf=2), rk.RankNet(n_epochs=2)):
        none = told(ranker, rows(weight=[0.0, 0.0]))
        assert none == "no preference pair has a weight above 0"
    ranker = rk.LambdaMART(n_estimators=2, min_samples_leaf=2)
    assert told(ranker, rows(probability=[0.5, 0.5])).endswith("has the probability 0.5")


@by_name
def test_no_warning_where_something_was_learned(ranker):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(X, LABELS, qid=QID)
