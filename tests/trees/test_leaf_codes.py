"""The leaf of a row by a code of its splits: the one that it walks to."""

import numpy as np
import pytest

from rankinite._numba import threads
from rankinite.trees import leaf_codes
from rankinite.trees._leaf_code_kernels import ROWS_AT_ONCE
from rankinite.trees.leaf_codes import MOST_SPLITS, leaves_by_splits
from tests.naive import trees as naive
from tests.trees.cases import binned_of, bins_of, grow, integer_features, packed_of

SIZES = [1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3000]


def grown_on(n, **options):
    """A tree on 20 features with missing values."""
    binned = binned_of(integer_features(n, 20, n_values=9, missing=0.2))
    lam = np.random.default_rng(n).normal(size=n)
    return grow(binned, packed_of(lam), min_samples_leaf=3, **options).tree, binned


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("growth", ["symmetric", "best_first"])
def test_every_row_is_where_it_walks_to(n, growth):
    tree, _ = grown_on(600, growth=growth, max_leaf_nodes=9)
    assert tree.n_leaves == 9
    # Other rows than those of the growth.
    binned = binned_of(integer_features(n, 20, n_values=9, missing=0.3, seed=1))
    walked = [naive.leaf_of(tree, row) for row in bins_of(binned)]
    for n_threads in (1, 2):
        with threads(n_threads):
            found = leaves_by_splits(tree, binned)
        assert found.dtype == np.int32 and found.tolist() == walked


def test_trees_with_too_many_splits_and_with_none_are_left_to_others(monkeypatch):
    tree, binned = grown_on(3000, growth="best_first", max_leaf_nodes=60)
    splits = {*zip(tree.feature, tree.bin, tree.missing_left, strict=True)}
    assert len(splits) > MOST_SPLITS
    assert leaves_by_splits(tree, binned) is None
    tree, binned = grown_on(3000, growth="symmetric", max_leaf_nodes=16)
    n_splits = len({*zip(tree.feature, tree.bin, tree.missing_left, strict=True)})
    for most in (n_splits, n_splits - 1):
        monkeypatch.setattr(leaf_codes, "MOST_SPLITS", most)
        assert (leaves_by_splits(tree, binned) is None) == (most < n_splits)
    stump, binned = grown_on(600, growth="symmetric", max_leaf_nodes=1)
    assert leaves_by_splits(stump, binned) is None
