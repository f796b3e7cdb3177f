import numpy as np
import pytest

import rankinite as rk
from rankinite.sweeping.space import Choices, Space, Span, dimension

RANKER = rk.LambdaMART()
SHARES = (np.arange(1000) + 0.5) / 1000


def test_steps():
    leaves = dimension("max_leaf_nodes", {"low": 50, "high": 400, "step": 30})
    assert leaves.grid() == list(range(50, 401, 30)) and len(leaves.grid()) == 12
    assert {leaves.drawn(share) for share in SHARES} == set(leaves.grid())
    tenths = dimension("x", {"low": 0.1, "high": 0.3, "step": 0.1})
    assert tenths.grid() == [0.1, 0.2, 0.3] and tenths.taken(0.2000000001) == 0.2
    assert dimension("x", {"low": 0, "high": 1, "step": 0.25}).grid() == [0, 0.25, 0.5, 0.75, 1]


def test_spread_evenly_or_by_logarithm():
    even, log = Span(0.0, 1.0), Span(1e-4, 1e-2, log=True)
    assert np.mean([even.drawn(share) for share in SHARES]) == pytest.approx(0.5, abs=1e-3)
    assert np.median([log.drawn(share) for share in SHARES]) == pytest.approx(1e-3, rel=0.02)
    assert Span(1e-4, 1e-2, log=True, points=5).grid() == [1e-4, 3.162e-4, 1e-3, 3.162e-3, 1e-2]
    whole = [Span(1, 4).drawn(share) for share in SHARES]
    assert np.bincount(whole).tolist() == [0, 250, 250, 250, 250]
    assert {Span(2, 9, log=True).drawn(share) for share in SHARES} == set(range(2, 10))
    # What is tried can be typed.
    assert all(len(f"{log.drawn(share):e}".split("e")[0].rstrip("0")) <= 5 for share in SHARES)


def test_a_grid_of_points_has_no_value_twice():
    assert Span(1, 3, points=9).grid() == [1, 2, 3]


def test_choices():
    choices = dimension("truncation", [5, "auto", None])
    assert choices == Choices((5, "auto", None)) and choices.grid() == [5, "auto", None]
    assert {choices.drawn(share) for share in SHARES} == {5, "auto", None}
    assert dimension("max_leaf_nodes", np.arange(2, 5)).values == (2, 3, 4)
    assert all(type(value) is int for value in dimension("x", np.arange(2, 5)).values)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "the space has no parameter"),
        ([3], "space must be a dict"),
        ({"learning_rate": 0.1}, "must be a list of choices, or a range"),
        ({"learning_rate": []}, "the choices of learning_rate must be one or more, each only once"),
        ({"learning_rate": [0.1, 0.1]}, "each only once"),
        ({"learning_rate": [[0.1]]}, "a choice of learning_rate must be a number"),
        ({"learning_rate": {"low": 0.1}}, "the range of learning_rate has no high"),
        ({"learning_rate": {"low": 0.1, "high": 0.1}}, "low must be below"),
        ({"learning_rate": {"low": 0, "high": 1, "log": True}}, "low must be above 0"),
        ({"learning_rate": {"low": 0.1, "high": 1, "step": 2}}, "the step of the range"),
        ({"learning_rate": {"low": 0.1, "high": 1, "steps": 2}}, "has no parameter 'steps'"),
        ({"learning_rate": {"low": "a", "high": 1}}, "low of the range of learning_rate must be"),
        ({"learning_rate": {"low": 0.1, "high": 1, "log": 1}}, "must be true or false"),
        ({"learning_rate": {"low": 0.1, "high": 1, "points": 1}}, "a whole number at least 2"),
        ({"learning_rate": {"low": -1, "high": 1}}, "learning_rate must be a number above 0"),
        ({"max_leaf_nodes": [1, 2]}, "max_leaf_nodes must be a whole number at least 2, got 1"),
        ({"max_leaf_nodes": {"low": 2.0, "high": 9}}, "max_leaf_nodes must be a whole number"),
        ({"split": ["newton", "best"]}, "split must be one of"),
        ({"measure": ["ndcg@10", "quality"]}, "measure is wrong: unknown measure 'quality'"),
        ({"num_leaves": [3]}, "here it is called max_leaf_nodes"),
        ({"n_threads": [1, 2]}, "n_threads cannot be swept"),
    ],
)
def test_what_is_no_space(declared, message):
    with pytest.raises(rk.ParameterError, match=message):
        Space.of(declared).check(RANKER)


def test_a_grid_needs_points():
    with pytest.raises(rk.ParameterError, match="learning_rate is a range: a grid needs a list"):
        Space.of({"learning_rate": {"low": 0.1, "high": 1}}).grid()
    with pytest.raises(rk.ParameterError, match="the grid has 1,000,000,000 points"):
        Space.of({name: {"low": 1, "high": 1000, "step": 1} for name in "abc"}).grid()
