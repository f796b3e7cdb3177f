"""Trees told to other workers: they arrive as they were, but for the values of their leaves."""

from dataclasses import fields

import numpy as np
import pytest

from rankinite.distributed import Serial
from rankinite.trees import (
    Grower,
    GrowthParameters,
    from_bytes,
    gradients,
    pack_least_squares,
    to_bytes,
)
from tests.trees.cases import binned_of


def grown(seed, leaves):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    X[:, 1] = np.where(X[:, 1] > 0.3, np.nan, 1.0)  # a split at the last bin
    binned = binned_of(X)
    keys = rng.integers(0, 2**64, 300, np.uint64)
    growth = GrowthParameters(max_leaf_nodes=leaves, min_samples_leaf=1)
    grower = Grower(binned, growth, keys, 300, Serial())
    lam = gradients(rng.normal(size=300) + 3 * np.isnan(X[:, 1]), Serial())
    return grower.grow(pack_least_squares(lam, 300), np.uint64(seed)).tree, binned.mapper


@pytest.mark.parametrize("leaves", [[2], [9], [40], [4, 2, 7]])
def test_a_tree_arrives_as_it_was(leaves):
    trees, mappers = zip(*(grown(3, each) for each in leaves), strict=True)
    told = to_bytes(trees)
    assert told.nbytes == sum(4 + 22 * (each - 1) for each in leaves)
    assert any(np.isinf(tree.threshold).any() for tree in trees)
    for tree, found in zip(trees, from_bytes(told, len(trees), mappers[0]), strict=True):
        for field in fields(tree):
            expected, got = getattr(tree, field.name), getattr(found, field.name)
            assert expected.dtype == got.dtype and got.flags.c_contiguous
            if field.name in ("value", "count"):
                assert not got.any() and len(got) == tree.n_leaves
            else:
                assert np.array_equal(expected, got), field.name


def test_a_tree_of_one_leaf():
    tree, mapper = grown(1, 2)
    first, last = from_bytes(to_bytes([_leaf(tree), tree]), 2, mapper)
    assert first.n_leaves == 1 and last.n_leaves == 2


def _leaf(tree):
    empty = {f.name: getattr(tree, f.name)[:0] for f in fields(tree)}
    return type(tree)(**empty | {"value": tree.value[:1], "count": tree.count[:1]})
