"""Whole trees: against the twin, against scikit-learn, and what stops them growing."""

import itertools
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite._numba import threads
from rankinite.order.row_keys import row_keys
from rankinite.order.seeds import derive_seed, draw_without_replacement
from rankinite.trees import Grower, GrowthParameters, best_first, gradients, pack_newton, symmetric
from rankinite.trees.scoring import leaves_of
from rankinite.trees.split_search import ROWS_A_PART
from tests.naive import trees as naive
from tests.trees.cases import (
    SERIAL,
    arrays_of,
    arrays_of_tree,
    binned_of,
    grow,
    integer_features,
    leaf_rows,
    packed_of,
    problem_of,
    some_keys,
)
from tests.workers import deals, found_by_workers


@pytest.fixture(params=["best_first", "symmetric"])
def growth(request):
    return request.param


TWINS = {"best_first": naive.grow, "symmetric": naive.grow_symmetric}


@contextmanager
def few_rows_are(n):
    """Nodes of up to n rows are those of few."""
    with patch.object(best_first, "FEW_ROWS", n), patch.object(symmetric, "FEW_ROWS", n):
        yield


def assert_equals_twin(grown, twin, binned, packed):
    tree = grown.tree
    assert tree.feature.tolist() == [split.feature for split in twin.splits]
    assert tree.bin.tolist() == [split.bin for split in twin.splits]
    assert tree.missing_left.tolist() == [split.missing_left for split in twin.splits]
    assert (tree.left.tolist(), tree.right.tolist()) == (twin.left, twin.right)
    assert leaf_rows(grown) == twin.leaf_rows
    assert tree.count.tolist() == [len(rows) for rows in twin.leaf_rows]
    unit = packed.lam_scale**2 / packed.w_scale
    np.testing.assert_array_equal(tree.gain, [split.gain / unit for split in twin.splits])
    for feature, b, threshold in zip(tree.feature, tree.bin, tree.threshold, strict=True):
        edges = np.append(binned.mapper.feature_edges(feature), np.inf)
        assert threshold == edges[b]


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    n=st.integers(1, 60),
    n_values=st.integers(1, 7),
    missing=st.sampled_from([0.0, 0.2, 0.9]),
    min_samples_leaf=st.sampled_from([1, 3, 8]),
    max_leaf_nodes=st.sampled_from([2, 5, 9, 40]),
    growth=st.sampled_from(list(TWINS)),
    newton=st.booleans(),
    levels=st.sampled_from([1, 10_000]),
    few_rows=st.sampled_from([0, 12, 1000]),
    seed=st.integers(0, 2**32),
)
def test_equals_growing_by_recomputation(
    n, n_values, missing, min_samples_leaf, max_leaf_nodes, growth, newton, levels, few_rows, seed
):
    rng = np.random.default_rng(seed)
    binned = binned_of(integer_features(n, 4, n_values=n_values, missing=missing, seed=seed))
    lam = rng.integers(-levels, levels + 1, n)
    packed = packed_of(lam, rng.integers(0, 4, n) if newton else None)
    with few_rows_are(few_rows):
        grown = grow(
            binned,
            packed,
            growth=growth,
            min_samples_leaf=min_samples_leaf,
            max_leaf_nodes=max_leaf_nodes,
        )
    twin = TWINS[growth](problem_of(binned, packed, min_samples_leaf), max_leaf_nodes)
    assert_equals_twin(grown, twin, binned, packed)


@pytest.mark.parametrize("newton", [False, True])
def test_draws_equal_the_twin(newton, growth):
    """Every node sees its own rows and features, drawn from the tree's seed and its place.

    Nodes of a symmetric tree share the features of their level.
    """
    n, n_features, row_fraction, feature_fraction = 80, 7, 0.6, 0.4
    rng = np.random.default_rng(0)
    binned = binned_of(integer_features(n, n_features))
    packed = packed_of(rng.normal(size=n), rng.random(n) if newton else None)
    keys = some_keys(n)
    for seed in (1, 2, 3):

        def rows_of(number, rows, seed=seed):
            own = derive_seed(seed, number, "rows")
            return naive.draw_rows(rows, keys, own, row_fraction)

        def features_of(number, seed=seed):
            own = derive_seed(seed, number, "features")
            return draw_without_replacement(n_features, round(0.4 * n_features), own)

        grown = grow(
            binned,
            packed,
            seed,
            growth=growth,
            max_leaf_nodes=8,
            min_samples_leaf=3,
            row_fraction=row_fraction,
            feature_fraction=feature_fraction,
        )
        problem = problem_of(binned, packed, 3, root=rows_of(0, range(n)))
        twin = TWINS[growth](problem, 8, rows_of, features_of)
        assert len(twin.splits) > 3
        assert_equals_twin(grown, twin, binned, packed)


