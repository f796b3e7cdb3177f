"""LambdaBoost against its twin, and what only it has: chosen features, weights, their export."""

import json

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.feature_blocks import FeatureBlocks
from rankinite.boosting.feature_stage import FeatureStage, Member
from rankinite.models import LinearScorer
from rankinite.models.standardizing import Standardizer
from rankinite.order.canonical import canonical
from rankinite.training import Checkpoint
from tests.boosting.small import StopAfter, qid_of, train_and_valid
from tests.lambdas.cases import twin_lambdas
from tests.measures.cases import TWINS
from tests.naive import boosting as naive

WEIGHTS = np.linspace(-1, 1, 8)


def make(**params):
    return rk.LambdaBoost(**{"n_estimators": 9, **params})


def weighted():
    """Small data with weights of both kinds, some of them 0."""
    train, _ = train_and_valid()
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 4, train.n_rows) / 2
    query_weight = rng.integers(0, 3, train.n_queries).astype(float)
    return rk.Dataset(train.X, train.y, qid=qid_of(train), weight=weight, query_weight=query_weight)


def twin_of(model, data, spec):
    """The members that the twin learns with the parameters of `model`, and its scores."""
    base = np.zeros(data.n_rows)
    if model.base_model is not None:
        base = data.X.astype(np.float64) @ np.asarray(model.base_model)
    order = canonical(data, base)
    weight = order.weight * np.repeat(order.query_weight, np.diff(order.offsets))
    X = data.X[order.rows].astype(np.float64)
    counted = X[order.weight > 0]
    deviation = counted.std(axis=0)
    Z = (X - counted.mean(axis=0)) / np.where(deviation > 0, deviation, np.inf)

    def lambdas(scores, number):
        def split(values):
            return np.split(values, order.offsets[1:-1])

        lam, w = twin_lambdas(
            TWINS[spec],
            split(order.labels),
            split(scores),
            order.keys,
            number,
            model.random_state,
            sigma=model.sigma,
            normalize=model.normalize,
        )
        return lam * weight, w * weight

    members, scores = naive.lambdaboost(
        Z,
        lambdas,
        weight,
        base[order.rows],
        rounds=model.n_estimators,
        learning_rate=model.learning_rate,
        newton=model.step == "newton",
    )
    return members, order.rows, scores


@pytest.mark.parametrize("step", ["newton", "least_squares"])
@pytest.mark.parametrize("spec", ["ndcg", "map", "pairs"])
@pytest.mark.parametrize("data", ["plain", "weighted"])
def test_the_rounds_of_the_twin(spec, step, data):
    data = weighted() if data == "weighted" else train_and_valid()[0]
    rate = 0.01 if (spec, step) == ("pairs", "least_squares") else 0.5
    model = make(n_estimators=6, measure=spec, step=step, learning_rate=rate).fit(data)
    data = data.that_count()
    members, rows, scores = twin_of(model, data, spec)
    assert model.features_.tolist() == [feature for feature, _ in members]
    steps = np.array([step for _, step in members])
    np.testing.assert_allclose([m.step for m in model._members()], steps, rtol=1e-4)
    assert np.ptp(scores) > 0
    np.testing.assert_allclose(
        model.predict(data.X)[rows], scores, rtol=0, atol=1e-4 * np.ptp(scores)
    )


def test_the_rounds_of_the_twin_on_a_base_with_other_options():
    train, _ = train_and_valid()
    model = make(
        n_estimators=5,
        measure="ndcg",
        base_model=WEIGHTS,
        sigma=2.0,
        normalize=True,
        random_state=3,
    ).fit(train)
    members, _, _ = twin_of(model, train, "ndcg")
    assert model.features_.tolist() == [feature for feature, _ in members]
    np.testing.assert_allclose(model._steps, [step for _, step in members], rtol=1e-4)


def a_stage(X, lam, w=None, weight=None, **options):
    """A stage whose λs are given, on rows as they are."""
    rows = np.arange(len(X))
    unchanged = Standardizer(
        np.zeros(X.shape[1]),
        (np.ptp(X, axis=0) > 0).astype(float),
        np.full(X.shape[1], -1e9),
        np.full(X.shape[1], 1e9),
    )
    w = np.ones(len(X)) if w is None else w
    return FeatureStage(
        lambda scores, number: (lam, w),
        FeatureBlocks(X, rows, unchanged),
        unchanged,
        np.ones(len(X)) if weight is None else weight,
        np.zeros(len(X)),
        **{"learning_rate": 1.0, "newton": False, "longest_step": 10.0, **options},
    )


def test_the_feature_and_coefficient_of_least_squares():
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = rng.integers(-8, 9, (40, 6)) / 4
        lam, weight = rng.normal(size=40), rng.uniform(0.2, 2, 40)
        member = a_stage(X, lam, weight=weight).learn(0)
        feature, beta = naive.best_feature(X, lam, weight)
        assert member.feature == feature
        assert member.step == pytest.approx(beta, rel=1e-10)


