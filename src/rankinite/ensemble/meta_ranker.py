"""What rankers share that copy and train other rankers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rankinite.measures import Measure
from rankinite.measures.estimator_score import MeasuredRanker
from rankinite.models.parameters import Constraint, Whole


class MetaRanker(MeasuredRanker):
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
