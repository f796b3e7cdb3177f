"""Is one ranker better than another? Paired tests over the queries of one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankinite._text_table import aligned
from rankinite.errors import ParameterError
from rankinite.measures.evaluation import (
    Evaluation,
    MeasureLike,
    default_measures,
    evaluate,
    measure_list,
)
from rankinite.measures.protocol import Measure

if TYPE_CHECKING:
    from rankinite.data.queries import Queries

TIE = 1e-12
"""Values of a query that differ by no more than rounding errors are equal."""


@dataclass(frozen=True)
class ComparisonRow:
    """One scorer against the baseline, by one measure.

    Attributes
    ----------
    measure, scorer, baseline : str
    mean, baseline_mean : float
        Weighted by the dataset's query weights.
    difference : float
        ``mean - baseline_mean``.
    low, high : float
        95 % confidence interval of the difference.
    p_value : float
        Of the two-sided paired t-test; 1 if no query differs, NaN for fewer than two queries.
    wins, losses, ties : int
        Queries where the scorer is better, worse, equal.
    lower_is_better : bool
    """

    measure: str
    scorer: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    ties: int
    lower_is_better: bool = False

    @property
    def is_better(self) -> bool:
        """Whether the scorer's mean is better than the baseline's."""
        return self.difference < 0 if self.lower_is_better else self.difference > 0

    @property
    def n_queries(self) -> int:
        """Number of queries that were compared."""
        return self.wins + self.losses + self.ties


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scorers against a baseline; printing shows the table.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        Measure by measure, the scorers in the order given, without the baseline.
    baseline : str
    evaluations : dict of str to Evaluation
        Of every scorer, the baseline included.
    """

    rows: tuple[ComparisonRow, ...]
    baseline: str
    evaluations: dict[str, Evaluation]

    def __str__(self) -> str:
        header = ("measure", "scorer", "mean", "difference", "95 % interval", "p")
        cells: list[tuple[str, ...]] = []
        shown: set[str] = set()
        for row in self.rows:
            if row.measure not in shown:
                shown.add(row.measure)
                mean = f"{row.baseline_mean:.4f}"
                cells.append((row.measure, f"{row.baseline} (baseline)", mean, *[""] * 6))
            interval = f"[{row.low:+.4f}, {row.high:+.4f}]"
            numbers = (f"{row.mean:.4f}", f"{row.difference:+.4f}", interval, f"{row.p_value:.2g}")
            counts = (str(row.wins), str(row.losses), str(row.ties))
            cells.append((row.measure, row.scorer, *numbers, *counts))
        return aligned((*header, "wins", "losses", "ties"), cells, n_left=2)


def compare(
    scorers: Mapping[str, Any],
    dataset: Queries,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    *,
    baseline: str | None = None,
    blank: str = "skip",
) -> Comparison:
    """Compare scorers with a baseline by paired t-tests over the queries.

    Parameters
    ----------
    scorers : mapping of str to scorer
        At least two; a scorer is anything that ``evaluate`` takes.
    dataset : Dataset or Queries
        With labels or preferences. Queries without features are enough for scores. Query weights
        weigh the means and the tests.
    measures : str, Measure or sequence of them, optional
        See ``evaluate``.
    baseline : str or None
        Name of the scorer to compare with; None takes the first.
    blank : {"skip", "zero", "one"}
        What a blank query counts, see ``evaluate``.

    Returns
    -------
    Comparison
    """
    names = list(scorers)
    if len(names) < 2:
        raise ParameterError(f"compare needs two or more scorers, got {len(names)}: {names}")
    if baseline is None:
        baseline = names[0]
    if baseline not in scorers:
        raise ParameterError(
            f"baseline {baseline!r} is not one of the scorers: {', '.join(map(str, names))}"
        )
    several = measure_list(default_measures(dataset) if measures is None else measures)
    evaluations = {n: evaluate(s, dataset, several, blank=blank) for n, s in scorers.items()}
    rows = [
        _compare_two(m, name, baseline, evaluations)
        for m in several
        for name in names
        if name != baseline
    ]
    return Comparison(tuple(rows), baseline, evaluations)


def _compare_two(
    measure: Measure, scorer: str, baseline: str, evaluations: dict[str, Evaluation]
) -> ComparisonRow:
    name = str(measure)
    ours, theirs = evaluations[scorer], evaluations[baseline]
    query_weight = ours.weights[name]
    differences = ours.per_query[name] - theirs.per_query[name]
    weights = np.ones(len(differences)) if query_weight is None else np.asarray(query_weight)
    counted = ~np.isnan(differences) & (weights > 0)
    differences, weights = differences[counted], weights[counted]
    differences[np.abs(differences) <= TIE] = 0.0
    p_value, low, high = paired_t_test(differences, weights)
    better = -differences if measure.lower_is_better else differences
    return ComparisonRow(
        measure=name,
        scorer=scorer,
        baseline=baseline,
        mean=ours.means[name],
        baseline_mean=theirs.means[name],
        difference=ours.means[name] - theirs.means[name],
        low=low,
        high=high,
        p_value=p_value,
        wins=int((better > 0).sum()),
        losses=int((better < 0).sum()),
        ties=int((better == 0).sum()),
        lower_is_better=measure.lower_is_better,
    )


def paired_t_test(
    differences: np.ndarray, weights: np.ndarray, level: float = 0.95
) -> tuple[float, float, float]:
    """Test whether the weighted mean of paired differences is 0.

    With equal weights this is Student's paired t-test. Otherwise the variance of the weighted
    mean m is estimated by n/(n − 1) · Σ w²(d − m)² / (Σ w)², as for a ratio of two means.

    Parameters
    ----------
    differences, weights : ndarray of float64, shape (n,)
        Weights are positive.
    level : float
        Of the confidence interval.

    Returns
    -------
    p_value, low, high : float
        1 and the interval [0, 0] if all differences are 0; NaN if n < 2.
    """
    from scipy.special import stdtr, stdtrit

    n = len(differences)
    if n < 2:
        return float("nan"), float("nan"), float("nan")
    if not differences.any():
        return 1.0, 0.0, 0.0
    share = weights / weights.sum()
    mean = float(np.dot(share, differences))
    deviations = share * (differences - mean)
    error = float(np.sqrt(n / (n - 1) * np.dot(deviations, deviations)))
    half = float(stdtrit(n - 1, (1.0 + level) / 2.0)) * error
    # All differences equal but not 0: no doubt is left.
    p_value = 2.0 * float(stdtr(n - 1, -abs(mean) / error)) if error > 0 else 0.0
    return p_value, mean - half, mean + half
