"""Rankers on top of others, and that they learn nothing from noise."""

import numpy as np
import pytest
from sklearn.base import clone

import rankinite as rk
from rankinite.ensemble import fold_numbers, out_of_fold, with_query_features
from tests.subjects import plain_rows, quiet, same, saved

TOP = {"n_estimators": 4, "min_samples_leaf": 5}
BASE = {"loss": "graded", "n_estimators": 3, "min_samples_leaf": 5}


def data(**more):
    X, y, qid = plain_rows()
    return rk.Dataset(X, y, qid=qid, **more)


def stacked(**params):
    bases = {"mart": rk.MART(**BASE)}
    return rk.Stacked(rk.LambdaMART(**TOP), bases, **{"n_folds": 3, **params})


def test_the_parts_by_hand():
    whole, valid = data(), data().select_queries(np.arange(5))
    model = stacked(random_state=1).fit(whole, valid=valid)
    scores = out_of_fold(rk.MART(**BASE), whole, 3, 1)
    base = rk.MART(**BASE).fit(whole)
    assert same(model.bases_["mart"].predict(whole), base.predict(whole))
    top = rk.LambdaMART(**TOP).fit(with_query_features(whole, {"mart": scores}))
    expected = top.predict(with_query_features(whole, {"mart": base.predict(whole)}))
    assert same(model.predict(whole), expected)
    assert (model.n_features_in_, model.ranker_.n_features_in_) == (8, 12)
    watched = with_query_features(valid, {"mart": base.predict(valid)})
    assert model.ranker_.history_["valid"]["ndcg@10"][-1] == rk.evaluate(top, watched)["ndcg@10"]
    of_parts = rk.Stacked.of(top, {"mart": base})
    assert same(of_parts.predict(whole), expected) and of_parts.n_features_in_ == 8
    with pytest.raises(rk.ParameterError, match="train it on with_query_features"):
        rk.Stacked.of(base, {"mart": base})


def noise(n_queries=240, n_docs=5):
    """Queries of better and of worse documents, of which the features know nothing."""
    rng = np.random.default_rng(0)
    level = np.repeat(rng.integers(0, 4, n_queries), n_docs)
    y = level + rng.integers(0, 2, len(level))
    qid = np.repeat(np.arange(n_queries), n_docs)
    return rk.Dataset(rng.normal(size=(len(y), 4)), y, qid=qid)


def explained(model, rows):
    """The share of the labels' variance that a model of least squares explains."""
    return 1 - np.mean((rows.y - model.predict(rows)) ** 2) / np.var(rows.y)


@pytest.mark.slow
def test_pure_noise_gives_no_gain():
    """Scores of a model that knows the labels do: a ranker on top of them would trust them."""
    rows = noise()
    learned_by_heart = rk.MART(n_estimators=60, max_leaf_nodes=63, min_samples_leaf=1)
    # Leaves of thirty queries or more: there is not much chance to learn by heart in them.
    top = rk.MART(n_estimators=4, max_leaf_nodes=4, min_samples_leaf=150, learning_rate=0.5)
    in_fold = with_query_features(rows, {"b": clone(learned_by_heart).fit(rows).predict(rows)})
    leaking = explained(clone(top).fit(in_fold), in_fold)
    without = explained(clone(top).fit(rows), rows)
    scores = out_of_fold(learned_by_heart, rows, 4)
    out = with_query_features(rows, {"b": scores})
    model = rk.Stacked(top, {"b": learned_by_heart}, n_folds=4).fit(rows)
    assert same(model.ranker_.predict(out), clone(top).fit(out).predict(out))
    gain = explained(model.ranker_, out) - without
    assert leaking - without > 0.5
    # What is left is chance: as much as the scores of other queries, drawn at random, give.
    by_query = scores.reshape(-1, 5)
    chance = []
    for seed in range(5):
        others = np.random.default_rng(seed).permutation(by_query).ravel()
        control = with_query_features(rows, {"b": others})
        chance.append(explained(clone(top).fit(control), control) - without)
    assert gain < max(chance) < 0.2
    # What a query's mean score says about its labels: nearly all in fold, and nothing out of it.
    means = rows.y.reshape(-1, 5).mean(axis=1)
    knows = [np.corrcoef(each.X[::5, 5], means)[0, 1] for each in (in_fold, out)]
    assert knows[0] > 0.9 and abs(knows[1]) < 3 / np.sqrt(len(means))
    # A bag's own scores are as innocent.
    bag = rk.Bagging(learned_by_heart, n_folds=4)
    of_bag = rk.Stacked(top, {"b": bag}, n_folds=4).fit(rows)
    assert same(of_bag.bases_["b"].oof_scores_, scores)
    assert same(of_bag.ranker_.predict(out), model.ranker_.predict(out))


