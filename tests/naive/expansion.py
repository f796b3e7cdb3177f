"""The expansion of a training set by plain loops in float64."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def standardised(X: np.ndarray, like: np.ndarray) -> np.ndarray:
    like = np.where(np.isfinite(like), like, np.nan)
    mean, deviation = np.nanmean(like, axis=0), np.nanstd(like, axis=0)
    varies = deviation > 0
    Z = np.where(varies, (X - mean) / np.where(varies, deviation, 1.0), 0.0)
    return np.where(np.isnan(Z), 0.0, Z)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / lengths if lengths > 0 else 0.0


def entropy(labels: list[float]) -> float:
    shares = [count / len(labels) for count in Counter(labels).values()]
    return -sum(share * math.log(share) for share in shares)


def selected(
    seeds: np.ndarray,
    seed_labels: np.ndarray,
    rows: np.ndarray,
    labels: np.ndarray,
    n_neighbors: int,
    max_distance: float,
    label_match: bool,
) -> list[int]:
    """Numbers of the rows that are near; all are standardised."""
    found = []
    for i, row in enumerate(rows):
        distances = sorted((1 - cosine(row, seed), j) for j, seed in enumerate(seeds))[:n_neighbors]
        near = len(distances) == n_neighbors and all(d <= max_distance for d, _ in distances)
        if near and (not label_match or any(seed_labels[j] == labels[i] for _, j in distances)):
            found.append(i)
    return found
