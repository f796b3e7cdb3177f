"""What happens in the epochs of a net: steps of the optimiser, measures, the weights to keep."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import torch
from rankinite._ranges import ranges
from rankinite.lambdas import LambdaGradients
from rankinite.order.canonical import Canonical
from rankinite.order.seeds import derive_seed
from rankinite.torch.loss import PairCost
from rankinite.torch.module import Preparation, outputs_of, place_of, score_rows


class Watched:
    """A set that is measured after every epoch.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
    first_scores : ndarray of float64, shape (n_rows,)
        Of the base model, to which the net is added.
    evaluate : function
        From scores to the mean of each measure.
    """

    def __init__(
        self,
        X: np.ndarray,
        first_scores: np.ndarray,
        evaluate: Callable[[np.ndarray], dict[str, float]],
    ) -> None:
        self._X = X
        self._first_scores = first_scores
        self._evaluate = evaluate

    def before(self) -> dict[str, float]:
        """The measures of the base model alone."""
        return self._evaluate(self._first_scores)

    def measure(self, module: torch.nn.Module, prepare: Preparation) -> dict[str, float]:
        """The measures at the module's weights."""
        return self._evaluate(self._first_scores + score_rows(module, self._X, prepare))


class Kept:
    """The weights that the model is to have: of the best epoch so far, or of the latest."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.best = -math.inf
        self.diverged = False

    def look_at(self, module: torch.nn.Module, value: float | None) -> None:
        """Take the module's weights if `value` is the highest yet, or if there is none."""
        if value is None or not value <= self.best:
            self.weights = copy.deepcopy(module.state_dict())
            self.best = self.best if value is None else value


class Epochs:
    """Steps of an optimiser over the queries of a dataset.

    Parameters
    ----------
    module : torch.nn.Module
    optimizer : torch.optim.Optimizer
    order : Canonical
        The order of the rows.
    gradients : LambdaGradients
        Of the queries in that order.
    X : ndarray, shape (n_rows, n_features)
        What the net is given, in that order.
    first_scores : ndarray of float64, shape (n_rows,)
        The scores to which the net is added, in that order.
    queries_per_step : int
    seed : int
        Of the order in which an epoch goes through the queries.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        order: Canonical,
        gradients: LambdaGradients,
        X: np.ndarray,
        first_scores: np.ndarray,
        queries_per_step: int,
        seed: int,
    ) -> None:
        self.module = module
        self.optimizer = optimizer
        self.gradients = gradients
        self._order = order
        self.queries_per_step = queries_per_step
        self.seed = seed
        self._device, dtype = place_of(module)
        self._X = torch.from_numpy(X).to(dtype)
        self._first_scores = torch.from_numpy(first_scores).to(dtype)
        self._queries = np.flatnonzero(~gradients.blank)

    @property
    def work(self) -> int:
        """Multiplications of a step forwards, about: one for each row and weight."""
        n_weights = sum(p.numel() for p in self.module.parameters())
        n_rows = len(self._X) / max(1, len(self.gradients.offsets) - 1)
        return int(n_weights * n_rows * self.queries_per_step)

    def learn(self, number: int) -> float:
        """One epoch; returns the mean cost of a query, or NaN if the net has none any more."""
        self.module.train()
        seed = derive_seed(self.seed, number, "queries")
        shuffled = self._order.shuffled(self._queries, seed)
        costs = []
        for first in range(0, len(shuffled), self.queries_per_step):
            costs.append(self._step(shuffled[first : first + self.queries_per_step], number))
            if not math.isfinite(costs[-1]):
                return math.nan
        self.module.eval()
        sound = all(bool(torch.isfinite(p).all()) for p in self.module.parameters())
        return math.fsum(costs) / max(1, len(shuffled)) if sound else math.nan

    def _step(self, queries: np.ndarray, number: int) -> float:
        offsets = self.gradients.offsets
        rows = torch.from_numpy(ranges(offsets[queries], offsets[queries + 1] - offsets[queries]))
        scores = outputs_of(self.module, self._X[rows].to(self._device))
        scores = scores + self._first_scores[rows].to(self._device)
        cost = PairCost.apply(scores, self.gradients.select(queries), number)
        value = cost.item()
        if math.isfinite(value):
            self.optimizer.zero_grad()
            (cost / len(queries)).backward()
            self.optimizer.step()
        return value