def test_equal_features_go_to_the_first_and_constant_ones_to_nobody():
    rng = np.random.default_rng(0)
    x, lam = rng.integers(-4, 5, 50) / 2, rng.normal(size=50)
    X = np.column_stack([np.full(50, 7.0), np.zeros(50), x, -x, 2 * x])
    stage = a_stage(X, lam)
    member = stage.learn(0)
    assert member.feature == 2
    np.testing.assert_array_equal(stage.scores, member.step * x)
    assert a_stage(X[:, :2], lam).learn(0) == Member(-1, 0.0)
    assert a_stage(X, np.zeros(50)).learn(0) == Member(-1, 0.0)


def test_newton_steps_are_bounded():
    x = np.array([1.0, -1.0])
    for w, expected in ((0.0, 10.0), (1e-300, 10.0), (0.5, 4.0)):
        stage = a_stage(x[:, np.newaxis], 2 * x, w=np.full(2, w), newton=True)
        assert stage.learn(0) == Member(0, expected)
    stage = a_stage(x[:, np.newaxis], -2 * x, w=np.zeros(2), newton=True, learning_rate=0.5)
    assert stage.learn(0) == Member(0, -5.0)


def test_weights_of_the_raw_features():
    train, valid = train_and_valid()
    shifted = rk.Dataset(train.X * 3.0 + 100, train.y, qid=qid_of(train))
    for data, X in ((train, valid.X), (shifted, valid.X * 3.0 + 100)):
        for base in (None, WEIGHTS):
            model = make(base_model=base).fit(data)
            chosen = np.unique(model.features_)
            assert 1 < len(chosen) < 8 and model.n_rounds_ == 9
            assert np.flatnonzero(model.coef_).tolist() == chosen.tolist()
            before = 0.0 if base is None else X.astype(np.float64) @ base
            expected = before + X.astype(np.float64) @ model.coef_ + model.intercept_
            np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-11)


def test_scale_and_place_of_features_do_not_matter():
    train, _ = train_and_valid()
    X = train.X.astype(np.float64)
    moved = rk.Dataset(X * np.logspace(-6, 6, 8) - 7, train.y, qid=qid_of(train))
    # Pairs need no ranks, so no ties are broken, which is done by the content of documents.
    one = make(measure="pairs").fit(X, train.y, qid=qid_of(train))
    other = make(measure="pairs").fit(moved)
    np.testing.assert_array_equal(one.features_, other.features_)
    np.testing.assert_allclose(one.predict(X), other.predict(moved), rtol=1e-4, atol=1e-5)


def test_exported_weights(tmp_path):
    train, valid = train_and_valid()
    names = [*"abcdefg", "größe"]
    named = rk.Dataset(train.X, train.y, qid=qid_of(train), feature_names=names)
    model = make(n_estimators=40).fit(named)
    model.export_weights(tmp_path / "weights.json")
    found = json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))
    assert found["base_model"] is None
    weights = np.array([found["weights"].get(name, 0.0) for name in names])
    assert weights.tolist() == model.coef_.tolist() and found["intercept"] == model.intercept_
    scores = LinearScorer(weights).predict(valid.X) + found["intercept"]
    np.testing.assert_allclose(scores, model.predict(valid.X), rtol=0, atol=1e-12)
    make(base_model=model).fit(train).export_weights(tmp_path / "weights.json")
    found = json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))
    assert found["base_model"] == "LambdaBoost"
    assert set(found["weights"]) <= {f"feature {number}" for number in range(1, 9)}
    with pytest.raises(rk.DataError, match="cannot be written"):
        model.export_weights(tmp_path / "nowhere" / "weights.json")
    with pytest.raises(rk.RankiniteError, match="this LambdaBoost is not trained"):
        make().export_weights(tmp_path / "x.json")


def test_a_base_is_adapted():
    train, valid = train_and_valid()
    trees = rk.LambdaMART(n_estimators=20, max_leaf_nodes=6, min_samples_leaf=5).fit(train)
    for base in (trees, WEIGHTS, lambda X: X[:, 0] ** 2):
        model = make(base_model=base).fit(train, valid=valid)
        before = model.predict(valid, n_rounds=0)
        if base is trees:
            np.testing.assert_array_equal(before, trees.predict(valid))
        added = valid.X.astype(np.float64) @ model.coef_ + model.intercept_
        np.testing.assert_allclose(model.predict(valid) - before, added, rtol=0, atol=1e-12)
        values = model.history_["valid"]["ndcg@10"]
        assert values[-1] == rk.evaluate(model, valid, "ndcg@10")["ndcg@10"]
    # The first round sees the scores of the base: a good one leaves less to do.
    assert abs(make(base_model=trees).fit(train)._steps[0]) < abs(make().fit(train)._steps[0])


def file_of(model, folder):
    model.save(folder / "model.rk")
    return (folder / "model.rk").read_bytes()


