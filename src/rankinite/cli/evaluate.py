"""``rankinite evaluate``: how well a ranker, or scores from elsewhere, rank labelled queries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import (
    Expected,
    labels_located,
    load_model,
    read_judgements,
    read_like,
    read_scores,
    scores_by,
    split_measures,
)
from rankinite.cli.options import (
    DEFAULT_MEASURES,
    MODEL_HELP,
    AllMeasures,
    AsJson,
    Blank,
    DataPaths,
    Document,
    Label,
    NRounds,
    Pairs,
    Qid,
    SameId,
    Threads,
)
from rankinite.cli.outputs import check_writable, number_or_none, print_result, write_lines
from rankinite.cli.reporting import tell_reading
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from rankinite.data import Queries
    from rankinite.measures import Evaluation


def evaluate(
    data: DataPaths,
    model: Annotated[Path | None, typer.Option(show_default=False, help=MODEL_HELP)] = None,
    scores: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Or a file of scores, one a line, a line a row."),
    ] = None,
    measures: AllMeasures = None,
    blank: Blank = "skip",
    per_query: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Also write the values of each query as CSV."),
    ] = None,
    as_json: AsJson = False,
    n_rounds: NRounds = None,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    pairs: Pairs = None,
    document: Document = None,
    same_id: SameId = "error",
) -> None:
    """Measure how well a ranker ranks labelled queries.

    Tied documents count by the mean over their orders. With --pairs the share of
    preference pairs in the right order is measured, and their log loss.

    Example: rankinite evaluate test.txt --model ranker.rk --measures ndcg@5,map
    """
    from rankinite.measures import evaluate as evaluate_scores
    from rankinite.measures.evaluation import check_blank, measure_list

    score: Callable[..., tuple[Queries, np.ndarray, float | None]]
    if model is not None and scores is None:
        score = partial(_by_model, model, threads, n_rounds)
    elif scores is not None and model is None:
        score = partial(_from_file, scores)
    else:
        raise ParameterError("pass either --model or --scores: what is to be evaluated")
    if model is None and n_rounds is not None:
        raise ParameterError("--n-rounds needs --model: scores in a file have no rounds")
    files = DataFiles.of(data, same_id)
    check_writable(per_query, "the values of the queries")
    check_blank(blank)
    if measures is None and pairs is None:
        measures = DEFAULT_MEASURES
    wanted = None if measures is None else measure_list(split_measures(measures))
    tell_reading(files)
    rows, values, sigma = score(
        files, label=label, qid=qid, document=document, labels_needed=pairs is None
    )
    if pairs is not None:
        rows = rows.with_preferences(pairs)
    with labels_located(files, rows):
        evaluation = evaluate_scores(values, rows, wanted, blank=blank, sigma=sigma)
    if per_query is not None:
        write_lines(_as_csv(evaluation), per_query)
    print_result(_as_json(evaluation) if as_json else str(evaluation))


def _by_model(
    model: Path, threads: int | None, n_rounds: int | None, data: DataFiles, **columns: Any
) -> tuple[Queries, np.ndarray, float | None]:
    """The data, the scores that a saved ranker gives it, and the ranker's own σ."""
    ranker = load_model(model, threads)
    rows = read_like(data, Expected.by_model(ranker, model), **columns)
    return rows, scores_by(ranker, rows, n_rounds), getattr(ranker, "sigma", None)


def _from_file(
    scores: Path, data: DataFiles, **columns: Any
) -> tuple[Queries, np.ndarray, float | None]:
    """The data, and the scores that a file has for it; nobody knows their σ."""
    rows = read_judgements(data, **columns)
    return rows, read_scores(scores, rows.n_rows, data), None


def _as_csv(evaluation: Evaluation) -> list[str]:
    """A line a query; the cell of a query that is skipped is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["qid", *evaluation.per_query])
    columns = [values.tolist() for values in evaluation.per_query.values()]
    for qid, *values in zip(evaluation.qids.tolist(), *columns, strict=True):
        cells = [number_or_none(value) for value in values]
        writer.writerow([qid, *("" if cell is None else repr(cell) for cell in cells)])
    return text.getvalue().splitlines()


def _as_json(evaluation: Evaluation) -> str:
    return json.dumps(
        {
            "queries": evaluation.n_queries,
            "blank": evaluation.blank,
            "measures": {
                name: {"mean": number_or_none(mean), "blank_queries": evaluation.n_blank[name]}
                for name, mean in evaluation.means.items()
            },
        },
        indent=2,
    )