@pytest.mark.parametrize("max_depth", [None, 4])
@pytest.mark.parametrize("max_leaf_nodes", [7, 60, 1000])
def test_how_nodes_of_few_rows_are_counted_changes_nothing(max_leaf_nodes, max_depth, growth):
    n = 3000
    rng = np.random.default_rng(max_leaf_nodes)
    binned = binned_of(integer_features(n, 20, n_values=40))
    # Few values: many leaves have equal gains.
    packed = packed_of(rng.integers(-2, 3, n), rng.integers(1, 3, n))
    options = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": 3, "max_depth": max_depth}
    found = []
    for few_rows, n_threads in itertools.product((0, 30, 800, n), (1, 2, 5)):
        with few_rows_are(few_rows), threads(n_threads):
            found.append(arrays_of(grow(binned, packed, growth=growth, **options)))
    assert all(each == found[0] for each in found)


def test_a_grower_used_before_grows_the_same_tree(growth):
    """Scratch memory is kept, results are not."""
    n = 500
    binned = binned_of(integer_features(n, 18))
    rng = np.random.default_rng(0)
    keys = some_keys(n)
    parameters = GrowthParameters(growth, max_leaf_nodes=12, min_samples_leaf=5, row_fraction=0.7)
    used = Grower(binned, parameters, keys, n, SERIAL)
    for seed, n_drawn in ((4, n), (5, 50), (4, n), (4, 300), (4, 100), (6, n)):
        packed = packed_of(rng.normal(size=n_drawn))
        drawn = None if n_drawn == n else some_rows(rng, n, n_drawn)
        fresh = Grower(binned, parameters, keys, n, SERIAL)
        grown = [one.grow(packed, np.uint64(seed), drawn) for one in (used, fresh)]
        assert arrays_of(grown[0]) == arrays_of(grown[1])


def some_rows(rng, n, n_drawn):
    return np.sort(rng.permutation(n)[:n_drawn]).astype(np.uint32)


@pytest.mark.parametrize("fractions", [{}, {"row_fraction": 0.6, "feature_fraction": 0.4}])
@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("n_drawn", [2, 60, 299, 300])
def test_drawn_rows_grow_the_tree_they_grow_alone(n_drawn, newton, fractions, growth):
    """All rows are then in its leaves."""
    n = 300
    binned, keys = binned_of(integer_features(n, 18)), some_keys(n)
    rng = np.random.default_rng(n_drawn)
    drawn = some_rows(rng, n, n_drawn)
    packed = packed_of(rng.normal(size=n_drawn), rng.random(n_drawn) if newton else None)
    options = {"growth": growth, "max_leaf_nodes": 9, "min_samples_leaf": 2, **fractions}
    grown = grow(binned, packed, keys=keys, drawn=drawn, **options)
    alone = grow(binned.select_rows(drawn), packed, keys=keys[drawn], **options)
    found, expected = (arrays_of_tree(one.tree) for one in (grown, alone))
    counts = found.pop("count"), expected.pop("count")
    assert found == expected
    assert grown.leaf_of.tobytes() == leaves_of(grown.tree, binned).tobytes()
    assert grown.leaf_of[drawn].tobytes() == alone.leaf_of.tobytes()
    assert [len(rows) for rows in leaf_rows(grown)] == grown.tree.count.tolist()
    assert grown.tree.count.sum() == n and grown.tree.count.dtype == alone.tree.count.dtype
    assert (counts[0] == counts[1]) == (n_drawn == n)
    assert n_drawn == 2 or grown.tree.n_leaves > 5


