"""The best subset of members, and what its search makes of noise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble.folds import fold_numbers
from rankinite.ensemble.subsets import best_subset, cross_fitted


def table(n_queries=40, n_good=2, n_noise=3, noise=1.0, seed=0):
    """Members that know the labels more or less, and some that know nothing."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, size=(n_queries, 8)).ravel().astype(float)
    good = [y + noise * draw.normal(size=len(y)) for _ in range(n_good)]
    bad = [draw.normal(size=len(y)) for _ in range(n_noise)]
    return rk.Dataset(np.column_stack(good + bad), y, qid=np.repeat(np.arange(n_queries), 8))


def value(data, columns):
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return rk.evaluate(Z[:, list(columns)].mean(axis=1), data, "ndcg@5")["ndcg@5"]


def test_what_knows_nothing_is_left_out():
    assert best_subset(table(n_queries=200), "ndcg@5") == [0, 1]


@pytest.mark.parametrize("seed", range(4))
def test_no_step_from_the_result_helps(seed):
    data = table(n_good=3, seed=seed)
    found = best_subset(data, "ndcg@5")
    here = value(data, found)
    for column in range(6):
        near = sorted({*found} ^ {column})
        assert not near or value(data, near) <= here + 1e-12
    assert here >= value(data, range(6))
    every = [c for n in range(1, 7) for c in combinations(range(6), n)]
    assert here >= np.quantile([value(data, c) for c in every], 0.9)


def test_optimism_is_corrected():
    """Among members of pure noise the best looks good where it was found, and nowhere else."""
    found, corrected, average = [], [], []
    for seed in range(12):
        data = table(n_good=0, n_noise=8, seed=seed)
        found.append(value(data, best_subset(data, "ndcg@5")))
        scores = cross_fitted(data, "ndcg@5", fold_numbers(data, 5))
        corrected.append(rk.evaluate(scores, data, "ndcg@5")["ndcg@5"])
        average.append(rk.evaluate(np.zeros(data.n_rows), data, "ndcg@5")["ndcg@5"])
    optimism = np.mean(found) - np.mean(average)
    assert optimism > 0.03
    assert abs(np.mean(corrected) - np.mean(average)) < optimism / 3
