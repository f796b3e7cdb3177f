"""The way in which trees grow, when other queries say it."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting import auto, growth_trials
from rankinite.boosting.growth_trials import GrowthTrials
from rankinite.boosting.newton_steps import Stepped, Verdict
from rankinite.trees import Forest
from tests.boosting.small import QUICK, train_and_valid
from tests.subjects import saved

WAYS = ("symmetric", "best_first")
EIGHT_LEAVES = {**QUICK, "query_fraction": 0.8, "max_leaf_nodes": 8, "min_samples_leaf": 1}


def forest(**options):
    train, _ = train_and_valid()
    return rk.LambdaMART(**{**EIGHT_LEAVES, "n_estimators": 30, **options}).fit(train).forest_


def trees_of(forest):
    return forest.trees(np.zeros(len(forest.feature), np.uint8))


def ways_of(forest):
    return [WAYS[not tree.is_symmetric] for tree in trees_of(forest)]


def test_a_tree_tells_its_way():
    for way in WAYS:
        assert set(ways_of(forest(growth=way))) == {way}


def verdicts(**of_ways):
    """What grows nothing, but says what is thought of each way; and the ways it was asked for."""
    asked = []

    def grow(way):
        asked.append(way)
        return Stepped(way, np.zeros(1), of_ways[way])

    return grow, asked


def with_gain(gain, c=0.5):
    return Verdict(force=gain / c, bend=gain / c**2)


def test_a_verdict_has_its_gain_and_c():
    assert (with_gain(3.0).gain, with_gain(3.0, 0.2).c) == pytest.approx((3.0, 0.2))


@pytest.mark.parametrize(("gain", "chosen"), [(0.5, 0), (1.0, 0), (1.9, 0), (2.1, 1), (9.0, 1)])
def test_best_first_must_be_ahead_by_far(gain, chosen):
    grow, asked = verdicts(symmetric=with_gain(1.0), best_first=with_gain(gain))
    assert GrowthTrials(1).better(grow, 7, None).grown == WAYS[chosen]
    assert asked == list(WAYS)


@pytest.mark.parametrize("verdict", [Verdict(1.0, 9.0), Verdict(-1.0, 1.0), Verdict(0, 0)])
def test_nothing_is_tried_where_hardly_anything_is_confirmed(verdict):
    grow, asked = verdicts(symmetric=verdict, best_first=with_gain(9.0))
    assert GrowthTrials(1).better(grow, 0, None).grown == "symmetric"
    assert asked == ["symmetric"]


def test_between_trials_trees_grow_as_the_latest_did():
    trees = {way: trees_of(forest(growth=way))[0] for way in WAYS}
    for number in range(8):
        for way, latest in trees.items():
            grow, asked = verdicts(symmetric=with_gain(1.0), best_first=with_gain(1.2))
            found = GrowthTrials(4).better(grow, number, latest).grown
            assert found == ("symmetric" if number % 4 == 0 else way)
            assert len(asked) == (2 if number % 4 == 0 else 1)


def test_of_both_ways_that_with_more_gain_is_taken_tree_by_tree(monkeypatch):
    """The first trees are all confirmed; ways that must be ahead of nothing, or by any number."""
    for ahead, way in ((0.0, "best_first"), (np.inf, "symmetric")):
        monkeypatch.setattr(growth_trials, "AHEAD", ahead)
        found, expected = (forest(growth=each, n_estimators=4) for each in ("auto", way))
        assert arrays_of(found) == arrays_of(expected)
    monkeypatch.undo()
    assert set(ways_of(forest(growth="auto"))) == set(WAYS)


def arrays_of(forest: Forest):
    return {name: array.tobytes() for name, array in forest.to_arrays().items()}


@pytest.mark.parametrize("nobody", [{"query_fraction": 1.0}, {"step": "line_search"}])
@pytest.mark.parametrize("max_leaf_nodes", [3, 8])
@pytest.mark.parametrize("every", [1, 4])
def test_where_nobody_is_asked_trees_are_symmetric(nobody, max_leaf_nodes, every, monkeypatch):
    """Also between trials, whatever can be seen of the latest tree: of three leaves nothing can."""
    monkeypatch.setattr(auto, "ROUNDS_A_TRIAL", every)
    monkeypatch.setattr(auto, "MANY_ROWS", 100)
    options = {**nobody, "max_leaf_nodes": max_leaf_nodes, "n_estimators": 12}
    found, expected = (forest(growth=way, **options) for way in ("auto", "symmetric"))
    assert arrays_of(found) == arrays_of(expected)


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize("every", [1, 4])
def test_training_goes_on_as_it_would_have(every, confirm, monkeypatch, tmp_path):
    monkeypatch.setattr(auto, "ROUNDS_A_TRIAL", every)
    monkeypatch.setattr(auto, "MANY_ROWS", 100)
    train, _ = train_and_valid()
    options = {**EIGHT_LEAVES, "confirm_steps": confirm}
    whole = rk.LambdaMART(**options | {"n_estimators": 24}).fit(train)
    ways = ways_of(whole.forest_)
    assert 0 < whole.n_symmetric_ < 24
    assert whole.n_symmetric_ == ways.count("symmetric")
    if every == 4:
        assert all(len(set(ways[k : k + 4])) == 1 for k in range(0, 24, 4))
    for n in (3, 4, 10):
        part = rk.LambdaMART(**options | {"n_estimators": n}).fit(train)
        rest = rk.LambdaMART(**options | {"n_estimators": 24}).fit(train, resume=part)
        assert saved(rest, tmp_path) == saved(whole, tmp_path)


@pytest.mark.parametrize("ranker", [rk.MART, rk.McRank])
def test_other_rankers_may_ask_too(ranker):
    train, _ = train_and_valid()
    options = {"n_estimators": 6, "max_leaf_nodes": 8, "query_fraction": 0.8}
    found = [ranker(growth=way, **options).fit(train) for way in ("auto", *WAYS)]
    assert found[2].n_symmetric_ <= found[0].n_symmetric_ <= found[1].n_symmetric_
    # A tree of two leaves has one way to grow.
    few, many = found[2].n_symmetric_, found[1].n_symmetric_
    assert 4 * few < many and 4 * many > 3 * found[1].forest_.n_trees
