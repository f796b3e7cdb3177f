"""Rankers combined two at a time, each time by the best weight (Burges et al. 2011, 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rankinite.combination.problem import Problem
from rankinite.errors import ParameterError

Tree = str | tuple["Tree", "Tree"]


@dataclass(frozen=True, eq=False)
class Branch:
    """A ranker, or the combination of two branches.

    Attributes
    ----------
    tree : str or pair
        The name of the ranker, or the trees of the two branches.
    weights : ndarray of float64, shape (n_rankers,)
    """

    tree: Tree
    weights: np.ndarray


def checked_tree(tree: Any, names: Sequence[str]) -> Tree:
    """A tree that a user gave, with names for numbers; an error unless it has each ranker once."""
    made = _checked(tree, names)
    leaves = names_in(made)
    for name in names:
        if leaves.count(name) != 1:
            raise ParameterError(
                f"tree has the ranker {name!r} {leaves.count(name)} times: it must have each once"
            )
    return made


def _checked(tree: Any, names: Sequence[str]) -> Tree:
    if isinstance(tree, (str, int)) and not isinstance(tree, bool):
        if str(tree) not in names:
            raise ParameterError(
                f"tree has the ranker {tree!r}, which is none of {', '.join(names)}"
            )
        return str(tree)
    if isinstance(tree, (tuple, list)) and len(tree) == 2:
        return _checked(tree[0], names), _checked(tree[1], names)
    raise ParameterError(
        "tree must be nested pairs of the names of rankers, such as (('a', 'b'), 'c'), but it "
        f"holds {tree!r}"
    )


def names_in(tree: Tree) -> list[str]:
    """The rankers of a tree, from left to right."""
    return [tree] if isinstance(tree, str) else [n for branch in tree for n in names_in(branch)]


def pair_tree(problem: Problem, names: Sequence[str], tree: Tree | None) -> Branch:
    """Combine all rankers along a tree, or greedily.

    Parameters
    ----------
    names : sequence of str, of length n_rankers
    tree : Tree, optional
        In which order to combine; rankers that the problem does not have are left out. Without
        one, the two branches whose combination is best are combined until one is left.
    """
    units = np.eye(problem.n_rankers)
    leaves = {name: Branch(name, units[j]) for j, name in enumerate(names)}
    branch = None if tree is None else _along(problem, leaves, tree)
    return _greedily(problem, list(leaves.values())) if branch is None else branch


def _along(problem: Problem, leaves: dict[str, Branch], tree: Tree) -> Branch | None:
    """All rankers of a tree as one branch; None if the problem has none of them."""
    if isinstance(tree, str):
        return leaves.get(tree)
    left, right = (_along(problem, leaves, branch) for branch in tree)
    if left is None or right is None:
        return right if left is None else left
    joined, goodness = _join(problem, left, right)
    problem.note(goodness)
    return joined


def _greedily(problem: Problem, branches: list[Branch]) -> Branch:
    joints: dict[tuple[Branch, Branch], tuple[Branch, float]] = {}
    while len(branches) > 1:
        for pair in combinations(branches, 2):
            if pair not in joints:
                joints[pair] = _join(problem, *pair)
        best = max(combinations(branches, 2), key=lambda pair: joints[pair][1])
        joined, goodness = joints[best]
        problem.note(goodness)
        branches = [joined, *(branch for branch in branches if branch not in best)]
    return branches[0]


def _join(problem: Problem, left: Branch, right: Branch) -> tuple[Branch, float]:
    """The best convex combination of two branches, and how good it is."""
    a, b = problem.scores(left.weights), problem.scores(right.weights)
    alpha, goodness = problem.search(a, b, 0.0, 1.0, convex=True)
    weights = (1.0 - alpha) * left.weights + alpha * right.weights
    return Branch((left.tree, right.tree), weights), goodness
