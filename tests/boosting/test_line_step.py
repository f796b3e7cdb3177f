"""Trees weighed by the exact line search: against brute force, and never down."""

from types import SimpleNamespace

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.line_stage import LineSearchStage
from rankinite.distributed import Serial
from rankinite.lambdas import LambdaGradients
from rankinite.order.row_keys import row_keys
from rankinite.training import Checkpoint
from rankinite.trees import score_binned
from tests.boosting.small import QUICK, StopAfter, qid_of, train_and_valid
from tests.boosting.test_lambdamart import MEASURES, BestInFirstThree
from tests.linesearch.cases import blank_of, queries_of, twin_of
from tests.naive import line_search as naive
from tests.subjects import quiet, same, saved

BASE = np.linspace(-1, 1, 8)
WHOLE = {"step": "line_search", "learning_rate": 1.0, "truncation": None, "noise": 0.0}


def make(**params):
    return rk.LambdaMART(**{**QUICK, **WHOLE, **params})


def weighted():
    train, _ = train_and_valid()
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.2, 3, train.n_rows), rng.uniform(0, 2, train.n_queries)
    return rk.Dataset(
        train.X, train.y, qid=qid_of(train), weight=weights[0], query_weight=weights[1]
    )


def mean_of(scores, data, name):
    return rk.evaluate(scores, data, name)[name]


def lambdas_at(data, scores, name, normalize, round_number=0):
    keys = row_keys(data.binned(255), data.y, data.weight, data.offsets)
    gradients = LambdaGradients(
        rk.measure(name).resolve(data.y),
        data.y,
        data.offsets,
        keys,
        weight=data.weight,
        query_weight=data.query_weight,
        normalize=normalize,
    )
    return gradients(scores, round_number)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("data", [lambda: train_and_valid()[0], weighted], ids=["plain", "weights"])
@pytest.mark.parametrize("name", ["ndcg@10", "err@5", "map", "pairs"])
def test_one_tree_has_the_means_of_its_leaves_and_the_best_weight(name, data, normalize):
    data = data()
    before = data.X @ BASE
    options = {"normalize": normalize, "base_model": BASE, "n_estimators": 1, "squares": 0}
    model = make(measure=name, **options).fit(data)
    after = model.predict(data)
    leaves = score_binned(model.forest_, data.binned(255))
    lam, _ = lambdas_at(data, before, name, normalize)
    mass = np.ones(data.n_rows) if data.weight is None else data.weight
    if data.query_weight is not None:
        mass = mass * np.repeat(data.query_weight, data.query_sizes)
    means = np.zeros(data.n_rows)
    for value in np.unique(leaves):
        rows = leaves == value
        means[rows] = lam[rows].sum() / mass[rows].sum()
    factor = leaves @ means / (means @ means)
    np.testing.assert_allclose(leaves, factor * means, rtol=1e-9)
    # No weight is better: those of a fine grid in the bounds, and of one around the chosen.
    reached = mean_of(after, data, name)
    tree = leaves / factor
    for alpha in factor * np.concatenate([np.geomspace(1e-2, 10, 300), np.linspace(0.9, 1.1, 50)]):
        assert mean_of(before + alpha * tree, data, name) <= reached + 1e-12


