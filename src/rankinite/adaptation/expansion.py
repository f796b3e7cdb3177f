"""Growing a small training set by similar documents of a large one (Gao et al. 2009, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankinite._numba import in_threads, threads
from rankinite.adaptation._expansion_kernels import (
    ROWS,
    SEEDS,
    SEGMENT,
    find_nearest,
    make_unit_rows,
    rest_lengths,
)
from rankinite.data import Dataset, FeatureValues, Queries
from rankinite.errors import DataError, ParameterError
from rankinite.models.standardizing import Standardizer
from rankinite.order.canonical import Canonical, canonical
from rankinite.order.seeds import derive_seed

SEED_FRACTION = 0.5
"""Share of the queries that are seeds, if nobody says."""

SAME = 1e-12
"""Distances that differ by less are equal: a document is near to itself, however it is rounded."""

# Rows whose neighbours one call looks for.
_BLOCK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Expansion:
    """A training set that has grown; printing shows where its rows came from.

    Attributes
    ----------
    dataset : Dataset
        The rows of the target, and behind them those that were selected, in queries of their own.
    rows : ndarray of int64
        The selected rows of the background data, ascending, in the caller's order.
    n_queries : int
        Number of background queries that they belong to.
    n_seed_queries, n_seed_rows : int
        How many of the target's queries and rows were seeds.
    counts : dict of float to dict of str to int
        For every label the numbers of rows that are in the ``"target"``, that were ``"seeds"``,
        that are in the ``"background"`` data, had ``"near"`` seeds enough, and were ``"selected"``.
    """

    dataset: Dataset = field(repr=False)
    rows: np.ndarray = field(repr=False)
    n_queries: int
    n_seed_queries: int
    n_seed_rows: int
    counts: dict[float, dict[str, int]] = field(repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows that were selected."""
        return len(self.rows)

    def __str__(self) -> str:
        columns = ("target", "seeds", "background", "near", "selected")
        lines: list[tuple[str, ...]] = [("label", *columns)]
        for label, numbers in self.counts.items():
            lines.append((f"{label:g}", *(f"{numbers[c]:,}" for c in columns)))
        totals = (sum(numbers[c] for numbers in self.counts.values()) for c in columns)
        lines.append(("all", *(f"{total:,}" for total in totals)))
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        printed = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        ]
        told = (
            f"{self.n_rows:,} rows of {self.n_queries:,} background queries are near to the "
            f"{self.n_seed_rows:,} rows of {self.n_seed_queries:,} seed queries"
        )
        return "\n".join([told, *printed])


def expand(
    target: Dataset,
    background: Dataset,
    *,
    n_seed_queries: int | None = None,
    seed_fraction: float | None = None,
    n_neighbors: int = 3,
    max_distance: float = 0.05,
    label_match: bool = True,
    random_state: int = 0,
    n_threads: int | None = None,
) -> Expansion:
    """Add the documents of a large background set that are like those of a small training set.

    The seeds are the target's least noisy queries: those whose labels have the lowest entropy. A
    background document is selected if all of its nearest seeds are within a distance of it, and
    one of them has its label. It joins the training set in a query of its own domain.

    Parameters
    ----------
    target : Dataset
        The small training set, with labels and feature values.
    background : Dataset
        The large one, with the same features and the same scale of labels.
    n_seed_queries : int, optional
        Number of seed queries; fewer if the target has fewer.
    seed_fraction : float, optional
        Instead, their share of the target's queries that can be seeds. 0.5 by default.
    n_neighbors : int
        How many seeds must be near.
    max_distance : float
        How near: 1 less the cosine of the angle between the documents' features, above 0 and
        below 1.
    label_match : bool
        Whether one of the neighbours must have the document's label.
    random_state : int
        Decides between queries of equal entropy.
    n_threads : int, optional
        All cores by default. The result does not depend on it, nor on the order of the rows.

    Returns
    -------
    Expansion

    Notes
    -----
    Features are standardised by the target's mean and deviation first: in raw features the cosine
    would be that of the few with the largest numbers, and all documents would be alike. A missing
    value counts as the mean. A document that is the mean in all features has no direction, and
    is near to none.

    A query whose labels are all equal has entropy 0, and is never a seed: it has nothing to rank,
    and such queries, mostly without any relevant document, would let irrelevant documents in alone.

    Preferences are not taken along.

    Examples
    --------
    >>> import rankinite as rk
    >>> little = rk.artificial(n_queries=10, n_docs=20, n_features=3, market=1)
    >>> large = rk.artificial(n_queries=50, n_docs=20, n_features=3)
    >>> grown = rk.expand(little, large, max_distance=0.02)
    >>> grown.dataset.n_rows == little.n_rows + grown.n_rows
    True
    """
    _check_parameters(n_seed_queries, seed_fraction, n_neighbors, max_distance, random_state)
    ours, theirs = _values_of("target", target), _values_of("background", background)
    names = _common_names(target, background)
    with threads(n_threads):
        counted = target.that_count()
        order = canonical(counted)
        queries = _seed_queries(order, n_seed_queries, seed_fraction, int(random_state))
        places = _seed_places(order, queries)
        if len(places) < n_neighbors:
            raise DataError(
                f"the seeds are {len(places)} documents, fewer than n_neighbors={n_neighbors}: "
                "take more seed queries, or fewer neighbours"
            )
        standardizer = Standardizer.learn(counted.X, order.rows)
        seeds = _units(standardizer, counted.X[order.rows[places]])
        nearest = _nearest(standardizer, theirs, seeds, n_neighbors, 1.0 - max_distance)
    near = nearest[:, -1] >= 0
    labels, seed_labels = background.labels, order.labels[places]
    selected = near.copy()
    if label_match:
        selected &= (seed_labels[nearest] == labels[:, np.newaxis]).any(axis=1)
    added = np.flatnonzero(selected)
    joined, n_joined = _joined(target, background, added)
    grown = Dataset.of(joined, FeatureValues(np.concatenate([ours, theirs[added]]), names))
    rows = np.flatnonzero(background.in_caller_order(selected))
    counts = _counts(
        target=target.labels,
        seeds=seed_labels,
        background=labels,
        near=labels[near],
        selected=labels[selected],
    )
    return Expansion(grown, rows, n_joined, len(queries), len(places), counts)