@pytest.mark.parametrize("n_drawn", [0, 1])
def test_too_few_drawn_rows_grow_one_leaf_of_all(n_drawn, growth):
    binned = binned_of(integer_features(50, 3))
    drawn = np.arange(20, 20 + n_drawn, dtype=np.uint32)
    for w in (None, np.ones(n_drawn)):
        for row_fraction in (1.0, 0.5):
            packed = packed_of(np.ones(n_drawn), w)
            options = {"growth": growth, "row_fraction": row_fraction}
            grown = grow(binned, packed, drawn=drawn, **options)
            assert leaf_rows(grown) == [list(range(50))]
            assert grown.tree.count.tolist() == [50] and len(grown.tree.feature) == 0


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("row_fraction", [1.0, 0.5])
def test_any_number_of_workers_grows_the_same_tree(row_fraction, draws, growth):
    n = 700
    binned = binned_of(integer_features(n, 5))
    rng = np.random.default_rng(1)
    lam, w, keys = rng.normal(size=n), rng.random(n), some_keys(n)
    is_drawn = rng.random(n) < 0.4
    is_drawn[:2] = False, True
    parameters = GrowthParameters(
        growth, max_leaf_nodes=9, min_samples_leaf=10, split="newton", row_fraction=row_fraction
    )

    def work(communicator, rows):
        drawn = np.flatnonzero(is_drawn[rows]).astype(np.uint32) if draws else None
        seen = rows[drawn] if draws else rows
        forces, bends = (gradients(values[seen], communicator) for values in (lam, w))
        packed = pack_newton(forces, bends, n)
        own = Grower(binned.select_rows(rows), parameters, keys[rows], n, communicator)
        grown = own.grow(packed, np.uint64(3), drawn)
        return arrays_of_tree(grown.tree), grown.leaf_of

    trees, leaves = [], []
    for dealt in deals(n):
        leaves.append(np.full(n, -1, np.int32))
        for rows, (tree, leaf_of) in zip(dealt, found_by_workers(dealt, work), strict=True):
            trees.append(tree)
            leaves[-1][rows] = leaf_of
    assert all(tree == trees[0] for tree in trees)
    assert all(leaf_of.tobytes() == leaves[0].tobytes() for leaf_of in leaves)
    assert trees[0]["count"] == np.bincount(leaves[0]).tobytes() and leaves[0].max() > 5