@pytest.mark.parametrize("name", ["ndcg@3", "err@3", "map", "mrr", "p@3", "pairs"])
def test_the_weight_is_the_best_by_definition(name):
    rng = np.random.default_rng(3)
    X, y = np.rint(rng.normal(size=(24, 3)) * 4) / 4, rng.integers(0, 3, 24).astype(float)
    data = rk.Dataset(X, y, qid=np.repeat(np.arange(4), 6))
    base = np.array([1.0, -0.5, 0.25])
    settings = {"max_leaf_nodes": 3, "min_samples_leaf": 2, "n_estimators": 1}
    model = make(measure=name, base_model=base, **settings).fit(data)
    tree = score_binned(model.forest_, data.binned(255))
    queries = queries_of(data, X @ base, tree, blank_of(rk.measure(name).resolve(y)))
    # The tree as it is has the weight 1: it must lie in an interval that no other beats.
    parts = naive.intervals(twin_of(name, y), queries, 0.1, 10.0, convex=False)
    highest = naive.mean(naive.best(parts, queries), queries)
    (own,) = [part for part in parts if part.low < 1.0 < part.high]
    assert naive.mean(own, queries) == pytest.approx(highest, abs=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", MEASURES)
def test_whole_steps_never_let_the_measure_fall(name, normalize):
    train, _ = train_and_valid()
    model = make(measure=name, normalize=normalize, n_estimators=25).fit(
        train, valid={"train": train}
    )
    values = np.array(model.history_["train"][str(rk.measure(name))])
    assert (np.diff(values) >= 0).all()
    untrained = mean_of(np.zeros(train.n_rows), train, name)
    best = mean_of(train.y, train, name)
    assert values[-1] - untrained > 0.6 * (best - untrained)


@pytest.mark.parametrize(
    "params",
    [
        {"base_model": BASE},
        {"row_fraction": 0.5, "feature_fraction": 0.5},
        {"split": "newton", "sigma": 3.0},
        {"truncation": 5, "max_leaf_nodes": 20, "min_samples_leaf": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [lambda: train_and_valid()[0], weighted], ids=["plain", "weights"])
def test_nor_with_any_settings(data, params):
    train = data()
    model = make(n_estimators=30, **params).fit(train, valid={"train": train})
    values = np.array(model.history_["train"]["ndcg@10"])
    assert (np.diff(values) >= 0).all() and values[-1] > values[0]


def test_a_measure_of_ones_own():
    train, _ = train_and_valid()
    own = BestInFirstThree()
    model = make(measure=own, n_estimators=4, max_leaf_nodes=4).fit(train, valid={"train": train})
    values = model.history_["train"]["best3"]
    assert (np.diff(values) >= 0).all() and values[-1] > mean_of(train.X[:, 0], train, own)


def test_shrinkage_is_a_share_of_the_step():
    train, _ = train_and_valid()
    whole, part = (make(n_estimators=1, learning_rate=rate).fit(train) for rate in (1.0, 0.25))
    assert same(0.25 * whole.predict(train), part.predict(train))
    model = make(n_estimators=40, learning_rate=0.2).fit(train)
    assert mean_of(model, train, "ndcg@10") > 0.8


def test_sigma_scales_the_scores_and_nothing_else():
    train, _ = train_and_valid()
    one = make().fit(train)
    for sigma in (0.25, 4.0):
        other = make(sigma=sigma).fit(train)
        assert same(other.forest_.threshold, one.forest_.threshold)
        assert same(sigma * other.predict(train), one.predict(train))


@pytest.mark.parametrize(
    "params",
    [{}, {"row_fraction": 0.6, "learning_rate": 0.3}, {"base_model": BASE}, {"early_stopping": 3}],
    ids=str,
)
@pytest.mark.parametrize("rounds", [1, 4])
def test_resumed_is_uninterrupted(rounds, params, tmp_path):
    train, valid = train_and_valid()
    params = {**params, "n_estimators": 9}
    expected = saved(make(**params).fit(train, valid=valid), tmp_path)
    path = tmp_path / "checkpoint.rk"
    model = make(**params)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[Checkpoint(path), StopAfter(rounds)])
    for resume in (path, model):
        again = make(**params).fit(train, valid=valid, resume=resume)
        assert saved(again, tmp_path) == expected
    with pytest.raises(rk.ParameterError, match="the checkpoint was trained with step='line_sea"):
        make(**params, step="newton").fit(train, valid=valid, resume=path)


def test_the_order_of_queries_that_change_together_does_not_matter(tmp_path):
    # Copies of few queries: every crossing is shared, and the weights make sums round.
    train, _ = train_and_valid()
    rng = np.random.default_rng(5)
    n, copies = 3 * 20, 40
    X, y = np.tile(train.X[:n], (copies, 1)), np.tile(train.y[:n], copies)
    qid = np.repeat(np.arange(3 * copies), 20)
    weight = dict(enumerate(rng.uniform(0.1, 3, 3 * copies).tolist()))
    files = []
    for order in (np.arange(len(y)), rng.permutation(len(y))):
        data = quiet(X[order], y[order], qid=qid[order], query_weight=weight)
        files.append(saved(make().fit(data), tmp_path))
    assert files[0] == files[1]


@pytest.mark.parametrize(("name", "value"), [("step", "line_search"), ("backfit", 2)])
def test_preferences_have_no_measure_to_search(name, value):
    train, _ = train_and_valid()
    data = rk.Dataset(train.X, qid=qid_of(train))
    data = data.with_preferences(rk.Preferences.from_labels(train))
    with pytest.raises(rk.ParameterError, match=f"^{name}={value!r} searches a measure of labels"):
        rk.LambdaMART(**{**QUICK, name: value}).fit(data)


class WrongOnTop(rk.Measure):
    name = "wrong"
    lower_is_better = True

    def value(self, labels):
        return float(labels[0] == 0)


@pytest.mark.parametrize("measure", ["p@1", WrongOnTop()], ids=str)
@pytest.mark.parametrize(
    ("scores", "steps", "low", "high"),
    [
        # The right document, the first, comes up at 3.
        ([0.0, 3.0], [1.0, 0.0], [3.0, 0.0], [100.0, 0.0]),
        # Both leaves move, and the second does no harm as far as it goes.
        ([5.0, 0.0], [1.0, 1.0], [1.0, 0.1], [1.0, 6.0]),
        # The wrong document comes up at 0.05.
        ([1.0, 0.95], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]),
        # They tie, and a step down of the wrong one is the best.
        ([0.0, 0.0], [0.0, -1.0], [0.0, -1.0], [0.0, -1.0]),
        ([0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]),
    ],
    ids=str,
)
def test_leaf_by_leaf(scores, steps, low, high, measure):
    data = rk.Dataset(np.zeros((2, 1)), np.array([1.0, 0.0]), qid=[0, 0])
    grower = SimpleNamespace(communicator=Serial())
    stage = LineSearchStage(None, grower, None, 1.0, 0, rk.measure(measure), data)
    grown = SimpleNamespace(leaf_of=np.arange(2, dtype=np.int32))
    scores, steps = np.array(scores), np.array(steps)
    found = stage._leaf_by_leaf(grown, steps, scores, stage._searcher.value(scores))
    assert (found >= low).all() and (found <= high).all()


def test_trees_that_lose_do_not_stop_the_training(monkeypatch):
    train, _ = train_and_valid()
    lost, leaf_by_leaf = [], LineSearchStage._leaf_by_leaf

    def noted(self, *args):
        lost.append(leaf_by_leaf(self, *args))
        return lost[-1]

    monkeypatch.setattr(LineSearchStage, "_leaf_by_leaf", noted)
    model = make(normalize=False, n_estimators=80).fit(train, valid={"train": train})
    values = np.array(model.history_["train"]["ndcg@10"])
    assert any(steps.any() for steps in lost)
    assert (np.diff(values) >= 0).all() and values[-1] > 0.97
    lost.clear()
    make(normalize=False, n_estimators=80, learning_rate=0.9).fit(train)
    assert lost == []
