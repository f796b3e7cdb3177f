"""Forests that are scored in one pass: to the bit what the rankers give one by one."""

import copy
from functools import cache

import numpy as np
import pytest

import rankinite as rk
from rankinite.combination import members
from rankinite.combination.members import forests_among
from tests.subjects import same


@cache
def parts():
    return rk.artificial(n_queries=(40, 25, 100), n_docs=15, n_features=6, random_state=3)


@cache
def trained():
    """Rankers of other data, bins, measures and sizes; one with several sums of trees."""
    train, valid, _ = parts()
    base = rk.LambdaMART(n_estimators=2, max_leaf_nodes=3).fit(valid)
    return {
        "ndcg": rk.LambdaMART(n_estimators=6, max_leaf_nodes=5).fit(train),
        "err": rk.LambdaMART(measure="err@10", n_estimators=4, max_leaf_nodes=9).fit(valid),
        "mart": rk.MART(n_estimators=3, max_leaf_nodes=4, max_bins=9).fit(train),
        "mcrank": rk.McRank(n_estimators=3, max_leaf_nodes=4).fit(train),
        "net": rk.LambdaRank(n_epochs=2, n_hidden=3).fit(train),
        "smart": rk.LambdaMART(n_estimators=3, max_leaf_nodes=4, base_model=base).fit(train),
        "weights": np.arange(6.0),
    }


def one_by_one(combination, data):
    """The scores of a combination from what its rankers give by themselves."""
    raw = []
    for ranker in combination._members.values():
        if isinstance(ranker, rk.Combination):
            raw.append(one_by_one(ranker, data))
        else:
            raw.append(ranker.predict(data if hasattr(ranker, "score_dataset") else data.X))
    return combination._combiner.scores(np.column_stack(raw), data.offsets)


@pytest.mark.parametrize("method", ["average", "linear", "net", "exact_powell", "pair_tree"])
@pytest.mark.parametrize("normalize", ["data", "query", "none"])
def test_scores_are_those_of_the_rankers_one_by_one(method, normalize):
    _, valid, test = parts()
    model = rk.Combination(trained(), method, normalize=normalize).fit(valid)
    assert len(forests_among(model._members, test)) == 4
    assert same(model.predict(test), one_by_one(model, test))


@pytest.mark.parametrize("n_rows", [1, 10, 33, 128, 1500])
def test_any_number_of_rows_and_both_types(n_rows):
    _, valid, test = parts()
    model = rk.Combination(trained()).fit(valid)
    expected = one_by_one(model, test)[:n_rows]
    X = test.X[:n_rows]
    assert same(model.predict(X), expected)
    assert same(model.predict(X.astype(np.float64)), expected)


@pytest.mark.parametrize("few_rows", [0, 10**9])
def test_combinations_of_combinations(few_rows, monkeypatch, tmp_path):
    monkeypatch.setattr(members, "_FEW_ROWS", few_rows)
    _, valid, test = parts()
    each = trained()
    by_query = rk.Combination([each["mart"], each["net"]], "linear", normalize="query").fit(valid)
    inner = rk.Combination({"deep": by_query, "err": each["err"]}, "powell").fit(valid)
    outer = rk.Combination({"inner": inner, "ndcg": each["ndcg"], "err": each["err"]}).fit(valid)
    n_together = 3 if few_rows else 2
    assert len(forests_among(outer._members, test)) == n_together
    expected = one_by_one(outer, test)
    assert same(outer.predict(test), expected)
    assert same(outer.predict(test), expected)
    outer.save(tmp_path / "outer.rk")
    assert same(rk.load(tmp_path / "outer.rk").predict(test), expected)
    assert same(copy.deepcopy(outer).predict(test), expected)


def test_bins_are_scored_together_too(monkeypatch, tmp_path):
    from rankinite.trees import scoring

    train, _, _ = parts()
    rankers = {name: trained()[name] for name in ("ndcg", "mcrank")}
    model = rk.Combination(rankers).fit(train)
    train.save(tmp_path / "bins")
    bins = rk.read(tmp_path / "bins")
    for most in (0, 10**9):
        monkeypatch.setattr(scoring, "WALKED_TREES", most)
        assert same(model.predict(bins), one_by_one(model, train))


def test_a_ranker_that_is_trained_anew_scores_anew():
    train, valid, test = parts()
    rankers = {k: rk.LambdaMART(n_estimators=3, random_state=k).fit(train) for k in (1, 2)}
    model = rk.Combination({str(k): ranker for k, ranker in rankers.items()}).fit(valid)
    before = model.predict(test)
    laid_out = model._shared
    assert same(model.predict(test), before) and model._shared is laid_out
    rankers[1].fit(valid)
    assert not same(model.predict(test), before)
    assert same(model.predict(test), one_by_one(model, test))


def test_features_in_another_order_are_found_by_name():
    train, valid, test = parts()
    names = list("abcdef")

    def named(data, columns):
        qid = np.repeat(data.qids, data.query_sizes)
        places = [names.index(name) for name in columns]
        return rk.Dataset(data.X[:, places], data.y, qid=qid, feature_names=columns)

    rankers = [rk.LambdaMART(n_estimators=3).fit(named(train, names)) for _ in range(2)]
    rankers.append(rk.LambdaMART(n_estimators=2).fit(train))
    model = rk.Combination(rankers).fit(named(valid, names))
    assert len(forests_among(model._members, named(test, names))) == 3
    expected = model.predict(test.X)
    assert same(model.predict(named(test, names)), expected)
    assert same(model.predict(named(test, names[::-1])), expected)


def test_scores_that_are_no_numbers_name_the_ranker():
    train, valid, test = parts()
    good, bad = (rk.LambdaMART(n_estimators=2, random_state=k).fit(train) for k in (1, 2))
    model = rk.Combination({"good": good, "bad": bad}).fit(valid)
    bad.forest_.value[:] = 1.7e308
    with pytest.raises(rk.DataError, match="the output of the ranker 'bad', a LambdaMART, has a s"):
        model.predict(test)


def test_bags_inside_are_scored_in_the_same_pass():
    train, valid, test = parts()
    bag = rk.Bagging(rk.LambdaMART(n_estimators=3, max_leaf_nodes=4), n_folds=3).fit(train)
    folds = [model.predict(test) for model in bag.models_]
    mean = ((folds[0] + folds[1]) + folds[2]) / 3
    assert same(bag.predict(test), mean)
    model = rk.Combination({"bag": bag, "mart": trained()["mart"]}).fit(valid)
    assert len(forests_among(model._members, test)) == 4
    raw = np.column_stack([mean, trained()["mart"].predict(test)])
    assert same(model.predict(test), model._combiner.scores(raw, test.offsets))
    grown = rk.augmented(test, fraction=0.5, times=2)
    copied = rk.Dataset(grown.X, qid=np.repeat(grown.qids, grown.query_sizes))
    assert same(model.predict(grown), model.predict(copied))
