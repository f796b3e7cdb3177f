"""What holds trees back: L2, the least curvature of a leaf, depth, queries drawn for a tree."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.query_sample import QuerySample
from rankinite.distributed import Serial
from tests.boosting.small import QUICK, train_and_valid
from tests.boosting.test_mart import few_values

SHARED = {"max_leaf_nodes": 8, "min_samples_leaf": 5, "learning_rate": 0.3}


@pytest.mark.parametrize("split", ["least_squares", "newton"])
@pytest.mark.parametrize(("l2", "depth"), [(0.5, None), (30.0, None), (0.0, 2), (7.0, 3)])
def test_l2_and_depth_against_scikit_learn(split, l2, depth):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, qid = few_values()
    own = {"l2_regularization": l2, "max_depth": depth, **SHARED}
    model = rk.MART(n_estimators=6, split=split, **own).fit(X, y, qid=qid)
    peer = HistGradientBoostingRegressor(max_iter=6, early_stopping=False, **own).fit(X, y)
    assert np.allclose(model.predict(X), peer.predict(X), rtol=0, atol=1e-5)


def depths(tree):
    """Splits above each leaf."""
    found, waiting = {}, [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        if node < 0:
            found[~node] = depth
        else:
            waiting += [(int(tree.left[node]), depth + 1), (int(tree.right[node]), depth + 1)]
    return list(found.values())


def test_no_leaf_is_deeper_than_max_depth():
    train, _ = train_and_valid()
    settings = {"n_estimators": 5, "max_leaf_nodes": 12, "min_samples_leaf": 2}
    for depth, deepest in ((1, 1), (3, 3), (50, None)):
        forest = rk.LambdaMART(max_depth=depth, **settings).fit(train).forest_
        found = [max(depths(tree)) for tree in forest.trees(np.zeros(len(forest.feature)))]
        assert max(found) == deepest if deepest else max(found) > 3
    free = rk.LambdaMART(**settings).fit(train)
    bound = rk.LambdaMART(max_depth=50, **settings).fit(train)
    assert free.predict(train).tobytes() == bound.predict(train).tobytes()


def test_leaves_have_the_least_curvature():
    """Of least squares w is the document's weight, so that it can be added up by leaf."""
    X, y, qid = few_values()
    weight = np.random.default_rng(0).integers(1, 5, len(y)) / 2
    for least in (20.0, 75.5):
        model = rk.MART(
            n_estimators=1, max_leaf_nodes=30, min_samples_leaf=1, split="newton",
            min_curvature_leaf=least,
        ).fit(X, y, qid=qid, sample_weight=weight)  # fmt: skip
        scores = model.predict(X)
        # Weights count in units of a power of two: the largest, 2, lies between 1 and 2.
        sums = [weight[scores == value].sum() / 2 for value in np.unique(scores)]
        assert len(sums) > 2 and min(sums) >= least
    with pytest.raises(rk.ParameterError, match="min_curvature_leaf=1 needs split='newton'"):
        rk.MART(split="least_squares", min_curvature_leaf=1).fit(X, y, qid=qid)


@pytest.mark.parametrize("split", ["least_squares", "newton"])
def test_sigma_scales_the_scores_and_nothing_else(split):
    train, _ = train_and_valid()
    options = {**QUICK, "l2_regularization": 0.3, "noise": 1.0, "split": split}
    options.update(query_fraction=0.8, importance_fraction=0.7)
    if split == "newton":
        options["min_curvature_leaf"] = 0.05
    one, four = (
        rk.LambdaMART(sigma=sigma, **options).fit(train).predict(train) for sigma in (1.0, 4.0)
    )
    assert np.ptp(one) > 0
    assert np.allclose(one, 4 * four, rtol=1e-9, atol=0)


def test_l2_shortens_the_steps():
    train, _ = train_and_valid()
    spans = [
        np.ptp(rk.LambdaMART(l2_regularization=l2, **QUICK).fit(train).predict(train))
        for l2 in (0.0, 1.0, 100.0)
    ]
    assert spans[0] > spans[1] > spans[2] > 0


def sample(n_queries, fraction, n_docs=3, seed=0):
    keys = np.random.default_rng(seed).integers(0, 2**64, n_queries * n_docs, np.uint64)
    offsets = np.arange(0, len(keys) + 1, n_docs)
    return QuerySample(keys, offsets, fraction, Serial())


def test_queries_are_drawn_whole_and_in_the_right_share():
    rows = sample(4000, 0.3).rows(np.uint64(5))
    queries, counts = np.unique(rows // 3, return_counts=True)
    assert (counts == 3).all() and (np.diff(rows.astype(int)) > 0).all()
    assert len(queries) == pytest.approx(1200, abs=100)
    assert not np.array_equal(rows, sample(4000, 0.3).rows(np.uint64(6)))
    # Where chance would leave nothing, all are taken.
    assert len(sample(2, 1e-9).rows(np.uint64(1))) == 6


def test_drawn_queries_choose_the_splits_and_all_documents_the_steps():
    X, y, qid = few_values()
    model = rk.MART(n_estimators=1, query_fraction=0.3, learning_rate=1.0).fit(X, y, qid=qid)
    whole = rk.MART(n_estimators=1, learning_rate=1.0).fit(X, y, qid=qid)
    scores = model.predict(X)
    assert not np.array_equal(model.forest_.threshold, whole.forest_.threshold)
    for value in np.unique(scores):
        assert value == pytest.approx(y[scores == value].mean())
    assert model.forest_.count.sum() == len(y)
    with_all = rk.MART(n_estimators=1, query_fraction=1.0, learning_rate=1.0).fit(X, y, qid=qid)
    assert with_all.predict(X).tobytes() == whole.predict(X).tobytes()


def test_drawn_queries_and_the_line_search():
    """The weight of a tree is found on all queries: the training measure never gets worse."""
    train, _ = train_and_valid()
    options = {**QUICK, "query_fraction": 0.5, "truncation": None}
    model = rk.LambdaMART(step="line_search", learning_rate=1.0, **options)
    model.fit(train, valid={"train": train})
    history = model.history_["train"]["ndcg@10"]
    assert (np.diff(history) >= 0).all() and history[-1] > history[0]


def test_noise_makes_other_trees_that_are_as_good():
    train, valid = train_and_valid()
    settings = {**QUICK, "n_estimators": 30}
    plain, noisy = (rk.LambdaMART(noise=noise, **settings).fit(train) for noise in (0.0, 1.0))
    values = [rk.evaluate(model, valid, "ndcg@10")["ndcg@10"] for model in (plain, noisy)]
    assert not np.array_equal(plain.predict(train), noisy.predict(train))
    assert abs(values[0] - values[1]) < 0.05
