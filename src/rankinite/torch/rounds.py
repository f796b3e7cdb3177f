"""The epochs of a net of one's own: steps of the optimiser, scores, the weights to keep."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import torch
from rankinite._ranges import ranges
from rankinite.lambdas import LambdaGradients
from rankinite.models.standardizing import Standardizer
from rankinite.order.canonical import Canonical
from rankinite.order.seeds import derive_seed
from rankinite.torch.loss import PairCost
from rankinite.torch.module import Scorer, outputs_of, place_of, preparation, score_rows
from rankinite.torch.threads import threads_for
from rankinite.training import DivergedError, Rounds, Watched


class TorchRounds(Rounds):
    """Epochs of a net: steps of an optimiser over the queries of a dataset.

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
    standardizer : Standardizer or None
        What the net is given of other rows goes through it.
    queries_per_step : int
    seed : int
        Of the order in which an epoch goes through the queries, and of what the module draws.
    scorer : function
        What scores rows by the module.
    on_one_thread : bool
        Whether PyTorch has one thread also for steps that are large.

    Attributes
    ----------
    best : dict
        The module's ``state_dict`` in the best epoch so far, or the latest without validation.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        order: Canonical,
        gradients: LambdaGradients,
        X: np.ndarray,
        first_scores: np.ndarray,
        standardizer: Standardizer | None,
        queries_per_step: int,
        seed: int,
        scorer: Scorer = score_rows,
        on_one_thread: bool = False,
    ) -> None:
        self.module = module
        self.optimizer = optimizer
        self.gradients = gradients
        self.standardizer = standardizer
        self.fingerprint = order.fingerprint
        self.best = copy.deepcopy(module.state_dict())
        self._best_merit = -math.inf
        self._order = order
        self.queries_per_step = queries_per_step
        self.seed = seed
        self.scorer = scorer
        self.on_one_thread = on_one_thread
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

    @contextmanager
    def scope(self) -> Iterator[None]:
        """PyTorch's threads and random numbers while epochs are learned."""
        with threads_for(0 if self.on_one_thread else self.work), torch.random.fork_rng():
            torch.manual_seed(seed_of_weights(self.seed) + 1)
            yield

    def learn(self, number: int) -> float:
        """One epoch; returns the mean cost of a query."""
        self.module.train()
        seed = derive_seed(self.seed, number, "queries")
        shuffled = self._order.shuffled(self._queries, seed)
        costs = []
        for first in range(0, len(shuffled), self.queries_per_step):
            costs.append(self._step(shuffled[first : first + self.queries_per_step], number))
            if not math.isfinite(costs[-1]):
                raise _diverged(number)
        self.module.eval()
        if not all(bool(torch.isfinite(p).all()) for p in self.module.parameters()):
            raise _diverged(number)
        return math.fsum(costs) / max(1, len(shuffled))

    def learned_nothing(self) -> bool:
        """Whether there was no query to take a step for."""
        return len(self._queries) == 0

    def training_cost(self, learned: float) -> float:
        """The epoch's cost."""
        return learned

    def scores(self, learned: float, watched: Watched) -> np.ndarray:
        """Scores at the weights that the module has now."""
        own = self.scorer(self.module, watched.rows, preparation(self.standardizer))
        return watched.scores + own

    def keep(self, learned: float, merit: float | None, n_done: int) -> None:
        """Take the module's weights if `merit` is the highest yet, or if there is none."""
        if merit is None or not merit <= self._best_merit:
            self.best = copy.deepcopy(self.module.state_dict())
            self._best_merit = self._best_merit if merit is None else merit

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


def seed_of_weights(seed: int) -> int:
    """The seed with which a module makes its weights; what it draws later has the next one."""
    return int(derive_seed(seed, "weights")) >> 1


def _diverged(number: int) -> DivergedError:
    return DivergedError(
        f"the scores or weights of the net became NaN or infinite in epoch {number + 1}: training "
        "ends with the weights from before; try a smaller learning rate, or clip the gradients in "
        "the optimizer"
    )
