"""Back-fitting: the weights of the trees change, and the training measure never falls."""

import itertools

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.backfitting import FACTORS, Backfitting
from rankinite.linesearch import LineSearcher
from rankinite.training import Checkpoint
from rankinite.trees import Forest, bins_of_thresholds, score_binned
from tests.boosting.small import QUICK, StopAfter, train_and_valid
from tests.boosting.test_lambdamart import BestInFirstThree
from tests.boosting.test_line_step import BASE, weighted
from tests.subjects import plain_rows, quiet, same, saved

MANY = 50


def make(**params):
    return rk.LambdaMART(**{**QUICK, "backfit": MANY, **params})


def rises(values):
    return all(one < other for one, other in itertools.pairwise(values))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"step": "line_search", "learning_rate": 1.0},
        {"measure": "err@5", "base_model": BASE},
        {"measure": "map", "step": "line_search", "normalize": False},
        {"measure": "pairs", "learning_rate": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [lambda: train_and_valid()[0], weighted], ids=["plain", "weights"])
def test_the_training_measure_rises_until_it_stands(data, params):
    train = data()
    model = make(**params).fit(train)
    values = model.backfit_history_
    name = model.measure
    plain = make(**params | {"backfit": 0}).fit(train)
    assert plain.backfit_history_ == []
    assert values[0] == rk.evaluate(plain, train, name)[name]
    assert values[-1] == rk.evaluate(model, train, name)[name]
    assert len(values) > 1 and rises(values)
    # It has come to an end before the last sweep that was allowed.
    assert len(values) <= MANY
    again = backfitting_of(model, train)
    assert not again.sweep()


def backfitting_of(model, data):
    before = np.zeros(data.n_rows)
    if model.base_model is not None:
        before += data.X @ BASE
    binned = data.binned(255)
    trees = model.forest_.trees(bins_of_thresholds(model.forest_, binned.mapper))
    return Backfitting(trees, binned, before, LineSearcher(model.measure, data))


def test_only_the_weights_change():
    train, _ = train_and_valid()
    before, after = (make(backfit=n).fit(train).forest_ for n in (0, MANY))
    for name in ("feature", "threshold", "left", "right", "missing_left", "gain", "count"):
        assert same(getattr(before, name), getattr(after, name))
    factors = []
    for start, stop in itertools.pairwise(before.leaf_offsets):
        old, new = before.value[start:stop], after.value[start:stop]
        factors.append(old @ new / (old @ old))
        np.testing.assert_allclose(new, factors[-1] * old, rtol=1e-12)
    assert min(factors) >= 0 and len(set(factors)) > 2


@pytest.mark.parametrize("name", ["ndcg@10", "mrr"])
def test_no_factor_of_a_single_tree_is_better_at_the_end(name):
    train, _ = train_and_valid()
    model = make(measure=name).fit(train)
    fitting = backfitting_of(model, train)
    evaluate = LineSearcher(name, train).value
    reached = evaluate(model.predict(train))
    trees, binned = fitting.trees, train.binned(255)
    alone = [score_binned(Forest.from_trees([tree]), binned) for tree in trees]
    for number, own in enumerate(alone):
        others = sum(alone[:number] + alone[number + 1 :])
        for factor in np.linspace(*FACTORS, 301)[1:]:
            assert evaluate(others + factor * own) <= reached + 1e-12


def test_the_first_sweep_is_a_search_over_each_tree_in_turn():
    train, _ = train_and_valid()
    plain = make(backfit=0, n_estimators=3).fit(train)
    swept = make(backfit=1, n_estimators=3).fit(train)
    trees = backfitting_of(plain, train).trees
    searcher = LineSearcher("ndcg@10", train)
    binned = train.binned(255)
    alone = [score_binned(Forest.from_trees([tree]), binned) for tree in trees]
    for number in range(3):
        others = sum(alone[:number] + alone[number + 1 :])
        found = searcher.search(others, alone[number], *FACTORS)
        if found.value > searcher.value(others + alone[number]) + 1e-12:
            alone[number] = found.alpha * alone[number]
    np.testing.assert_allclose(swept.predict(train), sum(alone), rtol=1e-9, atol=1e-12)