SETTINGS = {
    "plain": {},
    "papers' step": {"step": "least_squares", "random_state": 3},
    "early stopping": {"early_stopping": 3, "n_estimators": 40, "learning_rate": 1.0},
    "base": {"base_model": WEIGHTS},
}


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("kind", SETTINGS)
def test_resumed_is_uninterrupted(kind, rounds, tmp_path):
    train, valid = train_and_valid()
    settings = SETTINGS[kind]
    expected = file_of(make(**settings).fit(train, valid=valid), tmp_path)
    path = tmp_path / "checkpoint.rk"
    model = make(**settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, valid=valid, callbacks=[Checkpoint(path, every=2), StopAfter(rounds)])
    assert len(model.history_["valid"]["ndcg@10"]) == rounds
    for resume in (path, model):
        again = make(**settings).fit(train, valid=valid, resume=resume)
        assert file_of(again, tmp_path) == expected


def test_other_runs_are_not_resumed():
    train, valid = train_and_valid()
    model = make().fit(train)
    for name, value in {"step": "least_squares", "learning_rate": 0.1, "measure": "map"}.items():
        with pytest.raises(rk.ParameterError, match=f"the checkpoint was trained with {name}="):
            make(**{name: value}).fit(train, resume=model)
    values = train.X.copy()
    values[3, 2] *= 1 + 1e-6
    others = [valid, rk.Dataset(values, train.y, qid=qid_of(train)), weighted()]
    for data in others:
        with pytest.raises(rk.DataError, match="the checkpoint was trained on other data"):
            make().fit(data, resume=model)
    with pytest.raises(rk.DataError, match="or on another base model"):
        make(base_model=WEIGHTS).fit(train, resume=model)
    with pytest.raises(rk.ParameterError, match="the checkpoint is a LambdaMART"):
        make().fit(train, resume=rk.LambdaMART(n_estimators=1).fit(train))


def test_many_blocks_of_rows_in_any_order(tmp_path):
    """Sums over several blocks depend neither on threads nor on the order of rows and queries."""
    train = rk.artificial(n_queries=90, n_docs=50, n_features=6)
    order = np.random.default_rng(0).permutation(train.n_queries)
    rows = np.concatenate([q * 50 + np.random.default_rng(q).permutation(50) for q in order])
    shuffled = rk.Dataset(train.X[rows], train.y[rows], qid=qid_of(train)[rows])
    files = {
        file_of(make(n_threads=n_threads).fit(data), tmp_path)
        for data in (train, shuffled)
        for n_threads in (1, 2)
    }
    assert len(files) == 1


def test_damaged_files(tmp_path):
    train, _ = train_and_valid()
    model = make().fit(train)
    state, arrays = model.to_state()
    for change in (
        {"features": arrays["features"] + 8},
        {"features": arrays["features"] - 9},
        {"features": arrays["features"][1:]},
        {"features": arrays["features"].astype(np.int32)},
        {"steps": arrays["steps"] * np.nan},
        {"steps": arrays["steps"].astype(np.float32)},
    ):
        with pytest.raises(rk.ModelFileError, match="the model file's rounds do not name one of 8"):
            rk.LambdaBoost.from_state(state, arrays | change)
    wrong = {"standardizer/mean": arrays["standardizer/mean"][1:]}
    with pytest.raises(rk.ModelFileError, match="for 8 features"):
        rk.LambdaBoost.from_state(state, arrays | wrong)


def test_a_measure_written_in_python():
    train, _ = train_and_valid()
    train = rk.Dataset(train.X[:100], train.y[:100], qid=qid_of(train)[:100])

    class Slow(rk.Measure):
        name = "slow"

        def value(self, labels):
            return float(rk.measure("ndcg").value(labels))

    slow, fast = (make(measure=m, n_estimators=3).fit(train) for m in (Slow(), "ndcg"))
    np.testing.assert_array_equal(slow.features_, fast.features_)
    np.testing.assert_allclose(slow.predict(train), fast.predict(train), rtol=0, atol=1e-5)


def test_what_it_says_about_itself():
    train, _ = train_and_valid()
    assert make().fit(train).in_words() == "LambdaBoost with 9 rounds"


@pytest.mark.parametrize("step", ["newton", "least_squares"])
def test_learning(step):
    """Better than linear regression, and than any single feature."""
    train, test = rk.artificial(n_queries=(300, 300), n_docs=30, n_features=15)
    ranker = rk.LambdaBoost(step=step, learning_rate={"newton": 0.5}.get(step, 5.0)).fit(train)
    design = np.column_stack([train.X, np.ones(train.n_rows)])
    regression = np.linalg.lstsq(design, train.y, rcond=None)[0][:-1]
    value = rk.evaluate(ranker, test)["ndcg@10"]
    assert value > rk.evaluate(LinearScorer(regression), test)["ndcg@10"]
    alone = [
        rk.evaluate(sign * test.X[:, j], test)["ndcg@10"] for j in range(15) for sign in (1, -1)
    ]
    assert value > max(alone) + 0.1
