"""More queries from those that there are: parts of their documents (Burges et al. 2011, section 2).

Once document B of A > B > C is gone, a ranker can no longer learn that A is above C only where B
lies between them. The new queries are rows of the old ones by their numbers (`FeatureRows`), so
that neither values nor bins are copied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankinite.binning.sampling import query_keys
from rankinite.data import Dataset, FeatureRows, Preferences, Queries
from rankinite.data.grouping import gathered
from rankinite.errors import DataError
from rankinite.models.parameters import OneOf, Real, Whole
from rankinite.order._canonical_kernels import scrambled
from rankinite.order.canonical import document_keys
from rankinite.order.seeds import derive_seed


def augmented(
    data: Dataset,
    fraction: float = 0.7,
    times: int = 5,
    *,
    single_labels: str = "drop",
    random_state: int = 0,
) -> Dataset:
    """The data with new queries, each a random part of the documents of an old one.

    Which documents are drawn depends on their content, their query's id and the seed, not on the
    order of the rows. (A dataset that holds only bins draws by its bins, and so other documents
    than the same data with its values.)

    Parameters
    ----------
    data : Dataset
        What weighs nothing is left out. A query's weight goes to its parts, a document's along.
        Of preferences those stay in a part both of whose documents are drawn.
    fraction : float
        Share of a query's documents in a part, drawn without replacement, rounded to a whole
        number; at least one document.
    times : int
        Parts of each query.
    single_labels : {"drop", "keep"}
        What becomes of parts that teach nothing about an order: whose documents have one label
        (always those of a single document), and which have no preferences. The old queries are
        kept whatever they are, and so are all parts if the data has neither labels nor preferences.
    random_state : int
        Other documents for each.

    Returns
    -------
    Dataset
        The old queries, and then the first part of each, the second, and so on. Ids are texts: that
        of the old query, and behind it the number of the part, as in ``"7 (part 2)"``. Its features
        are rows of those of `data`, by number.

    Examples
    --------
    >>> import rankinite as rk
    >>> data = rk.Dataset([[1.0], [2.0], [3.0], [4.0]], [0, 1, 2, 3], qid=[7, 7, 7, 7])
    >>> grown = rk.augmented(data, fraction=0.5, times=2)
    >>> grown.qids.tolist(), grown.query_sizes.tolist()
    (['7', '7 (part 1)', '7 (part 2)'], [4, 2, 2])
    """
    if not isinstance(data, Dataset):
        raise DataError(f"augmented needs a Dataset, not a {type(data).__name__}")
    check_settings(fraction, times, single_labels, random_state)
    # By number from here on: what weighs nothing is left out without a copy.
    features = FeatureRows(data.features, np.arange(data.n_rows))
    whole = Dataset.of(data, features).that_count()
    keys = _keys(whole)
    parts = [_Part.whole(whole)]
    for number in range(1, times + 1):
        seed = derive_seed(random_state, "documents", number)
        drawn = _drawn(keys, whole, fraction, seed)
        if single_labels == "drop":
            drawn &= np.repeat(_teaches(whole, drawn), whole.query_sizes)
        parts.append(_Part.of(whole, drawn))
    rows = np.concatenate([part.rows for part in parts])
    queries = np.concatenate([part.queries for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    grown = Queries(
        offsets=offsets,
        qids=_ids(whole.qids, [part.queries for part in parts]),
        y=gathered(whole.y, rows),
        weight=gathered(whole.weight, rows),
        query_weight=gathered(whole.query_weight, queries),
        documents=gathered(whole.documents, rows),
        preferences=_preferences(whole.preferences, parts, offsets),
    )
    return Dataset.of(grown, whole.features.select_rows(rows))


def check_settings(
    fraction: Any = 0.7, times: Any = 5, single_labels: Any = "drop", random_state: Any = 0
) -> None:
    """Refuse arguments of `augmented` that are out of their range."""
    Real(0.0, 1.0).check("fraction", fraction)
    Whole(1).check("times", times)
    OneOf(("drop", "keep")).check("single_labels", single_labels)
    Whole(0, 2**63 - 1).check("random_state", random_state)


class _Part(NamedTuple):
    """Some of the rows, ascending, and the queries that they are of, with their sizes."""

    rows: np.ndarray
    queries: np.ndarray
    sizes: np.ndarray
    preferences: Preferences | None

    @classmethod
    def whole(cls, data: Dataset) -> _Part:
        """All rows."""
        rows, queries = np.arange(data.n_rows), np.arange(data.n_queries)
        return cls(rows, queries, data.query_sizes, data.preferences)

    @classmethod
    def of(cls, data: Dataset, drawn: np.ndarray) -> _Part:
        """The rows that are drawn."""
        sizes = np.add.reduceat(drawn, data.offsets[:-1], dtype=np.int64)
        queries = np.flatnonzero(sizes)
        sizes = sizes[queries]
        pairs = data.preferences
        if pairs is not None:
            pairs = pairs.select_rows(drawn, np.concatenate([[0], np.cumsum(sizes)]))
        return cls(np.flatnonzero(drawn), queries, sizes, pairs)


def _keys(data: Dataset) -> np.ndarray:
    """A random number of each document, made of its content and its query's id."""
    return document_keys(data) ^ np.repeat(query_keys(data.qids), data.query_sizes)


