from itertools import combinations

import numpy as np
import pytest

import rankinite as rk
from tests.combination.cases import columns, scored


@pytest.mark.parametrize("measure", ["ndcg@10", "err@5", "map:relevant=2"])
def test_two_rankers_are_a_line_search(measure):
    data = scored(n_rankers=2, n_queries=12)
    model = rk.Combination(columns(2), "pair_tree", measure, normalize="none").fit(data)
    found = rk.line_search(data.X[:, 0], data.X[:, 1], data, measure)
    assert list(model.weights_.values()) == pytest.approx([1 - found.alpha, found.alpha], rel=1e-12)
    assert model.history_ == pytest.approx([found.value])
    assert model.tree_ == ("a", "b")


def by_hand(data, tree, measure="ndcg@10"):
    """Scores along a tree of column numbers, by line searches, and the value of the last."""
    if isinstance(tree, int):
        return data.X[:, tree], None
    (a, _), (b, _) = (by_hand(data, branch, measure) for branch in tree)
    found = rk.line_search(a, b, data, measure)
    return (1 - found.alpha) * a + found.alpha * b, found.value


def test_a_given_tree():
    data = scored(n_queries=15, noise=1.0)
    tree = (("a", "c"), ("b", "d"))
    model = rk.Combination(columns(), "pair_tree", normalize="none", tree=tree).fit(data)
    expected, value = by_hand(data, ((0, 2), (1, 3)))
    np.testing.assert_allclose(model.predict(data), expected, rtol=1e-9)
    assert model.tree_ == tree and len(model.history_) == 3
    assert model.history_[-1] == pytest.approx(value)


def test_rankers_of_a_list_are_numbered_as_in_the_paper():
    data = scored(n_queries=10)
    rankers = [*np.eye(4), [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    tree = (((1, 3), (2, 4)), (5, 6))
    model = rk.Combination(rankers, "pair_tree", tree=tree).fit(data)
    assert model.tree_ == ((("1", "3"), ("2", "4")), ("5", "6"))
    assert all(weight > 0 for weight in model.weights_.values())


def test_greedy_takes_the_best_pair_first():
    data = scored(1, n_queries=15, noise=1.0)
    model = rk.Combination(columns(), "pair_tree", normalize="none").fit(data)
    values = {
        pair: rk.line_search(*(data.X[:, j] for j in pair), data).value
        for pair in combinations(range(4), 2)
    }
    best = max(values, key=values.get)
    assert tuple("abcd"[j] for j in best) in pairs_of(model.tree_)
    assert model.history_[0] == pytest.approx(values[best])
    numbers = as_numbers(model.tree_)
    np.testing.assert_allclose(model.predict(data), by_hand(data, numbers)[0], rtol=1e-9)


def pairs_of(tree):
    return [] if isinstance(tree, str) else [tree, *pairs_of(tree[0]), *pairs_of(tree[1])]


def as_numbers(tree):
    return "abcd".index(tree) if isinstance(tree, str) else tuple(map(as_numbers, tree))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (("a", "b"), "tree has the ranker 'c' 0 times"),
        ((("a", "b"), ("c", "a")), "tree has the ranker 'a' 2 times"),
        ((("a", "b"), ("c", "x")), "tree has the ranker 'x', which is none of a, b, c, d"),
        (("a", "b", "c"), "tree must be nested pairs"),
        (3.5, "tree must be nested pairs"),
    ],
)
def test_wrong_trees(tree, message):
    with pytest.raises(rk.ParameterError, match=message):
        rk.Combination(columns(), "pair_tree", tree=tree).fit(scored())
