"""A handful of verbs between workers; one process is a communicator of size one.

All that training must agree on over workers passes through these verbs: histogram cells, the
sizes of gradients, leaf sums, and the sums behind a measure's mean. Sums are of integers wherever
they decide a model, so the result does not depend on how many workers there are.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Communicator(Protocol):
    """What training asks of its fellow workers. Arrays are reduced in place."""

    rank: int
    size: int

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Element by element, the sum over all workers."""

    def max(self, array: np.ndarray) -> np.ndarray:
        """Element by element, the largest over all workers."""


def total(count: int, communicator: Communicator) -> int:
    """The sum of every worker's count."""
    return int(communicator.sum(np.array([count]))[0])


class Serial:
    """The communicator of a single process: every reduction is already done."""

    rank = 0
    size = 1

    def sum(self, array: np.ndarray) -> np.ndarray:
        """Return `array` as it is."""
        return array

    def max(self, array: np.ndarray) -> np.ndarray:
        """Return `array` as it is."""
        return array
