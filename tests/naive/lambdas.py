"""λ and w of one query by their definitions, pair by pair (Burges 2010, sections 4 and 7)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from tests.naive.measures import Value, pairs, swap_delta

Numbers = Sequence[float]


def logistic(x: float) -> float:
    """1 / (1 + e^{−x}), without overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def mix(x: int) -> int:
    """The finaliser of splitmix64, in integers of any width."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


def ranking(scores: Numbers, keys: Sequence[int], seed: int) -> list[int]:
    """Documents by descending score, equal scores by their scrambled keys."""
    return sorted(range(len(scores)), key=lambda d: (-scores[d], mix(int(keys[d]) ^ int(seed))))


def pair_weights(value: Value, labels: Numbers, order: Sequence[int]) -> Callable:
    """|ΔZ| of two documents that trade their ranks; 1 for RankNet's pairs."""
    ranked = [labels[document] for document in order]
    rank = {document: position for position, document in enumerate(order)}

    def weight(i: int, j: int) -> float:
        return 1.0 if value is pairs else abs(swap_delta(value, ranked, rank[i], rank[j]))

    return weight


def ordered_pairs(
    labels: Numbers, order: Sequence[int], top: int | None
) -> Iterator[tuple[int, int]]:
    """Pairs i ▷ j of which one is among the first `top` ranks."""
    counts = set(order[:top])
    for i, j in itertools.permutations(range(len(labels)), 2):
        if labels[i] > labels[j] and (i in counts or j in counts):
            yield i, j


def lambdas(
    value: Value,
    labels: Numbers,
    scores: Numbers,
    order: Sequence[int],
    *,
    sigma: float = 1.0,
    top: int | None = None,
    normalize: bool = False,
) -> tuple[list[float], list[float]]:
    """λ and w of every document of one query that is ranked in the given order."""
    lam, w = [0.0] * len(labels), [0.0] * len(labels)
    weight = pair_weights(value, labels, order)
    total = 0.0
    for i, j in ordered_pairs(labels, order, top):
        delta = weight(i, j)
        x = sigma * scores[i] - sigma * scores[j]
        if normalize:
            delta /= 0.01 + abs(x)
        force = delta * logistic(-x)
        bend = delta * logistic(-x) * logistic(x)
        lam[i] += sigma * force
        lam[j] -= sigma * force
        w[i] += sigma**2 * bend
        w[j] += sigma**2 * bend
        total += force
    if normalize and total > 0:
        factor = math.log1p(total) / math.log(2) / total
        return [factor * x for x in lam], [factor * x for x in w]
    return lam, w


def pair_cost(
    weight: Callable, labels: Numbers, scores: Numbers, order: Sequence[int], sigma: float
) -> float:
    """C = Σ |ΔZ_ij| log(1 + e^{−σ(s_i − s_j)}) over i ▷ j (Burges 2010, Eq. 3)."""
    return math.fsum(
        weight(i, j) * math.log1p(math.exp(-sigma * (scores[i] - scores[j])))
        for i, j in ordered_pairs(labels, order, None)
    )


def cost(
    value: Value,
    labels: Numbers,
    scores: Numbers,
    order: Sequence[int],
    *,
    sigma: float = 1.0,
    top: int | None = None,
    normalize: bool = False,
    weights: Numbers | None = None,
) -> float:
    """The cost of one query that is ranked in the given order, with all that `lambdas` knows."""
    weight = pair_weights(value, labels, order)
    weights = [1.0] * len(labels) if weights is None else weights
    found, total = 0.0, 0.0
    for i, j in ordered_pairs(labels, order, top):
        x = sigma * scores[i] - sigma * scores[j]
        delta = weight(i, j) / (0.01 + abs(x) if normalize else 1.0)
        log = math.log1p(math.exp(-x)) if x > -30 else -x
        found += (weights[i] + weights[j]) / 2 * delta * log
        total += delta * logistic(-x)
    return found * math.log1p(total) / math.log(2) / total if normalize and total > 0 else found
