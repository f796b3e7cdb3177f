"""Forests as arrays: round trips, and damage that must be found before it is scored."""

import numpy as np
import pytest

from rankinite.errors import ModelFileError
from rankinite.trees import Forest, Tree
from tests.trees.cases import binned_of, grow, integer_features, packed_of

N_FEATURES = 5


def some_trees():
    """Trees of 4, 1, 6 and 2 leaves."""
    binned = binned_of(integer_features(150, N_FEATURES))
    rng = np.random.default_rng(0)
    trees = [
        grow(binned, packed_of(rng.normal(size=150)), max_leaf_nodes=n).tree for n in (4, 1, 6, 2)
    ]
    return [tree.with_values(rng.normal(size=tree.n_leaves)) for tree in trees]


def assert_same_tree(one: Tree, other: Tree):
    for name in one.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype


def test_trees_survive_being_a_forest():
    trees = some_trees()
    forest = Forest.from_trees(trees)
    assert (len(forest), forest.n_trees) == (4, 4)
    assert forest.leaf_offsets.tolist() == [0, 4, 5, 11, 13]
    assert forest.node_offsets.tolist() == [0, 3, 3, 8, 9]
    bins = np.concatenate([tree.bin for tree in trees])
    for one, other in zip(forest.trees(bins), trees, strict=True):
        assert_same_tree(one, other)


@pytest.mark.parametrize("n_trees", [0, 1, 2, 4])
def test_the_first_trees(n_trees):
    trees = some_trees()
    first = Forest.from_trees(trees).first(n_trees)
    again = Forest.from_trees(trees[:n_trees])
    for name, array in again.to_arrays().items():
        np.testing.assert_array_equal(first.to_arrays()[name], array, err_msg=name)
    Forest.from_arrays(first.to_arrays(), N_FEATURES)


def test_arrays_round_trip():
    forest = Forest.from_trees(some_trees())
    again = Forest.from_arrays(forest.to_arrays(), N_FEATURES)
    for name, array in forest.to_arrays().items():
        assert again.to_arrays()[name] is array
    assert Forest.from_arrays(Forest.from_trees([]).to_arrays(), 0).n_trees == 0


def test_importance_sums_gains_and_counts_splits():
    forest = Forest.from_trees(some_trees())
    gain, count = np.zeros(N_FEATURES + 2), np.zeros(N_FEATURES + 2)
    for feature, won in zip(forest.feature, forest.gain, strict=True):
        gain[feature] += won
        count[feature] += 1
    np.testing.assert_allclose(forest.importance(N_FEATURES + 2), gain, rtol=1e-13)
    np.testing.assert_array_equal(forest.importance(N_FEATURES + 2, "count"), count)
    np.testing.assert_array_equal(Forest.from_trees([]).importance(3), np.zeros(3))


def put(index, value):
    def change(array):
        array[index] = value
        return array

    return change


# A forest of one tree with the nodes 0 → (1, 2), 1 → leaves 0 and 2, 2 → leaves 1 and 3 …
LEFT, RIGHT = [1, ~0, ~1], [2, ~2, ~3]
# … followed by a tree of two leaves.
DAMAGES = {
    "cycle": ("left", put(1, 0), "a node comes before its parent"),
    "own child": ("left", put(0, 0), "a node comes before its parent"),
    "child in the next tree": ("right", put(0, 3), "a child is out of range"),
    "child out of range": ("left", put(2, 10_000), "a child is out of range"),
    "leaf of the next tree": ("right", put(2, ~4), "a leaf is out of range"),
    "leaf out of range": ("right", put(3, -(2**31)), "a leaf is out of range"),
    "node with two parents": ("left", put(0, 2), "a node has two parents"),
    "leaf with two parents": ("left", put(1, ~1), "a leaf has two parents"),
    "feature too large": ("feature", put(1, N_FEATURES), "a feature is out of range"),
    "feature negative": ("feature", put(1, -1), "a feature is out of range"),
    "threshold": ("threshold", put(0, np.nan), "a threshold is NaN"),
    "value NaN": ("value", put(5, np.nan), "a leaf value is not finite"),
    "value infinite": ("value", put(0, np.inf), "a leaf value is not finite"),
    "offsets start late": ("node_offsets", put(0, 1), "node_offsets do not start at 0"),
    "offsets fall": ("leaf_offsets", put(1, 7), "leaf_offsets fall"),
    "offsets of nothing": ("leaf_offsets", lambda a: a[:0], "leaf_offsets do not start at 0"),
    "offsets too few": ("leaf_offsets", lambda a: a[:-1], "offsets disagree in length"),
    "leaves and nodes": ("node_offsets", put(1, 2), "leaves and nodes disagree"),
    **{
        f"{name} cut off": (name, lambda a: a[:-1], f"{name} is cut off")
        for name in ("feature", "threshold", "missing_left", "left", "right", "gain")
    },
    **{
        f"{name} too long": (name, lambda a: np.append(a, a[-1:]), f"{name} is cut off")
        for name in ("value", "count")
    },
    "type": ("left", lambda a: a.astype(np.int64), "left has the wrong type"),
    "type of a flag": ("missing_left", lambda a: a.astype(np.uint8), "missing_left has the wrong"),
    "byte order": ("threshold", lambda a: a.astype(">f8"), "threshold has the wrong type"),
    "shape": ("value", lambda a: a[:, None], "value has the wrong type"),
}


def tree_of(**arrays):
    return Tree(**{name: np.array(array) for name, array in arrays.items()})


def sound_arrays():
    first = tree_of(
        feature=[0, 1, 4],
        threshold=[0.5, np.inf, -1.0],
        bin=[0, 1, 2],
        missing_left=[True, False, True],
        left=LEFT,
        right=RIGHT,
        gain=[3.0, 2.0, 1.0],
        value=[1.0, 2.0, 3.0, 4.0],
        count=[5, 6, 7, 8],
    )
    second = tree_of(
        feature=[2],
        threshold=[0.0],
        bin=[0],
        missing_left=[False],
        left=[~0],
        right=[~1],
        gain=[1.0],
        value=[0.0, -1.0],
        count=[13, 13],
    )
    arrays = Forest.from_trees([first, second]).to_arrays()
    return {name: array.copy() for name, array in arrays.items()}


def test_the_sound_forest_is_accepted():
    assert Forest.from_arrays(sound_arrays(), N_FEATURES).n_trees == 2


@pytest.mark.parametrize(("name", "change", "what"), DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_refused(name, change, what):
    arrays = sound_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ModelFileError, match=f"the trees in the model file are damaged: {what}"):
        Forest.from_arrays(arrays, N_FEATURES)


@pytest.mark.parametrize("name", list(sound_arrays()))
def test_a_missing_array_is_named(name):
    arrays = sound_arrays()
    del arrays[name]
    with pytest.raises(ModelFileError, match=f"has no array '{name}' for its trees"):
        Forest.from_arrays(arrays, N_FEATURES)
