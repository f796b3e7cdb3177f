"""Ranking data unlike web search's, for looking at defaults where they were not made.

Each function gives rows of as many queries as asked for: of a shop, of texts, of queries that
decide what counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rankinite as rk

# Features and what is wanted of each row.
Rows = tuple[np.ndarray, np.ndarray]


def _labelled(
    rows: Rows, n_docs: int, shares: tuple[float, ...], noise: float, rng: np.random.Generator
) -> rk.Dataset:
    """Labels 0, 1, … in these shares of the rows, the rest above; noise in units of the spread."""
    X, value = rows
    value = value + noise * value.std() * rng.standard_normal(len(value))
    y = np.searchsorted(np.quantile(value, np.cumsum(shares)), value)
    return rk.Dataset(X, y.astype(np.float64), qid=np.arange(len(y)) // n_docs)


def purchases(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Thirty offers a query, of which three in a hundred are bought: prices, ratings, brands."""
    rng, n_docs = np.random.default_rng((seed, 10)), 30
    n = n_queries * n_docs
    budget = np.repeat(rng.lognormal(3.0, 0.6, n_queries), n_docs)
    price, stars = rng.lognormal(3.0, 0.7, n), np.round(rng.beta(6, 2, n) * 10) / 2
    reviews, brand = np.floor(rng.pareto(1.0, n) * 5), rng.integers(0, 60, n)
    match, days = rng.beta(2, 3, (3, n)), rng.exponential(30, n)
    liked = np.random.default_rng(1).normal(0, 0.6, 60)
    value = (
        3 * match[0] + match[1] * match[2] * 3 - np.abs(np.log(price / budget))
        + 0.8 * stars * np.log1p(reviews) / (2 + np.log1p(reviews)) + liked[brand] - days / 60
    )  # fmt: skip
    others = rng.normal(size=(18, n))
    X = np.column_stack([budget, price, stars, reviews, brand, *match, days, *others])
    return _labelled((X, value), n_docs, (0.97,), 0.7, rng)


