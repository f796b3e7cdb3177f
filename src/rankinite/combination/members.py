"""The rankers that are combined: anything that scores, by a name."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankinite.data import Dataset, FeatureValues, Queries
from rankinite.errors import DataError, ParameterError, RankiniteError
from rankinite.models.base_model import as_scorer, base_scores, check_base
from rankinite.models.ranker import Ranker
from rankinite.order.canonical import canonical

Members = dict[str, Any]


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


def scores_of_members(
    members: Members, data: Dataset | np.ndarray, n_threads: int | None
) -> np.ndarray:
    """Raw scores, float64 of shape (n_rows, n_rankers); of a dataset in its stored order."""
    n_rows = data.n_rows if isinstance(data, Dataset) else len(data)
    scores = np.empty((n_rows, len(members)))
    for j, (name, member) in enumerate(members.items()):
        with about(name):
            scores[:, j] = base_scores(on_threads(member, n_threads), data)
    return scores


def table_of(members: Members, dataset: Dataset, n_threads: int | None) -> Dataset:
    """A dataset whose features are the raw scores of the rankers, in the data's stored order."""
    return _with_scores(dataset, scores_of_members(members, dataset, n_threads))


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
