"""Bags of rankers by fold."""

import numpy as np
import pytest
from sklearn.base import clone

import rankinite as rk
from rankinite.ensemble import fold_numbers
from tests.subjects import plain_rows, quiet, same, saved

QUICK = {"n_estimators": 15, "early_stopping": 2, "min_samples_leaf": 5}


def data(**more):
    X, y, qid = plain_rows()
    return rk.Dataset(X, y, qid=qid, **more)


def bag(**params):
    return rk.Bagging(rk.LambdaMART(**QUICK), **{"n_folds": 3, **params})


def test_each_model_is_trained_on_the_other_folds_and_stopped_on_its_own():
    whole = data()
    model = bag(random_state=1).fit(whole)
    folds = fold_numbers(whole, 3, 1)
    assert same(model.folds_, folds)
    total = np.zeros(whole.n_rows)
    for fold in range(3):
        train, valid = (whole.select_queries(some) for some in (folds != fold, folds == fold))
        expected = rk.LambdaMART(**QUICK).fit(train, valid=valid)
        assert same(model.models_[fold].predict(whole), expected.predict(whole))
        assert model.models_[fold].n_rounds_ == expected.best_iteration_
        of_fold = np.repeat(folds == fold, 20)
        assert same(model.oof_scores_[of_fold], expected.predict(valid))
        total += expected.predict(whole)
    assert same(model.predict(whole), total / 3)
    assert same(model.predict(whole.X), total / 3)


def test_rankers_without_rounds_and_without_data_to_watch():
    whole = data()
    inner = rk.Bagging(rk.MART(n_estimators=2), n_folds=2)
    nested = rk.Bagging(inner, n_folds=2).fit(whole)
    assert isinstance(nested.models_[0], rk.Bagging) and nested.measure == "ndcg@10"
    net = rk.Bagging(rk.LambdaRank(n_epochs=2, n_restarts=1), n_folds=2).fit(whole)
    assert [model.history_.keys() for model in net.models_] == [{"train", "valid"}] * 2


def test_folds_that_are_given():
    whole = data()
    folds = np.arange(30) % 3
    model = bag().fit(whole, folds=folds)
    assert same(model.folds_, folds)
    by_id = {qid: int(fold) for qid, fold in zip(whole.qids.tolist(), folds, strict=True)}
    again = bag().fit(whole, folds=by_id)
    assert same(again.predict(whole), model.predict(whole))
    with pytest.raises(rk.DataError, match="folds has the number 3"):
        bag().fit(whole, folds=np.arange(30) % 4)


def test_the_training_folds_are_augmented_and_the_watched_one_is_not():
    whole = data()
    augment = {"fraction": 0.5, "times": 2, "random_state": 3}
    model = bag(augment=augment).fit(whole)
    train, valid = (whole.select_queries(some) for some in (model.folds_ != 1, model.folds_ == 1))
    expected = rk.LambdaMART(**QUICK).fit(rk.augmented(train, **augment), valid=valid)
    assert same(model.models_[1].predict(whole), expected.predict(whole))
    for wrong in ({"share": 0.5}, "aug70", 3):
        with pytest.raises(rk.ParameterError, match="augment must be a dict of the arguments"):
            bag(augment=wrong).fit(whole)
    with pytest.raises(rk.ParameterError, match="augment is wrong: times must be a whole"):
        bag(augment={"times": 0}).fit(whole)


def test_parts_of_a_query_stay_together():
    grown = rk.augmented(data(), 0.5, 1)
    with pytest.raises(rk.DataError, match=r"a document of query '\d+.*' is in two folds"):
        bag().fit(grown)
    folds = [int(qid.split(" (")[0]) % 3 for qid in grown.qids.tolist()]
    assert len(bag().fit(grown, folds=folds).models_) == 3


