"""Adapting a ranker to a domain with little data."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.adaptation import METHODS as ALL_METHODS
from rankinite.adaptation.adapting import _chosen, _halves

# What there is with one background.
METHODS = [name for name in ALL_METHODS if name != "interpolation_all"]
SHAPE = {"n_docs": 12, "n_features": 5, "shared": 0.6, "n_terms": 20}
QUICK = {
    "ranker": rk.LambdaMART(n_estimators=12, max_leaf_nodes=5, early_stopping=5),
    "boost": rk.LambdaBoost(n_estimators=12, early_stopping=5),
    "smart": rk.LambdaMART(n_estimators=12, max_leaf_nodes=5, early_stopping=5),
    "expansion": {"max_distance": 0.1},
}

NO_DATA = {name: value for name, value in QUICK.items() if name != "expansion"}


@pytest.fixture(scope="module")
def sets():
    large = rk.artificial(60, **SHAPE)
    return large, *rk.artificial((20, 15, 15), market=1, **SHAPE)


@pytest.fixture(scope="module")
def general(sets):
    return rk.LambdaMART(n_estimators=12, max_leaf_nodes=5).fit(sets[0])


@pytest.fixture(scope="module")
def adapted(sets):
    return rk.adapt(*sets, **QUICK)


def test_all_methods_are_compared_and_the_best_is_chosen(adapted, sets):
    names = ["background", *METHODS]
    assert list(adapted.models) == names
    assert list(adapted.validation.evaluations) == names == list(adapted.test.evaluations)
    values = {name: each["ndcg@10"] for name, each in adapted.validation.evaluations.items()}
    assert values[adapted.method] == max(values.values())
    assert adapted.model is adapted.models[adapted.method]
    for name, model in adapted.models.items():
        expected = rk.evaluate(model, sets[3], "avendcg")["avendcg"]
        assert adapted.test.evaluations[name]["avendcg"] == expected
    assert adapted.expansion.n_rows > 0
    printed = str(adapted).splitlines()
    assert printed[0].split() == ["validation", "ndcg@1", "ndcg@3", "ndcg@10", "avendcg"]
    assert [line.split()[0] for line in printed[1:9]] == names
    assert max(map(len, printed)) <= 80


def test_methods_are_measured_on_queries_that_did_not_tune_them(adapted, sets):
    _, train, valid, _ = sets
    halves = _halves(valid, rk.measure("ndcg@10"), 0)
    assert sorted(np.concatenate(halves).tolist()) == list(range(15))
    found = adapted.validation.evaluations["in_domain"].per_query["ndcg@10"]
    for tuned_on, measured_on in (halves, halves[::-1]):
        ranker = rk.LambdaMART(**QUICK["ranker"].get_params(deep=False))
        ranker.fit(train, valid=valid.select_queries(tuned_on))
        expected = rk.evaluate(ranker, valid, "ndcg@10").per_query["ndcg@10"]
        np.testing.assert_array_equal(found[measured_on], expected[measured_on])


def test_an_interpolation_has_the_best_weight_where_it_was_tuned(adapted, sets):
    valid = sets[2]
    a, b = (adapted.models[name].predict(valid) for name in ("background", "in_domain"))
    best = rk.evaluate(adapted.models["interpolation"], valid)["ndcg@10"]
    for weight in np.linspace(0.01, 0.99, 30):
        mixed = (1 - weight) * a / a.std() + weight * b / b.std()
        assert best >= rk.evaluate(mixed, valid)["ndcg@10"] - 1e-12
    found = rk.line_search(a / a.std(), b / b.std(), valid)
    assert best == pytest.approx(found.value, abs=1e-12)


def test_what_the_methods_are(adapted, sets):
    models, train = adapted.models, sets[1]
    assert models["lambdaboost"].base_model is models["background"]
    assert models["lambdasmart"].base_model is models["background"]
    drawn = models["lambdasmart_random"]
    assert drawn.row_fraction == drawn.feature_fraction == 0.7
    grown = rk.LambdaMART(**QUICK["ranker"].get_params(deep=False))
    grown.fit(rk.expand(train, sets[0], max_distance=0.1).dataset, valid=sets[2])
    assert np.array_equal(grown.predict(train), models["expanded"].predict(train))


@pytest.mark.parametrize("method", METHODS)
def test_models_are_saved_whole(adapted, sets, tmp_path, method):
    path = tmp_path / "model.rk"
    adapted.models[method].save(path)
    scores = adapted.models[method].predict(sets[3])
    assert np.array_equal(rk.load(path).predict(sets[3]), scores)


@pytest.mark.parametrize(
    ("method", "members"),
    [
        ("lambdaboost", []),
        ("interpolation", ["in_domain"]),
        ("interpolation3", ["in_domain", "expanded"]),
    ],
)
def test_one_method_alone(adapted, sets, tmp_path, method, members):
    alone = rk.adapt(*sets[:3], method=method, **QUICK)
    assert list(alone.models) == ["background", *members, method]
    assert alone.method == method and alone.test is None
    alone.save(tmp_path / "alone.rk")
    adapted.models[method].save(tmp_path / "among.rk")
    assert (tmp_path / "alone.rk").read_bytes() == (tmp_path / "among.rk").read_bytes()


def test_several_backgrounds(general, sets, tmp_path):
    large, train, valid, test = sets
    third = rk.artificial(60, market=2, **SHAPE)
    weights = np.linspace(-1, 1, 5)
    adapted = rk.adapt(
        large, train, valid, test, others={"third": third, "linear": weights}, **QUICK
    )
    names = ["background", "third", "linear", *ALL_METHODS]
    assert sorted(adapted.models) == sorted(names)
    assert sorted(adapted.test.evaluations) == sorted(names)
    combined = adapted.models["interpolation_all"]
    members = ["background", "third", "linear", "in_domain", "expanded"]
    assert list(combined.rankers) == members
    # On the data that chose the weights no member alone is better.
    best = rk.evaluate(combined, valid)["ndcg@10"]
    for name in members:
        assert best >= rk.evaluate(adapted.models[name], valid)["ndcg@10"] - 1e-12
    path = tmp_path / "model.rk"
    combined.save(path)
    assert np.array_equal(rk.load(path).predict(test), combined.predict(test))
    alone = rk.adapt(
        general, train, valid, others={"third": third}, method="interpolation_all", **NO_DATA
    )
    assert list(alone.models) == ["background", "third", "in_domain", "interpolation_all"]
    assert list(alone.model.rankers) == ["background", "third", "in_domain"]


def test_an_other_background_may_be_the_best(sets):
    _, train, valid, _ = sets
    labels = {row.tobytes(): label for row, label in zip(valid.X, valid.y, strict=True)}

    def oracle(X):
        return np.array([labels.get(row.tobytes(), 0.0) for row in X])

    adapted = rk.adapt(np.ones(5), train, valid, others={"oracle": oracle}, **NO_DATA)
    assert adapted.method == "oracle"
    assert rk.evaluate(adapted.model, valid)["ndcg@10"] == 1.0


def test_a_model_as_background(general, sets, tmp_path):
    found = rk.adapt(general, *sets[1:3], **NO_DATA)
    expected = [
        "background",
        *(name for name in METHODS if name not in ("expanded", "interpolation3")),
    ]
    assert list(found.models) == expected and found.expansion is None
    assert found.models["background"] is general
    weights = rk.adapt(np.ones(5), *sets[1:3], method="lambdasmart", **NO_DATA)
    weights.save(tmp_path / "weights.rk")
    function = rk.adapt(lambda X: X[:, 0], *sets[1:3], method="interpolation", **NO_DATA)
    assert function.model.predict(sets[3]).shape == (180,)


def test_a_perfect_background_is_kept_and_is_a_ranker(sets, tmp_path):
    weights = np.array([1.0, 2.0, -1.0, 0.5, 0.1])
    few, tuning = (
        rk.Dataset(
            data.X, np.digitize(data.X @ weights, [0, 1, 2]), qid=np.arange(data.n_rows) // 12
        )
        for data in sets[1:3]
    )
    found = rk.adapt(weights, few, tuning, **NO_DATA)
    assert found.method == "background"
    found.save(tmp_path / "same.rk")
    scores = rk.load(tmp_path / "same.rk").predict(sets[3])
    assert np.corrcoef(scores, sets[3].X @ weights)[0, 1] == pytest.approx(1.0)


def test_another_kind_of_ranker(sets):
    net = rk.LambdaRank(n_hidden=0, n_epochs=3, early_stopping=2)
    found = rk.adapt(*sets[:3], method="interpolation", **{**QUICK, "ranker": net})
    assert isinstance(found.models["in_domain"], rk.LambdaRank)
    assert isinstance(found.models["background"], rk.LambdaRank)


def test_a_ranker_without_early_stopping_learns_from_all_background_data(sets, general):
    fixed = rk.LambdaMART(n_estimators=12, max_leaf_nodes=5)
    found = rk.adapt(*sets[:3], method="in_domain", **{**QUICK, "ranker": fixed})
    assert np.array_equal(found.models["background"].predict(sets[3]), general.predict(sets[3]))


def test_neither_threads_nor_the_order_of_rows_matter(adapted, sets, tmp_path):
    rng = np.random.default_rng(0)
    moved = []
    for data in sets[:3]:
        order = rng.permutation(data.n_rows)
        with pytest.warns(rk.RankiniteWarning):
            moved.append(rk.Dataset(data.X[order], data.y[order], qid=order // 12))
    again = rk.adapt(*moved, n_threads=1, **QUICK)
    assert again.method == adapted.method
    for name, model in adapted.models.items():
        for path, each in (("a.rk", model), ("b.rk", again.models[name])):
            each.save(tmp_path / path)
        assert (tmp_path / "a.rk").read_bytes() == (tmp_path / "b.rk").read_bytes(), name


def test_a_measure_of_ones_own(general, sets):
    class BestFirst(rk.Measure):
        name = "best first"

        def value(self, labels):
            return float(labels[0] == labels.max())

    adapted = rk.adapt(general, *sets[1:3], measure=BestFirst(), method="lambdaboost", **NO_DATA)
    assert "best first" in str(adapted).splitlines()[0]


def test_expansion_needs_background_data(general, sets):
    with pytest.raises(rk.ParameterError, match="expansion looks for near documents"):
        rk.adapt(general, *sets[1:3], method="lambdaboost", **QUICK)


def test_progress(general, sets, capsys):
    rk.adapt(general, *sets[1:3], method="in_domain", verbose=1, **NO_DATA)
    told = capsys.readouterr()
    assert told.out == "" and len(told.err.splitlines()) == 3
    rk.adapt(general, *sets[1:3], method="in_domain", **NO_DATA)
    assert capsys.readouterr().err == ""


def test_nothing_is_near(sets):
    options = {**QUICK, "expansion": {"max_distance": 1e-9}}
    with pytest.warns(rk.RankiniteWarning, match="max_distance"):
        found = rk.adapt(*sets[:3], **options)
    assert "expanded" not in found.models and "lambdasmart" in found.models
    with pytest.raises(rk.DataError, match="near enough"):
        rk.adapt(*sets[:3], method="interpolation3", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be one of in_domain"),
        ({"method": "background"}, "method must be one of"),
        ({"method": "expanded"}, "background is a model"),
        ({"measure": "pair_accuracy"}, "preference pairs"),
        ({"measure": "what"}, "what"),
        ({"smart": rk.LambdaBoost()}, "smart must be an untrained LambdaMART"),
        ({"boost": rk.LambdaBoost(base_model=np.ones(5))}, "boost has a base_model"),
        ({"ranker": 5}, "ranker must be an untrained Learner"),
        ({"expansion": {"distance": 1}}, "not 'distance'"),
        ({"method": "interpolation_all"}, "several backgrounds, and there is one"),
        ({"others": [np.ones(5)]}, "others must be a dict of backgrounds by name"),
        ({"others": {"in_domain": np.ones(5)}}, "a background called 'in_domain'"),
        ({"others": {1: np.ones(5)}, "method": "lambdaboost"}, "must be texts, got 1"),
        ({"others": {"x": "a.rk"}}, "the ranker 'x' is the path 'a.rk'"),
        ({"others": {"x": None}}, "the ranker 'x' cannot be used"),
        ({"expansion": 3}, "expansion must be a dict"),
        ({"expansion": ["n_neighbors"]}, "expansion must be a dict"),
        ({"method": ["in_domain"]}, "method must be one of"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"random_state": None}, "random_state must be a whole number"),
    ],
)
def test_wrong_parameters(general, sets, options, message):
    with pytest.raises(rk.ParameterError, match=message):
        rk.adapt(general, *sets[1:3], **{**NO_DATA, **options})


def test_wrong_data(general, sets):
    large, train, valid, _ = sets
    narrow = rk.Dataset(valid.X[:, :4], valid.y, qid=np.arange(180) // 12)
    with pytest.raises(rk.DataError, match="valid data has 4 features"):
        rk.adapt(general, train, narrow, **NO_DATA)
    with pytest.raises(rk.DataError, match="background data has 4 features"):
        rk.adapt(narrow, train, valid, method="in_domain", **QUICK)
    with pytest.raises(rk.DataError, match="the ranker 'background' has 5 features"):
        rk.adapt(general, narrow, narrow, **NO_DATA)
    with pytest.raises(rk.DataError, match="train data has no labels"):
        rk.adapt(general, rk.Dataset(train.X, qid=np.arange(240) // 12), valid, **NO_DATA)
    with pytest.raises(rk.DataError, match="train must be a Dataset, got a NoneType"):
        rk.adapt(general, None, valid, **NO_DATA)
    with pytest.raises(rk.DataError, match="valid must be a Dataset"):
        rk.adapt(general, train, valid.X, **NO_DATA)
    with pytest.raises(rk.DataError, match="at least 4"):
        rk.adapt(general, train, valid.select_queries([0, 1, 2]), **NO_DATA)
    with pytest.raises(rk.DataError, match="too few to hold some out"):
        rk.adapt(large.select_queries([0, 1]), train, valid, method="in_domain", **QUICK)


def test_labels_that_only_the_measure_itself_can_measure(sets):
    halved = [
        rk.Dataset(each.X, each.labels / 2, qid=np.repeat(each.qids, each.query_sizes))
        for each in sets
    ]
    adapted = rk.adapt(*halved, measure="pairs", method="interpolation", **QUICK)
    assert str(adapted).splitlines()[0].split() == ["validation", "pairs"]
    with pytest.raises(rk.DataError, match="whole numbers"):
        rk.adapt(*halved, method="interpolation", **QUICK)


@pytest.mark.parametrize(
    ("gain", "choose", "expected"),
    [(0.3, "significant", "b"), (1e-3, "significant", "background"), (1e-3, "best", "b")],
)
def test_noise_is_no_reason_to_leave_the_background(gain, choose, expected):
    rng = np.random.default_rng(0)
    n = 200
    labels = np.tile([0.0, 1.0], n)
    data = rk.Dataset(labels[:, None], labels, qid=np.repeat(np.arange(n), 2))
    right = rng.random(n) < 0.5
    better = right.copy()
    better[np.flatnonzero(~right)[: max(1, int(gain * n))]] = True
    scores = {
        name: np.where(np.repeat(each, 2), labels, -labels)
        for name, each in (("background", right), ("b", better))
    }
    comparison = rk.compare(scores, data, ["ndcg@10"], baseline="background")
    chosen, reason = _chosen(comparison, rk.measure("ndcg@10"), None, choose)
    assert chosen == expected and expected in reason
    assert _chosen(comparison, rk.measure("ndcg@10"), "b", choose)[0] == "b"


def test_the_way_to_choose_is_checked(sets, general):
    with pytest.raises(rk.ParameterError, match="choose must be one of 'significant', 'best'"):
        rk.adapt(general, *sets[1:3], choose="worst", **NO_DATA)
