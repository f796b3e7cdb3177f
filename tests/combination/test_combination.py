"""The combination as a ranker: saving, the law, members of all kinds, bad input."""

import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba
import numpy as np
import pytest

import rankinite as rk
from rankinite.models import NotFittedError
from tests.combination.cases import METHODS, columns, mean, rows_of_scores, scored
from tests.models.foreign_models import qid_of
from tests.subjects import quiet, same, saved


@cache
def parts():
    return rk.artificial(n_queries=(30, 25, 10), n_docs=15, n_features=6, random_state=2)


@cache
def trained():
    train, _, _ = parts()
    return {
        "trees": rk.LambdaMART(n_estimators=4, max_leaf_nodes=5).fit(train),
        "mart": rk.MART(n_estimators=3, max_leaf_nodes=4).fit(train),
        "net": rk.LambdaRank(n_epochs=2, n_hidden=3).fit(train),
    }


WAYS = [(method, "data") for method in METHODS]
WAYS += [("average", "query"), ("average", "none"), ("linear", "query"), ("net", "query")]


@pytest.mark.parametrize(("method", "normalize"), WAYS)
def test_saving_and_loading(method, normalize, tmp_path):
    _, valid, test = parts()
    model = rk.Combination(trained(), method, normalize=normalize).fit(valid)
    first = saved(model, tmp_path)
    assert saved(model, tmp_path) == first
    copy = rk.load(tmp_path / "model.rk")
    assert type(copy) is rk.Combination
    assert same(copy.predict(test), model.predict(test))
    assert saved(copy, tmp_path) == first
    assert copy.in_words() == model.in_words()
    assert (copy.tree_, copy.history_) == (model.tree_, model.history_)
    assert list(copy.rankers) == list(trained())
    known, found = ({**m.get_params(), "rankers": None} for m in (model, copy))
    assert found == known
    assert mean(copy, test) == mean(model, test)


@pytest.mark.parametrize(("method", "normalize"), WAYS)
def test_order_of_rows_and_threads_are_no_matter(method, normalize, tmp_path):
    X, y, qid = rows_of_scores(n_queries=25)
    rng = np.random.default_rng(0)
    weight, query_weight = rng.uniform(0.1, 3, len(y)), rng.uniform(0.1, 3, 25)
    by_id = dict(enumerate(query_weight))
    data = rk.Dataset(X, y, qid=qid, weight=weight, query_weight=by_id)
    make = {"rankers": columns(), "method": method, "normalize": normalize}
    model = rk.Combination(**make, n_threads=1).fit(data)
    expected = saved(model, tmp_path)
    order = rng.permutation(len(y))
    shuffled = quiet(X[order], y[order], qid=qid[order], weight=weight[order], query_weight=by_id)
    again = rk.Combination(**make, n_threads=2).fit(shuffled)
    assert saved(again, tmp_path) == expected
    assert same(again.predict(shuffled), model.predict(data)[order])


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_the_same_in_any_batch(method, tmp_path):
    _, valid, test = parts()
    model = rk.Combination(trained(), method).fit(valid)
    scores = model.predict(test)
    assert same(model.predict(test.X), scores)
    assert same(np.concatenate([model.predict(row[np.newaxis]) for row in test.X]), scores)
    assert same(model.predict(np.asfortranarray(test.X)), scores)
    assert model.set_params(n_threads=1) is model and same(model.predict(test), scores)


def test_queries_without_weight_are_as_good_as_absent():
    data = scored(n_queries=20)
    weight = (np.arange(20) % 3 > 0).astype(float)
    weighted = rk.Dataset(data.X, data.y, qid=qid_of(data), query_weight=weight)
    fewer = data.select_queries(weight > 0)
    for method in METHODS:
        models = [rk.Combination(columns(), method).fit(rows) for rows in (weighted, fewer)]
        assert same(*(model.predict(data) for model in models))
    with pytest.raises(rk.DataError, match="every document has a weight of 0"):
        nothing = rk.Dataset(data.X, data.y, qid=qid_of(data), query_weight=np.zeros(20))
        rk.Combination(columns()).fit(nothing)


