"""The sample of queries: whole, of the size asked for, and the same however the data comes."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankinite as rk
from rankinite.binning import sampling
from tests.subjects import quiet, saved


def offsets_of(sizes):
    return np.concatenate([[0], np.cumsum(sizes)])


def drawn_one_by_one(qids, rows):
    """The twin: take the queries in the order of their keys until there are rows enough.

    `rows` holds a truth value for each row of each query: whether it counts.
    """

    def key(query):
        digest = hashlib.blake2b(str(qids[query]).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little")

    chosen, n_rows, last = set(), 0, None
    for query in sorted(range(len(qids)), key=key):
        if n_rows >= sampling.SAMPLE_ROWS and key(query) != last:
            break
        chosen.add(query)
        n_rows += sum(rows[query])
        last = key(query)
    flat = [(query, counts) for query, own in enumerate(rows) for counts in own]
    return [row for row, (query, counts) in enumerate(flat) if counts and query in chosen]


QUERIES = st.lists(st.lists(st.booleans(), min_size=1, max_size=9), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(QUERIES, st.integers(1, 120), st.booleans())
def test_against_the_twin(rows, wanted, collide):
    qids = np.arange(len(rows)) * 7 - 20
    if collide:  # An id that comes twice stands for two ids of one key.
        qids //= 14
    counts = np.concatenate([np.array(own) for own in rows])
    offsets = offsets_of([len(own) for own in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "SAMPLE_ROWS", wanted)
        found = sampling.sampled_rows(qids, offsets, counts)
        assert found.tolist() == drawn_one_by_one(qids, rows)
        sizes = np.array([sum(own) for own in rows])
        keys = sampling.query_keys(qids)
        limits = [int(sampling.largest_key(keys[:n], sizes[:n])) for n in range(1, len(rows) + 1)]
        assert limits == sorted(limits, reverse=True)


def test_keys_are_those_of_the_ids():
    numbers = np.array([7, -3, 0, 2**40])
    expected = sampling.query_keys(numbers)
    assert len(np.unique(expected)) == 4
    texts = [str(number) for number in numbers]
    as_objects = np.array([*texts, None], dtype=object)[:-1]
    for ids in (np.array(texts), as_objects, np.array(texts, dtype="S"), numbers.astype(object)):
        assert sampling.query_keys(ids).tolist() == expected.tolist()
    others = np.array(["07", "größe", "\udce9", ("a", 1), 7.0, ""], dtype=object)
    assert len(set(sampling.query_keys(others).tolist()) | set(expected.tolist())) == 10


def test_the_sample_has_about_the_number_of_rows_asked_for(monkeypatch):
    offsets = offsets_of(np.full(100, 10))
    for wanted, expected in ((2000, 100), (1000, 100), (999, 100), (500, 50), (10, 1), (3, 1)):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", wanted)
        assert len(sampling.sampled_rows(np.arange(100), offsets)) == 10 * expected


def test_the_sample_is_spread_over_the_data(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 10_000)
    found = sampling.sampled_rows(np.arange(10_000), offsets_of(np.full(10_000, 10)))
    assert len(found) == 10_000
    counts = np.histogram(found, bins=10, range=(0, 100_000))[0]
    assert counts.min() > 600
    assert counts.max() < 1400


N_QUERIES, N_DOCS = 2100, 100


def large():
    """More rows than a sample has, of more values than bins; whole numbers, quick to write."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100_000, (N_QUERIES * N_DOCS, 2)).astype(np.float64)
    y = (X[:, 0] > 70_000).astype(float)
    return X, y, np.repeat(np.arange(N_QUERIES) + 10, N_DOCS)


def small_model():
    return rk.LambdaMART(n_estimators=2, max_leaf_nodes=4)


def test_the_order_of_many_queries_does_not_matter(tmp_path):
    X, y, qid = large()
    assert len(y) > sampling.SAMPLE_ROWS
    data = rk.Dataset(X, y, qid=qid)
    expected = saved(small_model().fit(data), tmp_path)
    queries = np.random.default_rng(1).permutation(N_QUERIES)
    shuffled = data.select_queries(queries)
    assert saved(small_model().fit(shuffled), tmp_path) == expected
    # Rows of weight 0, among them whole queries, are absent from the sample too.
    more = np.concatenate([X, 1e6 + X[:30_000]])
    weight = np.append(np.ones(len(X)), np.zeros(30_000))
    others = np.repeat(np.arange(300) + 2000, 100)
    weighed = quiet(more, np.append(y, y[:30_000]), qid=np.append(qid, others), weight=weight)
    assert saved(small_model().fit(weighed), tmp_path) == expected

    def chunks():
        ids = np.repeat(shuffled.qids, N_DOCS).astype(str)
        for part in np.array_split(np.arange(len(ids)), 5):
            yield shuffled.X[part], shuffled.y[part], ids[part]

    assert saved(small_model().fit(rk.Dataset.from_chunks(chunks)), tmp_path) == expected


def test_text_of_many_queries_is_as_in_memory(tmp_path):
    X, y, qid = large()
    data = rk.Dataset(X, y, qid=qid)
    expected = saved(small_model().fit(data), tmp_path)
    shuffled = data.select_queries(np.random.default_rng(2).permutation(N_QUERIES))
    rk.write_svmlight(shuffled, tmp_path / "train.txt")
    for options in ({}, {"max_bins": 255}):
        model = small_model().fit(rk.read(tmp_path / "train.txt", **options))
        assert saved(model, tmp_path) == expected
