"""The nodes of all trees as a table, one row a node."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from rankinite.attribution._node_kernels import describe_nodes
from rankinite.data.feature_labels import feature_label
from rankinite.errors import ParameterError, RankiniteError
from rankinite.exchange.plain import PlainForest

LIBRARIES = ("pandas", "polars")


def node_frame(plain: PlainForest, library: str = "pandas") -> Any:
    """A table of all nodes.

    Parameters
    ----------
    library : str
        "pandas" or "polars".

    Returns
    -------
    DataFrame
        By tree, in each tree the inner nodes and then the leaves, with the columns

        tree
            Number of the tree.
        node
            Number of the node in its tree: 0 is the root; leaf l of a tree of n inner nodes is
            n + l.
        leaf
            Number of the leaf, as `leaves` counts; missing in the rows of inner nodes, as the
            columns about splits are in those of leaves.
        depth
            Nodes above it.
        parent, left, right
            Numbers of other nodes; the root has no parent.
        feature, threshold, missing, gain
            The split: rows with values up to the threshold go left, and those without a value as
            `missing` says.
        value
            What a leaf adds to the score before scale and bias; of an inner node the mean below it.
        count
            Training rows.
        cover
            What counted in training: the rows, or their weights or second derivatives.
    """
    if library not in LIBRARIES:
        raise ParameterError(f"library must be 'pandas' or 'polars', got {library!r}")
    if find_spec(library) is None:
        raise RankiniteError(f"a frame of {library} needs it installed: pip install {library}")
    columns = _columns(plain)
    module = import_module(library)
    if library == "polars":
        return module.DataFrame({name: column.tolist() for name, column in columns.items()})
    return module.DataFrame({name: _pandas_column(column) for name, column in columns.items()})


def _pandas_column(column: np.ma.MaskedArray) -> Any:
    """A column with pandas' own missing values."""
    from pandas import array

    if column.dtype.kind == "i" and np.ma.is_masked(column):
        return array(column.tolist(), dtype="Int64")
    if column.dtype == object:  # which `filled` would fill with question marks
        return column.tolist()
    return column.filled(np.nan) if column.dtype.kind == "f" else column.data


def _columns(plain: PlainForest) -> dict[str, np.ma.MaskedArray]:
    """The columns by their names, masked where they say nothing."""
    forest = plain.forest
    n_inner, n_leaves = np.diff(forest.node_offsets), np.diff(forest.leaf_offsets)
    sizes = n_inner + n_leaves
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    node = np.arange(len(first)) - first
    is_leaf = node >= np.repeat(n_inner, sizes)

    def of(dtype: Any, inner: Any = None, leaf: Any = None) -> np.ma.MaskedArray:
        column = np.ma.masked_all(len(node), dtype)
        if inner is not None:
            column[~is_leaf] = inner
        if leaf is not None:
            column[is_leaf] = leaf
        return column

    value, cover = of(np.float64, 0.0, forest.value), of(np.float64, 0.0, plain.leaf_cover)
    count = of(np.int64, 0, forest.count)
    parent, depth, left, right = np.empty((4, len(node)), np.int64)
    describe_nodes(
        forest.left,
        forest.right,
        forest.node_offsets,
        forest.leaf_offsets,
        parent,
        depth,
        left,
        right,
        value.data,
        count.data,
        cover.data,
    )
    used, number = np.unique(forest.feature, return_inverse=True)
    names = np.array([feature_label(j, plain.feature_names) for j in used], object)
    missing = np.where(forest.missing_left, "left", "right").astype(object)
    return {
        "tree": np.ma.array(np.repeat(np.arange(forest.n_trees), sizes)),
        "node": np.ma.array(node),
        "leaf": of(np.int64, leaf=(node - np.repeat(n_inner, sizes))[is_leaf]),
        "depth": np.ma.array(depth),
        "parent": np.ma.array(parent, mask=parent < 0),
        "left": np.ma.array(left, mask=is_leaf),
        "right": np.ma.array(right, mask=is_leaf),
        "feature": of(object, names[number]),
        "threshold": of(np.float64, forest.threshold),
        "missing": of(object, missing),
        "gain": of(np.float64, forest.gain),
        "value": value,
        "count": count,
        "cover": cover,
    }
