"""Data whose queries are dealt out to workers: each has a share of its own.

Before anything is done with it the workers agree on what they have: the same features, the same
columns, and no query on two of them.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from rankinite.binning import BinMapper, BinnedMatrix, empty_blocks
from rankinite.binning.sampling import query_keys
from rankinite.data.concatenation import check_names
from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins, Features, FeatureValues
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.distributed import Communicator, everywhere, told_by, told_by_all
from rankinite.errors import DataError

_COLUMNS = ("y", "weight", "query_weight")


class Shape(NamedTuple):
    """How much data there is, over all workers."""

    n_rows: int
    n_queries: int
    n_features: int

    @classmethod
    def of(cls, rows: Dataset, communicator: Communicator) -> Shape:
        """That of shares that fit together."""
        counts = communicator.sum(np.array([rows.n_rows, rows.n_queries], np.int64))
        return cls(int(counts[0]), int(counts[1]), rows.n_features)

    def __str__(self) -> str:
        return f"{self.n_rows:,} rows, {self.n_queries:,} queries, {self.n_features:,} features"


def agreed_share(rows: Dataset | None, communicator: Communicator, what: str) -> Dataset:
    """This worker's share of the data, after a check that the shares fit together.

    Parameters
    ----------
    rows : Dataset or None
        None: this worker has no rows.
    what : str
        What messages call the data.
    """
    if communicator.size == 1:
        if rows is None:
            raise DataError(f"there is no {what}: pass a Dataset, or X, y and qid")
        return rows
    if rows is not None and rows.n_rows == 0:
        rows = None
    told = told_by_all(_described(rows), communicator)
    first = next((rank for rank, each in enumerate(told) if each is not None), None)
    if first is None:
        raise everywhere(DataError(f"no worker has {what}: pass it to one of them at least"))
    for rank, each in enumerate(told):
        if each is not None:
            _check_alike(told[first], each, f"worker {first}", f"worker {rank}", what)
    mapper = _mapper_of(rows, told[first]["bins"], first, communicator)
    if rows is None:
        rows = _without_rows(told[first], mapper)
    if rows.preferences is None and any(each and each["preferences"] for each in told):
        nobody = np.empty(0, np.int64)
        rows = Dataset.of(rows, rows.features)
        rows.preferences = Preferences(rows.offsets, nobody, nobody)
    refuse_shared_queries(rows.qids, communicator, what)
    return rows


def refuse_shared_queries(qids: np.ndarray, communicator: Communicator, what: str) -> None:
    """Refuse a query that two workers have rows of.

    Each worker looks at some of the keys of all queries; only of keys that come twice are the ids
    themselves compared.
    """
    keys = query_keys(qids)
    mine = communicator.rank
    twice = np.empty(0, np.uint64)
    for root in range(communicator.size):
        told = communicator.gather(keys[keys % np.uint64(communicator.size) == root], root)
        if root == mine:
            found, counts = np.unique(np.concatenate(told), return_counts=True)
            twice = found[counts > 1]
    twice = np.concatenate(communicator.gather(twice))
    if not len(twice):
        return
    own = [str(qid) for qid in qids[np.isin(keys, twice)].tolist()]
    owners: dict[str, int] = {}
    for rank, ids in enumerate(told_by_all(own, communicator)):
        for qid in ids:
            if owners.setdefault(qid, rank) != rank:
                raise everywhere(
                    DataError(
                        f"query {qid} of {what} is on worker {owners[qid]} and on worker {rank}: "
                        "give all its documents to one of them; in a file that workers share, "
                        "the rows of a query must lie together"
                    )
                )


def _described(rows: Dataset | None) -> dict[str, Any] | None:
    """What the others must know of a share; None if it has no rows."""
    if rows is None:
        return None
    bins = None
    if not rows.features.has_values:
        mapper = rows.mapper(255)
        parts = (mapper.edges, mapper.edge_offsets, np.array([mapper.max_bins]))
        bins = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    return {
        "features": rows.n_features,
        "names": rows.feature_names,
        "bins": bins,
        "preferences": rows.preferences is not None,
        **{name: getattr(rows, name) is not None for name in _COLUMNS},
    }


def _check_alike(
    first: dict[str, Any], other: dict[str, Any], place: str, other_place: str, what: str
) -> None:
    """Refuse shares that are not of one kind; every worker does."""
    if first["features"] != other["features"]:
        raise everywhere(
            DataError(
                f"{what} has {first['features']} features on {place} and {other['features']} on "
                f"{other_place}: pass the same features on all workers, as by read(n_features=)"
            )
        )
    try:
        check_names(first["names"], other["names"], place, other_place)
    except DataError as error:
        raise everywhere(error) from None
    for name in _COLUMNS:
        if first[name] != other[name]:
            having, lacking = (place, other_place) if first[name] else (other_place, place)
            raise everywhere(
                DataError(
                    f"{what} has {name} on {having} and none on {lacking}: give it on all workers "
                    "or on none"
                )
            )
    if first["bins"] != other["bins"]:
        raise everywhere(
            DataError(
                f"{what} is not in the same bins on {place} and {other_place}: pass feature "
                "values, which the workers bin together, or shares of data that was binned as a "
                "whole"
            )
        )


def _mapper_of(
    rows: Dataset | None, bins: str | None, owner: int, communicator: Communicator
) -> BinMapper | None:
    """The edges of data that is there in bins alone, on workers without rows too."""
    if bins is None:
        return None
    mine = communicator.rank == owner and rows is not None
    mapper = rows.mapper(255) if mine and rows is not None else None
    edges = communicator.broadcast(None if mapper is None else mapper.edges, owner)
    offsets = communicator.broadcast(None if mapper is None else mapper.edge_offsets, owner)
    max_bins = told_by(None if mapper is None else mapper.max_bins, communicator, owner)
    return BinMapper(edges, offsets, max_bins)


def _without_rows(like: dict[str, Any], mapper: BinMapper | None) -> Dataset:
    """Data of no rows, with the features and columns that the others have."""
    n_features, names = like["features"], like["names"]
    features: Features
    if mapper is None:
        features = FeatureValues(np.empty((0, n_features), np.float32), names)
    else:
        blocks = empty_blocks(n_features, 0)
        features = FeatureBins(BinnedMatrix(blocks, n_features, mapper), names)
    columns: dict[str, Any] = {name: np.empty(0) for name in _COLUMNS if like[name]}
    offsets, qids = np.zeros(1, np.int64), np.empty(0, np.int64)
    return Dataset.of(Queries(offsets=offsets, qids=qids, **columns), features)
