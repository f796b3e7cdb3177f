import numpy as np
import pytest

import rankinite as rk
from rankinite.sweeping.content import Content
from tests.sweeping.small import FIXED, QUICK, RANKER, SPACE, data, outcomes, shuffled


def test_a_trial_is_a_cross_validation():
    grid = {"max_leaf_nodes": [3, 6], "learning_rate": [0.1, 0.3]}
    found = rk.sweep(RANKER, grid, data(), "mrr", sampler="grid", n_folds=3, random_state=5)
    assert [each.number for each in found.trials] == [0, 1, 2, 3]
    ordered = Content.of(data(), None, by_pairs=False).data
    for trial in found.trials:
        ranker = rk.LambdaMART(**FIXED, **trial.params, valid_measure="mrr")
        expected = rk.cross_validate(ranker, ordered, "mrr", n_folds=3, random_state=5)
        assert trial.is_complete
        assert trial.value == expected.evaluations["LambdaMART"]["mrr"]
        assert trial.folds == [fold["LambdaMART"]["mrr"] for fold in expected.folds]
        assert trial.spread == expected.spread("LambdaMART", "mrr")
    assert found.best.value == max(each.value for each in found.trials) == found.best_value
    assert found.best_params == found.best.params


@pytest.mark.parametrize("sampler", ["random", "tpe", "grid"])
def test_the_order_of_the_data_does_not_matter(sampler):
    space = SPACE if sampler != "grid" else {"max_leaf_nodes": [2, 4, 6]}
    options = {**QUICK, "sampler": sampler}
    first = rk.sweep(RANKER, space, data(), **options)
    second = rk.sweep(RANKER, space, shuffled(data()), **options)
    assert outcomes(first) == outcomes(second)
    assert len(first.trials) == (3 if sampler == "grid" else 6)


@pytest.mark.parametrize("sampler", ["random", "grid", "tpe"])
def test_the_number_of_jobs_does_not_matter(sampler):
    space = dict(SPACE)
    if sampler == "grid":
        space["learning_rate"] = [0.02, 0.1, 0.5]
    options = {"n_folds": 3, "trials": 16, "sampler": sampler, "prune": "median"}
    first = rk.sweep(RANKER, space, data(), **options)
    second = rk.sweep(RANKER, space, data(), **options, jobs=2)
    assert outcomes(first) == outcomes(second)
    assert {each.state for each in first.trials} == {"complete", "pruned"}


def test_pruning_leaves_the_values_of_complete_trials_alone():
    options = {"n_folds": 3, "trials": 16, "sampler": "random"}
    whole = rk.sweep(RANKER, SPACE, data(), **options, prune="none")
    assert all(each.is_complete for each in whole.trials)
    pruned = rk.sweep(RANKER, SPACE, data(), **options, prune="median")
    given_up = [each for each in pruned.trials if each.state == "pruned"]
    assert given_up and any(not each.folds for each in given_up), "inside the first fold"
    for one, other in zip(whole.trials, pruned.trials, strict=True):
        assert one.params == other.params
        if other.is_complete:
            assert (one.value, one.folds, one.curve) == (other.value, other.folds, other.curve)
        else:
            assert np.isnan(other.value) and one.curve[: len(other.curve)] == other.curve
    # Nobody is pruned before there is somebody to be compared with.
    assert all(each.is_complete for each in pruned.trials[:9])
    assert f"{len(given_up)} pruned" in str(pruned)


def test_without_early_stopping_trials_are_pruned_between_folds():
    ranker = RANKER.__sklearn_clone__().set_params(early_stopping=None)
    options = {"n_folds": 2, "trials": 14, "sampler": "random", "prune": "median"}
    found = rk.sweep(ranker, SPACE, data(), **options)
    given_up = [each for each in found.trials if each.state == "pruned"]
    assert given_up and all(len(each.folds) == 1 for each in given_up)
    assert all(each.rounds == [12, 12] for each in found.trials if each.is_complete)


def test_nets_and_lower_is_better():
    ranker = rk.LambdaRank(n_epochs=5, early_stopping=3, n_hidden=2)
    space = {"learning_rate": {"low": 1e-4, "high": 1e-1, "log": True}}
    found = rk.sweep(ranker, space, data(), sampler="random", n_folds=3, trials=3)
    trained = found.train(data())
    assert trained.learning_rate == found.best_params["learning_rate"]
    assert trained.early_stopping == 3, "a net still watches"
    pairs = data().with_preferences(preferred=np.arange(0, 300, 10), other=np.arange(1, 300, 10))
    nets = rk.RankNet(n_epochs=3, n_hidden=0)
    lowest = rk.sweep(nets, space, pairs, "pair_log_loss", sampler="random", n_folds=3, trials=3)
    assert lowest.best.value == min(each.value for each in lowest.trials)


def test_the_best_ranker_has_the_rounds_that_were_kept():
    found = rk.sweep(RANKER, SPACE, data(), **QUICK, sampler="random")
    ranker = found.best_ranker
    assert ranker.n_estimators == round(np.mean(found.best.rounds))
    assert ranker.early_stopping is None
    trained = found.train(data())
    assert trained.n_rounds_ == ranker.n_estimators
    assert np.array_equal(trained.predict(data()), ranker.fit(data()).predict(data()))
    assert not hasattr(RANKER, "forest_"), "the ranker itself stays untrained"