def test_members_stay_as_they_are():
    _, valid, _ = parts()
    rankers = dict(trained())
    before = {
        name: (ranker.get_params(), ranker.predict(valid)) for name, ranker in rankers.items()
    }
    model = rk.Combination(rankers, "exact_powell", n_threads=1)
    params = model.get_params()
    assert model.fit(valid) is model and model.get_params() == params
    for name, (parameters, scores) in before.items():
        assert rankers[name].get_params() == parameters
        assert same(rankers[name].predict(valid), scores)
        assert model.rankers[name] is rankers[name]
    threads = numba.get_num_threads()
    model.predict(valid)
    assert numba.get_num_threads() == threads


def test_it_is_cloned_with_its_trained_members():
    from sklearn.base import clone

    _, valid, _ = parts()
    model = rk.Combination(trained(), "powell").fit(valid)
    twin = clone(model)
    assert twin.rankers is model.rankers and not hasattr(twin, "n_features_in_")
    assert same(twin.fit(valid).predict(valid), model.predict(valid))
    assert "method='powell'" in repr(model)


def test_a_combination_of_combinations_and_as_a_base_model(tmp_path):
    train, valid, test = parts()
    inner = rk.Combination(trained(), "pair_tree").fit(valid)
    outer = rk.Combination({"inner": inner, "trees": trained()["trees"]}, "powell").fit(valid)
    outer.save(tmp_path / "outer.rk")
    assert same(rk.load(tmp_path / "outer.rk").predict(test.X), outer.predict(test))
    boosted = rk.LambdaMART(n_estimators=2, base_model=outer).fit(train)
    boosted.save(tmp_path / "boosted.rk")
    loaded = rk.load(tmp_path / "boosted.rk")
    assert same(loaded.predict(test), boosted.predict(test))
    without = rk.LambdaMART(n_estimators=2).fit(train)
    assert not same(boosted.predict(test), without.predict(test))
    by_query = rk.Combination(trained(), normalize="query").fit(valid)
    nested = rk.Combination([by_query]).fit(valid)
    for base in (by_query, nested):
        with pytest.raises(rk.ParameterError, match="base_model looks at the scores of a query"):
            rk.LambdaMART(n_estimators=2, base_model=base).fit(train)
        with pytest.raises(rk.DataError, match="pass a Dataset"):
            base.predict(test.X)


def test_foreign_members_are_kept_in_the_file(tmp_path):
    lgb = pytest.importorskip("lightgbm")
    from sklearn.linear_model import LinearRegression

    train, valid, test = parts()
    booster = lgb.LGBMRanker(n_estimators=4, num_leaves=5, verbose=-1)
    booster.fit(train.X, train.y, group=train.query_sizes)
    rankers = {
        "lightgbm": booster,
        "sklearn": LinearRegression().fit(train.X, train.y),
        "weights": np.arange(6.0),
        **trained(),
    }
    model = rk.Combination(rankers, "exact_powell", "err@10").fit(valid)
    model.save(tmp_path / "model.rk")
    loaded = rk.load(tmp_path / "model.rk")
    assert same(loaded.predict(test), model.predict(test))
    assert list(loaded.weights_) == list(rankers)
    again = rk.Combination(loaded.rankers, "exact_powell", "err@10").fit(valid)
    assert same(again.predict(test), model.predict(test))


def test_a_function_scores_but_cannot_be_saved(tmp_path):
    _, valid, test = parts()
    rankers = {"own": lambda X: X[:, 0], **trained()}
    model = rk.Combination(rankers).fit(valid)
    assert np.isfinite(model.predict(test)).all()
    with pytest.raises(rk.ModelFileError, match=r"as the ranker 'own', or add the scores"):
        model.save(tmp_path / "model.rk")
    assert not (tmp_path / "model.rk").exists()


