import numpy as np
import pytest

import rankinite as rk
from tests.boosting.small import QUICK, train_and_valid

MART = rk.MART(**QUICK)


def shuffled(data, seed=0):
    """The same queries, with rows in an order that is not the stored one."""
    order = np.random.default_rng(seed).permutation(data.n_rows)
    qid = np.repeat(data.qids, data.query_sizes)
    return rk.Dataset(data.X[order], data.y[order], qid=qid[order])


def test_every_query_is_ranked_by_a_model_that_has_not_seen_it():
    data = shuffled(train_and_valid()[0])
    found = rk.cross_validate(MART, data, ["ndcg@10", "mrr"], n_folds=3, random_state=7)
    own = found.evaluations["MART"]
    assert own.n_queries == data.n_queries and list(own.means) == ["ndcg@10", "mrr"]
    assert found.comparison is None and len(found.folds) == 3
    for fold, (train, test) in zip(found.folds, data.folds(3, 7), strict=True):
        expected = rk.evaluate(rk.MART(**QUICK).fit(train), test, ["ndcg@10", "mrr"])
        assert fold["MART"] == expected.means
        for name, values in expected.per_query.items():
            of_test = own.per_query[name][np.isin(data.qids, test.qids)]
            np.testing.assert_array_equal(of_test, values)
    means = [fold["MART"]["mrr"] for fold in found.folds]
    assert found.spread("MART", "mrr") == pytest.approx(np.std(means, ddof=1))
    assert not hasattr(MART, "forest_"), "the ranker itself stays untrained"


def test_several_rankers_are_compared_query_by_query():
    data, _ = train_and_valid()
    rankers = {"trees": MART, "first feature": lambda train: lambda X: X[:, 0]}
    found = rk.cross_validate(rankers, data, "ndcg@10", n_folds=3)
    row = found.comparison.rows[0]
    assert (row.baseline, row.scorer, row.n_queries) == ("trees", "first feature", 30)
    assert row.mean == rk.evaluate(lambda X: X[:, 0], data, "ndcg@10")["ndcg@10"]
    lines = str(found).splitlines()
    assert lines[0].split() == [
        "measure",
        "ranker",
        "mean",
        "spread",
        "fold",
        "1",
        "fold",
        "2",
        "fold",
        "3",
    ]
    assert lines[2].startswith("ndcg@10  first feature  ") and "(baseline)" in str(found)
    assert f"{found.folds[2]['trees']['ndcg@10']:.4f}" in lines[1]
    numbered = rk.cross_validate([MART, MART], data, n_folds=2)
    assert list(numbered.evaluations) == ["1", "2"] and numbered.comparison.rows[0].ties == 30


def test_early_stopping_watches_a_part_of_the_training_queries():
    data, _ = train_and_valid()
    seen = []

    class Watched(rk.LambdaMART):
        def fit(self, X, *, valid=None):
            seen.append((X.n_queries, valid.n_queries, set(X.qids) & set(valid.qids)))
            return super().fit(X, valid=valid)

    stopping = Watched(**QUICK, early_stopping=2)
    assert np.isfinite(
        rk.cross_validate(stopping, data, n_folds=3).evaluations["Watched"]["ndcg@10"]
    )
    assert seen == [(10, 10, set())] * 3
    with pytest.raises(rk.ParameterError, match="n_folds=2 leaves no queries to watch"):
        rk.cross_validate(stopping, data, n_folds=2)


def test_preferences_and_combinations():
    data, _ = train_and_valid()
    pairs = data.with_preferences(preferred=np.arange(0, 600, 20), other=np.arange(1, 600, 20))
    found = rk.cross_validate(rk.RankNet(2, 2, sigma=2.0), pairs, n_folds=2)
    assert set(found.evaluations["RankNet"].means) == {"pair_accuracy", "pair_log_loss"}
    trained = rk.MART(**QUICK).fit(data)
    both = rk.Combination({"trees": trained, "feature": lambda X: X[:, 0]}, method="linear")
    assert rk.cross_validate(both, data, n_folds=2).evaluations["Combination"].n_queries == 30


@pytest.mark.parametrize(
    ("rankers", "message"),
    [
        ({}, "not an empty dict"),
        (3, "not a int"),
        ("x", "not a str"),
        ({"a": rk.MART}, "'a' is the class MART: pass a ranker"),
        ({"a": np.ones(3)}, "'a' is array"),
    ],
)
def test_what_is_no_ranker(rankers, message):
    with pytest.raises(rk.ParameterError, match=message):
        rk.cross_validate(rankers, train_and_valid()[0])


def test_what_is_no_data():
    with pytest.raises(rk.DataError, match="needs a Dataset, not a ndarray"):
        rk.cross_validate(MART, np.ones((3, 3)))
    with pytest.raises(rk.ParameterError, match="n_folds must lie between 2 and the number"):
        rk.cross_validate(MART, train_and_valid()[0], n_folds=31)
