"""Why a training has learned nothing, in a few words for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.data import Dataset, Preferences
from rankinite.measures import Evaluator


def why_nothing(learner: Any, dataset: Dataset) -> str:
    """What was missing on this data, on which `learner` was trained in vain.

    Parameters
    ----------
    learner : Learner
    dataset : Dataset
    """
    by_pairs = learner.learns_preferences and dataset.preferences is not None
    what = _no_pairs(dataset.preferences, dataset) if by_pairs else _no_labels(learner, dataset)
    return what or _no_splits(learner, dataset) or "no feature tells the documents apart"


def _no_pairs(pairs: Preferences | None, dataset: Dataset) -> str:
    assert pairs is not None
    of_query = np.ones(dataset.n_queries) if dataset.query_weight is None else dataset.query_weight
    weight = pairs.weight * np.repeat(of_query, np.diff(pairs.offsets))
    if not (weight > 0).any():
        return "no preference pair has a weight above 0"
    if not (pairs.probability[weight > 0] != 0.5).any():
        return "every preference pair has the probability 0.5"
    return ""


def _no_labels(learner: Any, dataset: Dataset) -> str:
    counts = _weights(dataset) > 0
    if not counts.any():
        return "no document has a weight above 0"
    labels = dataset.labels
    if not learner.learns_from_pairs:
        return "all labels are the same" if np.ptp(labels[counts]) == 0 else ""
    query = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)[counts]
    order = np.lexsort((labels[counts], query))
    query, labels = query[order], labels[counts][order]
    if not ((np.diff(query) == 0) & (np.diff(labels) != 0)).any():
        return "no query has two documents with different labels"
    evaluator = Evaluator(learner.measure, dataset)
    best, worst = evaluator.values(dataset.labels), evaluator.values(-dataset.labels)
    if not (best != worst)[~evaluator.blank].any():
        return f"{learner.measure} is the same for every order of a query's documents"
    return ""


def _weights(dataset: Dataset) -> np.ndarray:
    """Of every document: its own times that of its query."""
    weight = np.ones(dataset.n_rows) if dataset.weight is None else dataset.weight
    if dataset.query_weight is None:
        return weight
    return weight * np.repeat(dataset.query_weight, dataset.query_sizes)


def _no_splits(learner: Any, dataset: Dataset) -> str:
    fewest = getattr(learner, "min_samples_leaf", 0)
    if 2 * fewest > dataset.n_rows:
        return f"min_samples_leaf={fewest} leaves no split of {dataset.n_rows} rows"
    return ""
