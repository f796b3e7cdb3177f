"""Powell's search for weights: direction after direction (Press et al. 1992, section 10.5).

Two line searches: Brent's by scipy, which takes a measure for a smooth function, as Gao et al.
2009 did; and the exact one, which knows all steps of the measure along a direction.
"""

from __future__ import annotations

import math

import numpy as np

from rankinite.combination.problem import Problem

MOST_ROUNDS = 50
"""Rounds over all directions, at most."""

REACH = 10.0
"""How far the exact search looks along a direction, in lengths of the weights, to both sides."""

_ENOUGH = 1e-9


def powell(problem: Problem) -> np.ndarray:
    """Weights by scipy's search; the best of all that it tried."""
    from scipy.optimize import minimize

    best = problem.best_start()
    best_goodness = problem.goodness(best)
    problem.note(best_goodness)

    def cost(weights: np.ndarray) -> float:
        nonlocal best, best_goodness
        goodness = problem.goodness(weights)
        # On a function of steps the search may end below what it has seen.
        if goodness > best_goodness:
            best, best_goodness = weights.copy(), goodness
        return -goodness

    minimize(
        cost,
        best,
        method="Powell",
        callback=lambda _: problem.note(best_goodness),
        options={"xtol": 1e-3, "ftol": 1e-6, "maxiter": MOST_ROUNDS},
    )
    return best


def exact_powell(problem: Problem) -> np.ndarray:
    """Weights by exact line searches; no step makes the measure worse."""
    weights = problem.best_start()
    goodness = problem.goodness(weights)
    problem.note(goodness)
    directions = list(np.eye(len(weights)))
    for _ in range(MOST_ROUNDS):
        weights = _of_length_one(weights)
        start, start_goodness = weights, goodness
        gains = []
        for direction in directions:
            before = goodness
            weights, goodness = _climb(problem, weights, goodness, direction)
            gains.append(goodness - before)
        if goodness - start_goodness <= _ENOUGH * abs(goodness):
            break
        step = weights - start
        if _worth_a_direction(problem, weights, step, start_goodness, goodness, max(gains)):
            weights, goodness = _climb(problem, weights, goodness, _of_length_one(step))
            # The direction of the largest gain is the main part of the new one: without it the
            # directions stay independent.
            del directions[int(np.argmax(gains))]
            directions.append(_of_length_one(step))
    return weights


def _climb(
    problem: Problem, weights: np.ndarray, goodness: float, direction: np.ndarray
) -> tuple[np.ndarray, float]:
    """Go to the best place along a direction, if it is better than here."""
    a, b = problem.scores(weights), problem.scores(direction)
    alpha, _ = problem.search(a, b, -REACH, REACH, convex=False)
    moved = weights + alpha * direction
    # Rounding may part documents that are tied all along the line: what counts is what is there.
    moved_goodness = problem.goodness(moved)
    if moved_goodness > goodness:
        weights, goodness = moved, moved_goodness
    problem.note(goodness)
    return weights, goodness


def _worth_a_direction(
    problem: Problem,
    weights: np.ndarray,
    step: np.ndarray,
    before: float,
    now: float,
    largest_gain: float,
) -> bool:
    """Powell's rule: is the way of the whole round a better direction than those there are?

    Not if going as far once more is worse than the start, nor if one direction gave most of the
    gain, nor if the way leads over the top already.
    """
    if not step.any():
        return False
    beyond = problem.goodness(weights + step)
    if beyond <= before:
        return False
    bend = 2.0 * (2.0 * now - before - beyond) * (now - before - largest_gain) ** 2
    return bend < largest_gain * (beyond - before) ** 2


def _of_length_one(weights: np.ndarray) -> np.ndarray:
    """Weights of a length between 1 and 2; a power of two changes no ranking by rounding."""
    return np.ldexp(weights, 1 - math.frexp(float(np.linalg.norm(weights)))[1])
