"""Sums of floats over all workers, rounded once: the same bits however the terms are dealt out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankinite.distributed._exact_sum_kernels import LIMB_BITS, N_LIMBS, add_exactly
from rankinite.distributed.communicator import Communicator

_UNIT = 2**1074


def rounded_once(values: np.ndarray, communicator: Communicator) -> float:
    """Σ values over all workers as `math.fsum` gives it, from a few hundred bytes of each.

    With a term that is infinite or no number the sum is what IEEE says.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        This worker's terms.
    """
    return each_rounded_once([values], communicator)[0]


def each_rounded_once(several: Sequence[np.ndarray], communicator: Communicator) -> list[float]:
    """The sums of several kinds of values, told at once."""
    cells = communicator.sum(np.stack([_limbs_of(values) for values in several]))
    return [_rounded(own) for own in cells]


def _limbs_of(values: np.ndarray) -> np.ndarray:
    """The sum of this worker's values as limbs, and how many are +∞, −∞ and no number."""
    finite = np.isfinite(values)
    odd = values[~finite]
    cells = np.zeros(N_LIMBS + 3, np.int64)
    cells[N_LIMBS:] = (odd > 0).sum(), (odd < 0).sum(), np.isnan(odd).sum()
    terms = np.ascontiguousarray(values if not len(odd) else values[finite])
    add_exactly(terms.view(np.uint64), cells)
    return cells


def _rounded(cells: np.ndarray) -> float:
    """What limbs that are summed over all workers stand for."""
    up, down, nan = cells[N_LIMBS:].tolist()
    if nan or (up and down):
        return math.nan
    if up or down:
        return math.inf if up else -math.inf
    whole = sum(limb << (LIMB_BITS * k) for k, limb in enumerate(cells[:N_LIMBS].tolist()))
    # Python rounds the quotient of whole numbers once.
    return whole / _UNIT