def test_rows_that_stand_for_others_count_as_many():
    """A third of the rows, each three times as heavy, makes leaves as small as all rows do."""
    n = 600
    binned = binned_of(np.arange(n)[:, np.newaxis] // 3.0)
    lam, drawn = np.linspace(-1, 1, n) ** 3, np.arange(0, n, 3, dtype=np.uint32)
    w = np.ones(n)
    parameters = GrowthParameters(max_leaf_nodes=n, min_samples_leaf=30, split="newton")
    grower = Grower(binned, parameters, some_keys(n), n, SERIAL)
    whole = grower.grow(pack_newton(gradients(lam, SERIAL), gradients(w, SERIAL), n), np.uint64(0))
    terms = [gradients(3 * values[drawn], SERIAL) for values in (lam, w)]
    for n_meant, least in ((n, 30), (None, 90)):
        grown = grower.grow(pack_newton(*terms, n), np.uint64(0), drawn, n_meant)
        assert least <= grown.tree.count.min() < 2 * least
    assert 30 <= whole.tree.count.min() < 60


ROW_COUNTS = [100, *(m * ROWS_A_PART + d for m in (1, 2) for d in (-1, 0, 1)), 4 * ROWS_A_PART + 3]


@pytest.mark.parametrize("n", ROW_COUNTS)
def test_one_thread_and_two_grow_equal_bytes(n, growth):
    rng = np.random.default_rng(n)
    binned = binned_of(rng.normal(size=(n, 18)), max_bins=63)
    lam, w = rng.normal(size=n), rng.random(n)
    drawn = some_rows(rng, n, n - n // 3)
    for packed, row_fraction, seen in (
        (packed_of(lam), 1.0, None),
        (packed_of(lam), 0.6, None),
        (packed_of(lam, w), 1.0, None),
        (packed_of(lam, w), 0.6, None),
        (packed_of(lam[drawn], w[drawn]), 1.0, drawn),
        (packed_of(lam[drawn], w[drawn]), 0.6, drawn),
    ):
        found = []
        for n_threads in (1, 2):
            with threads(n_threads):
                options = {"growth": growth, "max_leaf_nodes": 6, "row_fraction": row_fraction}
                found.append(arrays_of(grow(binned, packed, drawn=seen, **options)))
        assert found[0] == found[1]


def test_the_order_of_rows_is_irrelevant(growth):
    """Also to the draws, because each row brings its own random number."""
    n, offsets = 600, np.array([0, 200, 450, 600])
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(n, 9)), rng.integers(0, 5, n).astype(np.float64)
    lam = rng.normal(size=n)
    shuffle = np.concatenate(
        [first + rng.permutation(last - first) for first, last in itertools.pairwise(offsets)]
    )
    trees = []
    for rows in (np.arange(n), shuffle):
        binned = binned_of(X[rows], max_bins=31)
        keys = row_keys(binned, labels[rows], None, offsets)
        grown = grow(
            binned,
            packed_of(lam[rows]),
            keys=keys,
            growth=growth,
            max_leaf_nodes=10,
            row_fraction=0.5,
            feature_fraction=0.5,
        )
        trees.append((arrays_of(grown)[:-1], [sorted(rows[own]) for own in leaf_rows(grown)]))
    assert trees[0] == trees[1]


def test_seeds_draw_different_trees(growth):
    n = 400
    binned = binned_of(integer_features(n, 10))
    packed = packed_of(np.random.default_rng(0).normal(size=n))
    for fractions in ({"row_fraction": 0.5}, {"feature_fraction": 0.3}):
        options = {"growth": growth, **fractions}
        grown = {tuple(arrays_of(grow(binned, packed, seed, **options))) for seed in range(4)}
        assert len(grown) == 4
    same = {tuple(arrays_of(grow(binned, packed, seed, growth=growth))) for seed in range(4)}
    assert len(same) == 1


def test_a_tiny_feature_fraction_leaves_one_feature_a_node():
    n = 300
    X = np.ascontiguousarray(np.repeat(np.random.default_rng(0).normal(size=(n, 1)), 12, axis=1))
    binned = binned_of(X)
    lam = X[:, 0]
    grown = grow(binned, packed_of(lam), feature_fraction=0.01, max_leaf_nodes=20)
    # The columns are equal, so each node splits by whichever feature it was given.
    assert len(np.unique(grown.tree.feature)) > 5
    everything = grow(binned, packed_of(lam), max_leaf_nodes=20)
    np.testing.assert_array_equal(everything.tree.feature, 0)


@pytest.mark.parametrize("max_leaf_nodes", [1, 2, 3, 17])
def test_the_number_of_leaves_is_respected(max_leaf_nodes, growth):
    binned = binned_of(np.arange(200.0)[:, None])
    options = {"growth": growth, "max_leaf_nodes": max_leaf_nodes}
    grown = grow(binned, packed_of(np.arange(200.0) ** 2), **options)
    assert grown.tree.n_leaves == max_leaf_nodes
    assert sorted(np.unique(grown.leaf_of)) == list(range(max_leaf_nodes))


@pytest.mark.parametrize("min_samples_leaf", [1, 7, 50, 101])
def test_every_leaf_has_enough_rows(min_samples_leaf, growth):
    binned = binned_of(integer_features(200, 5))
    packed = packed_of(np.random.default_rng(0).normal(size=200))
    options = {"growth": growth, "min_samples_leaf": min_samples_leaf, "max_leaf_nodes": 200}
    grown = grow(binned, packed, **options)
    assert grown.tree.count.min() >= min(min_samples_leaf, 200)
    assert grown.tree.count.sum() == 200
    assert (grown.tree.n_leaves == 1) == (min_samples_leaf > 100)


NOTHING_TO_SPLIT = {
    "zero gradients": (np.arange(50.0)[:, None], np.zeros(50)),
    "equal gradients": (np.arange(50.0)[:, None], np.full(50, 1 / 3)),
    "equal rows": (np.full((50, 3), 2.0), np.arange(50.0)),
    "everything missing": (np.full((50, 17), np.nan), np.arange(50.0)),
    "one row": (np.array([[1.0, 2.0]]), np.array([3.0])),
}


@pytest.mark.parametrize(("X", "lam"), NOTHING_TO_SPLIT.values(), ids=list(NOTHING_TO_SPLIT))
def test_one_leaf_where_there_is_nothing_to_split(X, lam, growth):
    for w in (None, np.full(len(lam), 0.3)):
        grown = grow(binned_of(X), packed_of(lam, w), growth=growth)
        assert grown.tree.n_leaves == 1
        assert len(grown.tree.feature) == 0
        assert leaf_rows(grown) == [list(range(len(lam)))]


def test_a_pure_leaf_is_not_split_again(growth):
    X = np.arange(90.0)[:, None]
    lam = np.repeat([1 / 3, -0.1, 0.7], 30)
    grown = grow(binned_of(X), packed_of(lam), growth=growth, max_leaf_nodes=31)
    assert sorted(leaf_rows(grown)) == [list(range(a, a + 30)) for a in (0, 30, 60)]


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-100, 1e100, 1e300])
def test_the_unit_of_the_gradients_does_not_change_the_splits(unit, growth):
    """A power of two, so that the integers are the same; the gain may leave float64's range."""
    unit = 2.0 ** np.round(np.log2(unit))
    n = 200
    binned = binned_of(integer_features(n, 4))
    lam = np.random.default_rng(0).integers(-100, 101, n) * 2.0**-7
    for w in (None, np.ones(n)):
        plain = grow(binned, packed_of(lam, w), growth=growth)
        scaled = packed_of(lam * unit, None if w is None else w * unit)
        scaled = grow(binned, scaled, growth=growth)
        assert arrays_of(scaled)[:6] == arrays_of(plain)[:6]
        with np.errstate(over="ignore"):
            expected = plain.tree.gain * unit * (unit if w is None else 1.0)
        np.testing.assert_allclose(scaled.tree.gain, expected, rtol=1e-12)


