"""How a tree grows: how large it may become, and what its leaves must have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankinite.trees._histogram_kernels import N_BINS
from rankinite.trees._split_kernels import Limits
from rankinite.trees.fixed_point import Packed
from rankinite.trees.split_search import MASS_MASK


@dataclass(frozen=True)
class GrowthParameters:
    """How a tree grows; the names are those of the estimators.

    `min_curvature_leaf` and `l2_regularization` count in `w_unit`, in which w grows with the
    slope σ of the objective. Least squares has rows in the place of w.
    """

    growth: str = "best_first"
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_curvature_leaf: float = 0.0
    l2_regularization: float = 0.0
    split: str = "least_squares"
    row_fraction: float = 1.0
    feature_fraction: float = 1.0
    w_unit: float = 1.0

    @property
    def l2_of_steps(self) -> float:
        """What is added to Σw of a leaf."""
        return self.l2_regularization * self.w_unit

    def limits(self, root: np.ndarray, n_rows: float, packed: Packed) -> Limits:
        """For the search in the histograms of a tree, of which that of the root is given.

        Rows count by their mass: one of `min_samples_leaf` is as much as the `n_rows` that the root
        stands for have on average. So a few documents that matter may have a leaf of their own, and
        many that hardly do may not.
        """
        unit = packed.w_scale * (self.w_unit if self.split == "newton" else 1.0)
        # Every row has one bin of the first feature. A worker without features needs no limits.
        mean = (int(root[:1, :N_BINS].sum()) & MASS_MASK) / max(n_rows, 1.0)
        least = max(self.min_samples_leaf * mean, self.min_curvature_leaf * unit, 1.0)
        return Limits(least, self.l2_regularization * unit)
