"""What a measure is: a name, a value for labels in rank order, and what follows from these."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

MOST_ORDERS = 720
"""Up to so many orders of tied documents are enumerated, beyond them orders are sampled."""

N_SHUFFLES = 200
"""How many seeded shuffles stand for all orders when there are too many of them."""


class Measure(ABC):
    """A measure of one ranked list; larger is better, unless `lower_is_better`.

    Subclass it to optimise and evaluate with a measure of your own: give it a `name` and a
    `value`, and everything else follows by brute force. Override the other methods where you
    know a faster way. The built-in measures do.

    Examples
    --------
    >>> class TopIsRelevant(Measure):
    ...     name = "top"
    ...     def value(self, labels):
    ...         return float(labels[0] > 0)
    >>> TopIsRelevant().expected_value(np.array([2.0, 2.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    0.5
    """

    lower_is_better: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """How the measure prints itself."""

    @abstractmethod
    def value(self, labels: np.ndarray) -> float:
        """Value of one query.

        Parameters
        ----------
        labels : ndarray of float64, shape (n_docs,)
            The labels of the query's documents in rank order, best score first.
        """

    def __str__(self) -> str:
        return self.name

    def resolve(self, y: np.ndarray) -> Self:
        """Return the measure with every parameter that depends on the data fixed by `y`.

        Parameters
        ----------
        y : ndarray of float64, shape (n_labels,)
            Every label of the data once, ascending; on all workers, those of all.
        """
        return self

    @property
    def cut_off(self) -> int | None:
        """The rank below which nothing counts, if it can be moved without changing the idea."""
        return None

    def deeper(self, rank: int) -> Measure:
        """The same measure with its cut-off at `rank`; as it is if it has none, or a lower one."""
        return self

    def is_blank(self, labels: np.ndarray) -> bool:
        """Say whether no order of these labels is better than another: no label above 0."""
        return not bool((np.asarray(labels) > 0).any())

    def swap_deltas(self, labels: np.ndarray) -> np.ndarray:
        """Change of the value when the documents at two ranks trade places.

        Parameters
        ----------
        labels : ndarray of float64, shape (n_docs,)
            In rank order.

        Returns
        -------
        ndarray of float64, shape (n_docs, n_docs)
            Value after swapping ranks i and j minus the value before; symmetric.
        """
        labels = np.array(labels, dtype=np.float64)
        deltas = np.zeros((len(labels), len(labels)))
        before = self.value(labels)
        for i, j in itertools.combinations(range(len(labels)), 2):
            deltas[i, j] = deltas[j, i] = self._value_after_swap(labels, i, j) - before
        return deltas

    def expected_value(self, scores: np.ndarray, labels: np.ndarray) -> float:
        """Mean value over the orders of tied documents.

        Up to 720 orders (`MOST_ORDERS`) are enumerated; beyond that the mean of 200 shuffles
        (`N_SHUFFLES`) of a fixed seed is taken. Documents of equal score and equal label are
        interchangeable, and the result does not depend on the order of the rows.

        Parameters
        ----------
        scores, labels : ndarray of float64, shape (n_docs,)
            Of one query, in any order. Equal scores are ties.
        """
        scores = np.asarray(scores, dtype=np.float64)
        order = np.lexsort((labels, -scores))
        ranked = np.asarray(labels, dtype=np.float64)[order]
        starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
        groups = [
            group for group in np.split(ranked, starts[1:]) if len(group) and group[0] != group[-1]
        ]
        if not groups:
            return float(self.value(ranked))
        # The groups are views of `ranked`: writing an order into them writes it there.
        if math.prod(math.factorial(len(group)) for group in groups) <= MOST_ORDERS:
            orders = itertools.product(*(list(itertools.permutations(g)) for g in groups))
            values = [self._value_with_orders(ranked, groups, chosen) for chosen in orders]
        else:
            rng = np.random.default_rng(0)
            values = [
                self._value_with_orders(ranked, groups, [rng.permutation(g) for g in groups])
                for _ in range(N_SHUFFLES)
            ]
        return float(np.mean(values))

    def _value_after_swap(self, labels: np.ndarray, i: int, j: int) -> float:
        swapped = labels.copy()
        swapped[[i, j]] = swapped[[j, i]]
        return float(self.value(swapped))

    def _value_with_orders(self, ranked: np.ndarray, groups: list, orders: Iterable[Any]) -> float:
        for group, order in zip(groups, orders, strict=True):
            group[:] = order
        return float(self.value(ranked.copy()))
