"""Several datasets as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins, Features, FeatureValues
from rankinite.data.grouping import gathered, number_ids
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.errors import DataError, ParameterError

SAME_ID = ("error", "join", "apart")


def concat(parts: Sequence[Dataset], *, same_id: str = "error") -> Dataset:
    """Several datasets as one: the rows of the first, then those of the second, and so on.

    Parameters
    ----------
    parts : sequence of Dataset
        With the same features, by the same names. All of them hold values, or all hold bins, and
        the same ones. Labels, weights, ids of documents and preferences: all have them, or none.
    same_id : {"error", "join", "apart"}
        What to do with a query id that two parts have: refuse it, make one query of the rows, or
        keep all parts apart by putting the number of the part before every id: ``"0:7"``,
        ``"1:7"``.

    Returns
    -------
    Dataset
        Its scores come in the order of the rows: those of the first part, then of the second.

    Examples
    --------
    >>> import rankinite as rk
    >>> monday = rk.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> tuesday = rk.Dataset([[3.0], [4.0]], [1, 0], qid=[2, 2])
    >>> rk.concat([monday, tuesday]).qids.tolist()
    [1, 2]
    """
    if isinstance(parts, Dataset) or not all(isinstance(part, Dataset) for part in parts):
        raise ParameterError("parts must be a list of Datasets")
    if not len(parts):
        raise ParameterError("parts is empty: pass at least one Dataset")
    return joined(list(parts), [f"part {k}" for k in range(len(parts))], same_id)


def joined(parts: list[Dataset], places: list[str], same_id: str) -> Dataset:
    """See `concat`; `places` is what messages call the parts."""
    check_same_id(same_id)
    if len(parts) == 1:
        return parts[0]
    features = _features(parts, places)
    rows = {
        name: _column([getattr(part, name) for part in parts], places, name)
        for name in ("y", "weight", "documents")
    }
    ids = [_ids(part, number, same_id) for number, part in enumerate(parts)]
    numbers, qids = _numbered(ids, places, same_id)
    query_weight = _column([part.query_weight for part in parts], places, "query_weight")
    if query_weight is not None and len(qids) < len(numbers):
        raise DataError(
            "queries that are joined have weights of their own in each part: leave out "
            "query_weight, or keep the queries apart"
        )
    query_of_row = np.repeat(numbers, np.concatenate([part.query_sizes for part in parts]))
    order = None  # from the rows of the parts, one after the other, to the rows of the whole
    if (np.diff(query_of_row) < 0).any():
        order = np.argsort(query_of_row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(query_of_row))]).astype(np.int64)
    queries = Queries(
        offsets=offsets,
        qids=qids,
        y=gathered(rows["y"], order),
        weight=gathered(rows["weight"], order),
        query_weight=query_weight,
        order=gathered(_callers_rows(parts), order),
        documents=gathered(rows["documents"], order),
        preferences=_preferences(parts, places, offsets, order),
    )
    if order is not None and queries.order is None:
        queries.order = order
    return Dataset.of(queries, features if order is None else features.select_rows(order))


def check_same_id(same_id: Any) -> None:
    """Refuse what is none of the ways to treat a query id of two parts."""
    if same_id not in SAME_ID:
        raise ParameterError(f"same_id must be one of {', '.join(SAME_ID)}, got {same_id!r}")


def refuse_same_id(qid: Any, one: str, other: str) -> DataError:
    """The error for a query id that is in two places."""
    return DataError(
        f"the query id {qid!r} is in {one} and in {other}: pass same_id='join' if it is one query, "
        "or same_id='apart' to keep them apart"
    )


def _features(parts: list[Dataset], places: list[str]) -> Features:
    first = parts[0]
    for part, place in zip(parts[1:], places[1:], strict=True):
        if part.n_features != first.n_features:
            raise DataError(
                f"{places[0]} has {first.n_features} features and {place} has {part.n_features}: "
                "they must have the same"
            )
        check_names(first.feature_names, part.feature_names, places[0], place)
        if first.features.has_values != part.features.has_values:
            raise DataError(
                f"of {places[0]} and {place} one holds values and the other only bins: "
                "use both with their values"
            )
    names = first.feature_names
    if first.features.has_values:
        return FeatureValues(np.concatenate([part.X for part in parts]), names)
    return FeatureBins(_bins(parts, places), names)


def check_names(
    names: list[str] | None, others: list[str] | None, place: str, other_place: str
) -> None:
    """Refuse other names of features than the first ones, or some where there are none."""
    if names == others:
        return
    if names is None or others is None:
        named, bare = (place, other_place) if others is None else (other_place, place)
        raise DataError(f"{named} has names of features and {bare} has none: give both the same")
    for name in names:
        if name not in others:
            raise DataError(f"{place} has the feature {name!r}, which {other_place} does not have")
    for name in others:
        if name not in names:
            raise DataError(f"{other_place} has the feature {name!r}, which {place} does not have")
    raise DataError(f"the features of {place} and {other_place} are not in the same order")


def _bins(parts: list[Dataset], places: list[str]) -> Any:
    from rankinite.binning import BinnedMatrix

    mapper = parts[0].mapper(255)
    for part, place in zip(parts[1:], places[1:], strict=True):
        other = part.mapper(255)
        if other.max_bins != mapper.max_bins or not other.equals(mapper):
            raise DataError(
                f"{places[0]} and {place} hold bins that are not the same: bin one like the other, "
                "by like="
            )
    blocks = [part.binned(mapper.max_bins).blocks for part in parts]
    return BinnedMatrix(np.concatenate(blocks, axis=1), parts[0].n_features, mapper)


def _column(columns: list[Any], places: list[str], name: str) -> Any:
    """A column of all parts, one after the other; None if none has it."""
    absent = [place for column, place in zip(columns, places, strict=True) if column is None]
    if len(absent) == len(columns):
        return None
    if absent:
        raise DataError(f"{absent[0]} has no {name}, and others have: give it for all or for none")
    return np.concatenate(columns)


def _ids(part: Dataset, number: int, same_id: str) -> np.ndarray:
    if same_id != "apart":
        return part.qids
    ids = np.empty(part.n_queries, object)
    ids[:] = [f"{number}:{qid}" for qid in part.qids.tolist()]
    return ids


def _numbered(
    ids: list[np.ndarray], places: list[str], same_id: str
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each part's queries in the whole, and the ids of the whole."""
    kinds = {place: _kind(own) for own, place in zip(ids, places, strict=True)}
    for place, kind in kinds.items():
        if kind != kinds[places[0]]:
            raise DataError(
                f"the query ids of {places[0]} are {kinds[places[0]]} and those of {place} are "
                f"{kind}: convert them to one type"
            )
    known: dict[Any, int] = {}
    numbers, new = [], []
    for number, (own, place) in enumerate(zip(ids, places, strict=True)):
        n_known = len(known)
        numbers.append(number_ids(own, known))
        is_new = numbers[-1] >= n_known
        if same_id == "error" and not is_new.all():
            qid = own[~is_new].tolist()[0]
            before = next(k for k in range(number) if qid in ids[k].tolist())
            raise refuse_same_id(qid, places[before], place)
        new.append(own[is_new])
    return np.concatenate(numbers), np.concatenate(new)