def _drawn(keys: np.ndarray, data: Queries, fraction: float, seed: np.uint64) -> np.ndarray:
    """Which rows are in a part of their query: bool, shape (n_rows,).

    Those with the least random numbers; documents of the same number are the same in all.
    """
    hashes = np.empty_like(keys)
    scrambled(keys, seed, hashes)
    sizes = data.query_sizes
    by_hash = np.lexsort((hashes, np.repeat(np.arange(data.n_queries), sizes)))
    place = np.arange(data.n_rows) - np.repeat(data.offsets[:-1], sizes)
    n_drawn = np.maximum(np.rint(fraction * sizes), 1)
    drawn = np.empty(data.n_rows, bool)
    drawn[by_hash] = place < np.repeat(n_drawn, sizes)
    return drawn


def _teaches(data: Queries, drawn: np.ndarray) -> np.ndarray:
    """Whether the documents of each query that are drawn say anything about an order."""
    starts, pairs = data.offsets[:-1], data.preferences
    if data.y is None and pairs is None:
        return np.ones(data.n_queries, bool)
    teaches = np.zeros(data.n_queries, bool)
    if data.y is not None:
        highest = np.maximum.reduceat(np.where(drawn, data.y, -np.inf), starts)
        teaches |= highest > np.minimum.reduceat(np.where(drawn, data.y, np.inf), starts)
    if pairs is not None:
        both = drawn[pairs.first] & drawn[pairs.other]
        query = np.repeat(np.arange(data.n_queries), np.diff(pairs.offsets))
        teaches |= np.bincount(query[both], minlength=data.n_queries) > 0
    return teaches


def _ids(qids: np.ndarray, queries: list[np.ndarray]) -> np.ndarray:
    """The ids of the old queries and of their parts, all different, as texts."""
    old = [str(qid) for qid in qids.tolist()]
    if len(set(old)) < len(old):  # such as 7 and "7"
        old = [repr(qid) for qid in qids.tolist()]
    word = "part"
    while True:
        new = [
            f"{old[query]} ({word} {number})"
            for number, part in enumerate(queries[1:], start=1)
            for query in part.tolist()
        ]
        if not set(new) & set(old):
            return np.array([*old, *new], object)
        word = f"another {word}"


def _preferences(
    whole: Preferences | None, parts: list[_Part], offsets: np.ndarray
) -> Preferences | None:
    """The pairs of all parts, by the rows of the grown data."""
    if whole is None:
        return None
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    columns = {
        name: np.concatenate(
            [
                getattr(part.preferences, name) + (start if name in ("first", "other") else 0)
                for part, start in zip(parts, starts, strict=False)
            ]
        )
        for name in ("first", "other", "probability", "weight")
    }
    return Preferences(offsets, **columns)
