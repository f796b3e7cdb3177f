"""Trees as XML elements ``<split>``, which RankLib and QuickRank share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankinite.exchange.writers.texts import number_texts
from rankinite.trees import Forest


def ensemble(
    forest: Forest, threshold: np.ndarray, values: list[str], indent: str = ""
) -> list[str]:
    """The lines of ``<ensemble>``, a tag a line; features are numbered from 1.

    Parameters
    ----------
    threshold : ndarray of float32, shape (n_inner,)
    values : list of str
        The texts of all leaves.
    indent : str
        What each line begins with.
    """
    # Readers turn the text into a float32, and infinity is what is beyond.
    thresholds = number_texts(threshold, infinity="1e39")
    lines = [f"{indent}<ensemble>"]
    for t in range(forest.n_trees):
        lines.append(f'{indent}\t<tree id="{t + 1}" weight="1.0">')
        lines += _split_lines(forest, t, thresholds, values, f"{indent}\t\t")
        lines.append(f"{indent}\t</tree>")
    lines.append(f"{indent}</ensemble>")
    return lines


def _split_lines(
    forest: Forest, tree: int, thresholds: list[str], values: list[str], indent: str
) -> Iterator[str]:
    """The lines of a tree, from the root down, left before right."""
    first, first_leaf = int(forest.node_offsets[tree]), int(forest.leaf_offsets[tree])
    # Children still to come, and tags still to be closed.
    todo: list[tuple[int | str, str, str]] = [(0 if _has_splits(forest, tree) else -1, "", indent)]
    while todo:
        node, side, indent = todo.pop()
        if isinstance(node, str):
            yield node
            continue
        yield f"{indent}<split{side}>"
        todo.append((f"{indent}</split>", "", ""))
        inside = f"{indent}\t"
        if node < 0:
            yield f"{inside}<output>{values[first_leaf + ~node]}</output>"
            continue
        yield f"{inside}<feature>{forest.feature[first + node] + 1}</feature>"
        yield f"{inside}<threshold>{thresholds[first + node]}</threshold>"
        todo.append((int(forest.right[first + node]), ' pos="right"', inside))
        todo.append((int(forest.left[first + node]), ' pos="left"', inside))


def _has_splits(forest: Forest, tree: int) -> bool:
    return bool(forest.node_offsets[tree + 1] > forest.node_offsets[tree])
