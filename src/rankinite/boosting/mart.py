"""MART: boosted regression trees for losses of single documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rankinite.boosting.boosted_trees import BoostedTrees
from rankinite.boosting.objectives import (
    LeastSquares,
    Logistic,
    Objective,
    balancing_weights,
    binary_targets,
    document_weights,
    graded_targets,
    probability,
)
from rankinite.data import Dataset
from rankinite.distributed import Communicator
from rankinite.errors import LabelError, ParameterError
from rankinite.measures import Measure, MeasuresLike
from rankinite.models.parameters import Constraint, OneOf
from rankinite.trees import GrowthParameters

LOSSES = ("least_squares", "logistic", "balanced", "graded")


class MART(BoostedTrees):
    """Boosted trees on a loss of each document by itself (Friedman 2001; Burges 2010, section 6).

    Parameters
    ----------
    loss : {"least_squares", "logistic", "balanced", "graded"}
        ``least_squares`` predicts the label itself. ``logistic`` takes labels −1 / +1 (or 0 / 1)
        and predicts F = ½ log(P₊/P₋). ``balanced`` is the same with both classes weighed alike,
        for rare classes. ``graded`` takes graded labels l as probabilities
        R = (2^l − 1) / 2^l_max (Burges et al. 2011), those that ERR assigns.
    measure : str or Measure
        What is watched on validation data; it does not change the loss.
    n_estimators, max_leaf_nodes, max_depth, learning_rate, min_samples_leaf, max_bins, growth
        As in `LambdaMART`, and so are split, min_curvature_leaf and l2_regularization (in units of
        the documents' weights, times 4σ² for the logistic losses), row_fraction, feature_fraction,
        query_fraction, importance_fraction, base_model, early_stopping, valid_measure, sigma,
        random_state, n_threads and verbose.

    Examples
    --------
    >>> import rankinite as rk
    >>> train, test = rk.artificial(n_queries=(40, 20), n_docs=20, n_features=5)
    >>> model = rk.MART(loss="graded", n_estimators=10, max_leaf_nodes=7).fit(train)
    >>> model.predict_proba(test).shape
    (400, 2)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **BoostedTrees.constraints,
        "loss": OneOf(LOSSES),
    }

    learns_from_pairs = False

    def __init__(
        self,
        loss: str = "least_squares",
        measure: str | Measure = "ndcg@10",
        n_estimators: int = 500,
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        min_curvature_leaf: float = 0.0,
        l2_regularization: float = 0.0,
        max_bins: int = 255,
        growth: str = "best_first",
        split: str = "least_squares",
        row_fraction: float = 1.0,
        feature_fraction: float = 1.0,
        query_fraction: float = 1.0,
        importance_fraction: float | str = 1.0,
        base_model: Any = None,
        early_stopping: int | None = None,
        valid_measure: MeasuresLike | None = None,
        sigma: float = 1.0,
        random_state: int | None = 0,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.measure = measure
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.min_curvature_leaf = min_curvature_leaf
        self.l2_regularization = l2_regularization
        self.max_bins = max_bins
        self.growth = growth
        self.split = split
        self.row_fraction = row_fraction
        self.feature_fraction = feature_fraction
        self.query_fraction = query_fraction
        self.importance_fraction = importance_fraction
        self.base_model = base_model
        self.early_stopping = early_stopping
        self.valid_measure = valid_measure
        self.sigma = sigma
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def predict_proba(self, X: Any, *, n_rounds: int | None = None) -> np.ndarray:
        """P₋ and P₊ of every row, shape (n_rows, 2); for ``graded`` P₊ is that of relevance."""
        if self.loss == "least_squares":
            raise ParameterError("predict_proba needs a logistic loss, and this is least squares")
        positive = probability(self.predict(X, n_rounds=n_rounds), float(self.sigma))
        return np.column_stack([1.0 - positive, positive])

    def _growth(self, dataset: Dataset, communicator: Communicator) -> GrowthParameters:
        growth = super()._growth(dataset, communicator)
        if self.loss != "least_squares":
            return growth
        weight = document_weights(dataset)
        ends = np.array([-weight.min(initial=np.inf), weight.max(initial=-np.inf)])
        lowest, highest = communicator.max(ends) * (-1, 1)
        if lowest < highest:
            # Here w is the document's weight, so the Newton gain (Σλ)²/Σw is the fall of the
            # weighted squared error, which the gain by counts is not.
            return replace(growth, split="newton")
        return growth

    def _objective(
        self,
        dataset: Dataset,
        keys: np.ndarray,
        communicator: Communicator,
        together: Communicator,
    ) -> Objective:
        if self.loss == "least_squares":
            return LeastSquares(dataset, communicator)
        weight = document_weights(dataset)
        targets_of = graded_targets if self.loss == "graded" else binary_targets
        try:
            targets = targets_of(dataset.labels, communicator)
        except LabelError as error:
            error.query = int(np.searchsorted(dataset.offsets, error.row, side="right")) - 1
            raise error.of_query(dataset.qids[error.query]) from None
        if self.loss == "balanced":
            weight = balancing_weights(targets, weight, communicator)
        return Logistic(targets, weight, float(self.sigma), communicator)
