"""What a sweep depends on of its data: the content, not the order in which it came."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankinite.data import Dataset, FeatureBins
from rankinite.models.base_model import as_scorer, base_scores
from rankinite.order import canonical, fingerprint, row_keys, row_keys_with_pairs


class Content(NamedTuple):
    """A dataset with its queries in an order that is made of their content.

    Attributes
    ----------
    data : Dataset
    fingerprint : str
        Tells it from other data, and from another base model, in any order of the rows.
    """

    data: Dataset
    fingerprint: str

    @classmethod
    def of(cls, data: Dataset, base_model: Any, by_pairs: bool) -> Content:
        """The content of a dataset, as a ranker on a base model learns from it.

        Parameters
        ----------
        by_pairs : bool
            It is learned from its preferences, not from labels.
        """
        columns = []
        if base_model is not None:
            columns = [np.zeros(data.n_rows) + base_scores(as_scorer(base_model), data)]
        if isinstance(data.features, FeatureBins):
            order, told = _of_bins(data, columns, by_pairs)
        else:
            found = canonical(data, *columns, by_pairs=by_pairs)
            order, told = found.queries, found.fingerprint
        return cls(data.select_queries(order), told)


def _of_bins(data: Dataset, columns: list[np.ndarray], by_pairs: bool) -> tuple[np.ndarray, str]:
    binned = data.features.bins(data.features.mapper(255, _no_sample).max_bins, _no_sample)
    if by_pairs and data.preferences is not None:
        keys = row_keys_with_pairs(binned, data.preferences)
    else:
        labels = np.zeros(data.n_rows) if data.y is None else data.y
        keys = row_keys(binned, labels, data.weight, data.offsets)
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
    columns = [*columns, np.repeat(weight, data.query_sizes)]
    order = np.argsort(np.add.reduceat(keys, data.offsets[:-1]), kind="stable")
    return order, fingerprint(binned, keys, data.offsets, *columns)


def _no_sample() -> np.ndarray:
    raise AssertionError("bins that are there need no sample of rows")