def test_order_and_threads_do_not_matter(tmp_path):
    X, y, qid = plain_rows()
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.1, 3, len(y))
    query_weight = dict(enumerate(rng.uniform(0.1, 3, 30).tolist()))
    params = {"step": "line_search", "row_fraction": 0.7, "backfit": 3}

    def file_of(order, **more):
        rows = {"qid": qid[order], "weight": weight[order], "query_weight": query_weight}
        return saved(make(**params, **more).fit(quiet(X[order], y[order], **rows)), tmp_path)

    expected = file_of(np.arange(len(y)))
    assert len(rk.load(tmp_path / "model.rk").backfit_history_) > 1
    for n_threads in (1, 2):
        assert file_of(rng.permutation(len(y)), n_threads=n_threads) == expected


def test_early_stopping_keeps_its_trees(tmp_path):
    train, valid = train_and_valid()
    settings = {"n_estimators": 40, "learning_rate": 1.0, "early_stopping": 3}
    plain = make(**settings, backfit=0).fit(train, valid=valid)
    model = make(**settings).fit(train, valid=valid)
    # The rounds, and what was measured after them, are those before back-fitting.
    assert model.history_ == plain.history_
    assert model.n_rounds_ == plain.n_rounds_ == model.best_iteration_ == plain.best_iteration_
    assert same(model.forest_.threshold, plain.forest_.threshold)
    before, after = (rk.evaluate(m, train)["ndcg@10"] for m in (plain, model))
    assert [before, after] == [model.backfit_history_[0], model.backfit_history_[-1]]
    assert after > before


def test_saving_and_words(tmp_path):
    train, _ = train_and_valid()
    model = make(backfit=2).fit(train)
    first = saved(model, tmp_path)
    copy = rk.load(tmp_path / "model.rk")
    assert copy.backfit_history_ == model.backfit_history_ and copy.backfit == 2
    assert same(copy.predict(train), model.predict(train))
    assert saved(copy, tmp_path) == first
    assert copy.in_words() == "LambdaMART with 6 back-fitted trees"
    # A new fit begins anew.
    model.set_params(backfit=0).fit(train)
    assert model.backfit_history_ == [] and model.in_words() == "LambdaMART with 6 trees"


def test_resuming(tmp_path):
    train, valid = train_and_valid()
    path = tmp_path / "run.rk"
    expected = saved(make().fit(train, valid=valid), tmp_path)
    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[Checkpoint(path, every=2), StopAfter(3)])
    assert model.backfit_history_ == []
    for resume in (path, model):
        assert saved(make().fit(train, valid=valid, resume=resume), tmp_path) == expected
    # The rounds do not depend on it, so it may be added to a finished run.
    plain = make(backfit=0).fit(train, valid=valid)
    assert saved(make().fit(train, valid=valid, resume=plain), tmp_path) == expected
    done = make().fit(train, valid=valid)
    with pytest.raises(rk.ParameterError, match="was back-fitted, so its trees are no longer"):
        make().fit(train, valid=valid, resume=done)


def test_an_interrupt_keeps_whole_sweeps(monkeypatch):
    train, _ = train_and_valid()
    one = make(backfit=1).fit(train)
    sweep, calls = Backfitting.sweep, []

    def interrupted(self):
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sweep(self)

    monkeypatch.setattr(Backfitting, "sweep", interrupted)
    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(train)
    assert same(model.predict(train), one.predict(train))
    assert model.backfit_history_ == one.backfit_history_


def test_a_measure_of_ones_own():
    train, _ = train_and_valid()
    own = BestInFirstThree()
    model = make(measure=own, n_estimators=3, max_leaf_nodes=3, backfit=2).fit(train)
    assert model.backfit_history_[-1] == rk.evaluate(model, train, own)["best3"]
    assert rises(model.backfit_history_)


def test_nothing_to_learn():
    X, y, qid = plain_rows()
    for labels in (np.zeros_like(y), np.ones_like(y)):
        model = make().fit(X, labels, qid=qid)
        assert model.backfit_history_ == [] and np.ptp(model.predict(X)) == 0


def test_sweeps_are_told(capsys):
    train = rk.artificial(n_queries=10, n_docs=10, n_features=4)
    rk.LambdaMART(n_estimators=3, backfit=1, min_samples_leaf=2, verbose=1).fit(train)
    assert "back-fitting the trees, sweep 1/1: ndcg@10 0." in capsys.readouterr().err
