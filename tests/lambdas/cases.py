"""Queries of every awkward shape, and the kernels' λs beside those of the twin."""

from __future__ import annotations

import numpy as np

from rankinite.lambdas import LambdaGradients
from rankinite.measures import measure
from rankinite.order.seeds import derive_seed
from tests.naive import lambdas as naive


def some_queries(seed=0, n_random=6, largest=12):
    """Labels and scores of queries: random ones with ties, and the degenerate ones.

    Every query with different labels has a 4, so that ERR's scale is the same for the twin,
    which sees one query at a time.
    """
    rng = np.random.default_rng(seed)
    labels = [np.array([4.0]), np.array([0.0]), np.zeros(3), np.full(4, 4.0), np.array([0.0, 4.0])]
    for _ in range(n_random):
        own = rng.integers(0, 5, rng.integers(3, largest + 1)).astype(np.float64)
        own[rng.integers(len(own))] = 4.0
        labels.append(own)
    scores = [rng.normal(scale=2.0, size=len(own)).round(1) for own in labels]
    return labels, scores


def assert_close(found, expected, factor=1.0):
    """λ and w are right to 2e-6 of the largest λ or w there is, times `factor`.

    A pair's force is a float32, rounded to a unit that is at most 2^-20 of the largest force of its
    query; a document sums a handful here, and the errors do not lean to one side.
    """
    atol = 2e-6 * factor * max(np.abs(expected[0]).max(), np.abs(expected[1]).max())
    for name, a, b in zip(("λ", "w"), found, expected, strict=True):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=name)


def random_keys(n, seed=0):
    return np.random.default_rng([seed, n]).integers(0, 2**64, n, np.uint64)


def gradients(spec, labels, keys=None, **options):
    """LambdaGradients of a list of queries; `spec` is a measure or its name."""
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in labels])]).astype(np.int64)
    keys = random_keys(offsets[-1]) if keys is None else keys
    own = measure(spec) if isinstance(spec, str) else spec
    return LambdaGradients(own, np.concatenate(labels), offsets, keys, **options)


def lambdas_of(spec, labels, scores, **options):
    """λ and w of a single query in round 0."""
    labels, scores = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    return gradients(spec, [labels], **options)(scores, 0)


def twin_lambdas(twin, labels, scores, keys=None, round_number=0, seed=0, **options):
    """The same as `gradients(...)(scores, round_number)`, query by query, by the twin."""
    keys = random_keys(sum(map(len, labels))) if keys is None else keys
    ties = derive_seed(seed, round_number, "ties")
    first, found = 0, []
    for own_labels, own_scores in zip(labels, scores, strict=True):
        own_keys = keys[first : first + len(own_labels)]
        order = naive.ranking(own_scores, own_keys, ties)
        found.append(naive.lambdas(twin, list(own_labels), list(own_scores), order, **options))
        first += len(own_labels)
    return np.concatenate([lam for lam, _ in found]), np.concatenate([w for _, w in found])
