"""``rankinite compare``: is one ranker better than another?"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import (
    Expected,
    labels_located,
    load_model,
    named_files,
    read_judgements,
    read_like,
    read_scores,
    scores_by,
    split_measures,
)
from rankinite.cli.options import (
    DEFAULT_MEASURES,
    MODEL_HELP,
    AsJson,
    Blank,
    DataPaths,
    Label,
    Measures,
    Qid,
    SameId,
    Threads,
)
from rankinite.cli.outputs import number_or_none, print_result
from rankinite.cli.reporting import tell_reading
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from rankinite.data import Queries
    from rankinite.measures import Comparison, ComparisonRow


def compare(
    data: DataPaths,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", show_default=False, help=f"{MODEL_HELP[:-1]}; give several."
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", show_default=False, help="A file of scores; give several."
        ),
    ] = None,
    measures: Measures = DEFAULT_MEASURES,
    baseline: Annotated[
        str | None,
        typer.Option(show_default="the first", help="Name of the one to compare with."),
    ] = None,
    blank: Blank = "skip",
    as_json: AsJson = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
) -> None:
    """Compare rankers on the same queries, by paired t-tests.

    Each is compared with the baseline: the change of the mean with its 95 %
    interval, the p-value, and the numbers of queries won, lost and tied.
    Without NAME= a ranker is called by the name of its file.

    Example: rankinite compare test.txt --model old.rk --model new.rk
    """
    from rankinite.measures import compare as compare_scores
    from rankinite.measures.evaluation import check_blank, measure_list

    check_blank(blank)
    judged = DataFiles.of(data, same_id)
    wanted = measure_list(split_measures(measures))
    models, files = named_files(model or []), named_files(scores or [])
    names = [*models, *files]
    given = [*(model or []), *(scores or [])]
    if len(set(names)) < len(given):
        raise ParameterError(f"two rankers have the same name in {', '.join(given)}: use NAME=FILE")
    if len(names) < 2:
        raise ParameterError(
            "name two or more rankers to compare, by --model or --scores; "
            f"got {', '.join(names) or 'none'}"
        )
    if baseline is not None and baseline not in names:
        raise ParameterError(f"--baseline {baseline!r} is not one of {', '.join(names)}")
    tell_reading(judged)
    rows, values = _scores_of_models(judged, models, threads, label, qid)
    if rows is None:
        rows = read_judgements(judged, label=label, qid=qid)
    values |= {name: read_scores(path, rows.n_rows, judged) for name, path in files.items()}
    with labels_located(judged, rows):
        comparison = compare_scores(values, rows, wanted, baseline=baseline, blank=blank)
    print_result(_as_json(comparison) if as_json else _as_tables(comparison))


def _scores_of_models(
    data: DataFiles, models: dict[str, Path], threads: int | None, label: str, qid: str
) -> tuple[Queries | None, dict[str, np.ndarray]]:
    """Scores of each model in the order of the rows, and the data (None without models)."""
    rows, values = None, {}
    features: tuple[int, list[str] | None] | None = None
    for name, path in models.items():
        ranker = load_model(path, threads)
        expected = Expected.by_model(ranker, path)
        if rows is None or (expected.n_features, expected.names) != features:
            rows = read_like(data, expected, label=label, qid=qid)
            features = expected.n_features, expected.names
        values[name] = scores_by(ranker, rows)
    return rows, values


def _as_tables(comparison: Comparison) -> str:
    """A table a measure, narrow enough for a terminal."""
    by_measure: dict[str, list[ComparisonRow]] = {}
    for row in comparison.rows:
        by_measure.setdefault(row.measure, []).append(row)
    return "\n\n".join(_as_table(name, rows) for name, rows in by_measure.items())


def _as_table(measure: str, rows: list[ComparisonRow]) -> str:
    from rankinite._text_table import aligned

    header = (measure, "mean", "change (95 %)", "p", "wins", "losses", "ties")
    first = rows[0]
    cells = [(f"{first.baseline} (baseline)", f"{first.baseline_mean:.4f}", *[""] * 5)]
    for row in rows:
        # The interval lies symmetrically about the change.
        change = f"{row.difference:+.4f} ± {(row.high - row.low) / 2:.4f}"
        counts = (str(row.wins), str(row.losses), str(row.ties))
        cells.append((row.scorer, f"{row.mean:.4f}", change, f"{row.p_value:.2g}", *counts))
    return aligned(header, cells)


def _as_json(comparison: Comparison) -> str:
    rows = [
        {key: number_or_none(v) if isinstance(v, float) else v for key, v in row.items()}
        for row in map(dataclasses.asdict, comparison.rows)
    ]
    return json.dumps({"baseline": comparison.baseline, "rows": rows}, indent=2)
