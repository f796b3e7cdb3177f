"""Measures of scores on preference pairs: how many are in order, and how surprising they are.

>>> str(PairLogLoss())
'pair_log_loss'
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.data.weights import in_range
from rankinite.errors import DataError, ParameterError
from rankinite.measures._pair_measure_kernels import pair_costs, pair_hits, pair_masses
from rankinite.measures.protocol import Measure

if TYPE_CHECKING:
    from rankinite.data.preferences import Preferences
    from rankinite.data.queries import Queries
    from rankinite.distributed import Communicator


class PairMeasure(Measure):
    """A mean over the preference pairs of a dataset, each by its weight times its query's.

    It looks at pairs, not at labels: it can be evaluated and watched, but is not what is learned.
    Queries without pairs are blank.
    """

    keyword: ClassVar[str]
    # Whether pairs of even odds are left out.
    decided: ClassVar[bool]

    @property
    def name(self) -> str:
        """The text that parses back to the measure."""
        return self.keyword

    def value(self, labels: np.ndarray) -> NoReturn:
        """There is none: labels say nothing about the pairs."""
        raise ParameterError(f"{self} is measured on preference pairs, and has no value for labels")

    @abstractmethod
    def sums(self, pairs: Preferences, scores: np.ndarray, sigma: float) -> np.ndarray:
        """Weighted sum over the pairs of each query, shape (n_queries,)."""


@dataclass(frozen=True)
class PairAccuracy(PairMeasure):
    """Share of the pairs that the scores order as preferred; ties count 1/2.

    With a probability below 1/2 the other document should come first; pairs of even odds do not
    count.
    """

    keyword: ClassVar[str] = "pair_accuracy"
    decided: ClassVar[bool] = True

    def sums(self, pairs: Preferences, scores: np.ndarray, sigma: float) -> np.ndarray:
        """See ``PairMeasure.sums``."""
        hits = np.empty(len(pairs.offsets) - 1)
        in_threads(pair_hits, query_blocks(pairs.offsets), *_arrays(pairs), scores, hits)
        return hits


@dataclass(frozen=True)
class PairLogLoss(PairMeasure):
    """Mean of −P̄ log P − (1 − P̄) log(1 − P), with P = 1 / (1 + e^{−σ(s_i − s_j)}); low is good.

    P̄ is the probability that comes with the pair (Burges 2010, section 2).
    """

    keyword: ClassVar[str] = "pair_log_loss"
    decided: ClassVar[bool] = False
    lower_is_better: ClassVar[bool] = True

    def sums(self, pairs: Preferences, scores: np.ndarray, sigma: float) -> np.ndarray:
        """See ``PairMeasure.sums``."""
        costs = np.empty(len(pairs.offsets) - 1)
        in_threads(
            pair_costs,
            query_blocks(pairs.offsets),
            *_arrays(pairs),
            pairs.query_offsets,
            scores,
            sigma,
            costs,
        )
        return costs


class PairValues:
    """A measure of pairs bound to a dataset.

    Attributes
    ----------
    masses : ndarray of float64, shape (n_queries,)
        Weight of the pairs of each query that count.
    """

    def __init__(
        self,
        measure: PairMeasure,
        dataset: Queries,
        sigma: float,
        communicator: Communicator | None = None,
    ) -> None:
        if dataset.preferences is None:
            raise DataError(
                f"the data has no preferences, on which {measure} is measured: "
                "add them by with_preferences"
            )
        self._measure, self._pairs, self._sigma = measure, copy(dataset.preferences), sigma
        pairs = self._pairs
        pairs.weight = in_range(pairs.weight, communicator)
        self.masses = np.empty(dataset.n_queries)
        in_threads(
            pair_masses,
            query_blocks(pairs.offsets),
            pairs.weight,
            pairs.probability,
            measure.decided,
            pairs.offsets,
            self.masses,
        )

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Mean over the pairs of each query, shape (n_queries,); NaN where none counts."""
        sums = self._measure.sums(self._pairs, scores, self._sigma)
        means = np.full(len(sums), np.nan)
        return np.divide(sums, self.masses, out=means, where=self.masses > 0)


def _arrays(pairs: Preferences) -> tuple[np.ndarray, ...]:
    return pairs.first, pairs.other, pairs.probability, pairs.weight, pairs.offsets