def test_bases_that_stop_early():
    whole = data()
    base = rk.LambdaMART(n_estimators=20, early_stopping=2, min_samples_leaf=5)
    folds = fold_numbers(whole, 3)
    model = rk.Stacked(rk.LambdaMART(**TOP), base, n_folds=3).fit(whole)
    parts = [whole.select_queries(chosen) for chosen in (folds != 0, folds == 0)]
    expected = clone(base).fit(parts[0], valid=parts[1])
    assert same(model.bases_["LambdaMART"].predict(whole), expected.predict(whole))
    valid = parts[1]
    watching = rk.Stacked(rk.LambdaMART(**TOP, early_stopping=2), [base], n_folds=3)
    with pytest.raises(rk.ParameterError, match="early_stopping=2 needs data to watch"):
        clone(watching).fit(whole)
    watching.fit(parts[0], valid=valid)
    assert list(watching.bases_) == ["1"]
    expected = clone(base).fit(parts[0], valid=valid)
    assert same(watching.bases_["1"].predict(whole), expected.predict(whole))
    # Inside a bag the fold that is left out is watched.
    assert rk.Bagging(watching, n_folds=2).fit(whole).needs_queries


def test_neither_order_nor_threads_nor_type_matter(tmp_path):
    X, y, qid = plain_rows()
    expected = saved(stacked().fit(X, y, qid=qid), tmp_path)
    order = np.random.default_rng(1).permutation(len(y))
    shuffled = quiet(X[order], y[order], qid=qid[order])
    model = stacked().fit(shuffled)
    assert saved(model, tmp_path) == expected
    assert same(model.predict(shuffled), model.predict(data())[order])
    assert saved(stacked().fit(X.astype(np.float32), y, qid=qid), tmp_path) == expected
    for n_threads in (1, 2):
        assert saved(stacked(n_threads=n_threads).fit(data()), tmp_path) == expected


def test_saving_loading_and_being_a_member(tmp_path):
    whole = data(feature_names=list("abcdefgh"))
    bases = {"mart": rk.Rescaled(rk.MART(**BASE), True), "bag": rk.Bagging(rk.MART(**BASE), 3)}
    model = rk.Stacked(rk.LambdaMART(**TOP), bases, n_folds=3).fit(whole)
    first = saved(model, tmp_path)
    copy = rk.load(tmp_path / "model.rk")
    assert same(copy.predict(whole), model.predict(whole)) and saved(copy, tmp_path) == first
    assert saved(clone(copy).fit(whole), tmp_path) == first
    assert copy.feature_names_in_.tolist() == list("abcdefgh")
    assert copy.ranker_.feature_names_in_[-1] == "bag mean of top 3"
    assert copy.in_words() == "LambdaMART with 4 trees, on top of mart, bag"
    assert model.score(whole) == rk.evaluate(model, whole)["ndcg@10"]
    members = {
        "stacked": model,
        "normalised": rk.Rescaled(rk.MART(**BASE), True, "query_max").fit(whole),
        "plain": rk.LambdaMART(**TOP).fit(whole),
    }
    both = rk.Combination(members).fit(whole)
    assert both.needs_queries
    saved(both, tmp_path)
    assert same(rk.load(tmp_path / "model.rk").predict(whole), both.predict(whole))


def test_a_matrix_says_not_which_documents_belong_together():
    whole = data()
    model = stacked().fit(whole)
    with pytest.raises(rk.DataError, match="which rows belong to a query: pass a Dataset"):
        model.predict(whole.X)
    with pytest.raises(rk.ParameterError, match="n_rounds=2 asks for the first rounds of a sum"):
        model.predict(whole, n_rounds=2)
    with pytest.raises(rk.ParameterError, match="base_model looks at the scores of a query"):
        rk.LambdaMART(base_model=model).fit(whole)


def test_wrong_parameters():
    whole = data()
    for params, sentence in (
        ({"ranker": None}, "ranker must be a ranker of rankinite"),
        ({"bases": {}}, "rankers is empty"),
        ({"bases": 3}, "bases must be a ranker, or a dict of them by name, or a list, not a int"),
        ({"bases": {"a": np.mean}}, "the base 'a' must be a ranker of rankinite"),
        ({"n_folds": 1}, "n_folds must be"),
    ):
        with pytest.raises(rk.ParameterError, match=sentence):
            stacked().set_params(**params).fit(whole)
    clash = rk.Stacked(rk.MART(**BASE), {"a": rk.MART(**BASE)}, n_folds=2)
    with pytest.raises(rk.DataError, match="has a feature 'a max' already"):
        clash.fit(data(feature_names=["a max", *"bcdefgh"]))
    with pytest.raises(rk.DataError, match=r"the ranker 'mart': in fold 0: .*no labels"):
        stacked().fit(rk.Dataset(whole.X, qid=plain_rows()[2]))


def test_damaged_files():
    from rankinite.models.storage import from_state

    state, arrays = stacked().fit(data()).to_state()
    state = {"kind": "Stacked", **state}
    for change in (
        {"bases": []},
        {"bases": state["bases"] * 2},
        {"top": state["bases"][0]["state"]},
        {"n_features": 9},
        {"params": {"n_folds": 1}},
    ):
        with pytest.raises(rk.ModelFileError):
            from_state({**state, **change}, arrays)