def words(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Forty documents a query with 400 words that are there or not, few of them common."""
    rng, n_docs, n_words = np.random.default_rng((seed, 11)), 40, 400
    fixed = np.random.default_rng(2)
    common = 0.5 / (1 + np.arange(n_words) / 8)
    X = (rng.random((n_queries * n_docs, n_words)) < common).astype(np.float32)
    value = X @ fixed.normal(0, 1, n_words)
    for a, b in fixed.integers(0, 60, (60, 2)):
        value += fixed.normal(0, 1.5) * X[:, a] * X[:, b]
    return _labelled((X, value), n_docs, (0.6, 0.25), 0.5, rng)


def categories(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Forty documents a query; ten columns are numbers of categories whose order says nothing."""
    rng, n_docs = np.random.default_rng((seed, 12)), 40
    n, fixed = n_queries * n_docs, np.random.default_rng(3)
    kinds, numbers = rng.integers(0, 30, (n, 10)), rng.normal(size=(n, 20))
    value = sum(fixed.normal(0, 1, 30)[kinds[:, k]] for k in range(6))
    value = value + fixed.normal(0, 1, (30, 6))[kinds[:, 6]].T[0] * numbers[:, 0]
    value = value + numbers[:, :8] @ fixed.normal(0, 1, 8)
    return _labelled((np.column_stack([kinds, numbers]), value), n_docs, (0.5, 0.3, 0.15), 0.5, rng)


def asked_for(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Fifty documents a query; what counts of them is said by features of the query."""
    rng, n_docs = np.random.default_rng((seed, 13)), 50
    n, fixed = n_queries * n_docs, np.random.default_rng(4)
    asked = np.repeat(rng.normal(size=(n_queries, 8)), n_docs, axis=0)
    documents = rng.normal(size=(n, 24))
    value = documents[:, :6] @ fixed.normal(0, 0.5, 6)
    for k in range(12):
        value += (asked[:, k % 8] > fixed.normal(0, 0.5)) * documents[:, k + 4] * fixed.normal(0, 1)
    X = np.column_stack([asked, documents]).astype(np.float32)
    return _labelled((X, value), n_docs, (0.5, 0.3, 0.13, 0.05), 0.7, rng)


def few_features(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Twenty documents a query with six features, of which relevance is a smooth function."""
    rng, n_docs = np.random.default_rng((seed, 14)), 20
    X = rng.random((n_queries * n_docs, 6))
    a, b, c, d, e, _ = X.T
    value = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    return _labelled((X, value), n_docs, (0.4, 0.3, 0.2, 0.08), 0.2, rng)


def much_alike(n_queries: int, seed: int = 0) -> rk.Dataset:
    """A hundred documents a query; 120 features are all distorted views of fifteen."""
    rng, n_docs = np.random.default_rng((seed, 15)), 100
    n, fixed = n_queries * n_docs, np.random.default_rng(5)
    hidden = rng.normal(size=(n, 15)) + np.repeat(rng.normal(size=(n_queries, 15)), n_docs, axis=0)
    X = np.empty((n, 120), np.float32)
    for k in range(120):
        view = hidden[:, k % 15] + fixed.uniform(0.2, 1.5) * rng.normal(size=n)
        X[:, k] = np.exp(view) if k % 3 == 0 else np.maximum(view, 0) if k % 3 == 1 else view
    value = np.tanh(hidden[:, :8]) @ fixed.normal(0, 1, 8) + np.maximum(
        hidden[:, 8], hidden[:, 9]
    ) * (hidden[:, 10] > 0)
    return _labelled((X, value), n_docs, (0.55, 0.3, 0.11, 0.03), 0.8, rng)


def answers(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Twenty passages a question, of which one is the answer: likenesses that hardly tell."""
    rng, n_docs = np.random.default_rng((seed, 16)), 20
    n, fixed = n_queries * n_docs, np.random.default_rng(6)
    right = np.zeros((n_queries, n_docs))
    right[np.arange(n_queries), rng.integers(0, n_docs, n_queries)] = 1.0
    y = right.ravel()
    hard = np.repeat(rng.gamma(2.0, 0.5, n_queries), n_docs)
    strength = fixed.exponential(0.5, 25)
    X = rng.normal(size=(n, 25)) * (0.5 + hard[:, np.newaxis]) + np.outer(y, strength)
    X[:, ::5] = np.round(X[:, ::5])
    lengths = np.floor(rng.lognormal(4, 0.7, (n, 3)))
    return rk.Dataset(np.column_stack([X, lengths]), y, qid=np.arange(n) // n_docs)


def gaps(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Sixty documents a query; values are missing the oftener the higher, and some are absurd."""
    rng, n_docs = np.random.default_rng((seed, 17)), 60
    n, fixed = n_queries * n_docs, np.random.default_rng(7)
    Z = rng.standard_t(3, size=(n, 40))
    value = np.clip(Z[:, :15], -3, 3) @ fixed.normal(0, 1, 15)
    for k in range(0, 12, 2):
        value += np.clip(Z[:, 15 + k] * Z[:, 16 + k], -4, 4) * fixed.normal(0, 0.7)
    X = np.sign(Z) * np.abs(Z) ** fixed.uniform(0.5, 3, 40)
    X[rng.random(X.shape) < 0.5 / (1 + np.exp(-Z))] = np.nan
    X[rng.random(X.shape) < 0.002] = 1e9
    return _labelled((X, value), n_docs, (0.6, 0.25, 0.1), 0.6, rng)


def wide(n_queries: int, seed: int = 0) -> rk.Dataset:
    """Thirty documents a query with 800 features, of which forty count."""
    rng, n_docs = np.random.default_rng((seed, 18)), 30
    fixed = np.random.default_rng(8)
    X = rng.normal(size=(n_queries * n_docs, 800)).astype(np.float32)
    value = X[:, ::20] @ fixed.normal(0, 1, 40) + 1.5 * X[:, 0] * X[:, 20] + np.abs(X[:, 40])
    return _labelled((X, value), n_docs, (0.5, 0.3, 0.15), 0.4, rng)


WORLDS: dict[str, tuple[Callable[[int, int], rk.Dataset], int]] = {
    "purchases": (purchases, 1500),
    "words": (words, 800),
    "categories": (categories, 600),
    "asked for": (asked_for, 1000),
    "few features": (few_features, 200),
    "much alike": (much_alike, 400),
    "answers": (answers, 1500),
    "gaps": (gaps, 500),
    "wide": (wide, 400),
}
