import numpy as np
import pytest

import rankinite as rk
from rankinite.combination.powell import REACH, exact_powell, powell
from rankinite.combination.problem import Problem
from tests.combination.cases import mean_of_stored, scored


def problem_of(data):
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    data = rk.Dataset(X, data.y, qid=np.repeat(data.qids, data.query_sizes))
    return data, Problem(data, rk.measure("ndcg@10"))


def test_one_step_is_the_best_of_a_fine_grid():
    # Two rankers: the first direction that is searched goes along one of them.
    data, problem = problem_of(scored(3, n_queries=10, n_rankers=2))
    weights = exact_powell(problem)
    found = problem.goodness(weights)
    angles = np.linspace(0, 2 * np.pi, 2001)
    best = max(problem.goodness(np.array([np.cos(t), np.sin(t)])) for t in angles)
    assert found >= best - 1e-12
    assert found == mean_of_stored(data.X @ weights, data)


def test_steps_never_fall_and_it_ends_where_no_ranker_helps():
    _, problem = problem_of(scored(1, n_queries=20, noise=1.0))
    weights = exact_powell(problem)
    assert len(problem.history) > 5
    assert (np.diff(problem.history) >= 0).all()
    here = problem.goodness(weights)
    assert here == problem.history[-1]
    weights = weights / np.linalg.norm(weights)
    for direction in np.eye(4):
        for alpha in np.linspace(-REACH / 2, REACH / 2, 101):
            assert problem.goodness(weights + alpha * direction) <= here + 1e-12


def test_scipys_search_gives_the_best_that_it_saw():
    _, problem = problem_of(scored(2, n_queries=12, noise=1.0))
    seen = []
    goodness = problem.goodness
    problem.goodness = lambda weights: seen.append(goodness(weights)) or seen[-1]
    weights = powell(problem)
    assert goodness(weights) == max(seen)
    assert len(seen) > 50


def test_the_start_is_the_better_of_average_and_single_rankers():
    data, problem = problem_of(scored(4, n_queries=10))
    starts = [np.full(4, 0.25), *np.eye(4)]
    assert problem.goodness(problem.best_start()) == max(map(problem.goodness, starts))
    rng = np.random.default_rng(0)
    noise = rng.normal(size=data.X.shape)
    noise[:, 1] = data.y
    spoiled = rk.Dataset(noise, data.y, qid=np.repeat(data.qids, data.query_sizes))
    spoiled_problem = Problem(spoiled, rk.measure("ndcg@10"))
    assert spoiled_problem.best_start().tolist() == [0.0, 1.0, 0.0, 0.0]
    assert spoiled_problem.goodness(exact_powell(spoiled_problem)) == pytest.approx(1.0)
