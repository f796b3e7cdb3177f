"""LambdaBoost by its definition: a least-squares fit of every feature, round after round.

And documents drawn by their importance, one after the other.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tests.naive.lambdas import mix

# From scores and the number of the round to λ and w of every row.
Lambdas = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def best_feature(Z: np.ndarray, lam: np.ndarray, weight: np.ndarray) -> tuple[int, float]:
    """The column, and its factor, that leave the least of Σ weight (λ/weight − βz)²."""
    root = np.sqrt(weight)
    target = np.divide(lam, root, out=np.zeros_like(lam), where=root > 0)
    errors, factors = [], []
    for j in range(Z.shape[1]):
        column = root * Z[:, j]
        beta = np.linalg.lstsq(column[:, np.newaxis], target, rcond=None)[0][0]
        errors.append(((target - beta * column) ** 2).sum())
        factors.append(beta)
    best = int(np.argmin(errors))
    return best, factors[best]


def lambdaboost(
    Z: np.ndarray,
    lambdas: Lambdas,
    weight: np.ndarray,
    base: np.ndarray,
    *,
    rounds: int,
    learning_rate: float,
    newton: bool,
) -> tuple[list[tuple[int, float]], np.ndarray]:
    """Features with their steps, and the scores they lead to, of standardised rows."""
    scores, members = base.copy(), []
    for number in range(rounds):
        lam, w = lambdas(scores, number)
        feature, beta = best_feature(Z, lam, weight)
        z = Z[:, feature]
        if newton:
            beta = (lam * z).sum() / (w * z * z).sum()
        members.append((feature, learning_rate * beta))
        scores = scores + learning_rate * beta * z
    return members, scores


def importances(
    lam: Sequence[float], w: Sequence[float], lam_unit: float, w_unit: float
) -> list[float]:
    """|λ| and w of every row, added up in their units."""
    return [
        abs(float(force)) * lam_unit + float(bend) * w_unit
        for force, bend in zip(lam, w, strict=True)
    ]


def classes(values: Iterable[float]) -> Counter[int]:
    """How many values have the same sign, exponent and first three bits."""
    patterns = (struct.unpack("<Q", struct.pack("<d", value))[0] for value in values)
    return Counter(pattern >> 49 for pattern in patterns)


def draw_important(
    rows: Iterable[int], values: Sequence[float], factor: float, keys: Sequence[int], seed: int
) -> dict[int, float]:
    """The probabilities p = min(1, factor · value) of the rows whose random number is below it."""
    found = {}
    for row in rows:
        p = min(1.0, factor * values[row])
        if (mix(int(keys[row]) ^ int(seed)) >> 11) / 2**53 < p:
            found[int(row)] = p
    return found


def newton_steps(leaf_of, lam, w, longest, l2, held_out):
    """Σλ / (Σw + l2) of every leaf, and Σγλ and Σγ²w of the rows held out."""

    def steps_of(rows):
        steps = []
        for leaf in range(max(leaf_of) + 1):
            force = sum(lam[row] for row in rows if leaf_of[row] == leaf)
            mass = sum(w[row] for row in rows if leaf_of[row] == leaf) + l2
            step = (
                force / mass if mass > 0 else 0.0 if longest == np.inf else longest * np.sign(force)
            )
            steps.append(min(max(step, -longest), longest))
        return np.array(steps)

    every_row = range(len(lam))
    steps = steps_of(every_row)
    if held_out is None:
        return steps, None
    asked = steps_of([row for row in every_row if not held_out[row]])
    rest = [row for row in every_row if held_out[row]]
    force = sum(asked[leaf_of[row]] * lam[row] for row in rest)
    bend = sum(asked[leaf_of[row]] ** 2 * w[row] for row in rest)
    return steps, (force, bend)


def label_squares(
    queries: list[np.ndarray],
    labels: np.ndarray,
    scores: np.ndarray,
    f: np.ndarray,
    w: np.ndarray,
    beta: float,
    sigma: float,
) -> tuple[np.ndarray, np.ndarray]:
    """What squared errors of the labels add to λ and w; `queries` are the rows that take part."""
    t, u, mean_w = np.zeros((3, len(labels)))
    for rows in queries:
        mass = f[rows].sum()
        if mass > 0:
            t[rows] = labels[rows] - (f[rows] * labels[rows]).sum() / mass
            u[rows] = sigma * (scores[rows] - (f[rows] * scores[rows]).sum() / mass)
            mean_w[rows] = w[rows].sum() / mass
    mass = f[np.concatenate(queries)].sum()
    t /= np.sqrt((f * t**2).sum() / mass)
    rho, slope = 0.0, 1.0
    if u.any():
        rho = (f * t * u).sum() / np.sqrt((f * t**2).sum() * (f * u**2).sum())
        rho = max(rho, 0.1)
        slope = min(rho * np.sqrt(mass / (f * u**2).sum()), 1.0)
    pull = beta * (1 - rho**2) * mean_w / sigma**2
    return sigma * pull * f * slope * (t - slope * u), sigma**2 * pull * f * slope**2
