"""The order of queries and documents that is made of their content."""

import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import threads
from rankinite.order._canonical_kernels import value_hashes
from rankinite.order.canonical import canonical
from tests.naive.lambdas import mix as naive_mix
from tests.subjects import quiet

GOLDEN = 0x9E3779B97F4A7C15


def some_rows(seed=0, n_queries=12):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries))
    X = rng.normal(size=(len(qid), 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.0
    return X, rng.integers(0, 3, len(qid)).astype(float), qid, rng.uniform(0.1, 3, len(qid))


def content(dataset):
    """All that training sees, in canonical order."""
    order = canonical(dataset)
    return (
        np.nan_to_num(dataset.X[order.rows], nan=99.0),
        order.labels,
        order.weight,
        order.query_weight,
        order.offsets,
        order.keys,
        order.query_keys,
        np.array([int(order.fingerprint, 16)], np.uint64),
    )


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_hashes_by_their_definition():
    X = some_rows()[0]
    hashes = np.empty(len(X), np.uint64)
    value_hashes(X, hashes)
    for row, values in enumerate(X):
        total = 0
        for j, value in enumerate(values):
            bits = int(np.float64(np.nan if np.isnan(value) else value + 0.0).view(np.uint64))
            total += naive_mix(bits ^ (GOLDEN * (j + 1) % 2**64))
        assert int(hashes[row]) == total % 2**64


@pytest.mark.parametrize("seed", range(3))
def test_order_of_the_rows_does_not_matter(seed):
    X, y, qid, weight = some_rows(seed)
    expected = content(rk.Dataset(X, y, qid=qid, weight=weight))
    order = np.random.default_rng(seed + 10).permutation(len(y))
    shuffled = quiet(X[order], y[order], qid=qid[order], weight=weight[order])
    with threads(2):
        assert_same(content(shuffled), expected)
    renamed = np.array([f"query {q * 7 % 12}" for q in qid])
    assert_same(content(rk.Dataset(X, y, qid=renamed, weight=weight)), expected)


def test_rows_and_queries_belong_together():
    X, y, qid, weight = some_rows()
    dataset = rk.Dataset(X, y, qid=qid, weight=weight)
    order = canonical(dataset)
    assert order.n_queries == 12 and order.n_rows == len(y)
    assert sorted(order.rows) == list(range(len(y)))
    assert (np.diff(order.query_keys.astype(object)) > 0).all()
    np.testing.assert_array_equal(order.labels, y[order.rows])
    for place, query in enumerate(order.queries):
        inside = slice(order.offsets[place], order.offsets[place + 1])
        assert (qid[order.rows[inside]] == dataset.qids[query]).all()
        assert (np.diff(order.labels[inside]) <= 0).all()


def test_values_that_share_a_bin_are_told_apart():
    X = np.zeros((4, 1))
    X[1] = np.nextafter(0.0, 1.0)
    X[3] = -0.0
    keys = canonical(rk.Dataset(X, np.zeros(4), qid=np.zeros(4))).keys
    assert len(np.unique(keys)) == 2


def test_float32_is_float64():
    X, y, qid, _ = some_rows()
    X = X.astype(np.float32)
    assert_same(
        content(rk.Dataset(X, y, qid=qid)), content(rk.Dataset(X.astype(np.float64), y, qid=qid))
    )


def test_weights_count_by_their_ratio():
    X, y, qid, weight = some_rows()
    query_weight = np.arange(1.0, 13.0)
    expected = content(rk.Dataset(X, y, qid=qid, weight=weight, query_weight=query_weight))
    for factor in (8.0, 2.0**-900, 2.0**1000):
        again = rk.Dataset(
            X, y, qid=qid, weight=weight * factor, query_weight=query_weight * factor
        )
        assert_same(content(again), expected)
    assert expected[2].mean() == pytest.approx(1) and expected[3].mean() == pytest.approx(1)
    plain = content(rk.Dataset(X, y, qid=qid))
    ones = np.ones(len(y))
    assert_same(content(rk.Dataset(X, y, qid=qid, weight=ones, query_weight=ones[:12])), plain)
    assert not np.array_equal(plain[5], expected[5])


def test_queries_without_weight_are_absent():
    X, y, qid, _ = some_rows()
    kept = qid % 3 > 0
    query_weight = (np.arange(12) % 3 > 0).astype(float)
    expected = content(rk.Dataset(X[kept], y[kept], qid=qid[kept]))
    for weights in ({"query_weight": query_weight}, {"weight": kept.astype(float)}):
        assert_same(content(rk.Dataset(X, y, qid=qid, **weights).that_count()), expected)


def test_the_fingerprint_sees_everything():
    X, y, qid, weight = some_rows()
    X = np.nan_to_num(X)
    other = X.copy()
    other[3, 2] += 1e-9
    sets = [
        rk.Dataset(X, y, qid=qid),
        rk.Dataset(other, y, qid=qid),
        rk.Dataset(X, y + 1, qid=qid),
        rk.Dataset(X, qid=qid),
        rk.Dataset(X, y, qid=qid, weight=weight),
        rk.Dataset(X, y, qid=qid, query_weight=np.arange(1.0, 13.0)),
        rk.Dataset(X, y, qid=np.arange(len(y))),
    ]
    prints = [canonical(data).fingerprint for data in sets]
    prints.append(canonical(sets[0], X[:, 0]).fingerprint)
    assert len(set(prints)) == len(prints)


def test_only_bins(tmp_path):
    X, y, qid, _ = some_rows()
    rk.Dataset(X, y, qid=qid).save(tmp_path / "bins")
    with pytest.raises(rk.DataError, match="holds only bins, and feature values are needed"):
        canonical(rk.read(tmp_path / "bins"))