def _check_parameters(
    n_seed_queries: Any, seed_fraction: Any, n_neighbors: Any, max_distance: Any, random_state: Any
) -> None:
    if n_seed_queries is not None and seed_fraction is not None:
        raise ParameterError("n_seed_queries and seed_fraction say the same: pass one of them")
    wholes = {"n_neighbors": (n_neighbors, 1), "random_state": (random_state, 0)}
    if n_seed_queries is not None:
        wholes["n_seed_queries"] = (n_seed_queries, 1)
    for name, (value, low) in wholes.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < low:
            raise ParameterError(f"{name} must be a whole number of at least {low}, got {value!r}")
    if random_state >= 2**63:
        raise ParameterError(f"random_state must be below 2^63, got {random_state!r}")
    if seed_fraction is not None and not (_is_number(seed_fraction) and 0 < seed_fraction <= 1):
        raise ParameterError(f"seed_fraction must be above 0 and at most 1, got {seed_fraction!r}")
    if not (_is_number(max_distance) and 0 < max_distance < 1):
        raise ParameterError(f"max_distance must be above 0 and below 1, got {max_distance!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _values_of(what: str, data: Any) -> np.ndarray:
    """The feature values; an error if the data, called `what`, has none or no labels."""
    if not isinstance(data, Dataset):
        raise DataError(f"the {what} must be a Dataset, got a {type(data).__name__}")
    if data.y is None:
        raise DataError(f"the {what} data has no labels: pass labelled queries")
    return data.features.values(
        f"the {what} data holds only bins, and feature values are needed to find what is near: "
        "pass the dataset with its features"
    )


def _common_names(target: Dataset, background: Dataset) -> list[str] | None:
    """The names of the features that both have; an error if they are not the same features."""
    if target.n_features != background.n_features:
        raise DataError(
            f"the background data has {background.n_features} features, but the target has "
            f"{target.n_features}: pass data with the same features"
        )
    ours, theirs = target.feature_names, background.feature_names
    if ours is not None and theirs is not None and ours != theirs:
        j = next(j for j in range(len(ours)) if ours[j] != theirs[j])
        raise DataError(
            f"the background data calls feature {j} {theirs[j]!r}, but the target calls it "
            f"{ours[j]!r}: pass the same columns in the same order"
        )
    return theirs if ours is None else ours


def _seed_queries(
    order: Canonical, n_wanted: int | None, fraction: float | None, random_state: int
) -> np.ndarray:
    """The places of the queries of least entropy, ascending."""
    entropies = label_entropies(order)
    possible = np.flatnonzero(entropies > 0)
    if len(possible) == 0:
        raise DataError(
            "the target has no query with different labels, so there are no seeds: pass data in "
            "which some documents are better than others"
        )
    if n_wanted is None:
        share = SEED_FRACTION if fraction is None else fraction
        n_wanted = max(1, round(share * len(possible)))
    shuffled = order.shuffled(possible, derive_seed(random_state, "queries"))
    by_entropy = shuffled[np.argsort(entropies[shuffled], kind="stable")]
    return np.sort(by_entropy[:n_wanted])


def label_entropies(order: Canonical) -> np.ndarray:
    """The entropy of the labels of each query, shape (n_queries,)."""
    query = np.repeat(np.arange(order.n_queries), np.diff(order.offsets))
    # Documents come from the best label down, so equal labels of a query lie together.
    labels = order.labels
    is_first = np.append(True, (query[1:] != query[:-1]) | (labels[1:] != labels[:-1]))
    starts = np.flatnonzero(is_first)
    numbers = np.diff(starts, append=len(query))
    of_run = query[starts]
    shares = numbers / np.bincount(query, minlength=order.n_queries)[of_run]
    entropies = np.bincount(of_run, -shares * np.log(shares), minlength=order.n_queries)
    # Rounded, so that queries of the same numbers in another order are equal.
    return np.round(entropies, 12)


def _seed_places(order: Canonical, queries: np.ndarray) -> np.ndarray:
    """The places of the documents of these queries."""
    is_seed = np.zeros(order.n_queries, bool)
    is_seed[queries] = True
    return np.flatnonzero(np.repeat(is_seed, np.diff(order.offsets)))


def _units(standardizer: Standardizer, X: np.ndarray) -> np.ndarray:
    """Standardised rows of length 1."""
    units = np.empty(X.shape)
    standardizer.write(X, units)
    make_unit_rows(units)
    return units


def _nearest(
    standardizer: Standardizer, X: np.ndarray, seeds: np.ndarray, n_neighbors: int, limit: float
) -> np.ndarray:
    """The nearest seeds of every row, int64 of shape (n_rows, n_neighbors), -1 beyond the limit."""
    n_features = X.shape[1]
    panels, panel_rests = _panels(seeds)
    result = np.empty((len(X), n_neighbors), np.int64)

    def find(first: int, last: int) -> None:
        n_rows = last - first
        padded = -(-n_rows // ROWS) * ROWS
        units = np.zeros((padded, n_features))
        units[:n_rows] = _units(standardizer, X[first:last])
        similarities = np.empty((padded, n_neighbors))
        found = np.empty((padded, n_neighbors), np.int64)
        find_nearest(
            units.ravel(), _rests(units), n_features, panels, panel_rests, limit - SAME,
            similarities, found,
        )  # fmt: skip
        result[first:last] = found[:n_rows]

    in_threads(find, np.append(np.arange(0, len(X), _BLOCK_ROWS), len(X)))
    return result


def _panels(seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The seeds, eight by eight, feature by feature, and their rests; see `find_nearest`."""
    n_panels = -(-len(seeds) // SEEDS)
    padded = np.zeros((n_panels * SEEDS, seeds.shape[1]))
    padded[: len(seeds)] = seeds
    rests = _rests(padded).reshape(n_panels, SEEDS, -1).max(axis=1)
    return padded.reshape(n_panels, SEEDS, -1).transpose(0, 2, 1).ravel(), rests


def _rests(units: np.ndarray) -> np.ndarray:
    rests = np.empty((len(units), -(-units.shape[1] // SEGMENT)))
    rest_lengths(units, rests)
    return rests


def _joined(target: Queries, background: Queries, rows: np.ndarray) -> tuple[Queries, int]:
    """The target's rows and some of the background's, and how many queries came in."""
    query = np.repeat(np.arange(background.n_queries), background.query_sizes)[rows]
    queries, sizes = np.unique(query, return_counts=True)
    documents = None
    if target.documents is not None and background.documents is not None:
        documents = np.concatenate([target.documents, background.documents[rows]])
    grown = Queries(
        offsets=np.concatenate([target.offsets, target.n_rows + np.cumsum(sizes)]),
        qids=_distinct_ids(target.qids, background.qids[queries]),
        y=np.concatenate([target.labels, background.labels[rows]]),
        weight=_weights(target.weight, target.n_rows, background.weight, rows),
        query_weight=_weights(
            target.query_weight, target.n_queries, background.query_weight, queries
        ),
        documents=documents,
    )
    return grown, len(queries)


def _weights(
    ours: np.ndarray | None, n_ours: int, theirs: np.ndarray | None, chosen: np.ndarray
) -> np.ndarray | None:
    """Our weights, and behind them the chosen of theirs; no weights weigh 1."""
    if ours is None and theirs is None:
        return None
    first = np.ones(n_ours) if ours is None else ours
    second = np.ones(len(chosen)) if theirs is None else theirs[chosen]
    return np.concatenate([first, second])


def _distinct_ids(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Our ids and theirs, which are kept if none of them is the same; else all become text."""
    if ours.dtype.kind == theirs.dtype.kind and not set(ours.tolist()) & set(theirs.tolist()):
        return np.concatenate([ours, theirs])
    taken = [str(qid) for qid in ours.tolist()]
    prefix = "background:"
    while any(qid.startswith(prefix) for qid in taken):
        prefix = f"more {prefix}"
    return np.array([*taken, *(f"{prefix}{qid}" for qid in theirs.tolist())])


def _counts(**labels: np.ndarray) -> dict[float, dict[str, int]]:
    """How many rows of each kind have each label."""
    known = np.unique(np.concatenate([labels["target"], labels["background"]]))
    numbers = {
        name: np.bincount(np.searchsorted(known, values), minlength=len(known)).tolist()
        for name, values in labels.items()
    }
    return {
        label: {name: several[place] for name, several in numbers.items()}
        for place, label in enumerate(known.tolist())
    }
