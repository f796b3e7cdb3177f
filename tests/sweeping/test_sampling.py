import math

import numpy as np

from rankinite.sweeping.sampling import Sampler
from rankinite.sweeping.space import Space
from rankinite.sweeping.study import Codec
from rankinite.sweeping.trial import PRUNED, Look, Trial

SPACE = Space.of(
    {
        "rate": {"low": 0.01, "high": 1.0, "log": True},
        "leaves": {"low": 2, "high": 20, "step": 3},
        "kind": ["a", "b"],
    }
)


def sampler(kind, seed=0, space=SPACE):
    return Sampler(space, kind, seed, Codec(space, 100), lower_is_better=False)


def test_a_grid_has_each_point_once_in_a_shuffled_order():
    space = Space.of({"a": [1, 2, 3], "b": ["x", "y"]})
    grid = sampler("grid", 0, space)
    assert grid.n_points == 6
    points = [grid.params(number) for number in range(6)]
    assert {(each["a"], each["b"]) for each in points} == {(a, b) for a in (1, 2, 3) for b in "xy"}
    other = sampler("grid", 1, space)
    assert points != [other.params(number) for number in range(6)]
    assert points == [sampler("grid", 0, space).params(number) for number in range(6)]


def test_random_values_come_from_seed_and_number():
    first = [sampler("random").params(number) for number in range(300)]
    # In any order, and whatever came out.
    assert first[::-1] == [sampler("random").params(number) for number in range(299, -1, -1)]
    assert first != [sampler("random", 1).params(number) for number in range(300)]
    assert {each["leaves"] for each in first} == set(range(2, 21, 3))
    assert 0.4 < np.mean([each["kind"] == "a" for each in first]) < 0.6
    assert np.median([each["rate"] for each in first]) < 0.2


def past(n):
    """Trials of which those with a rate near 0.1 are best."""
    drawn = sampler("random", 7)
    for number in range(n):
        params = drawn.params(number)
        value = 1 - abs(math.log10(params["rate"] / 0.1))
        if number % 5 == 4:
            yield Trial(number, params, PRUNED, curve=[Look(0, 20, value)])
        else:
            yield Trial(number, params, value=value, folds=[value], curve=[Look(0, 100, value)])


def test_tpe_looks_where_it_was_good():
    trials = list(past(40))
    tpe = sampler("tpe")
    asked = [tpe.params(number, trials) for number in range(40, 60)]
    assert asked == [sampler("tpe").params(number, trials) for number in range(40, 60)]
    distance = np.mean([abs(math.log10(each["rate"] / 0.1)) for each in asked])
    at_random = np.mean([abs(math.log10(each.params["rate"] / 0.1)) for each in trials])
    assert distance < 0.6 * at_random
    assert all(each["leaves"] in range(2, 21, 3) for each in asked)


def test_tpe_begins_at_random():
    assert sampler("tpe").params(8, list(past(8))) == sampler("random").params(8)
