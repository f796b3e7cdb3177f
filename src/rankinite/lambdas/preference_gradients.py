"""λ-gradients of preference pairs (Burges 2010, section 2), with |ΔZ| = 1.

For a pair with the probability P̄ that document i is better than document j,

    λ_ij = σ · weight · (P̄ − P_ij),   w_ij = σ² · weight · P_ij (1 − P_ij),
    P_ij = 1 / (1 + e^{−σ(s_i − s_j)})

which is what the cross-entropy of P̄ and P asks for. A document's λ is the sum over the pairs in
which it is the first less the sum over those in which it is the other; its w is the sum over
both. A pair counts by its own weight times that of its query. Pairs may contradict each other.
"""

from __future__ import annotations

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.data.preferences import Preferences
from rankinite.lambdas._preference_gradient_kernels import PairArrays, preference_lambdas


class PreferenceGradients:
    """The λ-gradients of one set of pairs.

    Parameters
    ----------
    preferences : Preferences
    query_weight : ndarray of float64, shape (n_queries,), optional
        Multiplies the λ and w of all documents of a query.
    sigma : float
    """

    def __init__(
        self,
        preferences: Preferences,
        *,
        query_weight: np.ndarray | None = None,
        sigma: float = 1.0,
    ) -> None:
        self.preferences = preferences
        self.sigma = float(sigma)
        self._factor = None
        if query_weight is not None:
            self._factor = np.repeat(query_weight, np.diff(preferences.query_offsets))
        # Pairs are what takes time, not rows.
        self._blocks = query_blocks(preferences.offsets)

    def __call__(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """λ and w of every document at these scores, each of shape (n_rows,)."""
        pairs, offsets = PairArrays.of(self.preferences), self.preferences.query_offsets
        lam, w = np.empty((2, len(scores)))
        in_threads(preference_lambdas, self._blocks, pairs, offsets, scores, self.sigma, lam, w)
        if self._factor is not None:
            lam *= self._factor
            w *= self._factor
        return lam, w
