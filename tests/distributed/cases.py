"""Trainings that must give the same file on any number of workers, and shares of their data."""

from functools import cache
from pathlib import Path

import numpy as np

import rankinite as rk

SOME = {"n_estimators": 5, "max_leaf_nodes": 6, "min_samples_leaf": 5}
ALL_ROWS = {"query_fraction": 1.0, "importance_fraction": 1.0}


class Top:
    """Made where it is needed: a measure of one's own, whose parameter the labels decide."""

    @staticmethod
    def measure():
        class AboveMiddle(rk.Measure):
            name = "above-middle"

            def __init__(self, middle=None):
                self.middle = middle

            def resolve(self, y):
                return AboveMiddle(float(np.mean(y)))

            def value(self, labels):
                return float(np.mean(labels[:3] > self.middle))

        return AboveMiddle()


# By name: the learner, and what is special about its data.
CASES = {
    "lambdamart": (lambda: rk.LambdaMART(**SOME), {}),
    "early stopping": (
        lambda: rk.LambdaMART(**{**SOME, "n_estimators": 30}, learning_rate=0.5, early_stopping=2),
        {},
    ),
    "lambdasmart": (
        lambda: rk.LambdaMART(base_model=np.linspace(-1, 1, 20), **SOME),
        {},
    ),
    "drawn": (
        lambda: rk.LambdaMART(
            row_fraction=0.6,
            feature_fraction=0.4,
            query_fraction=0.5,
            importance_fraction=0.4,
            **SOME,
        ),
        {},
    ),
    "err": (lambda: rk.LambdaMART("err@5", max_depth=2, **SOME), {}),
    "own measure": (lambda: rk.LambdaMART(Top.measure(), valid_measure="map", **SOME), {}),
    "weights": (lambda: rk.LambdaMART(**SOME), {"weighted": True}),
    "preferences": (lambda: rk.LambdaMART(**SOME), {"pairs": True}),
    "mart": (lambda: rk.MART(**SOME), {}),
    "mart weights": (lambda: rk.MART(**SOME), {"weighted": True}),
    "mart graded": (lambda: rk.MART("graded", split="newton", **SOME), {}),
    "mart balanced": (lambda: rk.MART("balanced", measure="map", **SOME), {"binary": True}),
    "mcrank": (lambda: rk.McRank(**{**SOME, "n_estimators": 2}), {}),
    "mcrank ordinal": (
        lambda: rk.McRank("ordinal", row_fraction=0.7, **{**SOME, "n_estimators": 2}),
        {"weighted": True},
    ),
}


@cache
def data(weighted=False, pairs=False, binary=False):
    """Training and validation data, whose best and worst labels only some queries have."""
    train, valid = rk.artificial(n_queries=(25, 11), n_docs=16, n_features=20, random_state=3)
    return tuple(_special(rows, weighted, pairs, binary) for rows in (train, valid))


def _special(rows, weighted, pairs, binary):
    rng = np.random.default_rng(rows.n_rows)
    qid = np.repeat(rows.qids, rows.query_sizes)
    y = (rows.y > 1) * 2.0 - 1 if binary else rows.y
    X = rows.X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    options = {}
    if weighted:
        weight = rng.integers(0, 5, rows.n_rows) * 0.7
        options = {
            "weight": weight,
            "query_weight": {q: float(w) for q, w in zip(rows.qids, rng.random(25), strict=False)},
        }
    made = rk.Dataset(X, y, qid=qid, **options)
    if not pairs:
        return made
    # The first queries have no pairs.
    first = np.arange(5 * 16, rows.n_rows - 1)
    first = first[qid[first] == qid[first + 1]]
    weight = rng.integers(0, 3, len(first)) * 1.5
    probability = rng.integers(1, 5, len(first)) / 4
    return made.with_preferences(
        preferred=first, other=first + 1, probability=probability, weight=weight
    )


def dealt(rows, rank, size):
    """The queries of a worker; with five workers or more the last but one has none."""
    idle = size - 2 if size > 4 else -1
    owner = np.arange(rows.n_queries) * 7 % size
    owner[owner == idle] = 0
    mine = np.flatnonzero(owner == rank)
    return rows.select_queries(mine) if len(mine) else None


def trained(name, communicator=None, distribute="rows", **options):
    """The learner of a case, trained on the worker's share of its data."""
    make, special = CASES[name]
    train, valid = data(**special)
    options |= {"communicator": communicator, "distribute": distribute}
    if communicator is None or distribute == "features":
        return make().fit(train, valid=valid, **options)
    place = communicator.rank, communicator.size
    return make().fit(dealt(train, *place), valid=dealt(valid, *place), **options)


def file_of(model, folder):
    path = Path(folder, "model.rk")
    model.save(path)
    return path.read_bytes()
