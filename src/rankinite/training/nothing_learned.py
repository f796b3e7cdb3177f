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
        Of what counts (`Queries.that_count`).
    """
    pairs = dataset.preferences if learner.learns_preferences else None
    what = _no_labels(learner, dataset) if pairs is None else _no_pairs(pairs)
    return what or _no_splits(learner, dataset) or "no feature tells the documents apart"


def _no_pairs(pairs: Preferences) -> str:
    if pairs.n_pairs == 0:
        return "no preference pair has a weight above 0"
    undecided = bool((pairs.probability == 0.5).all())
    return "every preference pair has the probability 0.5" if undecided else ""


def _no_labels(learner: Any, dataset: Dataset) -> str:
    labels = dataset.labels
    if not learner.learns_from_pairs:
        return "all labels are the same" if np.ptp(labels) == 0 else ""
    query = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)
    order = np.lexsort((labels, query))
    if not ((np.diff(query[order]) == 0) & (np.diff(labels[order]) != 0)).any():
        return "no query has two documents with different labels"
    if not Evaluator(learner.measure, dataset).can_tell():
        return f"{learner.measure} is the same for every order of a query's documents"
    return ""


def _no_splits(learner: Any, dataset: Dataset) -> str:
    fewest = getattr(learner, "min_samples_leaf", 0)
    if 2 * fewest > dataset.n_rows:
        return f"min_samples_leaf={fewest} leaves no split of {dataset.n_rows} rows"
    return ""
