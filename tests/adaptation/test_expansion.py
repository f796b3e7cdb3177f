"""Growing a training set by documents that are near to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankinite as rk
from rankinite.adaptation._expansion_kernels import find_nearest
from rankinite.adaptation.expansion import _panels, _rests, label_entropies
from rankinite.order.canonical import canonical
from tests.naive import expansion as naive


def pair_of_sets(seed=0, n_features=4):
    """A small set of 12 queries and a larger one of 30, ten documents each."""
    rng = np.random.default_rng(seed)
    sets = []
    for n_queries in (12, 30):
        X = rng.normal(size=(10 * n_queries, n_features)) * 10.0 ** np.arange(n_features)
        y = rng.choice(3, 10 * n_queries, p=[0.7, 0.2, 0.1])
        sets.append(rk.Dataset(X, y, qid=np.arange(n_queries).repeat(10)))
    return sets


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    st.integers(0, 1000), st.integers(1, 9), st.integers(1, 4), st.floats(0.01, 0.6), st.booleans()
)
def test_against_the_twin(seed, n_features, n_neighbors, max_distance, label_match):
    little, large = pair_of_sets(seed, n_features)
    grown = rk.expand(
        little, large, seed_fraction=1.0, n_neighbors=n_neighbors, max_distance=max_distance,
        label_match=label_match,
    )  # fmt: skip
    mixed = np.array([naive.entropy(y.tolist()) > 0 for y in little.y.reshape(12, 10)])
    # Of equally near seeds the first counts, in the order of their content.
    seeds = np.array([row for row in canonical(little).rows if mixed[row // 10]])
    mine, theirs = (naive.standardised(data.X, little.X) for data in (little, large))
    expected = naive.selected(
        mine[seeds], little.y[seeds], theirs, large.y, n_neighbors, max_distance, label_match
    )
    assert grown.rows.tolist() == expected
    assert grown.n_seed_rows == len(seeds)


def nearest(rows, seeds, n_neighbors, limit):
    """What the kernel finds, for rows and seeds as they are."""
    padded = np.zeros((-(-len(rows) // 4) * 4, rows.shape[1]))
    padded[: len(rows)] = rows
    similarities = np.empty((len(padded), n_neighbors))
    found = np.empty((len(padded), n_neighbors), np.int64)
    panels, rests = _panels(seeds)
    find_nearest(
        padded.ravel(), _rests(padded), rows.shape[1], panels, rests, limit, similarities, found
    )
    assert (found[len(rows) :] == -1).all()
    return similarities[: len(rows)], found[: len(rows)]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    st.integers(0, 100), st.integers(1, 21), st.integers(1, 37), st.integers(1, 5),
    st.sampled_from([1, 3, 15, 16, 17, 33, 50]), st.sampled_from([0.5, 2.0, 6.0]),
)  # fmt: skip
def test_nearest_of_many_equal_products(seed, n_rows, n_seeds, n_neighbors, n_features, limit):
    rng = np.random.default_rng(seed)
    rows, seeds = (rng.integers(-1, 2, (n, n_features)).astype(float) for n in (n_rows, n_seeds))
    similarities, found = nearest(rows, seeds, n_neighbors, limit)
    products = rows @ seeds.T
    for row in range(n_rows):
        order = np.argsort(-products[row], kind="stable")
        order = order[products[row, order] >= limit][:n_neighbors]
        assert found[row, : len(order)].tolist() == order.tolist()
        assert similarities[row, : len(order)].tolist() == products[row, order].tolist()
        assert (found[row, len(order) :] == -1).all()


@pytest.mark.parametrize("limit", [0.3, 0.7, 0.97])
def test_nearest_of_unit_vectors_with_many_features(limit):
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(9, 70))
    rows, seeds = (
        centres[rng.integers(0, 9, n)] + 0.3 * rng.normal(size=(n, 70)) for n in (203, 301)
    )
    for some in (rows, seeds):
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    _, found = nearest(rows, seeds, 3, limit)
    products = rows @ seeds.T
    order = np.argsort(-products, axis=1)[:, :3]
    near = np.take_along_axis(products, order, axis=1) >= limit
    assert near.any() == (limit < 0.97)
    np.testing.assert_array_equal(found, np.where(near, order, -1))


def test_entropies():
    labels = [0, 0, 0, 0, 0, 1, 1, 0, 2, 2, 4, 3, 0]
    data = rk.Dataset(np.arange(13.0)[:, None], labels, qid=[7] * 4 + [8] * 5 + [9] * 4)
    order = canonical(data)
    expected = {0: labels[:4], 1: labels[4:9], 2: labels[9:]}
    for query, value in zip(order.queries, label_entropies(order), strict=True):
        assert value == pytest.approx(naive.entropy(expected[query]), abs=1e-11)


def test_seeds_are_the_queries_of_least_entropy_that_have_different_labels():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    features = np.concatenate([X, X @ [[0.6, 0.8], [-0.8, 0.6]], X])
    # The first query has one label only, the second has one document that differs, the third two.
    labels = [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0]
    target = rk.Dataset(features, labels, qid=np.repeat([1, 2, 3], 4))
    background = rk.Dataset(features[4:8] * 5, [1, 0, 0, 0], qid=[1] * 4)
    other = rk.Dataset(features[:4], [0, 0, 0, 0], qid=[1] * 4)
    options = {"n_seed_queries": 1, "n_neighbors": 1, "max_distance": 0.01}
    assert rk.expand(target, background, **options).rows.tolist() == [0, 1, 2, 3]
    assert rk.expand(target, other, **options).n_rows == 0
    assert rk.expand(target, other, n_seed_queries=5, n_neighbors=1).n_seed_queries == 2


def test_what_it_gives():
    little, large = pair_of_sets(n_features=3)
    weighted = rk.Dataset(
        large.X, large.y, qid=large.qids.repeat(10), weight=np.linspace(1, 2, 300),
        query_weight=np.linspace(3, 4, 30), feature_names=["a", "b", "c"],
    )  # fmt: skip
    grown = rk.expand(little, weighted, max_distance=0.1)
    data, n = grown.dataset, little.n_rows
    assert 0 < grown.n_rows < large.n_rows
    assert data.n_rows == n + grown.n_rows and data.n_queries == 12 + grown.n_queries
    assert np.array_equal(data.X[:n], little.X) and np.array_equal(data.y[:n], little.y)
    assert np.array_equal(data.X[n:], large.X[grown.rows])
    assert np.array_equal(data.y[n:], large.y[grown.rows])
    assert (data.weight[:n] == 1).all()
    assert np.array_equal(data.weight[n:], weighted.weight[grown.rows])
    queries = np.unique(grown.rows // 10)
    assert np.array_equal(data.query_weight[12:], weighted.query_weight[queries])
    assert np.array_equal(data.query_sizes[12:], np.bincount(grown.rows // 10)[queries])
    assert data.feature_names == ["a", "b", "c"]
    assert len(set(data.qids.tolist())) == data.n_queries
    assert sum(numbers["selected"] for numbers in grown.counts.values()) == grown.n_rows
    assert "selected" in str(grown) and f"{grown.n_rows} rows" in str(grown)
    rk.LambdaMART(n_estimators=2).fit(data, valid=little)


def test_ids_of_queries():
    little, large = pair_of_sets(n_features=2)

    def ids(ours, theirs):
        a = rk.Dataset(little.X, little.y, qid=np.repeat(ours, 10))
        b = rk.Dataset(large.X, large.y, qid=np.repeat(theirs, 10))
        return rk.expand(a, b, max_distance=0.1).dataset.qids

    kept = ids(np.arange(12), np.arange(100, 130))
    assert kept.dtype.kind == "i" and set(kept[12:]) <= set(range(100, 130))
    renamed = ids(np.arange(12), np.arange(30))
    assert renamed[:12].tolist() == [str(i) for i in range(12)]
    assert all(qid.startswith("background:") for qid in renamed[12:])
    mixed = ids([f"x{i}" for i in range(12)], np.arange(30))
    assert len(set(mixed.tolist())) == len(mixed)
    again = ids([f"background:{i}" for i in range(12)], [f"background:{i}" for i in range(30)])
    assert len(set(again.tolist())) == len(again)


def test_nothing_near():
    little, large = pair_of_sets(n_features=8)
    grown = rk.expand(little, large, max_distance=1e-6)
    assert grown.n_rows == grown.n_queries == 0
    assert np.array_equal(grown.dataset.X, little.X)
    assert grown.dataset.n_queries == little.n_queries


def test_a_document_is_near_to_itself():
    little, _ = pair_of_sets(n_features=8)
    grown = rk.expand(little, little, seed_fraction=1.0, n_neighbors=1, max_distance=1e-15)
    assert grown.n_rows == grown.n_seed_rows


@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_the_order_of_rows_matter(seed):
    little, large = pair_of_sets(seed, n_features=3)
    little.X[:] = np.sign(little.X)  # so that many are equally near
    first = rk.expand(little, large, n_seed_queries=5, max_distance=0.2, n_threads=1)
    again = rk.expand(little, large, n_seed_queries=5, max_distance=0.2, n_threads=2)
    assert np.array_equal(first.rows, again.rows) and first.n_rows > 0
    rng = np.random.default_rng(seed)
    queries, documents = rng.permutation(12), rng.permutation(10)
    shuffled = (queries[:, None] * 10 + documents).ravel()
    little = rk.Dataset(little.X[shuffled], little.y[shuffled], qid=shuffled // 10)
    order = rng.permutation(300)
    with pytest.warns(rk.RankiniteWarning):
        large = rk.Dataset(large.X[order], large.y[order], qid=order // 10)
    moved = rk.expand(little, large, n_seed_queries=5, max_distance=0.2)
    assert np.array_equal(np.sort(order[moved.rows]), first.rows)


def test_documents_without_weight_are_no_seeds():
    little, large = pair_of_sets(n_features=3)
    weight = np.ones(120)
    weight[::2] = 0
    part = rk.Dataset(little.X[1::2], little.y[1::2], qid=np.arange(60) // 5)
    whole = rk.Dataset(little.X, little.y, qid=np.arange(120) // 10, weight=weight)
    found, expected = (rk.expand(data, large, seed_fraction=1.0) for data in (whole, part))
    assert found.n_seed_rows == expected.n_seed_rows
    assert np.array_equal(found.rows, expected.rows)


def test_missing_and_infinite_values_and_constant_features():
    little, large = pair_of_sets(n_features=4)
    for data in (little, large):
        data.X[:, 0] = 3.0
        data.X[::7, 1] = np.nan
    little.X[5, 2], large.X[0, 2] = np.inf, -np.inf
    large.X[1] = np.nan
    grown = rk.expand(little, large, max_distance=0.2, label_match=False)
    assert grown.n_rows > 0 and 1 not in grown.rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_distance": 0.0}, "max_distance must be above 0"),
        ({"max_distance": -0.1}, "max_distance"),
        ({"max_distance": 1.0}, "below 1"),
        ({"max_distance": float("nan")}, "max_distance"),
        ({"max_distance": "near"}, "max_distance"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number"),
        ({"n_neighbors": 2.5}, "n_neighbors"),
        ({"n_seed_queries": 0}, "n_seed_queries"),
        ({"seed_fraction": 0.0}, "seed_fraction"),
        ({"seed_fraction": 1.5}, "seed_fraction"),
        ({"seed_fraction": 0.5, "n_seed_queries": 3}, "pass one of them"),
        ({"random_state": -1}, "random_state"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(rk.ParameterError, match=message):
        rk.expand(*pair_of_sets(), **options)


def test_wrong_data():
    little, large = pair_of_sets()
    qid = np.arange(300) // 10
    with pytest.raises(rk.DataError, match="3 features"):
        rk.expand(little, rk.Dataset(large.X[:, :3], large.y, qid=qid))
    with pytest.raises(rk.DataError, match="background data has no labels"):
        rk.expand(little, rk.Dataset(large.X, qid=qid))
    with pytest.raises(rk.DataError, match="target data has no labels"):
        rk.expand(rk.Dataset(little.X, qid=qid[:120]), large)
    named = [
        rk.Dataset(data.X, data.y, qid=qid[: data.n_rows], feature_names=names)
        for data, names in ((little, list("abcd")), (large, list("abdc")))
    ]
    with pytest.raises(rk.DataError, match="feature 3 'd'"):
        rk.expand(*named)
    with pytest.raises(rk.DataError, match="no seeds"):
        rk.expand(rk.Dataset(little.X, np.zeros(120), qid=qid[:120]), large)
    with pytest.raises(rk.DataError, match="fewer than n_neighbors=30"):
        rk.expand(little, large, n_seed_queries=1, n_neighbors=30)


def test_bins_are_not_enough(tmp_path):
    little, large = pair_of_sets()
    large.save(tmp_path / "large.bins")
    with pytest.raises(rk.DataError, match="background data holds only bins"):
        rk.expand(little, rk.read(tmp_path / "large.bins"))
