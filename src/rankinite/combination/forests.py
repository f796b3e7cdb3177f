"""The forests among some rankers, scored in one pass over the documents.

A document becomes codes once for all forests, whichever ranker they belong to. Each forest keeps a
sum of its own, added in the order of its trees: so scores have the bits that the rankers give one
by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite.boosting.boosted_trees import BoostedTrees
from rankinite.data import Dataset, FeatureRows
from rankinite.trees import Forest, SideBySide, score_side_by_side

# Trees with more leaves are walked down, however many documents there are (`trees/layout.py`), and
# all that lies beside them too.
_MOST_LEAVES = 2048


def can_share(ranker: Any, names: list[str] | None) -> bool:
    """Whether a ranker is a forest that looks at features as they lie in data of these names.

    One with a base model is left to itself: what is said of that model is to name the ranker.
    """
    if not isinstance(ranker, BoostedTrees) or ranker._base is not None:
        return False
    return same_features(ranker._feature_names, names) and (
        ranker.forest_.most_leaves <= _MOST_LEAVES
    )


def same_features(known: list[str] | None, names: list[str] | None) -> bool:
    """Whether a ranker takes the features of data in the order in which they lie."""
    return known is None or names is None or known == names


@dataclass(frozen=True, eq=False)
class SharedForests:
    """Rankers made of trees, and their forests side by side.

    Attributes
    ----------
    forests : list of Forest
        Of all outputs of the first ranker, then of the second, and so on.
    side_by_side : SideBySide
    """

    forests: list[Forest]
    side_by_side: SideBySide

    @classmethod
    def of(
        cls, rankers: Sequence[BoostedTrees], earlier: SharedForests | None = None
    ) -> SharedForests:
        """Those of some rankers; `earlier` if they are, which are laid out already."""
        forests = [forest for ranker in rankers for forest in ranker.forests]
        if earlier is not None and _the_same(forests, earlier.forests):
            return earlier
        return cls(forests, SideBySide.of(forests))

    def scores(
        self, rankers: Sequence[BoostedTrees], data: Dataset | np.ndarray
    ) -> dict[int, np.ndarray]:
        """Scores of the rankers by their ``id``, each of shape (n_rows,)."""
        starts = [start for ranker in rankers for start in ranker.starts(data)]
        sums = iter(self._sums(data, starts))
        return {
            id(ranker): ranker.scores_of_outputs([next(sums) for _ in ranker.forests])
            for ranker in rankers
        }

    def _sums(self, data: Dataset | np.ndarray, starts: Sequence[Any]) -> np.ndarray:
        """The sum of each forest, shape (n_forests, n_rows); no start is an array."""
        if not isinstance(data, Dataset):
            return score_side_by_side(self.side_by_side, data, starts)
        if isinstance(data.features, FeatureRows) and data.features.has_values:
            X, rows = data.features.source()
            # Each document is scored once, unless most of them are not asked for.
            if rows is not None and len(rows) >= len(X):
                return score_side_by_side(self.side_by_side, X, starts)[:, rows]
        return score_side_by_side(self.side_by_side, data.features.matrix, starts)


def _the_same(some: list[Forest], others: list[Forest]) -> bool:
    """Whether they are the very same objects: a ranker that is trained anew has another."""
    return len(some) == len(others) and all(
        one is other for one, other in zip(some, others, strict=True)
    )
