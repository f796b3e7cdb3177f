"""Values of measures on a dataset: per query first, means second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._text_table import aligned
from rankinite.data import Queries
from rankinite.data.weights import in_range
from rankinite.distributed import Communicator, Serial, total
from rankinite.distributed.exact_sums import rounded_once
from rankinite.errors import DataError, LabelError, ParameterError
from rankinite.measures.grammar import measure
from rankinite.measures.judged import Judged
from rankinite.measures.pair_measures import PairAccuracy, PairLogLoss, PairMeasure, PairValues
from rankinite.measures.protocol import Measure
from rankinite.measures.resolving import resolved
from rankinite.measures.specification import BuiltIn
from rankinite.measures.values import expected_values
from rankinite.models.scores import scores_of

_BLANK_VALUES = {"skip": np.nan, "zero": 0.0, "one": 1.0}

MeasureLike = str | Measure
MeasuresLike = MeasureLike | Sequence[MeasureLike]


@contextmanager
def labels_named(spec: MeasureLike, dataset: Queries) -> Iterator[None]:
    """Let an error about a label name the query by its id, as it is in `dataset`.

    Learners look at labels in an order of their own, in which the number of a query tells nobody
    which one it is.
    """
    try:
        yield
    except LabelError as error:
        if not error.is_named:
            Evaluator(spec, dataset)
        raise


class Evaluator:
    """A measure bound to the labels of a dataset: labels are judged once, scores come often.

    Parameters
    ----------
    spec : str or Measure
    dataset : Queries or Dataset
        With labels, or with preferences for a measure of pairs.
    sigma : float
        Slope of the pair probability, for ``pair_log_loss``.
    communicator : Communicator, optional
        Of the workers that have other queries, whose labels and weights are looked at too.

    Attributes
    ----------
    measure : Measure
        With the parameters that depend on the data fixed.
    judged : Judged or None
        The labels as the kernels see them; None for a measure of pairs or of the user's own.
    blank : ndarray of bool, shape (n_queries,)
        Queries for which no order of the documents is better than another.
    weight : ndarray of float64, shape (n_queries,), or None
        Weight of each query in a mean: the dataset's, and for a measure of pairs times the
        weight of the query's pairs, so that the mean is one over pairs.
    """

    def __init__(
        self,
        spec: MeasureLike,
        dataset: Queries,
        sigma: float = 1.0,
        communicator: Communicator | None = None,
    ) -> None:
        self._offsets = np.ascontiguousarray(dataset.offsets, dtype=np.int64)
        self._qids = dataset.qids
        self.measure = measure(spec)
        self.judged: Judged | None = None
        self.weight = in_range(dataset.query_weight, communicator)
        self._of_pairs: PairValues | None = None
        if isinstance(self.measure, PairMeasure):
            self._of_pairs = PairValues(self.measure, dataset, sigma, communicator)
            masses = self._of_pairs.masses
            self.blank = masses == 0
            self.weight = masses if self.weight is None else masses * self.weight
            return
        self._y = np.ascontiguousarray(dataset.labels, dtype=np.float64)
        self.measure = resolved(self.measure, self._y, communicator)
        if isinstance(self.measure, BuiltIn):
            try:
                self.judged = self.measure.judge(self._y, self._offsets)
            except LabelError as error:
                raise error.of_query(self._qids[error.query]) from None
            self.blank = self.judged.blank
        else:
            blank = [self.measure.is_blank(labels) for labels in self._per_query(self._y)]
            self.blank = np.array(blank, dtype=bool)

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Value of every query, in expectation over the orders of tied documents.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_rows,)
            In the dataset's stored order.

        Returns
        -------
        ndarray of float64, shape (n_queries,)
            NaN for blank queries.
        """
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        n_rows = self._offsets[-1]
        if scores.shape != (n_rows,):
            raise DataError(f"scores have shape {scores.shape}, but there are {n_rows} rows")
        if np.isnan(scores).any():
            row = int(np.flatnonzero(np.isnan(scores))[0])
            query = int(np.searchsorted(self._offsets, row, side="right")) - 1
            raise DataError(f"a score of query {self._qids[query]} is NaN: documents need numbers")
        if self._of_pairs is not None:
            return self._of_pairs(scores)
        if self.judged is None:
            return self._values_of_own(scores)
        return expected_values(self.judged, scores, self._offsets)

    def can_tell(self) -> bool:
        """Whether the measure of labels tells the best order of some query from the worst."""
        best, worst = self.values(self._y), self.values(-self._y)
        return bool((best != worst)[~self.blank].any())

    def _values_of_own(self, scores: np.ndarray) -> np.ndarray:
        """One call of Python a query: the way of measures that the kernels do not know."""
        values = np.full(len(self.blank), np.nan)
        pairs = zip(self._per_query(scores), self._per_query(self._y), strict=True)
        for query, (some_scores, labels) in enumerate(pairs):
            if self.blank[query]:
                continue
            values[query] = self.value_of_own(query, some_scores, labels)
        return values

    def value_of_own(self, query: int, scores: np.ndarray, labels: np.ndarray) -> float:
        """Value of one query, of a measure that the kernels do not know; an error if it is NaN."""
        value = self.measure.expected_value(scores, labels)
        if np.isnan(value):
            raise ParameterError(
                f"the measure {self.measure} is NaN for query {self._qids[query]}: "
                "let its is_blank say which queries have no value"
            )
        return value

    def _per_query(self, values: np.ndarray) -> list[np.ndarray]:
        return np.split(values, self._offsets[1:-1])


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of some measures for one scorer.

    ``evaluation["ndcg@10"]`` is a mean; printing shows all of them.

    Attributes
    ----------
    per_query : dict of str to ndarray of float64, shape (n_queries,)
        By the name of the measure. Blank queries have the value that the policy gives them;
        NaN says that they are skipped.
    means : dict of str to float
        Mean over the queries that are not skipped, weighted by the dataset's query weights;
        NaN if all are skipped. Of a measure of pairs, the mean over all pairs.
    n_queries : int
    n_blank : dict of str to int
        Number of blank queries: those for which no order of the documents is better than
        another.
    qids : ndarray, shape (n_queries,)
    weights : dict of str to ndarray of float64, shape (n_queries,), or None
        Weight of each query in the mean of a measure; None weighs all 1.
    blank : {"skip", "zero", "one"}
        The policy for blank queries.
    """

    per_query: dict[str, np.ndarray]
    means: dict[str, float]
    n_queries: int
    n_blank: dict[str, int]
    qids: np.ndarray
    weights: dict[str, np.ndarray | None]
    blank: str = "skip"

    def __getitem__(self, spec: MeasureLike) -> float:
        name = str(spec)
        if name not in self.means:
            name = str(measure(spec))
        if name not in self.means:
            raise ParameterError(f"{name} was not evaluated: there is {', '.join(self.means)}")
        return self.means[name]

    def __str__(self) -> str:
        told = {"skip": "skipped", "zero": "counted as 0", "one": "counted as 1"}[self.blank]
        rows = [
            (name, f"{mean:.4f}", str(self.n_queries), str(self.n_blank[name]))
            for name, mean in self.means.items()
        ]
        return aligned(("measure", "mean", "queries", f"blank ({told})"), rows)


def evaluate(
    scorer: Any,
    dataset: Queries,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    blank: str = "skip",
    sigma: float | None = None,
    communicator: Communicator | None = None,
) -> Evaluation:
    """Measure how well a scorer ranks the documents of a dataset.

    Parameters
    ----------
    scorer : array, ranker, model or function
        Scores in the caller's row order, or anything that computes them: an object with
        ``predict``, or a function of the feature matrix.
    dataset : Dataset or Queries
        With labels, or with preferences for ``"pair_accuracy"`` and ``"pair_log_loss"``. Queries
        without features are enough for scores.
    measures : str, Measure or sequence of them, optional
        By default ``"ndcg@10"``, or those of pairs if the data has preferences.
    blank : {"skip", "zero", "one"}
        What a query counts for which no order is better than another, for instance because it
        has no relevant document. A query without pairs never counts in a mean over pairs.
    sigma : float, optional
        Slope of the pair probability for ``"pair_log_loss"``: by default the scorer's own
        ``sigma``, or 1 if it has none.
    communicator : Communicator, optional
        The workers that have other queries of the same data: means and numbers of queries are
        over all of them, values of queries are this worker's.

    Returns
    -------
    Evaluation
    """
    check_blank(blank)
    if not isinstance(dataset, Queries):
        raise DataError(f"evaluate needs a Dataset, not a {type(dataset).__name__}")
    if sigma is None:
        sigma = float(getattr(scorer, "sigma", 1.0))
    communicator = Serial() if communicator is None else communicator
    wanted = measure_list(default_measures(dataset) if measures is None else measures)
    evaluators = {str(m): Evaluator(m, dataset, sigma, communicator) for m in wanted}
    scores = scores_of(scorer, dataset) if dataset.n_rows else np.empty(0)
    values = {name: evaluator.values(scores) for name, evaluator in evaluators.items()}
    means = {}
    for name, of_queries in values.items():
        sums = mean_value(of_queries, blank, evaluators[name].weight, communicator)
        means[name] = sums[0] / sums[1] if sums[1] > 0 else float("nan")
    return Evaluation(
        per_query={name: with_blanks(v, blank) for name, v in values.items()},
        means=means,
        n_queries=total(dataset.n_queries, communicator),
        n_blank={name: total(int(e.blank.sum()), communicator) for name, e in evaluators.items()},
        qids=dataset.qids,
        weights={name: e.weight for name, e in evaluators.items()},
        blank=blank,
    )


def mean_value(
    values: np.ndarray,
    blank: str = "skip",
    query_weight: np.ndarray | None = None,
    communicator: Communicator | None = None,
) -> tuple[float, float]:
    """Return the two sums whose quotient is the mean, over the queries of all workers.

    Parameters
    ----------
    values : ndarray of float64, shape (n_queries,)
        NaN for blank queries.
    blank : {"skip", "zero", "one"}
    query_weight : ndarray of float64, shape (n_queries,), or None
        None weighs all queries 1.
    communicator : Communicator, optional
        Of the workers that have other queries.

    Returns
    -------
    total, weight : float
        Σ weight · value and Σ weight over the queries that are not skipped.
    """
    values = with_blanks(values, blank)
    counted = ~np.isnan(values)
    weights = np.ones(len(values)) if query_weight is None else np.asarray(query_weight)
    communicator = Serial() if communicator is None else communicator
    # The sums depend neither on the order of the queries, nor on workers, nor on BLAS's threads.
    terms = (weights[counted] * values[counted], weights[counted])
    value, weight = (rounded_once(each, communicator) for each in terms)
    return value, weight


def with_blanks(values: np.ndarray, blank: str) -> np.ndarray:
    """Give blank queries (NaN) the value that the policy says; skipped ones stay NaN."""
    check_blank(blank)
    return np.where(np.isnan(values), _BLANK_VALUES[blank], values)


def check_blank(blank: str) -> None:
    """Refuse a policy for blank queries that there is not."""
    if blank not in _BLANK_VALUES:
        raise ParameterError(f"blank must be 'skip', 'zero' or 'one', got {blank!r}")


def default_measures(dataset: Queries) -> list[Measure]:
    """What to measure if nobody says: NDCG@10, or the pairs if there are some."""
    if dataset.preferences is None:
        return [measure("ndcg@10")]
    return [PairAccuracy(), PairLogLoss()]


def measure_list(measures: MeasureLike | Sequence[MeasureLike]) -> list[Measure]:
    """Return one or several specifications as a list of different measures."""
    several = [measures] if isinstance(measures, str | Measure) else list(measures)
    if not several:
        raise ParameterError("measures is empty: name at least one, for instance 'ndcg@10'")
    named: dict[str, Measure] = {}
    for each in map(measure, several):
        if named.setdefault(str(each), each) != each:
            raise ParameterError(f"two different measures have the name {each}: rename one")
    return list(named.values())
