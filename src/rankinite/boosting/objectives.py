"""What a boosted model learns: λ and w of every row at the current scores.

Signs follow one convention: λ is the *negative* gradient of the loss, so a positive λ asks for a
higher score, and w ≥ 0 is the loss's second derivative. A leaf's Newton step is Σλ / Σw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from rankinite.boosting.label_squares import LabelSquares
from rankinite.data import Preferences, Queries
from rankinite.distributed import Communicator, everywhere, on_any, total
from rankinite.errors import DataError, LabelError
from rankinite.lambdas import LambdaGradients, PreferenceGradients
from rankinite.measures import ERR, Measure
from rankinite.measures.judged import LARGEST_ERR_GRADE
from rankinite.measures.resolving import resolved
from rankinite.trees import gradients, sums_over_leaves

# A Newton step Σλ / Σw has no bound where all pairs (or rows) of a leaf are wrong with certainty:
# there w → 0 while λ does not. A step that turns even odds into certainty is far enough for one
# tree; in units of 1/σ, because scores only ever appear times σ.
LONGEST_STEP = 10.0


# λ and w, each of shape (n_rows,).
Pull = tuple[np.ndarray, np.ndarray]


# One array of shape (n_rows,) for each output; together or apart.
Outputs = np.ndarray | Sequence[np.ndarray]


class Link(Protocol):
    """How the outputs of the trees and ranking scores go together.

    Attributes
    ----------
    base_factors : ndarray of float64, shape (n_outputs,)
        The outputs begin with these times the score of the base model.
    """

    base_factors: np.ndarray

    def scores(self, outputs: Outputs) -> np.ndarray:
        """Scores, shape (n_rows,)."""


class Identity:
    """One output, which is the score."""

    base_factors = np.ones(1)

    def scores(self, outputs: Outputs) -> np.ndarray:
        """The output itself."""
        return outputs[0]


class Objective(Protocol):
    """What a round of trees asks. Most objectives have one output, the score itself."""

    link: Link
    longest_step: float
    # What w grows with, whatever the data: the square of the slope σ.
    w_unit: float

    def start(self) -> np.ndarray:
        """The outputs of every row before the first tree, shape (n_outputs,)."""

    def gradients(self, outputs: np.ndarray, round_number: int) -> Iterable[Pull]:
        """λ and w for each output, from outputs of shape (n_outputs, n_rows).

        They come one by one, and a tree is added to its output before the next are asked for: all
        must be those of the outputs as they were at the first.
        """


class RankingObjective:
    """The λ-gradients of a ranking measure, and beside them the squared error of the labels.

    Parameters
    ----------
    measure : Measure
    dataset : Queries
    keys : ndarray of uint64, shape (n_rows,)
    sigma : float
    squares : float
        How much the squared error counts; 0: not at all.
    communicator : Communicator
    options
        As in `rankinite.lambdas.LambdaGradients`.
    """

    link: Link = Identity()

    def __init__(
        self,
        measure: Measure,
        dataset: Queries,
        keys: np.ndarray,
        sigma: float,
        squares: float,
        communicator: Communicator,
        **options: Any,
    ) -> None:
        self.longest_step = LONGEST_STEP / sigma
        self.w_unit = sigma**2
        self._lambdas = LambdaGradients(
            measure,
            dataset.labels,
            dataset.offsets,
            keys,
            weight=dataset.weight,
            query_weight=dataset.query_weight,
            sigma=sigma,
            **options,
        )
        self._squares = None
        if squares > 0.0:
            own = self._lambdas
            self._squares = LabelSquares(
                dataset, own.blank, own.factor, squares, sigma, communicator
            )

    def start(self) -> np.ndarray:
        """Zero: only differences of scores matter."""
        return np.zeros(1)

    def gradients(self, outputs: np.ndarray, round_number: int) -> list[Pull]:
        """λ and w of the pairs at these scores, with those of the squared error."""
        lam, w = self._lambdas(outputs[0], round_number)
        if self._squares is not None:
            self._squares.add(outputs[0], lam, w)
        return [(lam, w)]


class PreferenceObjective:
    """The λ-gradients of preference pairs; labels and weights of documents play no part."""

    link: Link = Identity()

    def __init__(
        self, preferences: Preferences, query_weight: np.ndarray | None, sigma: float
    ) -> None:
        self.longest_step = LONGEST_STEP / sigma
        self.w_unit = sigma**2
        self._lambdas = PreferenceGradients(preferences, query_weight=query_weight, sigma=sigma)

    def start(self) -> np.ndarray:
        """Zero: only differences of scores matter."""
        return np.zeros(1)

    def gradients(self, outputs: np.ndarray, round_number: int) -> list[Pull]:
        """λ and w of the pairs at these scores."""
        return [self._lambdas(outputs[0])]


class LeastSquares:
    """½(y − s)²: λ is the residual, and a leaf's step is its weighted mean."""

    link: Link = Identity()
    longest_step = np.inf
    w_unit = 1.0

    def __init__(self, dataset: Queries, communicator: Communicator) -> None:
        self._y = dataset.labels
        self._weight = document_weights(dataset)
        self._communicator = communicator

    def start(self) -> np.ndarray:
        """The weighted mean of the labels."""
        total = exact_sum(self._weight * self._y, self._communicator)
        mass = exact_sum(self._weight, self._communicator)
        return np.array([total / mass])

    def gradients(self, outputs: np.ndarray, round_number: int) -> list[Pull]:
        """The weighted residual, and the weight."""
        return [(self._weight * (self._y - outputs[0]), self._weight)]