def test_a_swept_number_of_rounds():
    ranker = RANKER.__sklearn_clone__().set_params(early_stopping=None)
    found = rk.sweep(ranker, {"n_estimators": [2, 8]}, data(), sampler="grid", n_folds=2)
    assert sorted(each.rounds[0] for each in found.trials) == [2, 8]
    assert {each.curve[-1].round for each in found.trials} == {8}, "one scale for all"


def test_the_table():
    found = rk.sweep(RANKER, SPACE, data(), **QUICK, sampler="random")
    lines = str(found).splitlines()
    assert lines[0].split() == [
        *("trial", "learning_rate", "max_leaf_nodes", "split"),
        *("ndcg@10", "spread", "trees", "seconds"),
    ]
    assert len(lines) == 8 and lines[-1] == "6 of 6 trials"
    assert lines[1].split()[0] == str(found.best.number)
    assert f"{found.best.value:.4f}" in lines[1] and f"{found.best.spread:.4f}" in lines[1]


def test_a_trial_that_fails_is_told_and_the_rest_goes_on():
    class Odd(rk.LambdaMART):
        def fit(self, X, **options):
            if self.max_leaf_nodes == 4:
                raise rk.DataError("four leaves are odd")
            return super().fit(X, **options)

    options = {"sampler": "grid", "n_folds": 2}
    ranker = Odd(n_estimators=3)
    found = rk.sweep(ranker, {"max_leaf_nodes": [2, 4, 6]}, data(), **options)
    (failed,) = [each for each in found.trials if each.state == "failed"]
    assert failed.error == "four leaves are odd" and failed.params == {"max_leaf_nodes": 4}
    told = f"1 failed, the first (trial {failed.number}): four leaves are odd"
    assert told in str(found)
    with pytest.raises(rk.DataError, match=r"none of 1 trials is complete, .* four leaves are odd"):
        rk.sweep(ranker, {"max_leaf_nodes": [4]}, data(), **options)


def test_a_plot(tmp_path):
    options = {"n_folds": 3, "trials": 14, "sampler": "random", "prune": "median"}
    found = rk.sweep(RANKER, SPACE, data(), **options)
    path = tmp_path / "sweep.svg"
    found.plot(path)
    drawn = path.read_text(encoding="utf-8")
    assert all(name in drawn for name in ("learning_rate", "max_leaf_nodes", "least_squares"))
    assert f"ndcg@10 {found.best.value:.4f}, the best of 14 trials" in drawn


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranker": rk.LambdaMART}, "a ranker that learns in rounds, not the class LambdaMART"),
        ({"ranker": 3}, "a ranker that learns in rounds, not 3"),
        ({"data": np.ones((3, 3))}, "needs a Dataset, not a ndarray"),
        ({"n_folds": 40}, "the data has 30 queries, too few for n_folds=40"),
        ({"n_folds": 2}, "n_folds=2 leaves no queries to watch"),
        ({"n_folds": 1}, "n_folds must be a whole number at least 2"),
        ({"trials": 0}, "trials must be a whole number at least 1"),
        ({"jobs": 0}, "jobs must be a whole number at least 1"),
        ({"sampler": "best"}, "sampler must be one of 'grid', 'random', 'tpe'"),
        ({"prune": "all"}, "prune must be one of"),
        ({"random_state": None}, "random_state must be a whole number"),
        ({"measure": "quality"}, "unknown measure 'quality'"),
        ({"space": "lambdamart-1999"}, "there is no preset 'lambdamart-1999'"),
        (
            {
                "space": {"split": ["newton", "least_squares"], "min_curvature_leaf": [0.0, 1.0]},
                "sampler": "grid",
            },
            "a trial with split='least_squares', min_curvature_leaf=1.0, which do not fit each",
        ),
    ],
)
def test_mistakes(changes, message):
    options = {"ranker": RANKER, "space": SPACE, "data": data(), **QUICK, **changes}
    with pytest.raises(rk.RankiniteError, match=message):
        rk.sweep(options.pop("ranker"), options.pop("space"), options.pop("data"), **options)


def test_data_without_a_better_order():
    same = rk.Dataset(data().X, np.zeros(data().n_rows), qid=np.arange(data().n_rows) // 10)
    with pytest.raises(rk.DataError, match="ndcg@10 has no value on this data"):
        rk.sweep(RANKER, SPACE, same, **QUICK)


def test_a_ranker_of_a_notebook_runs_side_by_side():
    class Own(rk.LambdaMART):
        pass

    options = {"n_folds": 2, "trials": 2, "sampler": "random"}
    one, two = (rk.sweep(Own(n_estimators=2), SPACE, data(), **options, jobs=j) for j in (1, 2))
    assert [each.value for each in one.trials] == [each.value for each in two.trials]


def test_the_space_of_a_preset():
    found = rk.sweep(RANKER, "lambdamart", data(), n_folds=3, trials=1, sampler="random")
    assert list(found.best_params)[:2] == ["learning_rate", "max_leaf_nodes"]
