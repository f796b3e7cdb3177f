"""Small data and settings that the tests of boosting share."""

from functools import cache

import numpy as np

import rankinite as rk

# Nothing is drawn, unless a test asks for it.
QUICK = {
    **{"n_estimators": 6, "max_leaf_nodes": 6, "min_samples_leaf": 5},
    **{"query_fraction": 1.0, "importance_fraction": 1.0},
}


@cache
def train_and_valid():
    return rk.artificial(n_queries=(30, 15), n_docs=20, n_features=8)


def qid_of(dataset):
    return np.repeat(dataset.qids, dataset.query_sizes)


def with_labels(dataset, labels):
    return rk.Dataset(dataset.X, labels, qid=qid_of(dataset))


class StopAfter:
    """Interrupt a run like Ctrl-C after so many rounds."""

    def __init__(self, rounds):
        self.rounds = rounds

    def after_round(self, run):
        if run.n_done == self.rounds:
            raise KeyboardInterrupt
        return False

    def finish(self, run):
        pass
