"""Shares that overlap: a worker gets the queries of the next ones too (Svore and Burges 2012).

With an overlap of m, worker k of K has the shares k, k + 1, …, k + m (mod K). So every query is on
m + 1 workers, and sums over all that workers have are m + 1 times those over the data.
"""

from __future__ import annotations

import numpy as np

from rankinite.binning import BinnedMatrix
from rankinite.data.concatenation import joined
from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.distributed import Communicator

_COLUMNS = ("y", "weight", "query_weight")
_OF_PAIRS = ("first", "other", "probability", "weight")


def has_share(worker: int, share: int, overlap: int, n_workers: int) -> bool:
    """Whether a worker has the rows of a share, its own or that of another."""
    return (share - worker) % n_workers <= overlap


def with_overlap(n_rows: np.ndarray, overlap: int) -> np.ndarray:
    """How many rows each worker has, if they call so many their own: int64, shape (n_workers,)."""
    return sum((np.roll(n_rows, -k) for k in range(1, overlap + 1)), n_rows)


def with_next_shares(
    rows: Dataset,
    binned: BinnedMatrix,
    scores: np.ndarray,
    overlap: int,
    communicator: Communicator,
) -> tuple[Dataset, BinnedMatrix, np.ndarray]:
    """A worker's own rows, and after them those of the next workers, in bins; with their scores.

    Parameters
    ----------
    rows : Dataset
        This worker's share.
    binned : BinnedMatrix
        Its features, in bins that are the same on all workers.
    scores : ndarray of float64, shape (n_rows,)
        What else belongs to the rows: their scores before the first round.
    overlap : int
        How many of the next workers; fewer than there are workers.
    """
    own = Dataset.of(rows, FeatureBins(binned, rows.feature_names))
    own.order = own.documents = None
    if overlap == 0:
        return own, binned, scores
    columns = _columns(own, binned, scores)
    found = [columns]
    for root in range(communicator.size):
        told = _told_to(root, columns, overlap, communicator)
        if root == communicator.rank:
            found += told
    parts = [_dataset(each, own, binned) for each in found if len(each["scores"])] or [own]
    # An id may be a number on one worker and text on another.
    whole = joined(parts, [f"share {k}" for k in range(len(parts))], "apart")
    bins = whole.features.matrix
    assert isinstance(bins, BinnedMatrix)
    return whole, bins, np.concatenate([each["scores"] for each in found])


def _columns(rows: Dataset, binned: BinnedMatrix, scores: np.ndarray) -> dict[str, np.ndarray]:
    """All that others need to know of a share, as arrays of one dimension."""
    # As words: fewer and larger numbers than bytes.
    words = np.ascontiguousarray(binned.blocks).view(np.uint64).reshape(-1)
    columns = {"words": words, "sizes": rows.query_sizes, "scores": scores}
    columns |= {name: getattr(rows, name) for name in _COLUMNS if getattr(rows, name) is not None}
    if rows.preferences is not None:
        columns |= {f"pair {name}": getattr(rows.preferences, name) for name in _OF_PAIRS}
    return columns


def _told_to(
    root: int, columns: dict[str, np.ndarray], overlap: int, communicator: Communicator
) -> list[dict[str, np.ndarray]]:
    """The shares that worker `root` has beside its own, in the order of the ring; there alone."""
    size = communicator.size
    gives = root != communicator.rank and has_share(root, communicator.rank, overlap, size)
    told = {
        name: communicator.gather(column if gives else column[:0], root)
        for name, column in columns.items()
    }
    if root != communicator.rank:
        return []
    givers = [(root + k) % size for k in range(1, overlap + 1)]
    return [{name: found[giver] for name, found in told.items()} for giver in givers]


def _dataset(columns: dict[str, np.ndarray], like: Dataset, binned: BinnedMatrix) -> Dataset:
    """What `_columns` was given."""
    n_blocks, _, width = binned.blocks.shape
    blocks = columns["words"].view(np.uint8).reshape(n_blocks, -1, width)
    offsets = np.concatenate([[0], np.cumsum(columns["sizes"])]).astype(np.int64)
    queries = Queries(offsets=offsets, qids=np.arange(len(offsets) - 1))
    for name in _COLUMNS:
        setattr(queries, name, columns.get(name))
    if like.preferences is not None:
        pairs = (columns[f"pair {name}"] for name in _OF_PAIRS)
        queries.preferences = Preferences(offsets, *pairs)
    matrix = BinnedMatrix(blocks, binned.n_features, binned.mapper)
    return Dataset.of(queries, FeatureBins(matrix, like.feature_names))
