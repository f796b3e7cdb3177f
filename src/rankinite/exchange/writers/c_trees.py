"""Forests as C: tables of nodes with a loop that walks down, or branches in a function a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange import c_code
from rankinite.exchange.plain import ZERO, PlainForest
from rankinite.exchange.writers.c_text import finite, lines, number, numbers
from rankinite.exchange.writers.folding import one_leaf
from rankinite.exchange.writers.texts import depths, numbers_in_pairs
from rankinite.exchange.writers.thresholds import for_doubles
from rankinite.trees import Forest

FORMS = ("tables", "branches")
# A row in slots lies on the stack, and sixteen of them if they are not too long.
MOST_SLOTS, MOST_SLOTS_TOGETHER = 2**16, 2**9
# Compilers follow branches in branches no deeper than 256.
_DEEPEST = 200
# Numbers of nodes are of 32 bits.
_MOST_NODES = 2**31


def forests(plains: Sequence[PlainForest], form: str, common: dict[str, str]) -> str:
    """C of some forests, which is called ``sums`` and takes one of them.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    common : dict of str
        Fields that all templates share: ``name`` and ``Name``.
    """
    for plain in plains:
        _check(plain)
    code = _tables(plains, common) if form == "tables" else _branches(plains, common)
    guard = c_code.NO_CONTRACTION if any(contracts(plain) for plain in plains) else ""
    return guard + code


def contracts(plain: PlainForest) -> bool:
    """Whether a compiler could take a product and a sum in one step, and round once only."""
    return plain.scale != 1.0 and plain.bias != 0.0


def _check(plain: PlainForest) -> None:
    finite(plain.forest.value, "a leaf")
    finite(np.array([plain.start, plain.scale, plain.bias]), "a factor or a constant")
    if plain.single_features and plain.zero_is_missing is not None and plain.zero_is_missing.any():
        raise ExportError(
            "the model rounds features to single precision and takes zeros for missing values, "
            "which a C file cannot do at once: train it without one of the two"
        )


def _sum_type(plains: Sequence[PlainForest]) -> str:
    single = {plain.single_sums for plain in plains}
    if len(single) > 1:
        raise ExportError(
            "some outputs of the model are sums in single precision and others are not, which a C "
            "file cannot do at once"
        )
    return "float" if single.pop() else "double"


def _constants(plain: PlainForest) -> dict[str, str]:
    return {
        "start": number(plain.start),
        "scale": number(plain.scale),
        "divisor": number(float(plain.divisor)),
        "bias": number(plain.bias),
    }


def _trees_of(plain: PlainForest) -> Forest:
    """The trees, of which there must be one."""
    return plain.forest if plain.forest.n_trees else one_leaf(0.0)


def _zeros(plain: PlainForest) -> np.ndarray:
    """Whether zeros are missing values to each node, shape (n_inner,)."""
    if plain.zero_is_missing is None:
        return np.zeros(len(plain.forest.feature), bool)
    zeros: np.ndarray = plain.zero_is_missing[plain.forest.feature]
    return zeros


def _tables(plains: Sequence[PlainForest], common: dict[str, str]) -> str:
    tables, most_slots = [], 1
    for k, plain in enumerate(plains):
        slots, slot_of = _slots(plain)
        most_slots = max(most_slots, len(slots))
        fields = common | _constants(plain) | _nodes(_trees_of(plain), for_doubles(plain), slot_of)
        fields |= {"k": str(k), "SLOTS": lines(slots), "n_slots": str(len(slots))}
        tables.append(c_code.filled(c_code.TABLES, fields))
    if most_slots > MOST_SLOTS:
        raise ExportError(
            f"the trees look at {most_slots - 1:,} features, counting those twice whose missing "
            f"values go both ways, and tables take {MOST_SLOTS:,} at most: pass form='branches'"
        )
    fields = common | {
        "sum": _sum_type(plains),
        "most_slots": str(most_slots),
        "nothing": number(ZERO),
    }
    rows = c_code.TABLE_ROWS if most_slots <= MOST_SLOTS_TOGETHER else c_code.TABLE_ROWS_APART
    return "".join(
        [
            c_code.filled(c_code.TABLE_TYPES, common),
            *tables,
            c_code.filled(c_code.TABLE_FUNCTIONS, fields),
            c_code.filled(rows, fields),
        ]
    )


def _slots(plain: PlainForest) -> tuple[list[str], np.ndarray]:
    """What the trees look at, and the slot of every inner node: features, and where NaN goes.

    A value that is missing becomes −∞ in one slot, which no threshold lies below, and NaN in
    another, which no threshold is above: so one comparison does for both.
    """
    forest, zeros = plain.forest, _zeros(plain)
    keys = 2 * forest.feature.astype(np.int64) + ~forest.missing_left
    used, first, slot_of = np.unique(keys, return_index=True, return_inverse=True)
    texts = [
        f"{{{key // 2}, {int(zero)}, {'NAN' if key % 2 else '-INFINITY'}}}"
        for key, zero in zip(used.tolist(), zeros[first].tolist(), strict=True)
    ]
    return ["{0, 0, NAN}", *texts], slot_of + 1


def _nodes(forest: Forest, threshold: np.ndarray, slot_of: np.ndarray) -> dict[str, str]:
    """The fields of the nodes: trees one after the other, the right child next to the left one."""
    if len(forest.value) * 2 >= _MOST_NODES:
        raise ExportError("the model has more nodes than a C file can number")
    inner, leaves, _ = numbers_in_pairs(forest, forest.left, forest.right)
    n_inner, n_leaves = np.diff(forest.node_offsets), np.diff(forest.leaf_offsets)
    roots = forest.node_offsets[:-1] + forest.leaf_offsets[:-1]
    inner_at, leaf_at = inner + np.repeat(roots, n_inner), leaves + np.repeat(roots, n_leaves)
    # The inner node k of a tree has its children at 2k + 1 and 2k + 2.
    own = np.arange(len(inner)) - np.repeat(forest.node_offsets[:-1], n_inner)
    n = len(inner) + len(leaves)
    value, slot, left = np.empty(n), np.zeros(n, np.int64), np.arange(n)
    value[inner_at], value[leaf_at] = threshold, forest.value
    slot[inner_at] = slot_of
    left[inner_at] = 2 * own + 1 + np.repeat(roots, n_inner)
    texts = [
        f"{{{x}, {s}, {c}}}"
        for x, s, c in zip(numbers(value), slot.tolist(), left.tolist(), strict=True)
    ]
    return {
        "NODES": lines(texts),
        "ROOTS": lines([str(root) for root in roots.tolist()]),
        "n_trees": str(forest.n_trees),
    }


def _branches(plains: Sequence[PlainForest], common: dict[str, str]) -> str:
    parts = [c_code.filled(c_code.BRANCH_TYPES, common)]
    if any(_zeros(plain).any() for plain in plains):
        parts.append(c_code.filled(c_code.BRANCH_ZERO, common | {"nothing": number(ZERO)}))
    for k, plain in enumerate(plains):
        forest = _trees_of(plain)
        _check_depth(forest)
        fields = common | _constants(plain) | {"k": str(k), "n_trees": str(forest.n_trees)}
        for t, body in enumerate(_bodies(forest, _conditions(plain, common["name"]))):
            parts.append(c_code.filled(c_code.BRANCH_TREE, fields | {"t": str(t)}) + body)
        names = [f"{common['name']}_tree_{k}_{t}" for t in range(forest.n_trees)]
        parts.append(c_code.filled(c_code.BRANCHES, fields | {"TREES": lines(names)}))
    parts.append(c_code.filled(c_code.BRANCH_FUNCTIONS, common | {"sum": _sum_type(plains)}))
    return "".join(parts)


def _check_depth(forest: Forest) -> None:
    deepest = depths(forest).max(initial=0) + 1
    if deepest > _DEEPEST:
        raise ExportError(
            f"a tree is {deepest} splits deep, and compilers follow branches in branches no deeper "
            f"than {_DEEPEST}: pass form='tables'"
        )


def _conditions(plain: PlainForest, name: str) -> list[str]:
    """What is true of a row that goes left, for every inner node: NaN fails every comparison."""
    forest = plain.forest
    texts = []
    for feature, threshold, missing_left, zero in zip(
        forest.feature.tolist(),
        numbers(for_doubles(plain)),
        forest.missing_left.tolist(),
        _zeros(plain).tolist(),
        strict=True,
    ):
        x = f"x[{feature}]"
        if missing_left:
            texts.append(f"!({x} > {threshold})" + (f" || {name}_zero({x})" if zero else ""))
        else:
            texts.append(f"{x} <= {threshold}" + (f" && !{name}_zero({x})" if zero else ""))
    return texts


def _bodies(forest: Forest, conditions: list[str]) -> list[str]:
    """The bodies of the functions of the trees, with their closing braces."""
    left, right, values = forest.left.tolist(), forest.right.tolist(), numbers(forest.value)
    bodies = []
    for t in range(forest.n_trees):
        first, first_leaf = int(forest.node_offsets[t]), int(forest.leaf_offsets[t])
        if first == forest.node_offsets[t + 1]:
            bodies.append(f"    (void)x;\n    return {values[first_leaf]};\n}}\n")
            continue
        out: list[str] = []
        todo: list[tuple[int | None, int]] = [(0, 4)]
        while todo:
            child, indent = todo.pop()
            if child is None:
                out.append(" " * indent + "}")
            elif child < 0:
                out.append(" " * indent + f"return {values[first_leaf + ~child]};")
            else:
                node = first + child
                out.append(" " * indent + f"if ({conditions[node]}) {{")
                # What is not left is what comes after: a branch of the left has returned.
                todo += [(right[node], indent), (None, indent), (left[node], indent + 1)]
        bodies.append("\n".join([*out, "}\n"]))
    return bodies
