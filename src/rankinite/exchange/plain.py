"""What a ranker says, as arrays and a stated arithmetic: between our rankers and any file.

A reader makes one of these of another engine's file, a writer makes a file of one, and what
explains a score looks at one. The arithmetic is that of the engine it came from, so that scores are
the engine's own: whether features and sums are rounded to single precision, where the constants
are added, what a missing value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from rankinite.trees import Forest, score_features


@dataclass(frozen=True, eq=False)
class PlainForest:
    """A sum of trees: (start + Σ trees) · scale / divisor + bias.

    Attributes
    ----------
    forest : Forest
        Rows with x ≤ threshold go left, and missing values as the node says.
    n_features : int
    feature_names : list of str or None
    start, scale, bias : float
    divisor : int
        Above 1 for a mean of trees.
    single_features : bool
        Whether features are rounded to float32 before they are compared.
    single_sums : bool
        Whether `start` and every partial sum are rounded to float32.
    zero_is_missing : ndarray of bool, shape (n_features,), or None
        Features whose zeros (|x| ≤ 1e-35) count as missing.
    takes_missing : bool
        Whether the origin scores rows with missing values at all.
    cover : ndarray of float64, shape (n_leaves,), or None
        What reached each leaf in training, if that is not ``forest.count``: weights, or sums of
        second derivatives.
    open_ended : bool
        Whether the origin does not say how many features there are, and `n_features` is only the
        largest that a split names: rows may have more.
    """

    forest: Forest
    n_features: int
    feature_names: list[str] | None = None
    start: float = 0.0
    scale: float = 1.0
    bias: float = 0.0
    divisor: int = 1
    single_features: bool = False
    single_sums: bool = False
    zero_is_missing: np.ndarray | None = None
    takes_missing: bool = True
    cover: np.ndarray | None = None
    open_ended: bool = False

    def scores(self, X: np.ndarray, n_trees: int | None = None) -> np.ndarray:
        """Scores of float64, shape (n_rows,), of a matrix of float32 or float64."""
        sums = score_features(
            self.forest, self.rows(X), self.start, n_trees, single=self.single_sums
        )
        return sums * self.scale / self.divisor + self.bias

    def rows(self, X: np.ndarray) -> np.ndarray:
        """The features as the trees see them."""
        if self.single_features:
            # Beyond the largest float32 lies infinity, as for the origin.
            with np.errstate(over="ignore"):
                X = X.astype(np.float32, copy=False)
        if self.zero_is_missing is not None and self.zero_is_missing.any():
            X = X.copy()
            columns = np.flatnonzero(self.zero_is_missing)
            some = X[:, columns]
            some[np.abs(some) <= ZERO] = np.nan
            X[:, columns] = some
        return X

    @cached_property
    def leaf_cover(self) -> np.ndarray:
        """What reached each leaf in training, float64 of shape (n_leaves,)."""
        return self.forest.count.astype(np.float64) if self.cover is None else self.cover


# What LightGBM takes for zero where zeros are missing values, a float32.
ZERO = float(np.float32(1e-35))
# Standardised values are cut here, so that sums over features stay numbers.
FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class PlainLinear:
    """A weighted sum of the features, with a constant; missing values count as 0.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_features,)
    intercept : float
    feature_names : list of str or None
    single_features : bool
        Whether features are rounded to float32 first.
    open_ended : bool
        Whether rows may have more features, which have no weight.
    """

    weights: np.ndarray
    intercept: float = 0.0
    feature_names: list[str] | None = None
    single_features: bool = False
    open_ended: bool = False

    @property
    def n_features(self) -> int:
        """Number of weights."""
        return len(self.weights)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        X = X[:, : len(self.weights)]
        if self.single_features:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32, copy=False).astype(np.float64)
        # einsum adds in one fixed order, whatever the batch and the threads.
        present = np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf)
        return self.intercept + np.einsum("ij,j->i", present, self.weights)


@dataclass(frozen=True, eq=False)
class PlainNet:
    """A net over standardised features, with or without a hidden layer of tanh.

    A value becomes (value − mean) · scale, at most `FARTHEST`, where an infinite one counts as
    `low` or `high` and a missing one becomes 0. The score is
    output · tanh(hidden · z + hidden_bias) + output_bias.

    Attributes
    ----------
    mean, scale, low, high : ndarray of float64, shape (n_features,)
    hidden : ndarray of float64, shape (n_features, n_hidden), or None
    hidden_bias : ndarray of float64, shape (n_hidden,), or None
    output : ndarray of float64, shape (n_hidden,), or (n_features,) without a hidden layer
    output_bias : float
    feature_names : list of str or None
    """

    mean: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    hidden: np.ndarray | None
    hidden_bias: np.ndarray | None
    output: np.ndarray
    output_bias: float = 0.0
    feature_names: list[str] | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mean)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        z = self.standardised(X)
        if self.hidden is not None:
            z = np.tanh(z @ self.hidden + self.hidden_bias)
        return z @ self.output + self.output_bias

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """The features as the net sees them, float64 of shape (n_rows, n_features)."""
        infinite = np.where(X > 0, self.high, self.low)
        finite = np.where(np.isinf(X), infinite, X.astype(np.float64))
        with np.errstate(over="ignore"):
            z = np.clip((finite - self.mean) * self.scale, -FARTHEST, FARTHEST)
        return np.nan_to_num(z, nan=0.0)


@dataclass(frozen=True, eq=False)
class PlainClasses:
    """Sums of trees as chances of grades, and the expected value of the grade as the score.

    Attributes
    ----------
    outputs : list of PlainForest
        One for each grade (`multinomial`), or for each above the lowest (`ordinal`).
    form : str
        ``multinomial``: P(k) = e^{F_k} / Σ e^{F_j}; ``ordinal``: F_k is the log-odds of at least k.
    values : ndarray of float64, shape (n_classes,)
        What each grade counts.
    """

    outputs: list[PlainForest]
    form: str
    values: np.ndarray

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.outputs[0].n_features

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features."""
        return self.outputs[0].feature_names

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
        return self.scores_of_outputs(np.stack([output.scores(X) for output in self.outputs]))

    def scores_of_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """The expected value of the grade, from outputs of shape (n_outputs, n_rows)."""
        chances = _softmax(outputs) if self.form == "multinomial" else _from_cuts(outputs)
        scores = np.zeros(outputs.shape[1])
        for value, chance in zip(self.values, chances, strict=True):
            scores += value * chance
        return scores


def _softmax(outputs: np.ndarray) -> np.ndarray:
    e = np.exp(outputs - outputs.max(axis=0))
    return e / e.sum(axis=0)


def _from_cuts(outputs: np.ndarray) -> np.ndarray:
    """Chances of each grade, from the log-odds of at least each grade above the lowest.

    The cuts are learned apart, so the chances need not fall; the lowest so far is taken.
    """
    small = np.exp(-np.abs(outputs))
    at_least = np.where(outputs >= 0, 1.0, small) / (1.0 + small)
    at_least = np.minimum.accumulate(at_least, axis=0)
    whole = np.ones((1, outputs.shape[1]))
    return np.concatenate([whole, at_least]) - np.concatenate([at_least, 0.0 * whole])


Plain = PlainForest | PlainLinear | PlainNet | PlainClasses


class Scored(Protocol):
    """What a file of another engine becomes: a plain model, or anything that scores like one."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features."""

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of float64, shape (n_rows,)."""