def test_bins_are_enough_for_trees(tmp_path):
    train, valid, _ = parts()
    valid.save(tmp_path / "valid", like=train)
    trees = {name: trained()[name] for name in ("trees", "mart")}
    model = rk.Combination(trees, "exact_powell").fit(valid)
    bins = rk.read(tmp_path / "valid")
    again = rk.Combination(trees, "exact_powell").fit(bins)
    assert same(again.predict(bins), model.predict(valid))
    with pytest.raises(rk.DataError, match=r"the ranker 'net': this dataset holds only bins"):
        rk.Combination(trained()).fit(bins)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_ranker_gets_no_weight(method, tmp_path):
    _, valid, test = parts()
    rankers = {"flat": np.zeros(6), **trained()}
    with pytest.warns(rk.RankiniteWarning, match="all scores of 'flat' are the same"):
        model = rk.Combination(rankers, method).fit(valid)
    alone = rk.Combination(trained(), method).fit(valid)
    assert same(model.predict(test), alone.predict(test))
    if method != "net":
        assert model.weights_["flat"] == 0
    if method == "pair_tree":
        assert "flat" not in str(model.tree_)
        tree = (("flat", "trees"), ("mart", "net"))
        with pytest.warns(rk.RankiniteWarning):
            model = rk.Combination(rankers, method, tree=tree).fit(valid)
        assert model.tree_ == ("trees", ("mart", "net"))
        model.save(tmp_path / "model.rk")
        assert rk.load(tmp_path / "model.rk").tree_ == model.tree_
    with pytest.raises(rk.DataError, match="every score of '1', '2' is the same"):
        rk.Combination([np.zeros(6), np.zeros(6)], method).fit(valid)


@pytest.mark.parametrize("method", METHODS)
def test_one_ranker_is_that_ranker(method):
    _, valid, test = parts()
    model = rk.Combination([trained()["trees"]], method).fit(valid)
    assert model.shares_ == {"1": 1.0}
    assert mean(model, test) == mean(trained()["trees"], test)
    assert model.in_words() == f"Combination of 1 ranker by {method}: 100 % 1"


@pytest.mark.parametrize("method", METHODS[1:])
def test_labels_that_teach_nothing(method):
    data = scored()
    irrelevant = rk.Dataset(data.X, np.zeros(data.n_rows), qid=qid_of(data))
    for measure in ("ndcg@10", "map"):
        with pytest.raises(rk.DataError, match="has no value on this data, so no weights"):
            rk.Combination(columns(), method, measure).fit(irrelevant)
    alone = rk.Dataset(data.X, data.y, qid=np.arange(data.n_rows))
    with pytest.raises(rk.DataError, match="has no value on this data"):
        rk.Combination(columns(), method, "pairs").fit(alone)


def test_not_fitted(tmp_path):
    _, valid, _ = parts()
    model = rk.Combination(trained())
    for ask in (
        lambda: model.predict(valid),
        lambda: model.predict(valid.X),
        lambda: model.save(tmp_path / "x"),
        lambda: model.weights_,
        lambda: model.shares_,
        lambda: model.tree_,
        lambda: model.history_,
        model.in_words,
    ):
        with pytest.raises(NotFittedError, match="this Combination is not trained"):
            ask()
    with pytest.raises(NotFittedError, match="the ranker 'raw': this LambdaMART is not trained"):
        rk.Combination({"raw": rk.LambdaMART()}).fit(valid)


def nan_scores(X):
    return np.where(np.arange(len(X)) == 3, np.nan, X[:, 0])


@pytest.mark.parametrize(
    ("rankers", "error", "message"),
    [
        ({}, rk.ParameterError, "rankers is empty"),
        ([], rk.ParameterError, "rankers is empty"),
        ("a.rk", rk.ParameterError, "rankers must be a dict .* not a str"),
        (None, rk.ParameterError, "rankers must be a dict .* not a NoneType"),
        ({1: np.ones(6)}, rk.ParameterError, "names of rankers must be texts, got 1"),
        ({"a": "a.rk"}, rk.ParameterError, "the ranker 'a' is the path 'a.rk': pass what"),
        ({"a": object()}, rk.ParameterError, "the ranker 'a' must have predict"),
        ({"a": np.ones(7)}, rk.DataError, "the ranker 'a' has 7 features, but the data has 6"),
        ({"a": np.ones(375)}, rk.DataError, "the ranker 'a' has 375 features"),
        ({"a": nan_scores}, rk.DataError, r"the ranker 'a', a function, has .* NaN .*row 3"),
        ({"a": lambda X: X}, rk.DataError, r"the ranker 'a', a function, has 6 scores a row"),
    ],
)
def test_wrong_rankers(rankers, error, message):
    _, valid, _ = parts()
    with pytest.raises(error, match=message):
        rk.Combination(rankers).fit(valid)