def _kind(ids: np.ndarray) -> str:
    kinds = {"b": "integers", "i": "integers", "u": "integers", "f": "floats", "U": "text"}
    if ids.dtype.kind == "O":
        types = sorted({type(qid).__name__ for qid in ids.tolist()})
        return "text" if types == ["str"] else " and ".join(types)
    return kinds.get(ids.dtype.kind, str(ids.dtype))


def _callers_rows(parts: list[Dataset]) -> np.ndarray | None:
    """The caller's row of every row, where those of the parts follow one another."""
    if all(part.order is None for part in parts):
        return None
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    rows = [np.arange(part.n_rows) if part.order is None else part.order for part in parts]
    return np.concatenate([start + own for start, own in zip(starts, rows, strict=False)])


def _preferences(
    parts: list[Dataset], places: list[str], offsets: np.ndarray, order: np.ndarray | None
) -> Preferences | None:
    pairs = [part.preferences for part in parts]
    absent = [place for own, place in zip(pairs, places, strict=True) if own is None]
    if len(absent) == len(parts):
        return None
    if absent:
        raise DataError(f"{absent[0]} has no preferences, and others have: give all or none")
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    place_of = np.arange(starts[-1])
    if order is not None:
        place_of[order] = np.arange(len(order))

    def rows(name: str) -> np.ndarray:
        own = [getattr(each, name) + start for each, start in zip(pairs, starts, strict=False)]
        return place_of[np.concatenate(own)]

    probability = np.concatenate([each.probability for each in pairs if each is not None])
    weight = np.concatenate([each.weight for each in pairs if each is not None])
    return Preferences(offsets, rows("first"), rows("other"), probability, weight)
