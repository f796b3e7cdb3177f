"""The rankers that are combined: anything that scores, by a name."""

from __future__ import annotations

import copy
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from rankinite.boosting.boosted_trees import BoostedTrees
from rankinite.combination.forests import SharedForests, can_share, same_features
from rankinite.data import Dataset, FeatureValues, Queries
from rankinite.errors import DataError, ParameterError, RankiniteError
from rankinite.models.base_model import (
    as_scorer,
    base_scores,
    check_base,
    checked_base_scores,
)
from rankinite.models.ranker import Ranker
from rankinite.order.canonical import canonical

Members = dict[str, Any]

_NOTHING: Mapping[int, np.ndarray] = MappingProxyType({})

# Of more rows, combinations inside a combination are scored one after the other: the scores of all
# rankers inside would take more room than the features.
_FEW_ROWS = 2**16


def named_rankers(rankers: Any) -> Members:
    """Rankers as they were given, by name; those of a list are called by their number from 1."""
    if isinstance(rankers, Mapping):
        named = dict(rankers)
    elif isinstance(rankers, Sequence) and not isinstance(rankers, str):
        named = {str(number): ranker for number, ranker in enumerate(rankers, start=1)}
    else:
        raise ParameterError(
            "rankers must be a dict of rankers by name, or a list of rankers, not a "
            f"{type(rankers).__name__}"
        )
    if not named:
        raise ParameterError("rankers is empty: pass at least one")
    for name in named:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"the names of rankers must be texts, got {name!r}")
    return named


def as_members(rankers: Any) -> Members:
    """Rankers by name, as things that score and that a model file can keep."""
    members = {}
    for name, ranker in named_rankers(rankers).items():
        with about(name):
            members[name] = as_scorer(ranker)
    return members


def check_members(members: Members, dataset: Dataset) -> None:
    """Refuse rankers that are not trained, or not on the features of the data."""
    for name, member in members.items():
        with about(name):
            check_base(member, dataset)


class RankerOfRankers(Ranker):
    """A ranker that scores by the scores of others, which may be of its kind."""

    # What the last scoring laid out for the forests among the rankers.
    _shared: SharedForests | None = None

    @abstractmethod
    def _inner(self) -> Members:
        """The rankers that it scores by."""

    @abstractmethod
    def _of_scores(self, raw: np.ndarray, offsets: np.ndarray | None) -> np.ndarray:
        """One score a row, of the raw ones, shape (n_rows, n_rankers); `offsets` of queries."""

    def score_by_members(
        self,
        data: Dataset | np.ndarray,
        n_threads: int | None,
        known: Mapping[int, np.ndarray] = _NOTHING,
    ) -> np.ndarray:
        """Scores, shape (n_rows,), in a dataset's stored order.

        Parameters
        ----------
        n_threads : int or None
            Of the rankers inside.
        known : mapping from int, optional
            Scores that were taken already, by the ``id`` of the ranker.
        """
        rankers = forests_among(self._inner(), data, known)
        if rankers:
            self._shared = shared = SharedForests.of(rankers, self._shared)
            known = {**known, **shared.scores(rankers, data)}
        raw = scores_of_members(self._inner(), data, n_threads, known)
        return self._of_scores(raw, data.offsets if isinstance(data, Dataset) else None)


def forests_among(
    members: Members, data: Dataset | np.ndarray, known: Mapping[int, np.ndarray] = _NOTHING
) -> list[BoostedTrees]:
    """The rankers, each once, whose trees can be scored in one pass over the data.

    Those of combinations among them belong to it, unless that would be many scores to remember.
    Not those whose scores are known.
    """
    names = data.feature_names if isinstance(data, Dataset) else None
    n_rows = data.n_rows if isinstance(data, Dataset) else len(data)
    found: dict[int, BoostedTrees] = {}

    def look(among: Members) -> None:
        for member in among.values():
            if isinstance(member, RankerOfRankers):
                if n_rows <= _FEW_ROWS and same_features(member._feature_names, names):
                    look(member._inner())
            elif id(member) not in known and can_share(member, names):
                found[id(member)] = member

    look(members)
    return list(found.values())


