"""Methods beside each other, in the form of the tables of Gao et al. 2009."""

from __future__ import annotations

from rankinite._text_table import aligned
from rankinite.measures import Comparison

SIGNIFICANT = 0.05


def in_table(title: str, comparison: Comparison) -> str:
    """Means of all methods by all measures, marked where they differ from the baseline's.

    A ``+`` is significantly better than the baseline by a paired t-test (p < 0.05), a ``-`` worse.
    """
    first = comparison.evaluations[comparison.baseline]
    measures = list(first.means)
    marks = {
        (row.scorer, row.measure): "+" if row.is_better else "-"
        for row in comparison.rows
        if row.p_value < SIGNIFICANT
    }
    cells = [
        (name, *(f"{each.means[m]:.4f}{marks.get((name, m), ' ')}" for m in measures))
        for name, each in comparison.evaluations.items()
    ]
    names = [f"{m} " for m in measures]
    told = f"+ and - differ from {comparison.baseline} by a paired t-test, p < {SIGNIFICANT}"
    n_queries = comparison.rows[0].n_queries
    return f"{aligned((title, *names), cells)}\n{told}; {n_queries} queries"
