"""The sample of queries from which the edges of bins are learned.

Every query has a random key that depends on its id alone. The sample is the queries with the
smallest keys: as many as have `SAMPLE_ROWS` rows together. So it is the same in any order of the
queries, and whether the data is seen at once, piece by piece, or by many workers: what is not in
the sample of a part is not in that of the whole. Rows that weigh nothing are absent.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from rankinite.distributed import Communicator, Serial, total

# Quantiles of this many rows are as good as those of all; whole queries are drawn.
SAMPLE_ROWS = 200_000
ANY_KEY = np.uint64(2**64 - 1)


def sampled_rows(
    qids: np.ndarray,
    offsets: np.ndarray,
    counts: np.ndarray | None = None,
    communicator: Communicator | None = None,
) -> np.ndarray:
    """This worker's rows in the sample, ascending: int64 array.

    Parameters
    ----------
    qids : ndarray, shape (n_queries,)
    offsets : ndarray of int64, shape (n_queries + 1,)
        The rows of query q are ``offsets[q]:offsets[q + 1]``.
    counts : ndarray of bool, shape (n_rows,), optional
        The rows that weigh more than nothing; all by default.
    communicator : Communicator, optional
        Of the workers that have the other queries.
    """
    communicator = Serial() if communicator is None else communicator
    chosen = np.ones(offsets[-1], bool) if counts is None else counts.copy()
    sizes = np.add.reduceat(chosen, offsets[:-1], dtype=np.int64)
    if total(int(sizes.sum()), communicator) > SAMPLE_ROWS:
        keys = query_keys(qids)
        limit = largest_key_of_all(keys, sizes, communicator)
        chosen &= np.repeat(keys <= limit, np.diff(offsets))
    return np.flatnonzero(chosen)


def largest_key_of_all(
    keys: np.ndarray, sizes: np.ndarray, communicator: Communicator
) -> np.uint64:
    """`largest_key` of the queries of all workers; each tells those in a sample of its own."""
    own = keys <= largest_key(keys, sizes)
    told = (communicator.gather(array[own]) for array in (keys, sizes))
    return largest_key(*map(np.concatenate, told))


def query_keys(qids: np.ndarray) -> np.ndarray:
    """The keys of queries by their ids: uint64 array.

    An integer and its digits as text have the same key: which of the two an id is depends on the
    file it comes from.
    """
    keys = [hashlib.blake2b(_bytes_of(qid), digest_size=8).digest() for qid in qids.tolist()]
    return np.frombuffer(b"".join(keys), "<u8").astype(np.uint64)


def _bytes_of(qid: Any) -> bytes:
    return qid if isinstance(qid, bytes) else str(qid).encode("utf-8", "surrogatepass")


def largest_key(keys: np.ndarray, sizes: np.ndarray) -> np.uint64:
    """The largest key that a query in the sample of those seen so far may have; it never rises.

    Queries of equal keys are in the sample together, so their order does not matter.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_queries,)
    sizes : ndarray of int64, shape (n_queries,)
        Number of rows of each query that weigh more than nothing.
    """
    order = np.argsort(keys)
    n_rows = np.cumsum(sizes[order])
    enough = int(np.searchsorted(n_rows, SAMPLE_ROWS))
    return ANY_KEY if enough == len(keys) else np.uint64(keys[order[enough]])