def test_equal_columns_the_lower_wins(growth):
    X = integer_features(100, 20, missing=0.1)
    X[:, 19] = X[:, 3]
    X[:, 18] = X[:, 2] = X[:, 3]
    lam = np.nan_to_num(X[:, 3], nan=9.0) ** 2
    grown = grow(binned_of(X), packed_of(lam), growth=growth, max_leaf_nodes=6)
    np.testing.assert_array_equal(grown.tree.feature, 2)


def test_equal_leaves_the_lower_number_is_split_first(growth):
    """Both halves are worth the same; the left one keeps the number 0."""
    lam = np.array([10.0, 12.0, 0.0, 2.0])
    grown = grow(
        binned_of(np.arange(4.0)[:, None]), packed_of(lam), growth=growth, max_leaf_nodes=3
    )
    assert grown.tree.bin.tolist() == [1, 0]
    assert grown.tree.count.tolist() == [1, 2, 1]


def test_nodes_of_a_level_are_split_alike():
    """But for those that the split does not suit, and for those that there is no room for."""
    n = 5000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    lam = np.sign(X) @ [32.0, 16.0, 8.0, 4.0, 2.0, 1.0] + rng.normal(size=n)
    options = {"growth": "symmetric", "max_leaf_nodes": 31, "min_samples_leaf": 20}
    tree = grow(binned_of(X), packed_of(lam), **options).tree
    splits = list(zip(tree.feature.tolist(), tree.bin.tolist(), strict=True))
    levels = [len(list(same)) for _, same in itertools.groupby(splits)]
    assert levels == [1, 2, 4, 8, 15] and tree.n_leaves == 31
    whole = grow(binned_of(X), packed_of(lam), **{**options, "max_leaf_nodes": 32}).tree
    last = np.sort(whole.gain[-16:])
    np.testing.assert_array_equal(np.sort(tree.gain[-15:]), last[1:])


@pytest.mark.parametrize("min_samples_leaf", [1, 5])
@pytest.mark.parametrize("max_leaf_nodes", [2, 8, 40])
def test_equals_scikit_learn(min_samples_leaf, max_leaf_nodes):
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(min_samples_leaf + max_leaf_nodes)
    X = rng.integers(0, 20, (400, 4)).astype(np.float64)
    y = 30 * X[:, 0] - X[:, 1] ** 2 + rng.integers(0, 1000, 400)
    growth = {"max_leaf_nodes": max_leaf_nodes, "min_samples_leaf": min_samples_leaf}
    peer = DecisionTreeRegressor(random_state=0, **growth).fit(X, y)
    grown = grow(binned_of(X), packed_of(y), **growth)
    assert grown.tree.n_leaves == peer.get_n_leaves()
    found = np.empty(400)
    for rows in leaf_rows(grown):
        found[rows] = y[rows].mean()
    np.testing.assert_allclose(found, peer.predict(X), rtol=1e-12)
    # Same splits in the same order of gain: n·impurity less that of the children.
    inner = peer.tree_.children_left >= 0
    loss = peer.tree_.impurity * peer.tree_.n_node_samples
    children = (peer.tree_.children_left[inner], peer.tree_.children_right[inner])
    gains = loss[inner] - loss[children[0]] - loss[children[1]]
    np.testing.assert_allclose(np.sort(grown.tree.gain), np.sort(gains), rtol=1e-9)
