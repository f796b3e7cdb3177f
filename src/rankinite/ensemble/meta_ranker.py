"""What rankers share that copy and train other rankers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rankinite.measures import Measure, measure
from rankinite.measures.estimator_score import estimator_score
from rankinite.models.parameters import Constraint, Whole
from rankinite.models.ranker import Ranker


class MetaRanker(Ranker):
    """A ranker around another one, `ranker`, which it copies and trains.

    What it is measured by, and whether it needs validation data, is that ranker's business.
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {"n_threads": Whole(1, optional=True)}

    ranker: Any

    @property
    def measure(self) -> str | Measure:
        """What the ranker learns, and `score` measures."""
        return getattr(self.ranker, "measure", "ndcg@10")

    @property
    def early_stopping(self) -> int | None:
        """That of the ranker."""
        return getattr(self.ranker, "early_stopping", None)

    @property
    def n_restarts(self) -> int:
        """Those of the ranker."""
        return getattr(self.ranker, "n_restarts", 0)

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """The mean of the ranker's measure over the queries, as scikit-learn's tools ask for it.

        Parameters
        ----------
        X : Dataset, matrix or frame
        y, qid, query_weight
            As for `fit`.
        sample_weight : array-like of shape (n_rows,), optional
            A query counts by the mean of its rows' weights.
        """
        self.check_fitted()
        by = measure(self.measure)
        return estimator_score(self, by, X, y, qid, sample_weight, query_weight)
