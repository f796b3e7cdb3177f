"""A net: standardised features in, a score out, with or without a layer of tanh units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankinite._hash_kernels import keys_from_seed
from rankinite._numba import in_threads
from rankinite.errors import ModelFileError
from rankinite.models.standardizing import Standardizer
from rankinite.nets._net_kernels import score_batch
from rankinite.order.seeds import derive_seed

# Rows that one thread scores at a time; up to as many are scored on the calling thread.
BLOCK_ROWS = 1024
# Hidden units are rounded up to a multiple of this, the numbers of a vector register.
_UNITS = 4
# Weights of a linear net that starts anew, beside one over the root of their number.
_SMALL = 0.1


@dataclass(frozen=True, eq=False)
class Net:
    """A linear net, or one with a hidden layer.

    Attributes
    ----------
    standardizer : Standardizer
    n_hidden : int
        0 for a linear net.
    weights : ndarray of float64, shape (n_weights,)
        Laid out as `rankinite.nets._net_kernels` says.
    """

    standardizer: Standardizer
    n_hidden: int
    weights: np.ndarray

    def score(self, X: np.ndarray) -> np.ndarray:
        """Scores of raw features, float64 of shape (n_rows,); each row's is its own affair.

        Parameters
        ----------
        X : ndarray of float32 or float64, shape (n_rows, n_features)
        """
        scores = np.empty(len(X))
        width = width_of(self.n_hidden)

        def score_block(first: int, last: int) -> None:
            block = np.empty((last - first, X.shape[1]))
            self.standardizer.write(X[first:last], block)
            own = scores[first:last]
            score_batch(0, last - first, block.reshape(-1), X.shape[1], self.weights, width, own)

        in_threads(score_block, _blocks(len(X)))
        return scores

    def hidden_weights(self) -> np.ndarray:
        """Weights from features to hidden units, shape (n_features + 1, n_hidden), biases last."""
        shape = (self.standardizer.n_features + 1, width_of(self.n_hidden))
        return self.weights[: shape[0] * shape[1]].reshape(shape)[:, : self.n_hidden]

    def output_weights(self) -> np.ndarray:
        """Weights to the score: of the hidden units, or of the features of a linear net."""
        if self.n_hidden == 0:
            return self.weights
        return self.weights[-width_of(self.n_hidden) :][: self.n_hidden]


def score_standardized(
    Z: np.ndarray, weights: np.ndarray, n_hidden: int, start: np.ndarray
) -> np.ndarray:
    """Scores of standardised features of shape (n_rows, n_features), plus those to start from."""
    scores = np.empty(len(Z))
    width = width_of(n_hidden)
    in_threads(score_batch, _blocks(len(Z)), Z.reshape(-1), Z.shape[1], weights, width, scores)
    scores += start
    return scores


def free_weights(net: Net, features: list[str]) -> tuple[np.ndarray, list[str]]:
    """Places of the weights that have an effect, int64 of shape (n_free,), and what they are.

    Left out are those of units that only fill up a vector, and of features that never vary.
    """
    varies = np.flatnonzero(net.standardizer.scale)
    if net.n_hidden == 0:
        return varies, [features[j] for j in varies]
    places = np.arange(len(net.weights)).reshape(-1, width_of(net.n_hidden))[:, : net.n_hidden]
    # The rows are the features, then the biases, then the weights to the score.
    rows = np.append(varies, [len(features), len(features) + 1])
    sources = [*(features[j] for j in varies), "bias"]
    units = [f"unit {k}" for k in range(1, net.n_hidden + 1)]
    names = [f"{source} → {unit}" for source in sources for unit in units]
    return places[rows].reshape(-1), names + [f"{unit} → score" for unit in units]


def _blocks(n_rows: int) -> np.ndarray:
    return np.append(np.arange(0, n_rows, BLOCK_ROWS), n_rows)


def width_of(n_hidden: int) -> int:
    """Hidden units, rounded up to whole vectors."""
    return -(-n_hidden // _UNITS) * _UNITS


def number_of_weights(n_features: int, n_hidden: int) -> int:
    """Length of the array of weights."""
    return n_features if n_hidden == 0 else (n_features + 2) * width_of(n_hidden)


def checked_weights(weights: np.ndarray, n_features: int, n_hidden: int) -> np.ndarray:
    """Weights from a model file, if they can be those of the net."""
    if weights.dtype != np.float64 or weights.shape != (number_of_weights(n_features, n_hidden),):
        raise ModelFileError(
            f"the model file has weights of shape {weights.shape} for {n_features} features and "
            f"{n_hidden} hidden units: save the model again"
        )
    if not np.isfinite(weights).all():
        raise ModelFileError("the model file has a weight that is no number: save the model again")
    return np.ascontiguousarray(weights)


def first_weights(n_features: int, n_hidden: int, seed: int, attempt: int) -> np.ndarray:
    """Weights to start from, a pure function of the seed and the number of the attempt.

    Those to hidden units are uniform within ±1/√(number of inputs), and those to the score are 0:
    the net starts at the scores of its base model. A linear net starts at 0, and at small random
    weights when it starts anew.
    """
    weights = np.zeros(number_of_weights(n_features, n_hidden))
    if n_hidden == 0:
        if attempt > 0:
            weights[:] = _SMALL * _uniform(n_features, seed, attempt) / math.sqrt(n_features)
        return weights
    n_inputs = n_features + 1
    layer = weights[: n_inputs * width_of(n_hidden)].reshape(n_inputs, -1)
    drawn = _uniform(n_inputs * n_hidden, seed, attempt).reshape(n_inputs, n_hidden)
    layer[:, :n_hidden] = drawn / math.sqrt(n_inputs)
    return weights


def _uniform(n: int, seed: int, attempt: int) -> np.ndarray:
    """`n` random numbers from −1 to 1."""
    words = keys_from_seed(n, derive_seed(seed, attempt, "weights"))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
