"""Rankers whose scores are the features themselves, and data of which one mix of them is right."""

import numpy as np

import rankinite as rk
from rankinite.measures.evaluation import Evaluator, mean_value

MIX = np.array([1.0, 0.5, -0.25, 0.8])
METHODS = ("average", "linear", "net", "powell", "exact_powell", "pair_tree")


def rows_of_scores(seed=0, n_queries=40, noise=0.3, n_rankers=4):
    """X, y and qid: labels by the rank of a mix of the columns of X, which have odd scales."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 20, n_queries)
    Z = rng.normal(size=(sizes.sum(), n_rankers))
    quality = Z @ MIX[:n_rankers] + noise * rng.normal(size=len(Z))
    y = np.digitize(quality, [0.0, 1.0, 2.0]).astype(np.float64)
    return Z * (10.0 ** np.arange(n_rankers)) + 5.0, y, np.repeat(np.arange(n_queries), sizes)


def scored(seed=0, **more):
    X, y, qid = rows_of_scores(seed, **more)
    return rk.Dataset(X, y, qid=qid)


def columns(n=4):
    """Rankers that give the columns of the features."""
    return {name: np.eye(n)[j] for j, name in enumerate("abcd"[:n])}


def mean(scorer, data, measure="ndcg@10"):
    return rk.evaluate(scorer, data, measure)[measure]


def mean_of_stored(scores, data, measure="ndcg@10"):
    evaluator = Evaluator(measure, data)
    total, mass = mean_value(evaluator.values(scores), "skip", evaluator.weight)
    return total / mass
