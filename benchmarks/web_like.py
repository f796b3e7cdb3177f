"""Rows with the marginals of a web search collection, at any size, for measuring speed.

MSLR-WEB's 136 features are of three kinds: counts with few distinct values (matched terms, URL
depth), continuous scores (BM25, language models, term frequencies), and sparse columns that are
mostly zero (anchor text, clicks). The same kinds come here in the same proportions, with labels
0–4 from a few of the features, a quality of the query, and noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rankinite as rk

N_FEATURES = 136
N_DOCS = 120
N_COUNTS, N_SPARSE = 40, 32
# Shares of the labels 0..3, as in MSLR-WEB30K.
LABEL_SHARES = (0.515, 0.325, 0.134, 0.018)
NOISE = 1.5


def matrix(n_queries: int, n_docs: int, n_features: int = N_FEATURES, seed: int = 0) -> np.ndarray:
    """Features, float32, shape (n_queries · n_docs, n_features)."""
    rng = np.random.default_rng(seed)
    n_rows = n_queries * n_docs
    n_counts = n_features * N_COUNTS // N_FEATURES
    n_sparse = n_features * N_SPARSE // N_FEATURES
    X = np.empty((n_rows, n_features), np.float32)
    query_scale = np.repeat(rng.gamma(2.0, 0.5, n_queries).astype(np.float32), n_docs)
    for column in range(n_features):
        draw = rng.standard_gamma(1.0 + column % 5, n_rows, dtype=np.float32)
        if column < n_counts:
            X[:, column] = np.floor(draw * (0.5 + column % 4))
        else:
            X[:, column] = draw * query_scale
        if column >= n_features - n_sparse:
            X[rng.random(n_rows, dtype=np.float32) < 0.85, column] = 0.0
    return X


def relevance(X: np.ndarray) -> np.ndarray:
    """What the labels are cut from: a few of the features, two by two."""
    spread = X[:: max(1, len(X) // 10_000)].std(axis=0) + 1e-6
    parts = np.linspace(0, X.shape[1] - 1, 12).astype(int)
    a = [X[:, part] / spread[part] for part in parts]
    value = a[0] + a[3] * (a[1] > 1) + np.sqrt(a[4] * a[5]) - 0.5 * a[6] + np.minimum(a[7], a[8])
    return value + 0.7 * a[10] + 0.7 * a[11]


def many_terms(X: np.ndarray, n_terms: int = 100) -> np.ndarray:
    """Another: products of one to three of all features, with the spread of `relevance`."""
    rng = np.random.default_rng(42)
    Z = np.log1p(X)
    sample = Z[:: max(1, len(X) // 10_000)]
    Z -= sample.mean(axis=0)
    Z /= sample.std(axis=0) + 1e-6
    value = np.zeros(len(X), np.float32)
    for _ in range(n_terms):
        features = rng.integers(0, X.shape[1], rng.integers(1, 4))
        value += np.float32(rng.uniform(-1, 1)) * Z[:, features].prod(axis=1)
    return 3.0 * value / value[:200_000].std()


def labels(
    X: np.ndarray,
    seed: int = 0,
    noise: float = NOISE,
    shares: tuple[float, ...] = LABEL_SHARES,
    truth: Callable[[np.ndarray], np.ndarray] = relevance,
) -> np.ndarray:
    """Labels 0–4 of the rows, with Gaussian noise of a scale, and the shares of the labels 0–3."""
    rng = np.random.default_rng((seed, 1))
    value = truth(X) + noise * rng.standard_normal(len(X), dtype=np.float32)
    cuts = np.quantile(value[:200_000], np.cumsum(shares))
    return np.searchsorted(cuts, value).astype(np.float64)


def dataset(
    n_queries: int,
    n_docs: int = N_DOCS,
    n_features: int = N_FEATURES,
    seed: int = 0,
    noise: float = NOISE,
    shares: tuple[float, ...] = LABEL_SHARES,
    truth: Callable[[np.ndarray], np.ndarray] = relevance,
) -> rk.Dataset:
    """Labelled queries."""
    X = matrix(n_queries, n_docs, n_features, seed)
    return rk.Dataset(
        X, labels(X, seed, noise, shares, truth), qid=np.repeat(np.arange(n_queries), n_docs)
    )