def test_out_of_fold_scores_are_in_the_callers_order_and_of_all_rows():
    X, y, qid = plain_rows()
    order = np.random.default_rng(0).permutation(len(y))
    expected = bag().fit(X, y, qid=qid).oof_scores_
    shuffled = bag().fit(quiet(X[order], y[order], qid=qid[order]))
    assert same(shuffled.oof_scores_, expected[order])
    weight = (np.arange(30) % 4 > 0).astype(float)
    model = bag().fit(data(query_weight=weight))
    absent = np.repeat(weight == 0, 20)
    assert same(model.oof_scores_[absent], model.predict(X[absent]))
    rest = bag().fit(data().select_queries(weight > 0))
    assert same(model.oof_scores_[~absent], rest.oof_scores_)


@pytest.mark.parametrize("augment", [None, {"times": 1}])
def test_saving_and_loading(augment, tmp_path):
    whole = data(feature_names=list("abcdefgh"))
    model = bag(augment=augment, random_state=5).fit(whole)
    first = saved(model, tmp_path)
    copy = rk.load(tmp_path / "model.rk")
    assert same(copy.predict(whole), model.predict(whole)) and saved(copy, tmp_path) == first
    assert (copy.n_folds, copy.augment, copy.random_state) == (3, augment, 5)
    assert copy.ranker.get_params() == model.ranker.get_params()
    assert copy.feature_names_in_.tolist() == list("abcdefgh")
    assert saved(copy.__sklearn_clone__().fit(whole), tmp_path) == first
    with pytest.raises(AttributeError, match="oof_scores_ is there only right after fit"):
        _ = copy.oof_scores_
    assert copy.in_words().startswith("Bagging of 3 rankers, the first a LambdaMART with ")
    files = {saved(bag(n_threads=n, augment=augment, random_state=5).fit(whole), tmp_path)
             for n in (1, 2)}  # fmt: skip
    assert files == {first}


def test_parameters_and_clone():
    model = bag()
    twin = clone(model)
    assert twin.ranker is not model.ranker and twin.n_folds == 3
    assert twin.ranker.get_params() == model.ranker.get_params()
    twin.set_params(ranker__n_estimators=7)
    assert (twin.ranker.n_estimators, model.ranker.n_estimators) == (7, 15)
    assert model.get_params()["ranker__early_stopping"] == 2
    assert not hasattr(clone(model.fit(data())), "n_features_in_")
    assert not hasattr(model.ranker, "n_features_in_")
    with pytest.raises(rk.ParameterError, match=r"has no parameter 'n_bags'; it has .*n_folds"):
        rk.Bagging(rk.MART(), n_bags=3)


def test_wrong_parameters():
    whole = data()
    for params, sentence in (
        ({"n_folds": 1}, "n_folds must be a whole number at least 2"),
        ({"n_folds": 31}, "n_folds=31 needs as many queries"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"ranker": rk.LambdaMART}, "ranker is the class LambdaMART"),
        ({"ranker": 3}, "ranker must be a ranker of rankinite, which is copied and trained, but"),
        ({"ranker": rk.LambdaMART(max_bins=999)}, "max_bins must be"),
    ):
        with pytest.raises(rk.ParameterError, match=sentence):
            bag().set_params(**params).fit(whole)


def test_a_fold_without_relevant_documents_is_named():
    X, _, qid = plain_rows()
    y = (qid < 10).astype(float) * (np.arange(600) % 2)
    folds = np.where(np.arange(30) < 20, 0, 1)
    with pytest.raises(rk.DataError, match=r"in fold 1: .*cannot watch ndcg@10"):
        rk.Bagging(rk.LambdaMART(**QUICK), n_folds=2).fit(X, y, qid=qid, folds=folds)


def test_damaged_files(tmp_path):
    from rankinite.models.storage import from_state

    state, arrays = bag().fit(data()).to_state()
    state = {"kind": "Bagging", **state}
    for change in (
        {"models": []},
        {"models": None},
        {"n_features": 7},
        {"params": {"n_folds": 0}},
        {"params": {"more": 1}},
        {"feature_names": ["a"]},
    ):
        with pytest.raises(rk.ModelFileError):
            from_state({**state, **change}, arrays)
    with pytest.raises(rk.ModelFileError):
        from_state(state, {})
