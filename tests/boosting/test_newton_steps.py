"""Steps of leaves, and the queries that confirm them: against loops, and where labels are noise."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.newton_steps import (
    LEAST_PART,
    MOST_PART,
    newton_steps,
    verdict_of,
)
from rankinite.distributed import Serial
from rankinite.trees import Grower, GrownTree, GrowthParameters, gradients, pack_newton
from tests.boosting.small import QUICK, train_and_valid, with_labels
from tests.naive import boosting as naive
from tests.trees.cases import binned_of
from tests.workers import deals, found_by_workers

N = 900
SERIAL = Serial()


def a_tree(lam, w, l2=0.0):
    """Grown on all rows of two features."""
    rng = np.random.default_rng(2)
    binned = binned_of(rng.integers(0, 9, (N, 2)).astype(float))
    parameters = GrowthParameters(
        max_leaf_nodes=7, min_samples_leaf=20, split="newton", l2_regularization=l2
    )
    grower = Grower(binned, parameters, rng.integers(0, 2**64, N, np.uint64), N, SERIAL)
    packed = pack_newton(gradients(lam, SERIAL), gradients(w, SERIAL), N)
    return grower, grower.grow(packed, np.uint64(1))


def forces_and_bends(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=N), rng.random(N)


RATE = 0.1


def part_of(c):
    """What a tree takes of its steps, case by case."""
    if c > 0.3:
        thrice_at_most = c / 0.3 if c < 0.9 else 3.0
        return max(1.0, min(thrice_at_most, c / RATE))
    if c >= 0.125:
        return 1.0
    return 8 * c if c > 0.05 else 0.4


@pytest.mark.parametrize("l2", [0.0, 30.0])
@pytest.mark.parametrize("longest", [np.inf, 0.05])
def test_steps_equal_the_loops(l2, longest):
    lam, w = forces_and_bends()
    grower, grown = a_tree(lam, w, l2)
    some = np.random.default_rng(1).random(N) < 0.2
    terms = gradients(lam, SERIAL), gradients(w, SERIAL)
    for held_out in (None, some, np.zeros(N, bool), np.ones(N, bool)):
        found = newton_steps(grown, *terms, longest, grower, held_out)
        steps, verdict = naive.newton_steps(grown.leaf_of, lam, w, longest, l2, held_out)
        np.testing.assert_allclose(found.steps, steps, rtol=1e-9)
        if held_out is None:
            assert found.verdict is None
        else:
            np.testing.assert_allclose(found.verdict, verdict, rtol=1e-9, atol=1e-12)


def test_c_is_where_the_cost_of_the_others_is_lowest_and_the_gain_is_how_low():
    """As a grid of c finds it in the quadratic model of their cost."""
    rng = np.random.default_rng(4)
    grid = np.linspace(-1, 3, 40_001)
    parts = []
    for _ in range(50):
        steps, masses = rng.normal(size=8), rng.random(8)
        forces = rng.uniform(0, 1) * steps * masses + 0.1 * rng.normal(size=8)
        costs = 0.5 * grid**2 * (steps**2 * masses).sum() - grid * (steps * forces).sum()
        best = np.argmin(costs)
        verdict = verdict_of(steps, forces, masses)
        # The grid's best is within 5e-5, and the part is at most 8 times as far off.
        assert verdict.c == pytest.approx(grid[best], abs=6e-5)
        assert verdict.gain == pytest.approx(-2 * costs[best] * np.sign(grid[best]), abs=1e-6)
        assert verdict.part(RATE) == pytest.approx(part_of(grid[best]), abs=1e-3)
        parts.append(verdict.part(RATE))
    assert min(parts) == LEAST_PART and max(parts) == MOST_PART and len(set(parts)) > 5


def test_where_nobody_can_confirm_steps_are_whole():
    for forces in (0.0, 1.0):
        verdict = verdict_of(np.full(3, 1 - forces), np.full(3, forces), np.full(3, forces))
        assert (verdict.part(RATE), verdict.c, verdict.gain) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("rate", "part"), [(0.1, 3.0), (0.3, 3.0), (0.45, 2.0), (0.6, 1.5), (0.9, 1.0), (2, 1)]
)
def test_trees_go_no_further_than_the_others_ask_for(rate, part):
    verdict = verdict_of(np.ones(3), np.full(3, 0.9), np.ones(3))
    assert verdict.part(rate) == pytest.approx(part)


def test_steps_do_not_depend_on_workers():
    lam, w = forces_and_bends()
    grower, grown = a_tree(lam, w)
    held_out = np.random.default_rng(1).random(N) < 0.3

    def work(communicator, rows):
        own = Grower(
            grower.binned.select_rows(rows), grower.parameters, grower.keys[rows], N, communicator
        )
        part = GrownTree(grown.tree, grown.leaf_of[rows])
        terms = (gradients(values[rows], communicator) for values in (lam, w))
        found = newton_steps(part, *terms, np.inf, own, held_out[rows])
        return found.steps.tobytes(), found.verdict

    found = {steps for dealt in deals(N) for steps in found_by_workers(dealt, work)}
    assert len(found) == 1


def spread(labels, **options):
    train, _ = train_and_valid()
    options = {**QUICK, "n_estimators": 40, "query_fraction": 0.7, **options}
    return np.ptp(rk.LambdaMART(**options).fit(with_labels(train, labels)).predict(train))


def test_noise_is_learned_more_slowly_and_what_holds_is_not():
    train, _ = train_and_valid()
    noise = np.random.default_rng(0).integers(0, 4, train.n_rows).astype(float)
    # Squares, too, learn noise more slowly.
    for strength in (0.0, 4.0):
        plain, confirmed = (
            spread(noise, confirm_steps=own, squares=strength) for own in (False, True)
        )
        assert confirmed < 0.9 * plain
    clear = np.digitize(train.X[:, 0], np.quantile(train.X[:, 0], [0.5, 0.8, 0.95])).astype(float)
    plain, confirmed = (spread(clear, confirm_steps=own, n_estimators=4) for own in (False, True))
    assert confirmed > 0.999 * plain
    plain, confirmed = (spread(clear, confirm_steps=own, n_estimators=60) for own in (False, True))
    assert confirmed > 1.01 * plain


def test_without_drawn_queries_there_is_nothing_to_confirm():
    train, _ = train_and_valid()
    files = [
        rk.LambdaMART(**QUICK, confirm_steps=own).fit(train).predict(train).tobytes()
        for own in (False, True)
    ]
    assert files[0] == files[1]