def test_rankers_of_other_features():
    _, valid, _ = parts()
    other = rk.artificial(n_queries=5, n_docs=10, n_features=4)
    narrow = rk.MART(n_estimators=1).fit(other)
    with pytest.raises(rk.DataError, match="the ranker 'narrow' has 4 features, but the data has"):
        rk.Combination({**trained(), "narrow": narrow}).fit(valid)
    model = rk.Combination(trained()).fit(valid)
    with pytest.raises(rk.DataError, match="has 4 features, but the model was trained on 6"):
        model.predict(other)
    names = list("uvwxyz")
    named = rk.Dataset(valid.X, valid.y, qid=qid_of(valid), feature_names=names)
    ranker = rk.MART(n_estimators=1).fit(named)
    model = rk.Combination([ranker]).fit(valid)
    assert model.feature_names_in_.tolist() == names
    turned = rk.Dataset(valid.X, valid.y, qid=qid_of(valid), feature_names=names[::-1])
    straight = rk.Dataset(valid.X[:, ::-1], valid.y, qid=qid_of(valid), feature_names=names)
    assert np.array_equal(model.predict(turned), model.predict(straight))
    with pytest.raises(rk.DataError, match="has no feature 'u', which the model was trained on"):
        model.predict(rk.Dataset(valid.X, qid=qid_of(valid), feature_names=["a", *names[1:]]))


