"""What the common checks run on: estimators with quick settings, and the data they learn from."""

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import rankinite as rk

N_QUERIES, N_DOCS, N_FEATURES = 30, 20, 8


@dataclass(frozen=True)
class Subject:
    """An estimator to check, with the labels it can learn from."""

    name: str
    kind: type
    params: dict[str, Any] = field(default_factory=dict)
    # Labels 0 and 1 instead of 0 to 4.
    binary: bool = False
    # Whether the seed matters without any fraction below 1.
    random: bool = True
    # Whether it is made of trees: it can learn from bins, and score with its first trees.
    trees: bool = True
    # Whether it is a sum over rounds, though not of trees.
    features: bool = False
    # Settings with which 40 rounds learn more than the data has to teach.
    hasty: dict[str, Any] = field(
        default_factory=lambda: {"n_estimators": 40, "learning_rate": 1.0}
    )

    @property
    def sums_rounds(self):
        """Whether it can score with its first rounds alone."""
        return self.trees or self.features

    def make(self, **params):
        return self.kind(**{**self.params, **params})

    def rows(self):
        """X, y and qid, as plain arrays."""
        X, y, qid = plain_rows()
        return X, (y >= 1).astype(float) if self.binary else y, qid

    def dataset(self, **more):
        X, y, qid = self.rows()
        return rk.Dataset(X, y, qid=qid, **more)

    def valid(self):
        data = rk.artificial(n_queries=(1, 15), n_docs=N_DOCS, n_features=N_FEATURES)[1]
        y = (data.y >= 1).astype(float) if self.binary else data.y
        return rk.Dataset(data.X, y, qid=np.repeat(data.qids, data.query_sizes))

    def __str__(self):
        return self.name


@cache
def plain_rows():
    data = rk.artificial(n_queries=N_QUERIES, n_docs=N_DOCS, n_features=N_FEATURES)
    # Quarters: few enough values for a bin each, so that any part of the rows has the same bins.
    X = np.ascontiguousarray(np.rint(data.X.astype(np.float64) * 4) / 4)
    return X, data.y, np.repeat(data.qids, data.query_sizes)


def same(a, b):
    """Equal to the last bit."""
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def saved(model, folder):
    path = folder / "model.rk"
    model.save(path)
    return path.read_bytes()


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RankiniteWarning)
        return rk.Dataset(*args, **kwargs)
