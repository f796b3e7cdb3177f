"""Which worker has which queries: those that it holds already, and all of each query.

Partitions stay where Dask has computed them. Only queries with rows on several workers move: each
to the worker that its key says.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import Future

from rankinite.binning.sampling import query_keys
from rankinite.dask.crew import Crew
from rankinite.dask.failures import Failure
from rankinite.dask.partitions import Table
from rankinite.data import Dataset
from rankinite.data.checks import query_weights
from rankinite.data.concatenation import joined
from rankinite.errors import DataError

log = logging.getLogger("rankinite.dask")


class Note(NamedTuple):
    """What the client must know of a partition: the keys of its queries, and their rows."""

    keys: np.ndarray
    sizes: np.ndarray


class Shares(NamedTuple):
    """A table as the workers have it.

    Attributes
    ----------
    futures : list of Future
        Of each worker a Dataset, or None if it has no rows.
    n_moved : int
        Rows that went from one worker to another.
    """

    futures: list[Future]
    n_moved: int


def shares(rows: Table, query_weight: Mapping[Any, float] | None, crew: Crew) -> Shares:
    """Bring the rows to the workers, each query to one of them."""
    parts = crew.compute(rows.parts())
    notes = crew.results(crew.map(noted, parts))
    for note in notes:
        if isinstance(note, Failure):
            raise note.error(rows.name)
    if not any(len(note.keys) for note in notes):
        raise DataError(f"{rows.name} has no rows: pass some, or leave it out")
    homes = _homes(parts, crew)
    scattered = _scattered(notes, homes)
    n_moved = 0
    pieces: list[list[Future]] = [[] for _ in crew.addresses]
    for part, note, home in zip(parts, notes, homes, strict=True):
        moving = np.isin(note.keys, scattered)
        if not moving.any():
            pieces[home].append(part)
            continue
        owners = np.where(moving, note.keys % np.uint64(crew.size), home).astype(np.int64)
        n_moved += int(note.sizes[owners != home].sum())
        cut = crew.submit(home, split, part, owners)
        for owner in np.unique(owners).tolist():
            pieces[owner].append(crew.submit(home, dict.get, cut, owner))
    _tell(rows.name, scattered, n_moved)
    made = [crew.submit(rank, assembled, own, query_weight) for rank, own in enumerate(pieces)]
    failures = [crew.submit(rank, failure_in, share) for rank, share in enumerate(made)]
    for rank, failure in enumerate(crew.results(failures)):
        if failure is not None:
            raise failure.error(f"{rows.name}, worker {rank}")
    return Shares(made, n_moved)


def noted(part: Dataset | Failure | None) -> Note | Failure:
    """What there is to know of a partition."""
    if part is None:
        return Note(np.empty(0, np.uint64), np.empty(0, np.int64))
    return part if isinstance(part, Failure) else Note(query_keys(part.qids), part.query_sizes)


def split(part: Dataset, owners: np.ndarray) -> dict[int, Dataset]:
    """A partition by the workers that its queries go to.

    Parameters
    ----------
    owners : ndarray of int64, shape (n_queries,)
    """
    return {
        owner: part.select_queries(np.flatnonzero(owners == owner))
        for owner in np.unique(owners).tolist()
    }


def assembled(
    pieces: Sequence[Dataset | None], query_weight: Mapping[Any, float] | None
) -> Dataset | Failure | None:
    """A worker's share: all that it has, in one; None without rows."""
    rows = [piece for piece in pieces if piece is not None]
    if not rows:
        return None
    try:
        share = joined(rows, [f"a partition ({k})" for k in range(len(rows))], "join")
        if query_weight is not None:
            share = Dataset.of(share, share.features)
            share.query_weight = query_weights(query_weight, share.qids)
        return share
    except Exception as error:
        return Failure.of(error)


def failure_in(share: Any) -> Failure | None:
    """What went wrong with a share, if anything: the rest of it stays where it is."""
    return share if isinstance(share, Failure) else None


def _homes(parts: Sequence[Future], crew: Crew) -> list[int]:
    """The worker that holds each partition; the first, if it has just been lost."""
    ranks = {address: rank for rank, address in enumerate(crew.addresses)}
    holders = crew.client.who_has(parts)
    return [
        min(
            (ranks[address] for address in holders.get(part.key, ()) if address in ranks), default=0
        )
        for part in parts
    ]


def _scattered(notes: Sequence[Note], homes: Sequence[int]) -> np.ndarray:
    """The keys of queries that several workers have rows of: ascending uint64 array."""
    keys = np.concatenate([note.keys for note in notes])
    owners = np.repeat(homes, [len(note.keys) for note in notes])
    if not len(keys):
        return keys
    found, numbers = np.unique(keys, return_inverse=True)
    first = np.full(len(found), owners.max() + 1)
    last = np.full(len(found), -1)
    np.minimum.at(first, numbers, owners)
    np.maximum.at(last, numbers, owners)
    return found[first < last]


def _tell(name: str, scattered: np.ndarray, n_moved: int) -> None:
    if len(scattered):
        log.info(
            "%s: %d queries had rows on several workers; %d rows were moved to bring them together",
            name,
            len(scattered),
            n_moved,
        )
    else:
        log.info("%s: every query lies on one worker already, and nothing was moved", name)