def scores_of_members(
    members: Members,
    data: Dataset | np.ndarray,
    n_threads: int | None,
    known: Mapping[int, np.ndarray] = _NOTHING,
) -> np.ndarray:
    """Raw scores, float64 of shape (n_rows, n_rankers); of a dataset in its stored order.

    Parameters
    ----------
    known : mapping from int, optional
        Scores that were taken already, by the ``id`` of the ranker.
    """
    n_rows = data.n_rows if isinstance(data, Dataset) else len(data)
    # A column lies in one piece while it is written.
    scores = np.empty((len(members), n_rows))
    for j, (name, member) in enumerate(members.items()):
        with about(name):
            scores[j] = _scores_of_member(member, data, n_threads, known)
    return scores.T


def _scores_of_member(
    member: Any,
    data: Dataset | np.ndarray,
    n_threads: int | None,
    known: Mapping[int, np.ndarray],
) -> np.ndarray | float:
    if id(member) in known:
        return checked_base_scores(member, known[id(member)])
    names = data.feature_names if isinstance(data, Dataset) else None
    if isinstance(member, RankerOfRankers) and same_features(member._feature_names, names):
        return checked_base_scores(member, member.score_by_members(data, n_threads, known))
    return base_scores(on_threads(member, n_threads), data)


def table_of(members: Members, dataset: Dataset, n_threads: int | None) -> Dataset:
    """A dataset whose features are the raw scores of the rankers, in the data's stored order."""
    rankers = forests_among(members, dataset)
    known = SharedForests.of(rankers).scores(rankers, dataset) if rankers else {}
    scores = scores_of_members(members, dataset, n_threads, known)
    return _with_scores(dataset, np.ascontiguousarray(scores))


def table_of_scores(scores: Any, dataset: Dataset, n_rankers: int) -> Dataset:
    """A dataset whose features are given scores, one column a ranker, in the caller's row order."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    if values.shape != (dataset.n_rows, n_rankers) or not np.isfinite(values).all():
        raise DataError(
            f"scores must be finite numbers of shape ({dataset.n_rows}, {n_rankers}), a column for "
            f"each ranker, got {'NaN, infinity or ' * (values.ndim == 2)}the shape {values.shape}"
        )
    return _with_scores(dataset, np.ascontiguousarray(dataset.in_stored_order(values)))


def _with_scores(dataset: Dataset, scores: np.ndarray) -> Dataset:
    queries = Queries(
        offsets=dataset.offsets,
        qids=dataset.qids,
        y=dataset.y,
        weight=dataset.weight,
        query_weight=dataset.query_weight,
    )
    return Dataset.of(queries, FeatureValues(scores))


def in_content_order(table: Dataset) -> Dataset:
    """The table with rows and queries in an order that is made of their content.

    So whatever is learned from it does not depend on the order in which the rows came.
    """
    order = canonical(table)
    queries = Queries(
        offsets=order.offsets,
        qids=table.qids[order.queries],
        y=None if table.y is None else order.labels,
        weight=order.weight,
        query_weight=order.query_weight,
    )
    return Dataset.of(queries, table.features.select_rows(order.rows))


def on_threads(member: Any, n_threads: int | None) -> Any:
    """The ranker, to be used with so many threads; the caller's own object stays as it is."""
    if n_threads is None or not isinstance(member, Ranker):
        return member
    member = copy.copy(member)
    member.n_threads = n_threads
    return member


@contextmanager
def about(name: str) -> Iterator[None]:
    """Let an error name the ranker it is about.

    What is said of a base model holds for any ranker that is taken in from outside.
    """
    try:
        yield
    except RankiniteError as error:
        ranker, message = f"the ranker {name!r}", str(error)
        told = re.sub(r"\bbase_model\b", lambda _: ranker, message)
        raise type(error)(told if told != message else f"{ranker}: {message}") from error
