"""The measures by their definitions, for one query whose labels are in rank order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from statistics import fmean

Value = Callable[[Sequence[float]], float]


def gain(label: float, kind: str = "exp2") -> float:
    return 2.0**label - 1.0 if kind == "exp2" else float(label)


def dcg(labels: Sequence[float], k: int | None = None, kind: str = "exp2") -> float:
    cut = list(labels)[: len(labels) if k is None else k]
    return sum(gain(label, kind) / math.log2(1 + rank) for rank, label in enumerate(cut, start=1))


def ndcg(labels: Sequence[float], k: int | None = None, kind: str = "exp2") -> float:
    ideal = dcg(sorted(labels, reverse=True), k, kind)
    return dcg(labels, k, kind) / ideal if ideal > 0 else 0.0


def avendcg(labels: Sequence[float], depth: int = 10, kind: str = "exp2") -> float:
    return fmean(ndcg(labels, k, kind) for k in range(1, depth + 1))


def err(labels: Sequence[float], k: int | None = None, max_label: int | None = None) -> float:
    top = max(1, int(max(labels))) if max_label is None else max_label
    value, reading = 0.0, 1.0
    for rank, label in enumerate(labels, start=1):
        stops = (2.0**label - 1.0) / 2.0**top
        if k is None or rank <= k:
            value += reading * stops / rank
        reading *= 1.0 - stops
    return value


def precision(labels: Sequence[float], k: int, relevant: float = 1) -> float:
    return sum(label >= relevant for label in list(labels)[:k]) / k


def ap(labels: Sequence[float], k: int | None = None, relevant: float = 1) -> float:
    n_relevant = sum(label >= relevant for label in labels)
    ranks = [rank for rank, label in enumerate(labels, start=1) if label >= relevant]
    found = [rank for rank in ranks if k is None or rank <= k]
    return sum(precision(labels, rank, relevant) for rank in found) / n_relevant if found else 0.0


def rr(labels: Sequence[float], k: int | None = None, relevant: float = 1) -> float:
    for rank, label in enumerate(labels, start=1):
        if label >= relevant:
            return 1.0 / rank if k is None or rank <= k else 0.0
    return 0.0


def pairs(labels: Sequence[float]) -> float:
    different = [(a, b) for a, b in itertools.combinations(labels, 2) if a != b]
    return sum(a > b for a, b in different) / len(different) if different else 0.0


def swap_delta(value: Value, labels: Sequence[float], i: int, j: int) -> float:
    """Value after ranks i and j trade places minus the value before."""
    swapped = list(labels)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return value(swapped) - value(labels)


def expected(value: Value, scores: Sequence[float], labels: Sequence[float]) -> float:
    """Mean value over every order of the documents that does not contradict the scores."""
    orders = (
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    )
    return fmean(value([labels[i] for i in order]) for order in orders)


def candidates(scores: Sequence[float], k: int) -> list[int]:
    """Rows of the documents that some order puts at rank k or above."""
    at_k = sorted(scores, reverse=True)[min(k, len(scores)) - 1]
    return [row for row, score in enumerate(scores) if score >= at_k]
