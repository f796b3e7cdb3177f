"""An artificial ranking problem of any size, made of a random cubic polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from rankinite.data.dataset import Dataset
from rankinite.errors import ParameterError

# Fractions of the labels 0 to 4, as skewed as those of judged web search results.
LABEL_SHARES = (0.56, 0.25, 0.13, 0.045, 0.015)
_REFERENCE_ROWS = 200_000  # the sample whose quantiles are the cut points
_BLOCK_ROWS = 8192  # rows evaluated at a time: a block's intermediate values stay in cache
_DEGREE = 3
# What the streams of random numbers that come from one seed are for.
_SHARED_TERMS, _OWN_TERMS, _REFERENCE, _DOCUMENTS, _NOISE = range(5)


@overload
def artificial(
    n_queries: int,
    n_docs: int = ...,
    n_features: int = ...,
    *,
    n_terms: int = ...,
    width: float = ...,
    label_noise: float = ...,
    random_state: int = ...,
    market: int = ...,
    shared: float = ...,
) -> Dataset: ...


@overload
def artificial(
    n_queries: Sequence[int] = ...,
    n_docs: int = ...,
    n_features: int = ...,
    *,
    n_terms: int = ...,
    width: float = ...,
    label_noise: float = ...,
    random_state: int = ...,
    market: int = ...,
    shared: float = ...,
) -> tuple[Dataset, ...]: ...


def artificial(
    n_queries: int | Sequence[int] = (10_000, 5_000, 10_000),
    n_docs: int = 50,
    n_features: int = 50,
    *,
    n_terms: int = 100,
    width: float = 1.0,
    label_noise: float = 0.0,
    random_state: int = 0,
    market: int = 0,
    shared: float = 1.0,
) -> Dataset | tuple[Dataset, ...]:
    """Make ranking data whose labels come from a random polynomial of degree three.

    Documents are uniform in [-width, width]^n_features (float32). The polynomial has `n_terms`
    monomials; each has degree 1, 2 or 3 with equal probability, features drawn with replacement,
    and a coefficient uniform in [-1, 1]. Its values become labels 0 to 4 at cut points that leave
    56, 25, 13, 4.5 and 1.5 percent of all documents in them; the cut points are quantiles on a
    reference sample of its own, so they depend on the polynomial alone.

    Parameters
    ----------
    n_queries : int or sequence of int
        Queries of each dataset (say train, valid and test): the polynomial is the same, the
        documents are independent. Dataset i depends neither on the number nor on the size of
        the others.
    n_docs : int
        Documents of each query.
    n_features : int
    n_terms : int
        Number of monomials.
    width : float
        The wider, the more the terms of higher degree count. At √3 the features have variance 1,
        and so has every monomial of different features; at 1 those of degree 1, 2 and 3 have
        1/3, 1/9 and 1/27.
    label_noise : float
        Probability that a label moves one step up or down (and stays within 0 to 4).
    random_state : int
        Seed; the same arguments give the same bytes.
    market : int
        Markets have documents of their own and related polynomials.
    shared : float
        Fraction of the monomials that all markets of a seed have in common.

    Returns
    -------
    Dataset, or tuple of Dataset
        One for each entry of `n_queries`; not in a tuple if that is an integer.

    Examples
    --------
    >>> train, test = artificial(n_queries=(20, 10), n_docs=5, n_features=8)
    >>> train.n_rows, test.n_queries
    (100, 10)
    """
    sizes = [n_queries] if isinstance(n_queries, int | np.integer) else list(n_queries)
    for size in sizes:
        _check("n_queries", size, 1)
    for name, value in (("n_docs", n_docs), ("n_features", n_features), ("n_terms", n_terms)):
        _check(name, value, 1)
    for name, value in (("random_state", random_state), ("market", market)):
        _check(name, value, 0)
    for name, fraction in (("label_noise", label_noise), ("shared", shared)):
        if not 0 <= fraction <= 1:
            raise ParameterError(f"{name} must lie between 0 and 1, got {fraction!r}")
    if not 0 < width < np.inf:
        raise ParameterError(f"width must be a number above 0, got {width!r}")
    polynomial = _Polynomial.draw(n_features, n_terms, random_state, market, shared)
    cuts = polynomial.cut_points(random_state, width)
    datasets = []
    for part, size in enumerate(sizes):
        rng = _stream(random_state, _DOCUMENTS, market, part)
        X = _uniform(rng, size * n_docs, n_features, width)
        labels = np.searchsorted(cuts, polynomial(X), side="right").astype(np.float64)
        noise = _stream(random_state, _NOISE, market, part)
        _add_noise(labels, label_noise, noise)
        datasets.append(Dataset(X, labels, qid=np.repeat(np.arange(size), n_docs)))
    return datasets[0] if isinstance(n_queries, int | np.integer) else tuple(datasets)


def _check(name: str, value: int, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be an integer of at least {least}, got {value!r}")


class _Polynomial:
    """A sum of monomials of degree at most three.

    Attributes
    ----------
    factors : int array (n_terms, 3)
        The features of each monomial; `n_features` stands for the constant 1.
    coefficients : float64 array (n_terms,)
    """

    def __init__(self, factors: np.ndarray, coefficients: np.ndarray, n_features: int) -> None:
        self.factors, self.coefficients, self.n_features = factors, coefficients, n_features

    @classmethod
    def draw(
        cls, n_features: int, n_terms: int, random_state: int, market: int, shared: float
    ) -> _Polynomial:
        """Draw the monomials: the first are those of all markets, the rest the market's own."""
        n_shared = round(shared * n_terms)
        common = _terms(_stream(random_state, _SHARED_TERMS), n_terms, n_features)
        own = _terms(_stream(random_state, _OWN_TERMS, market), n_terms, n_features)
        factors, coefficients = (
            np.concatenate([theirs[:n_shared], mine[n_shared:]])
            for theirs, mine in zip(common, own, strict=True)
        )
        return cls(factors, coefficients, n_features)

    def cut_points(self, random_state: int, width: float) -> np.ndarray:
        """Values between the labels: float64 array (4,)."""
        rng = _stream(random_state, _REFERENCE)
        sample = _uniform(rng, _REFERENCE_ROWS, self.n_features, width)
        return np.quantile(self(sample), np.cumsum(LABEL_SHARES)[:-1])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values at the rows of X: float64 array (n_rows,)."""
        values = np.empty(len(X))
        for start in range(0, len(X), _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            columns = np.ones((self.n_features + 1, len(block)))
            columns[:-1] = block.T
            total = np.zeros(len(block))
            for (i, j, k), coefficient in zip(self.factors, self.coefficients, strict=True):
                total += coefficient * columns[i] * columns[j] * columns[k]
            values[start : start + _BLOCK_ROWS] = total
        return values


def _terms(rng: np.random.Generator, n_terms: int, n_features: int) -> tuple[np.ndarray, ...]:
    degrees = rng.integers(1, _DEGREE + 1, size=n_terms)
    factors = rng.integers(0, n_features, size=(n_terms, _DEGREE))
    factors[np.arange(_DEGREE) >= degrees[:, None]] = n_features
    return factors, rng.uniform(-1, 1, size=n_terms)


def _stream(random_state: int, *purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=purpose))


def _uniform(rng: np.random.Generator, n_rows: int, n_features: int, width: float) -> np.ndarray:
    X = rng.random((n_rows, n_features), dtype=np.float32)
    X *= 2 * width
    X -= width
    return X


def _add_noise(labels: np.ndarray, probability: float, rng: np.random.Generator) -> None:
    if probability > 0:
        moved = rng.random(len(labels)) < probability
        steps = rng.choice([-1.0, 1.0], size=len(labels))
        labels[moved] = np.clip(labels + steps, 0, len(LABEL_SHARES) - 1)[moved]
