"""λ, w, cost and accuracy of the pairs of one query by their definitions (Burges 2010, section 2).

A pair is ``(i, j, probability, weight)``: document i is better than j with that probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.naive.lambdas import logistic

Pair = tuple[int, int, float, float]


def lambdas(
    pairs: Sequence[Pair], scores: Sequence[float], sigma: float = 1.0
) -> tuple[list[float], list[float]]:
    """λ and w of every document."""
    lam, w = [0.0] * len(scores), [0.0] * len(scores)
    for i, j, probability, weight in pairs:
        p = logistic(sigma * (scores[i] - scores[j]))
        force = sigma * weight * (probability - p)
        bend = sigma**2 * weight * p * (1 - p)
        lam[i] += force
        lam[j] -= force
        w[i] += bend
        w[j] += bend
    return lam, w


def cost(pairs: Sequence[Pair], scores: Sequence[float], sigma: float = 1.0) -> float:
    """Σ weight · (−P̄ log P − (1 − P̄) log(1 − P)), for gaps that logarithms can bear."""
    terms = []
    for i, j, probability, weight in pairs:
        x = sigma * (scores[i] - scores[j])
        right, wrong = logistic(x), logistic(-x)
        terms.append(-weight * probability * math.log(right))
        terms.append(-weight * (1 - probability) * math.log(wrong))
    return math.fsum(terms)


def accuracy(pairs: Sequence[Pair], scores: Sequence[float]) -> float:
    """Weighted share of the pairs in the right order; NaN if none is decided."""
    right = mass = 0.0
    for i, j, probability, weight in pairs:
        if probability == 0.5:
            continue
        better, worse = (i, j) if probability > 0.5 else (j, i)
        mass += weight
        right += weight * ((scores[better] > scores[worse]) + (scores[better] >= scores[worse])) / 2
    return right / mass if mass else math.nan
