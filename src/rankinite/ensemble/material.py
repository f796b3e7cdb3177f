"""A set of data in a run: its documents in the order of their content, and what it is known by."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from rankinite.binning.sampling import query_keys
from rankinite.data import Dataset, FeatureValues, Queries
from rankinite.order.canonical import Canonical, canonical


@dataclass(frozen=True, eq=False)
class Material:
    """Data, and the order in which scores of it are kept.

    Attributes
    ----------
    data : Dataset
        Without what weighs nothing.
    order : Canonical
        Made of the content of documents and queries and of the queries' ids, which decide about
        folds: so the same rows in another order are the same data.
    fingerprint : str
        Of the data, with the names of its features.
    """

    data: Dataset
    order: Canonical
    fingerprint: str

    @classmethod
    def of(cls, data: Dataset) -> Material:
        """Look at data that has values and labels."""
        data = data.that_count()
        # The keys of ids as floats, which are what goes along with documents.
        ids = (query_keys(data.qids) >> np.uint64(11)).astype(np.float64)
        order = canonical(data, np.repeat(ids, data.query_sizes))
        names = repr(data.feature_names).encode()
        print_ = hashlib.sha256(order.fingerprint.encode() + names).hexdigest()[:16]
        return cls(data, order, print_)

    def kept(self, scores: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Scores of stored rows in the order in which they are kept; of some rows only."""
        places = self.order.rows
        return scores[places if rows is None else places[rows[places]]]

    def stored(self, kept: np.ndarray) -> np.ndarray:
        """What `kept` made of the scores of all rows, put back."""
        scores = np.empty(len(kept))
        scores[self.order.rows] = kept
        return scores

    def put(self, scores: np.ndarray, kept: np.ndarray, rows: np.ndarray) -> None:
        """Write the kept scores of some rows, bool of shape (n_rows,), to their stored places."""
        places = self.order.rows
        scores[places[rows[places]]] = kept

    def judged(self) -> Queries:
        """Labels, weights and queries, in the order in which scores are kept."""
        order, data = self.order, self.data
        return Queries(
            offsets=order.offsets,
            qids=data.qids[order.queries],
            y=data.labels[order.rows],
            weight=None if data.weight is None else data.weight[order.rows],
            query_weight=None if data.query_weight is None else data.query_weight[order.queries],
        )

    def table(self, kept: list[np.ndarray]) -> Dataset:
        """A dataset whose features are kept scores, one column a ranker."""
        return Dataset.of(self.judged(), FeatureValues(np.column_stack(kept)))
