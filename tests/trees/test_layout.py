"""Every way of scoring gives, bit for bit, what walking down the trees by hand gives."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite._numba import threads
from rankinite.binning import BinMapper, BinnedMatrix
from rankinite.errors import DataError
from rankinite.trees import Forest, add_tree, layout, score_features
from rankinite.trees import _predict_kernels as kernels
from rankinite.trees._coding_kernels import MAX_THRESHOLDS, MISSING_CODE, code_bins, code_features
from rankinite.trees.scoring import SERIAL_ROWS, WALKED_LEAVES
from tests.naive import trees as naive
from tests.trees.random_forests import random_features, random_forest, random_tree

N_FEATURES = 7
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def by_hand(forest, X, start=0.0, n_trees=None):
    return np.array([naive.score(forest, x, start, n_trees) for x in X], np.float64)


def by_planes_and_by_walk(forest, X, start=0.0, n_trees=None):
    """Scores in each of the two ways, whichever would be the quicker one."""
    scorer = forest.scorer
    n_trees = forest.n_trees if n_trees is None else n_trees
    found = []
    for walk_rows in (0, kernels.WIDE):
        scores = np.full((1, len(X)), start)
        layout, bounds = scorer.layout._replace(walk_rows=walk_rows), np.array([[0, n_trees]])
        columns = scorer.columns(X.dtype)
        kernels.score_features(X, 0, len(X), columns, layout, bounds, scores)
        found.append(scores[0])
    return found


def assert_scored_as_by_hand(forest, X, start=0.0, n_trees=None):
    expected = by_hand(forest, X, start, n_trees).tobytes()
    planes, walk = by_planes_and_by_walk(forest, X, start, n_trees)
    assert planes.tobytes() == expected
    assert walk.tobytes() == expected
    assert score_features(forest, X, start, n_trees).tobytes() == expected


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.one_of(st.integers(1, 20), st.integers(1, 300)), min_size=1, max_size=5),
    shape=st.sampled_from(["any", "any", "left", "right"]),
    n_rows=st.sampled_from([1, 2, 17, 40]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_forests_of_any_shape(seed, sizes, shape, n_rows, dtype):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, sizes, N_FEATURES, shape=shape)
    X = random_features(rng, n_rows, N_FEATURES, dtype)
    n_trees = int(rng.integers(len(sizes) + 1))
    assert_scored_as_by_hand(forest, X, 0.25)
    assert_scored_as_by_hand(forest, X, 0.25, n_trees)


@both_dtypes
@pytest.mark.parametrize(
    "n_rows", [0, 1, 2, 15, 16, 17, 32, 33, 47, 48, 49, 64, 65, 127, 128, 129, 160, 161, 1000]
)
def test_batches_of_any_size(n_rows, dtype):
    rng = np.random.default_rng(3)
    forest = random_forest(rng, [31, 8, 9, 1, 100], N_FEATURES)
    assert_scored_as_by_hand(forest, random_features(rng, n_rows, N_FEATURES, dtype))


@both_dtypes
@pytest.mark.parametrize("n_thresholds", [1, 15, 16, 17, 253, 254, 255, 508, 509, 700])
@pytest.mark.parametrize("with_infinity", [False, True])
def test_any_number_of_thresholds(n_thresholds, with_infinity, dtype):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.sort(rng.normal(size=n_thresholds))
    # Every threshold is used once, by both directions of missing values if there are enough.
    used = np.append(thresholds, [np.inf, np.inf, -np.inf] if with_infinity else [])
    tree = random_tree(rng, len(used) + 1, 1)
    used = rng.permutation(used)
    forest = Forest.from_trees([tree])
    forest.threshold[:] = used
    with np.errstate(over="ignore"):
        at = thresholds.astype(dtype)
    around = [at, np.nextafter(at, dtype(np.inf)), np.nextafter(at, dtype(-np.inf))]
    X = np.concatenate([*around, np.array([np.nan, np.inf, -np.inf, 0.0], dtype)])[:, None]
    assert_scored_as_by_hand(forest, X)
    looked_up = n_thresholds + with_infinity
    assert len(forest.scorer.features) == -(-looked_up // MAX_THRESHOLDS)


@pytest.mark.parametrize("missing_left", [False, True])
def test_a_node_that_sends_all_to_one_side(missing_left):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, MAX_THRESHOLDS + 2, 1)
    forest = Forest.from_trees([tree])
    # The root sends all values to the left, and with `missing_left` simply everything.
    forest.threshold[:] = np.append(np.inf, np.arange(MAX_THRESHOLDS))
    forest.missing_left[0] = missing_left
    X = np.append(np.arange(-1.0, MAX_THRESHOLDS + 1), [np.nan, np.inf])[:, None]
    assert_scored_as_by_hand(forest, X)


def test_trees_too_large_for_planes():
    rng = np.random.default_rng(5)
    forest = random_forest(rng, [5000, 3], N_FEATURES, rng.normal(size=300))
    X = random_features(rng, 140, N_FEATURES, np.float32, rng.normal(size=50))
    assert forest.scorer.layout.walk_rows == kernels.WIDE
    assert len(forest.scorer.layout.clears) == 0
    assert score_features(forest, X).tobytes() == by_hand(forest, X).tobytes()


def test_trees_as_large_as_planes_can_be():
    rng = np.random.default_rng(6)
    forest = random_forest(rng, [2048, 2047], N_FEATURES, rng.normal(size=300), shape="any")
    X = random_features(rng, 40, N_FEATURES, np.float64, rng.normal(size=50))
    assert_scored_as_by_hand(forest, X)


def test_trees_too_large_to_score(monkeypatch):
    monkeypatch.setattr(layout, "_MOST_PLACES", 64)
    forest = random_forest(np.random.default_rng(0), [33], N_FEATURES)
    with pytest.raises(DataError, match=r"a tree of 33 leaves .* smaller max_leaf_nodes"):
        score_features(forest, np.zeros((1, N_FEATURES)))


def test_rows_in_any_memory_order():
    rng = np.random.default_rng(7)
    forest = random_forest(rng, [31, 64], N_FEATURES)
    X = random_features(rng, 90, 2 * N_FEATURES, np.float32)
    for view in (X[::2, :N_FEATURES], X[:, ::2], np.asfortranarray(X)[:, :N_FEATURES], X[::-1]):
        view = view[:, :N_FEATURES]
        assert score_features(forest, view).tobytes() == by_hand(forest, view).tobytes()


def test_large_batches_on_any_number_of_threads():
    rng = np.random.default_rng(8)
    forest = random_forest(rng, [31, 255, 2], N_FEATURES)
    X = random_features(rng, 2 * SERIAL_ROWS + 77, N_FEATURES, np.float32)
    first, _ = by_planes_and_by_walk(forest, X)
    assert first[:200].tobytes() == by_hand(forest, X[:200]).tobytes()
    for n_threads in (1, 2):
        with threads(n_threads):
            for n_rows in (len(X), SERIAL_ROWS, SERIAL_ROWS + 1):
                assert score_features(forest, X[:n_rows]).tobytes() == first[:n_rows].tobytes()


def test_python_threads_that_meet_a_new_forest():
    rng = np.random.default_rng(9)
    X = random_features(rng, 300, N_FEATURES, np.float32)
    forest = random_forest(rng, [31] * 200, N_FEATURES)
    expected = score_features(Forest.from_arrays(forest.to_arrays(), N_FEATURES), X)
    assert "scorer" not in vars(forest)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda i: score_features(forest, X[i::8]), range(8)))
    for i, part in enumerate(parts):
        assert part.tobytes() == expected[i::8].tobytes()


@both_dtypes
def test_codes_are_counts_of_thresholds(dtype):
    rng = np.random.default_rng(10)
    forest = random_forest(rng, [400], 3, rng.normal(size=260))
    forest.feature[forest.feature == 1] = 2
    scorer = forest.scorer
    X = random_features(rng, 50, 3, dtype, forest.threshold)
    codes = np.full((len(scorer.features), 64), 77, np.uint8)
    code_features(X, scorer.columns(X.dtype), codes)
    for column, feature in enumerate(scorer.features):
        own = scorer.thresholds[column]
        expected = [naive.code(own[np.isfinite(own)], float(x)) for x in X[:, feature]]
        np.testing.assert_array_equal(codes[column], expected + [0] * 14)
    assert (codes[:, :50] == MISSING_CODE).any()


def random_bins(rng, n_rows, n_blocks):
    blocks = rng.integers(0, 256, (n_blocks, n_rows, 16)).astype(np.uint8)
    nothing = BinMapper(np.empty(0), np.zeros(16 * n_blocks + 1, np.int64), 255)
    return BinnedMatrix(blocks, 16 * n_blocks, nothing)


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 100, 128])
def test_codes_of_bins_are_the_bins(n_rows):
    rng = np.random.default_rng(11)
    binned = random_bins(rng, n_rows + 5, 4)
    used_blocks = np.array([0, 2, 3])
    codes = np.full((48, 128), 77, np.uint8)
    code_bins(binned.blocks, used_blocks, 3, n_rows, codes)
    for slot, block in enumerate(used_blocks):
        own = codes[16 * slot : 16 * slot + 16]
        np.testing.assert_array_equal(own[:, :n_rows], binned.blocks[block, 3 : 3 + n_rows].T)
    assert not codes[:, n_rows:].any()


@pytest.mark.parametrize("n_leaves", [1, 31, WALKED_LEAVES, WALKED_LEAVES + 1, 300, 2049])
@pytest.mark.parametrize("n_rows", [0, 1, 129, SERIAL_ROWS + 100])
def test_a_tree_on_bins(n_leaves, n_rows):
    rng = np.random.default_rng(n_leaves)
    binned = random_bins(rng, n_rows, 5)
    tree = random_tree(rng, n_leaves, binned.n_features)
    start = rng.normal(size=n_rows)
    scores = start.copy()
    add_tree(tree, binned, scores)
    # Bins as features, so that the same walk by hand serves.
    X = np.concatenate(list(binned.blocks), axis=1).astype(np.float64)
    X[X == MISSING_CODE] = np.nan
    forest = Forest.from_trees([tree])
    forest.threshold[:] = tree.bin
    rows = range(0, n_rows, 7)
    expected = [start[row] + naive.score(forest, X[row]) for row in rows]
    np.testing.assert_array_equal(scores[::7], expected)