class Logistic:
    """Cross-entropy of a target R in [0, 1] under P = 1 / (1 + e^{−2σF}) (Burges 2010, Eq. 13–14).

    With labels ±1 (R = 1 or 0) λ is ȳ = 2yσ / (1 + e^{2yσF}) and w is |ȳ|(2σ − |ȳ|); written with
    P these are 2σ(R − P) and 4σ²P(1 − P), which also hold for a target between the two.
    """

    link: Link = Identity()

    def __init__(
        self,
        targets: np.ndarray,
        weight: np.ndarray,
        sigma: float,
        communicator: Communicator,
    ) -> None:
        self.longest_step = LONGEST_STEP / sigma
        self.w_unit = (2 * sigma) ** 2
        self._targets = targets
        self._weight = weight
        self._sigma = sigma
        self._communicator = communicator

    def start(self) -> np.ndarray:
        """Half the log-odds of the mean target (Friedman 2001, algorithm 5)."""
        total = exact_sum(self._weight * self._targets, self._communicator)
        mass = exact_sum(self._weight, self._communicator)
        # A target that never varies has infinite odds; stay a step short of certainty.
        mean = min(max(total / mass, 1e-6), 1 - 1e-6)
        return np.log([mean / (1 - mean)]) / (2 * self._sigma)

    def gradients(self, outputs: np.ndarray, round_number: int) -> list[Pull]:
        """2σ(R − P) and 4σ²P(1 − P), times the weight."""
        p = probability(outputs[0], self._sigma)
        two_sigma = 2 * self._sigma
        lam = self._weight * two_sigma * (self._targets - p)
        return [(lam, self._weight * two_sigma**2 * p * (1 - p))]


def probability(scores: np.ndarray, sigma: float) -> np.ndarray:
    """P(y = 1) = 1 / (1 + e^{−2σF}), without overflow for any score."""
    small = np.exp(-2 * sigma * np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)


def binary_targets(labels: np.ndarray, communicator: Communicator) -> np.ndarray:
    """Labels −1 / +1 or 0 / 1 as targets 0 and 1; the same on all workers."""
    lower = -1.0 if on_any((labels == -1.0).any(), communicator) else 0.0
    needs = "but the logistic loss needs labels -1 and 1 (or 0 and 1)"
    _refuse(labels, ~np.isin(labels, (lower, 1.0)), f'{needs}: map them, or use loss="graded"')
    return (labels > 0).astype(np.float64)


def balancing_weights(
    targets: np.ndarray, weight: np.ndarray, communicator: Communicator
) -> np.ndarray:
    """Weights I₊/n₊ + I₋/n₋ of the balanced loss (Burges 2010, before Eq. 15).

    Scaled so that they sum to the number of rows; that changes neither splits nor steps.
    """
    positive = targets > 0
    above = exact_sum(np.where(positive, weight, 0.0), communicator)
    below = exact_sum(np.where(positive, 0.0, weight), communicator)
    if above == 0.0 or below == 0.0:
        raise everywhere(
            DataError(
                "the balanced loss needs rows of both classes with a weight above 0, and here is "
                'only one: add rows of the other, or use loss="logistic"'
            )
        )
    return weight * np.where(positive, 1 / above, 1 / below) * ((above + below) / 2)


def graded_targets(labels: np.ndarray, communicator: Communicator) -> np.ndarray:
    """R = (2^l − 1) / 2^l_max (Burges et al. 2011, Eq. 2), as ERR sees the labels."""
    odd = (labels < 0) | (labels > LARGEST_ERR_GRADE) | (labels != np.rint(labels))
    needs = f"but the graded loss needs whole labels from 0 to {LARGEST_ERR_GRADE}"
    _refuse(labels, odd, f'{needs}: map them, or use loss="least_squares"')
    offsets = np.array([0, len(labels)])
    return resolved(ERR(), labels, communicator).judge(labels, offsets).grades


def _refuse(labels: np.ndarray, wrong: np.ndarray, advice: str) -> None:
    """Raise a LabelError for the first label that is wrong; who knows the queries names its own."""
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"has the label {labels[row]:g}, {advice}"
        raise LabelError(f"row {row} (from 0) {what}", row, -1, what)


def exact_sum(values: np.ndarray, communicator: Communicator) -> float:
    """Σ values over all workers, from integers: the same in any order of the rows."""
    n_rows = total(len(values), communicator)
    in_one_leaf = np.zeros(len(values), np.int32)
    terms = gradients(values, communicator)
    return float(sums_over_leaves(terms, in_one_leaf, 1, n_rows, communicator)[0])


def document_weights(dataset: Queries) -> np.ndarray:
    """One weight a document: its own times its query's."""
    weight = np.ones(dataset.n_rows) if dataset.weight is None else dataset.weight
    if dataset.query_weight is None:
        return weight
    return weight * np.repeat(dataset.query_weight, dataset.query_sizes)
