"""Objectives of classification into grades, for McRank (Li, Burges and Wu 2007)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rankinite._numba import even_blocks, in_threads
from rankinite.boosting._class_kernels import at_least, class_pull, softmax
from rankinite.boosting.objectives import LONGEST_STEP, Link, Logistic, Outputs, Pull, exact_sum
from rankinite.distributed import Communicator

# With this slope the output of a `Logistic` objective is the log-odds themselves.
_LOG_ODDS = 0.5


class Multinomial:
    """Cross-entropy of the classes under P_k = e^{F_k} / Σ e^{F_j} (Friedman 2001, algorithm 6).

    λ_k = 1[y = k] − P_k. The curvature carries the factor K / (K − 1) of that algorithm: the K
    outputs move together, and only their differences count.

    Parameters
    ----------
    classes : ndarray of int64, shape (n_rows,)
        From 0 to `n_classes` − 1.
    weight : ndarray of float64, shape (n_rows,)
    """

    longest_step = LONGEST_STEP
    w_unit = 1.0

    def __init__(
        self,
        classes: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        link: Link,
        communicator: Communicator,
    ) -> None:
        self.link = link
        self._classes = classes
        self._n_classes = n_classes
        self._weight = weight
        self._communicator = communicator

    def start(self) -> np.ndarray:
        """The logarithms of the classes' shares of the weight."""
        mass = exact_sum(self._weight, self._communicator)
        shares = [
            exact_sum(np.where(self._classes == k, self._weight, 0.0), self._communicator) / mass
            for k in range(self._n_classes)
        ]
        # A class whose rows weigh next to nothing stays possible.
        return np.log(np.maximum(shares, 1e-6))

    def gradients(self, outputs: np.ndarray, round_number: int) -> Iterator[Pull]:
        """λ and w of one class after the other, all at the outputs as they are now."""
        probabilities = _by_row(softmax, outputs, len(outputs))
        blocks = even_blocks(outputs.shape[1])
        factor = self._n_classes / max(self._n_classes - 1, 1)
        for k in range(self._n_classes):
            lam, w = np.empty((2, outputs.shape[1]))
            data = (self._classes, self._weight, factor)
            in_threads(class_pull, blocks, k, probabilities, *data, lam, w)
            yield lam, w


class Ordinal:
    """Cross-entropy of y ≥ k for each class k above the lowest, every one by itself.

    The outputs are the log-odds, K − 1 of them; P(y = k) = P(y ≥ k) − P(y ≥ k + 1) (Li, Burges
    and Wu 2007, section 6).

    Parameters
    ----------
    classes : ndarray of int64, shape (n_rows,)
    weight : ndarray of float64, shape (n_rows,)
    """

    longest_step = LONGEST_STEP / _LOG_ODDS
    w_unit = 1.0

    def __init__(
        self,
        classes: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        link: Link,
        communicator: Communicator,
    ) -> None:
        self.link = link
        # With a single class there is nothing to tell apart, yet a model has an output.
        self._cuts = [
            Logistic((classes >= k).astype(np.float64), weight, _LOG_ODDS, communicator)
            for k in range(1, max(n_classes, 2))
        ]

    def start(self) -> np.ndarray:
        """The log-odds of the weight at and above each class."""
        return np.concatenate([cut.start() for cut in self._cuts])

    def gradients(self, outputs: np.ndarray, round_number: int) -> Iterator[Pull]:
        """λ and w of one cut after the other."""
        for k, cut in enumerate(self._cuts):
            yield from cut.gradients(outputs[k : k + 1], round_number)


class ExpectedRelevance:
    """The link of both forms: from outputs to P(y = k), and to the score Σ_k value_k P(y = k).

    Parameters
    ----------
    form : {"multinomial", "ordinal"}
    classes : ndarray of float64, shape (n_classes,)
        The labels, ascending.
    values : ndarray of float64, shape (n_classes,)

    Attributes
    ----------
    base_factors : ndarray of float64, shape (n_outputs,)
        A base model's score s is the log-odds of each class against the one below it, or of every
        cut: either way the expected relevance rises with s.
    """

    def __init__(self, form: str, classes: np.ndarray, values: np.ndarray) -> None:
        n_classes = len(classes)
        self.form, self.classes, self.values = form, classes, values
        self.base_factors = np.ones(max(n_classes - 1, 1))
        if form == "multinomial":
            self.base_factors = np.arange(n_classes, dtype=np.float64)

    def probabilities(self, outputs: Outputs) -> np.ndarray:
        """P(y = k) of every row, shape (n_classes, n_rows)."""
        stacked = np.stack(list(outputs))
        if self.form == "multinomial":
            return _by_row(softmax, stacked, len(stacked))
        # With a single class the output says nothing, and the cut has no class above it.
        return _by_row(at_least, stacked[: len(self.classes) - 1], len(self.classes))

    def scores(self, outputs: Outputs) -> np.ndarray:
        """The expected relevance, shape (n_rows,)."""
        probabilities = self.probabilities(outputs)
        scores = np.zeros(probabilities.shape[1])
        for value, p in zip(self.values, probabilities, strict=True):
            scores += value * p
        return scores


def _by_row(kernel: Callable, outputs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of shape (n_classes, n_rows), by a kernel of rows."""
    n_rows = outputs.shape[1]
    probabilities = np.empty((n_classes, n_rows))
    # A thread is worth its start for some thousand rows.
    in_threads(kernel, even_blocks(n_rows, 1 + n_rows // 4096), outputs, probabilities)
    return probabilities
