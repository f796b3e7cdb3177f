"""A table of measures with 95 % confidence intervals, the way the papers print them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

import rankinite as rk
from rankinite.measures.significance import paired_t_test

# λs and splits of LambdaMART as the papers have them.
AS_IN_PAPERS = {
    "growth": "best_first",
    "split": "least_squares",
    "normalize": False,
    "squares": 0.0,
    "truncation": None,
    "query_fraction": 1.0,
    "importance_fraction": 1.0,
    "noise": 0.0,
}


def mean_and_interval(values: np.ndarray) -> tuple[float, float]:
    """Mean over the queries that are not blank, and half the width of its 95 % interval."""
    known = values[~np.isnan(values)]
    return float(known.mean()), 1.96 * float(known.std(ddof=1)) / math.sqrt(len(known))


def accuracy_table(
    rankers: Mapping[str, object],
    test: rk.Dataset,
    measures: Sequence[str],
    papers: Mapping[str, Mapping[str, float]],
) -> str:
    """Measures in percent as Markdown, with the paper's figure beside each.

    Parameters
    ----------
    rankers : mapping
        From a name to anything that scores.
    papers : mapping
        ``papers[ranker][measure]``, in percent; not of every ranker.
    """
    lines = ["| measure | " + " | ".join(f"{name} (paper)" for name in rankers) + " |"]
    lines.append("|---" * (len(rankers) + 1) + "|")
    evaluations = {name: rk.evaluate(each, test, list(measures)) for name, each in rankers.items()}
    for measure in measures:
        cells = []
        for name, evaluation in evaluations.items():
            mean, half = mean_and_interval(evaluation.per_query[measure])
            paper = f" ({papers[name][measure]})" if name in papers else ""
            cells.append(f"{100 * mean:.1f} ± {100 * half:.2f}{paper}")
        lines.append(f"| {measure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pooled_table(
    title: str,
    parts: Mapping[str, Mapping[str, Sequence[np.ndarray]]],
    baseline: str,
    level: float = 0.05,
) -> str:
    """Means over parts as Markdown, marked by a paired t-test over all their queries.

    Parameters
    ----------
    parts : mapping
        ``parts[method][column]`` has the values of the queries of every part: of folds, or seeds.
    baseline : str
        The method to compare with: + is better and − is worse, at the `level`.
    """
    columns = list(parts[baseline])
    lines = [f"| {title} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for method, values in parts.items():
        cells = []
        for column in columns:
            mean = np.mean([np.nanmean(part) for part in values[column]])
            change = np.concatenate(values[column]) - np.concatenate(parts[baseline][column])
            change = change[~np.isnan(change)]
            p_value, *_ = paired_t_test(change, np.ones(len(change)))
            mark = "" if p_value >= level else (" +" if change.mean() > 0 else " −")
            cells.append(f"{mean:.4f}{mark}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
