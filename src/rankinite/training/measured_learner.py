"""What a learner is measured by: while it trains, and when scikit-learn's tools ask."""

from __future__ import annotations

from typing import Any

from rankinite.data import Dataset
from rankinite.errors import ParameterError
from rankinite.measures import Measure, MeasuresLike, PairAccuracy, PairMeasure, measure
from rankinite.measures.estimator_score import estimator_score
from rankinite.measures.evaluation import measure_list
from rankinite.training.saved_learner import SavedLearner


class MeasuredLearner(SavedLearner):
    """A ranker with a measure to learn, and perhaps others to watch."""

    measure: str | Measure
    valid_measure: MeasuresLike | None

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        super().check_params()
        for name in ("measure", "valid_measure"):
            try:
                self._check_measure(name, getattr(self, name))
            except ParameterError as error:
                raise ParameterError(f"{name} is wrong: {error}") from None

    def _check_measure(self, name: str, value: Any) -> None:
        if name == "valid_measure":
            if value is not None:
                measure_list(value if isinstance(value, (list, tuple)) else [value])
        elif isinstance(measure(value), PairMeasure):
            raise ParameterError(
                f"{value} can be watched, as valid_measure, but not learned; data with "
                "preferences is learned from its pairs whatever the measure"
            )

    def watched_measures(self, has_preferences: bool = False) -> list[Measure]:
        """What is watched on a set with labels, or on one with preferences; the first decides."""
        if self.valid_measure is not None:
            return measure_list(self.valid_measure)
        return [PairAccuracy() if has_preferences else measure(self.measure)]

    def measures_on(self, rows: Dataset) -> list[Measure]:
        """What is watched on these rows; the first decides."""
        return self.watched_measures(rows.preferences is not None)

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """The mean of `measure` over the queries, as scikit-learn's tools ask for it.

        Data with preferences and without labels has the pair accuracy. Blank queries are left out.

        Parameters
        ----------
        X : Dataset, matrix or frame
        y, qid, query_weight
            As for `fit`.
        sample_weight : array-like of shape (n_rows,), optional
            A query counts by the mean of its rows' weights.
        """
        self.check_fitted()
        of_pairs = isinstance(X, Dataset) and X.y is None and X.preferences is not None
        by = PairAccuracy() if of_pairs else measure(self.measure)
        return estimator_score(self, by, X, y, qid, sample_weight, query_weight)
