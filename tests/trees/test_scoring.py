"""Raw features, bins and known leaves give the same scores, bit for bit."""

import numpy as np
import pytest

from rankinite._numba import threads
from rankinite.binning import apply_mapper
from rankinite.errors import DataError
from rankinite.trees import (
    Forest,
    add_grown_tree,
    add_tree,
    bins_of_thresholds,
    layout,
    score_binned,
    score_features,
    scoring,
)
from rankinite.trees.scoring import SERIAL_ROWS, leaves_of, rows_in_leaves
from tests.naive import trees as naive
from tests.trees.cases import arrays_of, binned_of, bins_of, grow, packed_of, problem_of

both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def awkward_features(n, dtype, seed=0):
    """Heavy ties, wide ranges, neighbours in floating point, missing and infinite values."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 18), dtype)
    X[:] = rng.normal(size=(n, 18))
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = 1 + np.finfo(dtype).eps * rng.integers(0, 5, n)
    X[:, 3] = rng.choice([-np.finfo(dtype).max, 0, np.finfo(dtype).max], n)
    X[:, 4] = np.finfo(dtype).smallest_subnormal * rng.integers(-3, 4, n).astype(dtype)
    X[:, 5] = np.nan
    X[:, 6] = np.where(rng.random(n) < 0.5, np.nan, 1.0)
    X[:, 7] = rng.choice([-0.0, 0.0], n)
    special = rng.random(X.shape)
    X[special < 0.06] = np.nan
    X[(special > 0.06) & (special < 0.1)] = np.inf
    X[(special > 0.1) & (special < 0.14)] = -np.inf
    return X


GROWTHS = ("best_first", "symmetric")


def forest_on(X, n_trees=6, max_bins=255, max_leaf_nodes=30, growths=GROWTHS):
    """A forest of random targets, grown in each of some ways in turn; its trees, and the bins."""
    rng = np.random.default_rng(1)
    binned = binned_of(X, max_bins)
    options = {"max_leaf_nodes": max_leaf_nodes, "feature_fraction": 0.4, "min_samples_leaf": 3}
    grown = [
        grow(
            binned,
            packed_of(rng.normal(size=len(X))),
            seed,
            growth=growths[seed % len(growths)],
            **options,
        )
        for seed in range(n_trees)
    ]
    trees = [one.tree.with_values(rng.normal(size=one.tree.n_leaves)) for one in grown]
    return Forest.from_trees(trees), grown, trees, binned


@pytest.fixture(autouse=True, params=["walked", "by planes"])
def way_of_binned_rows(request, monkeypatch):
    """Few binned rows are walked, many go by planes: these tests take either way."""
    for limit in ("WALKED_TREES", "WALKED_ROWS"):
        monkeypatch.setattr(scoring, limit, 10**9 if request.param == "walked" else -1)


@both_dtypes
@pytest.mark.parametrize("max_bins", [4, 255])
@pytest.mark.parametrize("n", [SERIAL_ROWS, SERIAL_ROWS + 1])
def test_raw_binned_and_known_leaves_agree(dtype, max_bins, n):
    X = awkward_features(n, dtype)
    forest, grown, trees, binned = forest_on(X, max_bins=max_bins)
    assert len(np.unique(forest.feature)) > 8
    known = np.full(n, 0.25)
    for one, tree in zip(grown, trees, strict=True):
        add_grown_tree(one, tree.value, known)
        assert one.leaf_of.dtype == np.int32
        assert leaves_of(one.tree, binned).tobytes() == one.leaf_of.tobytes()
    walked = np.full(n, 0.25)
    for tree in trees:
        add_tree(tree, binned, walked)
    for scores in (
        walked,
        score_features(forest, X, 0.25),
        score_binned(forest, binned, 0.25),
        score_features(forest, X.astype(np.float64), np.full(n, 0.25)),
    ):
        assert scores.tobytes() == known.tobytes()


@pytest.mark.parametrize("n", [0, 1, SERIAL_ROWS, SERIAL_ROWS + 1, 5003])
def test_the_rows_of_leaves_are_counted(n):
    leaf_of = np.random.default_rng(n).integers(0, 7, n).astype(np.int32)
    expected = [int((leaf_of == leaf).sum()) for leaf in range(9)]
    for n_threads in (1, 2, 5):
        with threads(n_threads):
            assert rows_in_leaves(leaf_of, 9).tolist() == expected


@both_dtypes
def test_new_rows_at_and_beside_the_thresholds(dtype):
    forest, _, _, binned = forest_on(awkward_features(300, dtype))
    rng = np.random.default_rng(5)
    X = awkward_features(400, dtype, seed=9)
    edges = binned.mapper
    for feature in range(18):
        own = edges.feature_edges(feature).astype(dtype)
        if len(own):
            chosen = rng.choice(own, 400)
            beside = rng.choice([-np.inf, np.inf], 400).astype(dtype)
            with np.errstate(over="ignore"):
                neighbour = np.nextafter(chosen, beside)
            X[:, feature] = np.where(rng.random(400) < 0.5, chosen, neighbour)
    raw = score_features(forest, X)
    assert raw.tobytes() == score_binned(forest, apply_mapper(X, edges)).tobytes()
    assert len(np.unique(raw)) > 100


@both_dtypes
@pytest.mark.parametrize("n", [1, 10, 40, 200, 1500])
@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 4, 8, 15, 32, 64, 255, 256, 400])
def test_trees_of_few_different_splits_by_patterns(dtype, n, max_leaf_nodes, monkeypatch):
    """One or two bytes of bits, and a table; or as any tree, if there may be no patterns."""
    X = awkward_features(2000, dtype)
    many = {"n_trees": 5, "max_leaf_nodes": max_leaf_nodes}
    forest, _, trees, _ = forest_on(X, **many, growths=("symmetric",))
    rows = awkward_features(n, dtype, seed=4)
    n_patterns = np.diff(forest.scorer.layout.pattern_starts)
    found = score_features(forest, rows)
    if max_leaf_nodes in (4, 8, 15, 32, 64, 255):
        assert (n_patterns > 0).sum() > 0
    monkeypatch.setattr(layout, "_MOST_SPLITS", 0)
    plain = Forest.from_trees(trees)
    assert (np.diff(plain.scorer.layout.pattern_starts) == 0).all()
    assert score_features(plain, rows).tobytes() == found.tobytes()


def test_patterns_of_one_byte_and_of_two():
    forest, *_ = forest_on(awkward_features(3000, np.float64), 20, max_leaf_nodes=300)
    layout = forest.scorer.layout
    n_planes, n_patterns = np.diff(layout.plane_starts), np.diff(layout.pattern_starts)
    bits = np.log2(np.maximum(n_patterns, 1))
    assert ((bits > 8) & (n_planes == 2)).any() and bits.max() <= 12
    assert (n_planes[n_patterns == 0] > 2).all() and (n_patterns == 0).any()
    small, *_ = forest_on(awkward_features(3000, np.float64), 4, growths=("symmetric",))
    assert (np.diff(small.scorer.layout.plane_starts) == 1).all()


def test_equals_walking_by_hand():
    X = awkward_features(120, np.float64)
    binned = binned_of(X)
    packed = packed_of(np.random.default_rng(3).normal(size=120))
    twin = naive.grow(problem_of(binned, packed), 7)
    tree = grow(binned, packed, max_leaf_nodes=7).tree
    value = np.arange(7.0) ** 2
    expected = [value[twin.leaf_of(row)] for row in bins_of(binned)]
    forest = Forest.from_trees([tree.with_values(value)])
    np.testing.assert_array_equal(score_features(forest, X), expected)


def test_many_rows_on_one_thread_and_two():
    X = awkward_features(3000, np.float64)
    forest, _, _, binned = forest_on(X)
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            found.append(
                (score_features(forest, X).tobytes(), score_binned(forest, binned).tobytes())
            )
    assert found[0] == found[1]
    assert found[0][0] == found[0][1]


def test_no_trees_and_trees_of_one_leaf():
    X = np.arange(6.0).reshape(3, 2)
    start = np.array([1.0, 2.0, 3.0])
    empty = Forest.from_trees([])
    np.testing.assert_array_equal(score_features(empty, X, start), start)
    leaf = grow(binned_of(X), packed_of(np.zeros(3))).tree.with_values([0.5])
    forest = Forest.from_trees([leaf, leaf])
    np.testing.assert_array_equal(score_features(forest, X, start), start + 1)
    np.testing.assert_array_equal(score_binned(forest, binned_of(X), start), start + 1)
    np.testing.assert_array_equal(score_features(forest, X[:0]), [])


def test_bins_of_thresholds_are_those_of_the_growth():
    forest, _, trees, binned = forest_on(awkward_features(300, np.float64))
    bins = bins_of_thresholds(forest, binned.mapper)
    assert bins.dtype == np.uint8
    np.testing.assert_array_equal(bins, np.concatenate([tree.bin for tree in trees]))


def test_other_bins_are_refused():
    X = np.random.default_rng(0).normal(size=(300, 18))
    forest, _, _, _ = forest_on(X)
    other = binned_of(X, max_bins=4)
    with pytest.raises(DataError, match=r"those of feature \d+ are not the bins the model was tra"):
        score_binned(forest, other)


def test_the_seed_alone_decides_a_forest():
    X = awkward_features(200, np.float32)
    first, second = (forest_on(X)[1] for _ in range(2))
    assert [arrays_of(one) for one in first] == [arrays_of(one) for one in second]
