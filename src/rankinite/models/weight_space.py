"""The weights of a model as a point that can be moved about, on one dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """What a model with weights gives by ``weight_space(dataset)``.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_weights,)
        Those that were learned; weights that can have no effect are left out.
    names : sequence of str
        One for each weight, for people.
    scores : function
        From weights of shape (n_weights,) to scores of shape (n_rows,), in the dataset's stored
        order.
    """

    weights: np.ndarray
    names: Sequence[str]
    scores: Callable[[np.ndarray], np.ndarray]
