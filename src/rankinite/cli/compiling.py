"""The first run on a machine: kernels compiled by two processes at once.

numba compiles one kernel at a time in a process, and keeps the result on disk for every other. So
while this process reads the data and compiles what that and the λs need, a second one compiles the
kernels of trees and measures. Whoever comes first to a kernel compiles it; at worst both do.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def compile_ahead(measure: str = "ndcg@10") -> None:
    """Begin to compile the kernels of trees and of a measure's values, if nobody has before."""
    if (os.cpu_count() or 1) > 1 and not trees_are_compiled():
        work = f"from {__name__} import *; evaluate_a_ranking({measure!r}); grow_a_tree()"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", work],  # -P: no numba.py of the working folder
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(_end, process)


def trees_are_compiled() -> bool:
    """Whether the kernels of the trees are on disk."""
    from rankinite.trees._split_kernels import best_splits

    kernel: Any = best_splits
    folder = Path(kernel._cache.cache_path)
    return any(folder.glob("_split_kernels.best_splits-*.nbi"))


def grow_a_tree() -> None:
    """Grow a small tree as training does, which compiles all that it takes."""
    import numpy as np

    from rankinite.binning import BinMapper, BinnedMatrix
    from rankinite.distributed import Serial
    from rankinite.trees import (
        Forest,
        Grower,
        GrowthParameters,
        add_grown_tree,
        add_tree,
        gradients,
        pack_least_squares,
        pack_newton,
        score_binned,
        sums_over_leaves,
    )

    n_rows, serial = 100, Serial()
    values = np.arange(n_rows, dtype=np.float64)
    # Two bins, written by hand: the process that trains is about to compile the binning.
    blocks = np.zeros((1, n_rows, 16), np.uint8)
    blocks[0, n_rows // 2 :, 0] = 1
    binned = BinnedMatrix(blocks, 1, BinMapper(np.zeros(1), np.array([0, 1]), 255))
    lam, w = gradients(values, serial), gradients(values + 1, serial)
    keys, scores = np.zeros(n_rows, np.uint64), np.zeros(n_rows)
    for split, packed in (
        ("least_squares", pack_least_squares(lam, n_rows)),
        ("newton", pack_newton(lam, w, n_rows)),
    ):
        parameters = GrowthParameters(max_leaf_nodes=4, split=split)
        grown = Grower(binned, parameters, keys, n_rows, serial).grow(packed, np.uint64(0))
    sums_over_leaves(lam, grown.rows, grown.starts, grown.stops, n_rows, serial)
    add_grown_tree(grown, grown.tree.value, scores)
    add_tree(grown.tree, binned, scores)
    score_binned(Forest.from_trees([grown.tree]), binned)


def evaluate_a_ranking(measure: str) -> None:
    """Take the value of a measure, as for the validation data."""
    import numpy as np

    from rankinite.data import Dataset
    from rankinite.measures import evaluate

    y = np.array([0.0, 1.0])
    data = Dataset(y[:, None], y, qid=np.zeros(2)).with_preferences(preferred=[1], other=[0])
    evaluate(y, data, measure)


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    process.wait()
