"""Nets by their definitions, in numpy and loops over pairs (Burges 2010, sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.naive.lambdas import logistic


class Net:
    """A linear net (no hidden weights) or one with a layer of tanh units.

    `hidden` has the shape (n_features + 1, n_hidden), the biases last; `top` (n_hidden,) or, in a
    linear net, (n_features,).
    """

    def __init__(self, top: np.ndarray, hidden: np.ndarray | None = None) -> None:
        self.top, self.hidden = top.copy(), None if hidden is None else hidden.copy()

    def score(self, x: np.ndarray) -> float:
        if self.hidden is None:
            return float(np.dot(x, self.top))
        return float(np.dot(np.tanh(np.append(x, 1.0) @ self.hidden), self.top))

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The derivatives of the score by all weights."""
        if self.hidden is None:
            return x, None
        t = np.tanh(np.append(x, 1.0) @ self.hidden)
        return t, np.outer(np.append(x, 1.0), self.top * (1 - t**2))

    def step(self, X: np.ndarray, lam: np.ndarray, rate: float) -> None:
        """Every weight moves by rate · Σ_d λ_d ∂s_d/∂w."""
        slopes = [self.slopes(x) for x in X]
        self.top += rate * sum(force * top for force, (top, _) in zip(lam, slopes, strict=True))
        if self.hidden is not None:
            self.hidden += rate * sum(
                force * hidden for force, (_, hidden) in zip(lam, slopes, strict=True)
            )


def label_pairs(labels: np.ndarray) -> Iterator[tuple[int, int]]:
    """All i ▷ j."""
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                yield i, j


def ranknet_cost(labels: np.ndarray, scores: np.ndarray, sigma: float) -> float:
    """Σ log(1 + e^{−σ(s_i − s_j)}) over all i ▷ j."""
    return sum(
        float(np.logaddexp(0.0, -sigma * (scores[i] - scores[j]))) for i, j in label_pairs(labels)
    )


def ranknet_lambdas(labels: np.ndarray, scores: np.ndarray, sigma: float) -> np.ndarray:
    """λ_i, the negative derivative of the cost by s_i."""
    lam = np.zeros(len(labels))
    for i, j in label_pairs(labels):
        force = sigma * logistic(-sigma * (scores[i] - scores[j]))
        lam[i] += force
        lam[j] -= force
    return lam


def epoch(
    net: Net,
    X: np.ndarray,
    offsets: np.ndarray,
    order: np.ndarray,
    start: np.ndarray,
    factor: np.ndarray,
    rate: float,
    lambdas_of: Callable[[int, np.ndarray], np.ndarray],
) -> None:
    """One step for each query of `order`; ``lambdas_of(query, scores)`` are its λs."""
    for query in order:
        inside = slice(offsets[query], offsets[query + 1])
        scores = np.array([net.score(x) for x in X[inside]]) + start[inside]
        net.step(X[inside], lambdas_of(query, scores) * factor[inside], rate)