OUT_OF_RANGE = {
    "method": ("best", None, 3),
    "measure": ("ndgc@10", None, 3, "pair_accuracy"),
    "normalize": ("queries", None, True),
    "weights": ([1.0], [1.0, np.nan, 1.0, 1.0], "abcd", {"a": 1.0}, 3.0,
                {"a": 1, "b": 1, "c": 1, "d": 1, "x": 1}),
    "random_state": (-1, 0.5, 2**63),
    "n_threads": (0, 1.5),
    "verbose": (-1, None),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_parameters_out_of_range(name):
    for value in OUT_OF_RANGE[name]:
        with pytest.raises(rk.ParameterError, match=f"^{name} "):
            rk.Combination(**{"rankers": columns(), name: value}).fit(scored())


def test_parameters_that_the_method_does_not_have():
    with pytest.raises(rk.ParameterError, match="weights is for method='average', and the method"):
        rk.Combination(columns(), "powell", weights=[1, 1, 1, 1]).fit(scored())
    with pytest.raises(rk.ParameterError, match="tree is for method='pair_tree'"):
        rk.Combination(columns(), tree=("a", "b")).fit(scored())
    with pytest.raises(rk.ParameterError, match="has no parameter 'mode'"):
        rk.Combination(columns()).set_params(mode=1)


def test_a_failed_fit_leaves_the_model_as_it_was():
    _, valid, _ = parts()
    model = rk.Combination(trained(), "exact_powell").fit(valid)
    expected = model.predict(valid)
    with pytest.raises(rk.DataError):
        model.fit(rk.Dataset(valid.X, valid.y * 0, qid=qid_of(valid)))
    assert same(model.predict(valid), expected)


def test_a_damaged_file(tmp_path):
    from rankinite.models.file import read_model, write_model

    _, valid, _ = parts()
    rk.Combination(trained(), "pair_tree").fit(valid).save(tmp_path / "model.rk")

    def damaged(change):
        state, arrays = read_model(tmp_path / "model.rk")
        change(state, arrays)
        write_model(tmp_path / "damaged.rk", state, arrays)
        with pytest.raises(rk.ModelFileError):
            rk.load(tmp_path / "damaged.rk")

    damaged(lambda s, a: s["rankers"].pop())
    damaged(lambda s, a: a.update(used=np.array([0, 1, 3])))
    damaged(lambda s, a: a.update(used=np.array([-1, 0, 1])))
    damaged(lambda s, a: a.update(used=np.array([0, 0, 1])))
    damaged(lambda s, a: a.update(used=np.array([0, 1])))
    damaged(lambda s, a: a.pop("used"))
    damaged(lambda s, a: s["rankers"].clear())
    damaged(lambda s, a: s["rankers"][0].update(name="net"))
    damaged(lambda s, a: s["params"].update(method="best"))
    damaged(lambda s, a: s["combiner"].update(tree=["trees", "x"]))
    damaged(lambda s, a: s["combiner"].update(tree=["trees"]))
    damaged(lambda s, a: s["combiner"].update(net={"kind": "LambdaRank"}))
    damaged(lambda s, a: a.update(weights=np.array([1.0, np.nan, 0.0])))
    damaged(lambda s, a: a.update(weights=np.ones(2)))
    damaged(lambda s, a: a.update({"normalizer/scale": np.ones(2)}))
    damaged(lambda s, a: s.pop("combiner"))


def test_many_python_threads_and_a_fork():
    _, valid, test = parts()
    model = rk.Combination(trained(), "linear").fit(valid)
    expected = model.predict(test)
    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(model.predict, test if i % 2 else test.X) for i in range(20)]
        fits = [
            pool.submit(rk.Combination(trained(), "linear", n_threads=n).fit, valid) for n in (1, 2)
        ]
        assert all(same(job.result(), expected) for job in jobs)
        assert all(same(fit.result().predict(test), expected) for fit in fits)
    if not hasattr(os, "fork"):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs fails
        try:
            os._exit(0 if same(model.predict(test), expected) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_verbose_shows_how_the_measure_rises(capsys):
    model = rk.Combination(columns(), "exact_powell", verbose=1).fit(scored(n_queries=8))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"ndcg@10 {value:.4f}" for value in model.history_]


@pytest.mark.parametrize("method", ["linear", "net", "powell", "exact_powell", "pair_tree"])
def test_queries_of_one_document_teach_nothing(method):
    X = np.random.default_rng(0).normal(size=(30, 2))
    scorers = {"a": lambda X: X[:, 0], "b": lambda X: X[:, 1]}
    with pytest.raises(rk.DataError, match="no weights can be learned"):
        rk.Combination(scorers, method).fit(X, np.arange(30) % 3, qid=np.arange(30))


def test_scores_that_are_given_are_learned_from(tmp_path):
    train, valid = rk.artificial(n_queries=(30, 20), n_docs=8, n_features=4, random_state=6)
    rankers = {"a": rk.MART(n_estimators=3).fit(train), "b": rk.LambdaRank(n_epochs=2).fit(train)}
    own = np.column_stack([each.predict(valid) for each in rankers.values()])
    expected = rk.Combination(rankers, "exact_powell").fit(valid)
    given = rk.Combination(rankers, "exact_powell").fit(valid, scores=own)
    for model, name in ((expected, "expected"), (given, "given")):
        model.save(tmp_path / name)
    assert (tmp_path / "given").read_bytes() == (tmp_path / "expected").read_bytes()
    # What the rankers themselves give is not looked at.
    other = rk.Combination(rankers, "average").fit(valid, scores=own * [1, 100])
    plain = rk.Combination(rankers, "average").fit(valid)
    assert other.weights_["b"] == pytest.approx(plain.weights_["b"] / 100)
    assert other.weights_["a"] == pytest.approx(plain.weights_["a"])
    for wrong in (own[:, :1], own[1:], own * np.nan, "scores"):
        with pytest.raises(
            rk.DataError, match=r"scores must be finite numbers of shape \(160, 2\)"
        ):
            rk.Combination(rankers).fit(valid, scores=wrong)
