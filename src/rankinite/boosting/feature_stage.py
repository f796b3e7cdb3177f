"""A round of boosted features: λ and w, the feature that fits them best, and its coefficient."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from rankinite.boosting.feature_blocks import FeatureBlocks
from rankinite.models.standardizing import Standardizer


class Lambdas(Protocol):
    """λ and w of every row at some scores, as `rankinite.lambdas.LambdaGradients` has them."""

    def __call__(self, scores: np.ndarray, round_number: int) -> tuple[np.ndarray, np.ndarray]:
        """λ and w, each of shape (n_rows,)."""


class Member(NamedTuple):
    """What a round adds: step times a standardised feature; −1 is no feature."""

    feature: int
    step: float


class FeatureStage:
    """Learns one feature and its coefficient a round (Gao et al. 2009, section 4.1).

    Parameters
    ----------
    lambdas : Lambdas
    blocks : FeatureBlocks
        Of the training rows.
    standardizer : Standardizer
    weight : ndarray of float64, shape (n_rows,)
        Of every training row in the squared error.
    scores : ndarray of float64, shape (n_rows,)
        Of the training rows before the first round; updated in place.
    learning_rate : float
    newton : bool
        Whether the coefficient is the Newton step Σλz / Σwz², not Σλz / Σz².
    longest_step : float
        Bound of a Newton step.
    """

    def __init__(
        self,
        lambdas: Lambdas,
        blocks: FeatureBlocks,
        standardizer: Standardizer,
        weight: np.ndarray,
        scores: np.ndarray,
        learning_rate: float,
        newton: bool,
        longest_step: float,
    ) -> None:
        self.lambdas = lambdas
        self.blocks = blocks
        self.standardizer = standardizer
        self.scores = scores
        self.learning_rate = learning_rate
        self.newton = newton
        self.longest_step = longest_step
        self._squares = blocks.weighted_squares(weight)

    def learn(self, round_number: int) -> Member:
        """Choose a feature at the present scores, and add it."""
        lam, w = self.lambdas(self.scores, round_number)
        forces = self.blocks.products(lam)
        varies = self._squares > 0
        # The fall of Σ weight (λ/weight − βz)², a weighted squared error, at its best β.
        gains = np.divide(forces**2, self._squares, out=np.zeros_like(forces), where=varies)
        feature = int(np.argmax(gains)) if len(gains) else -1
        if feature < 0 or not gains[feature] > 0:
            return Member(-1, 0.0)
        coefficient = self._coefficient(feature, float(forces[feature]), w)
        member = Member(feature, self.learning_rate * coefficient)
        self.repeat(member)
        return member

    def _coefficient(self, feature: int, force: float, w: np.ndarray) -> float:
        if not self.newton:
            return force / float(self._squares[feature])
        mass = self.blocks.weighted_square(w, feature)
        # Without curvature there is no bound but this one.
        step = force / mass if mass > 0 else np.copysign(np.inf, force)
        return float(np.clip(step, -self.longest_step, self.longest_step))

    def repeat(self, member: Member) -> None:
        """Add the feature of an earlier round."""
        if member.feature >= 0:
            self.blocks.add(member.feature, member.step, self.scores)

    def add(self, member: Member, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add a feature to the scores of rows, shape (1, n_rows); its values are taken as they are.

        Parameters
        ----------
        rows : ndarray of float32 or float64, shape (n_rows, n_features)
        """
        if member.feature >= 0:
            scores[0] += member.step * self.standardizer.column(rows, member.feature)

    def separates(self, member: Member) -> bool:
        """Whether a feature was chosen."""
        return member.feature >= 0 and member.step != 0.0


def weights_of(members: list[Member], n_features: int) -> np.ndarray:
    """The weights of the standardised features that members add up to, shape (n_features,)."""
    weights = np.zeros(n_features)
    for member in members:
        if member.feature >= 0:
            weights[member.feature] += member.step
    return weights
