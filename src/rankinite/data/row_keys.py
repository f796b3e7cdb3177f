"""Random numbers that belong to a document, not to its place in a file.

Ties between scores are broken at random and rows are sampled at random, yet the same documents
in another order must give the same model. So each document carries a 64-bit key made from its
bins, its label, its weight and the content of its query. Documents with equal keys in one query
are equal in all that training sees, and which of them comes first makes no difference.
"""

from __future__ import annotations

import numpy as np

from rankinite.data._row_key_kernels import content_keys
from rankinite.data.binning import BinnedMatrix


def row_keys(
    binned: BinnedMatrix, labels: np.ndarray, weight: np.ndarray | None, offsets: np.ndarray
) -> np.ndarray:
    """One uint64 for every row; see the module's text."""
    columns = [labels] if weight is None else [labels, weight]
    extras = np.stack([np.asarray(column, np.float64) + 0.0 for column in columns])
    keys = np.empty(binned.n_rows, np.uint64)
    content_keys(binned.blocks.view(np.uint64), extras.view(np.uint64), offsets, keys)
    return keys
