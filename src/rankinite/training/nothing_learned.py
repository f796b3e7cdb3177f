"""Why a training has learned nothing, in a few words for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankinite.data import Dataset, Preferences
from rankinite.data.overlap import with_overlap
from rankinite.distributed import Communicator, on_any, total
from rankinite.measures import Evaluator
from rankinite.measures.resolving import different_labels


def why_nothing(learner: Any, dataset: Dataset, communicator: Communicator) -> str:
    """What was missing on this data, on which `learner` was trained in vain.

    Parameters
    ----------
    learner : Learner
    dataset : Dataset
        Of what counts (`Queries.that_count`); this worker's.
    communicator : Communicator
    """
    pairs = dataset.preferences if learner.learns_preferences else None
    if pairs is None:
        what = _no_labels(learner, dataset, communicator)
    else:
        what = _no_pairs(pairs, communicator)
    what = what or _no_splits(learner, _rows_of_a_tree(learner, dataset, communicator))
    return what or "no feature tells the documents apart"


def _no_pairs(pairs: Preferences, communicator: Communicator) -> str:
    if not on_any(pairs.n_pairs > 0, communicator):
        return "no preference pair has a weight above 0"
    decided = on_any((pairs.probability != 0.5).any(), communicator)
    return "" if decided else "every preference pair has the probability 0.5"


def _no_labels(learner: Any, dataset: Dataset, communicator: Communicator) -> str:
    labels = dataset.labels
    if not learner.learns_from_pairs:
        different = different_labels(labels, communicator)
        return "all labels are the same" if len(different) == 1 else ""
    query = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)
    order = np.lexsort((labels, query))
    differ = (np.diff(query[order]) == 0) & (np.diff(labels[order]) != 0)
    if not on_any(differ.any(), communicator):
        return "no query has two documents with different labels"
    evaluator = Evaluator(learner.measure, dataset, communicator=communicator)
    if not on_any(evaluator.can_tell(), communicator):
        return f"{learner.measure} is the same for every order of a query's documents"
    return ""


def _rows_of_a_tree(learner: Any, dataset: Dataset, communicator: Communicator) -> int:
    """The most rows that a tree was grown on: all, or those that one worker has."""
    if learner._distribution.distribute != "trees":
        return total(dataset.n_rows, communicator)
    n_rows = np.concatenate(communicator.gather(np.array([dataset.n_rows], np.int64)))
    return int(with_overlap(n_rows, learner._distribution.overlap).max())


def _no_splits(learner: Any, n_rows: int) -> str:
    fewest = getattr(learner, "min_samples_leaf", 0)
    if 2 * fewest > n_rows:
        return f"min_samples_leaf={fewest} leaves no split of {n_rows} rows"
    return ""
