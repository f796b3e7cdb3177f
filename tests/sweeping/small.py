"""Small data and spaces that the tests of sweeps share."""

from functools import cache

import numpy as np

import rankinite as rk

FIXED = {
    **{"n_estimators": 12, "min_samples_leaf": 5, "early_stopping": 4},
    **{"query_fraction": 1.0, "importance_fraction": 1.0, "noise": 0.0},
}
RANKER = rk.LambdaMART(**FIXED)
SPACE = {
    "learning_rate": {"low": 0.02, "high": 0.5, "log": True},
    "max_leaf_nodes": {"low": 2, "high": 8, "step": 2},
    "split": ["newton", "least_squares"],
}
QUICK = {"n_folds": 3, "trials": 6}


@cache
def data():
    return rk.artificial(n_queries=30, n_docs=10, n_features=5)


def shuffled(dataset, seed=0):
    """The same documents, with queries and rows in another order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(dataset.n_queries)
    rows = np.concatenate([rng.permutation(np.arange(*dataset.offsets[[q, q + 1]])) for q in order])
    qid = np.repeat(dataset.qids, dataset.query_sizes)
    return rk.Dataset(dataset.X[rows], dataset.y[rows], qid=qid[rows])


def outcomes(found):
    """All that must not depend on who ran the trials."""
    return [
        (
            each.number,
            each.params,
            each.state,
            each.folds,
            each.rounds,
            each.curve,
            repr(each.value),
        )
        for each in found.trials
    ]
