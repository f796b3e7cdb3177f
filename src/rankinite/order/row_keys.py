"""Random numbers that belong to a document, not to its place in a file.

Ties between scores are broken at random and rows are sampled at random, yet the same documents
in another order must give the same model. So each document carries a 64-bit key made from its
bins, its label, its weight and the content of its query. Documents with equal keys in one query
are equal in all that training sees, and which of them comes first makes no difference.
"""

from __future__ import annotations

import hashlib

import numpy as np

from rankinite._numba import in_threads, query_blocks
from rankinite.binning import BinnedRows, Bins
from rankinite.data.preferences import Preferences
from rankinite.distributed import Communicator, Serial
from rankinite.order._row_key_kernels import add_pairs, content_keys

# Rows by number whose bins are copied out at a time, about.
ROWS_AT_ONCE = 10_000


def row_keys(
    binned: Bins, labels: np.ndarray, weight: np.ndarray | None, offsets: np.ndarray
) -> np.ndarray:
    """One uint64 for every row; see the module's text."""
    # No weight is a weight of 1 everywhere, and must give the same model.
    weight = np.ones(binned.n_rows) if weight is None else weight
    keys = np.empty(binned.n_rows, np.uint64)
    extras = bits(labels, weight)
    if isinstance(binned, BinnedRows):
        _keys_of_rows(binned, extras, offsets, keys)
    else:
        words = binned.blocks.view(np.uint64)
        in_threads(content_keys, query_blocks(offsets), words, extras, offsets, keys)
    return keys


def _keys_of_rows(
    binned: BinnedRows, extras: np.ndarray, offsets: np.ndarray, keys: np.ndarray
) -> None:
    """`row_keys` of rows that do not lie next to each other: the bins of a few are at a time."""

    def write(first_query: int, last_query: int) -> None:
        own = offsets[first_query : last_query + 1]
        some = slice(own[0], own[-1])
        words = binned.select_rows(np.arange(own[0], own[-1])).blocks.view(np.uint64)
        few = np.ascontiguousarray(extras[:, some])
        content_keys(0, len(own) - 1, words, few, own - own[0], keys[some])

    in_threads(write, query_blocks(offsets, most=1 + int(offsets[-1]) // ROWS_AT_ONCE))


def row_keys_with_pairs(binned: Bins, pairs: Preferences) -> np.ndarray:
    """One uint64 for every row of data that is learned from its pairs alone.

    Documents with equal keys in one query have equal bins, and pairs with documents of equal bins,
    in the same roles, by the same probabilities and weights: whatever scores bins have, their λs
    are equal.
    """
    keys = row_keys(binned, np.zeros(binned.n_rows), None, pairs.query_offsets)
    terms = bits(pairs.probability, pairs.weight)
    add_pairs(pairs.first, pairs.other, terms, keys)
    return keys


def fingerprint(
    binned: Bins,
    keys: np.ndarray,
    offsets: np.ndarray,
    *columns: np.ndarray,
    communicator: Communicator | None = None,
) -> str:
    """A short text that tells one set of training data from another, in any order of the rows.

    Parameters
    ----------
    binned : BinnedMatrix or BinnedRows
        For its edges; its bins are in the keys.
    keys : ndarray of uint64, shape (n_rows,)
        From `row_keys`.
    columns : ndarray of float64, shape (n_rows,)
        What else belongs to a row.
    communicator : Communicator, optional
        Of the workers that have the other rows.
    """
    communicator = Serial() if communicator is None else communicator
    words = np.empty((0, len(keys), 2), np.uint64)
    extras = np.concatenate([keys[np.newaxis], bits(*columns)])
    hashes = np.empty(len(keys), np.uint64)
    in_threads(content_keys, query_blocks(offsets), words, extras, offsets, hashes)
    digest = hashlib.sha256(binned.mapper.edges.tobytes())
    digest.update(binned.mapper.edge_offsets.tobytes())
    # The sum wraps around, on one worker as over all of them.
    digest.update(communicator.sum(np.array([hashes.sum()], np.uint64)).tobytes())
    return digest.hexdigest()[:16]


def bits(*columns: np.ndarray) -> np.ndarray:
    """Columns as the words of their floats; −0 becomes 0."""
    return np.stack([np.asarray(column, np.float64) + 0.0 for column in columns]).view(np.uint64)
