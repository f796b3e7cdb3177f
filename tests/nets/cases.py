"""Small training data for nets, in the layout of the kernels."""

import numpy as np

from rankinite.nets._epoch_kernels import NetWeights, Rows
from rankinite.nets.net import first_weights, width_of
from tests.naive import nets as naive


class Case:
    """Some queries of random features and labels, and a net with random weights."""

    def __init__(self, n_hidden, n_features=7, sizes=(9, 1, 4, 17, 3), seed=0):
        rng = np.random.default_rng(seed)
        self.n_hidden, self.n_features, self.width = n_hidden, n_features, width_of(n_hidden)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        n = int(self.offsets[-1])
        self.X = rng.normal(size=(n, n_features))
        labels = rng.integers(0, 3, n).astype(float)
        self.labels = np.concatenate(
            [np.sort(part)[::-1] for part in np.split(labels, self.offsets[1:-1])]
        )
        self.start, self.factor = rng.normal(size=n), rng.uniform(0.5, 2, n)
        self.order = rng.permutation(len(sizes))
        self.lower = np.concatenate(
            [
                np.searchsorted(-part, -part, side="right")
                for part in np.split(self.labels, self.offsets[1:-1])
            ]
        ).astype(np.int64)
        self.weights = first_weights(n_features, n_hidden, seed, 1)
        top = self.weights if n_hidden == 0 else self.weights[-self.width :][:n_hidden]
        top += rng.normal(size=len(top))

    @property
    def rows(self):
        flat = self.X.reshape(-1)
        return Rows(self.offsets, flat, self.n_features, self.start, self.factor)

    def net(self, weights):
        return NetWeights(weights, self.width)

    def twin(self, weights=None):
        weights = self.weights if weights is None else weights
        if self.n_hidden == 0:
            return naive.Net(weights)
        layer = weights.reshape(self.n_features + 2, self.width)[:, : self.n_hidden]
        return naive.Net(layer[-1], layer[:-1])

    def assert_same(self, weights, twin, **tolerance):
        ours = self.twin(weights)
        np.testing.assert_allclose(ours.top, twin.top, **tolerance)
        if self.n_hidden:
            np.testing.assert_allclose(ours.hidden, twin.hidden, **tolerance)
            unused = weights.reshape(self.n_features + 2, self.width)[:, self.n_hidden :]
            assert (unused == 0).all()
