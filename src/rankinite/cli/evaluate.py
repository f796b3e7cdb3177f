"""``rankinite evaluate``: how well a ranker, or scores from elsewhere, rank labelled queries."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.inputs import (
    Expected,
    load_model,
    read_judgements,
    read_like,
    read_scores,
    split_measures,
)
from rankinite.cli.options import (
    DEFAULT_MEASURES,
    AsJson,
    Blank,
    DataPath,
    Label,
    Measures,
    NTrees,
    Qid,
    Threads,
)
from rankinite.cli.outputs import check_writable, number_or_none, write_lines
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset
    from rankinite.measures import Evaluation


def evaluate(
    data: DataPath,
    model: Annotated[Path | None, typer.Option(show_default=False, help="A saved ranker.")] = None,
    scores: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Or a file of scores, one a line, a line a row."),
    ] = None,
    measures: Measures = DEFAULT_MEASURES,
    blank: Blank = "skip",
    per_query: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Also write the values of each query as CSV."),
    ] = None,
    as_json: AsJson = False,
    n_trees: NTrees = None,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
) -> None:
    """Measure how well a ranker ranks labelled queries.

    Tied documents count by the mean over their orders.

    Example: rankinite evaluate test.txt --model ranker.rk --measures ndcg@5,map
    """
    from rankinite.measures import evaluate as evaluate_scores
    from rankinite.measures.evaluation import check_blank, measure_list

    if (model is None) == (scores is None):
        raise ParameterError("pass either --model or --scores: what is to be evaluated")
    check_writable(per_query, "the values of the queries")
    check_blank(blank)
    wanted = measure_list(split_measures(measures))
    rows, values = _rows_and_scores(data, model, scores, n_trees, threads, label, qid)
    evaluation = evaluate_scores(values, rows, wanted, blank=blank)
    if per_query is not None:
        write_lines(_as_csv(evaluation), per_query)
    typer.echo(_as_json(evaluation) if as_json else str(evaluation))


def _rows_and_scores(
    data: Path,
    model: Path | None,
    scores: Path | None,
    n_trees: int | None,
    threads: int | None,
    label: str,
    qid: str,
) -> tuple[Dataset, Any]:
    if scores is not None:
        if n_trees is not None:
            raise ParameterError("--n-trees needs --model: scores in a file have no trees")
        rows = read_judgements(data, label=label, qid=qid)
        return rows, read_scores(scores, rows.n_rows, data)
    assert model is not None
    ranker = load_model(model, threads)
    rows = read_like(data, Expected.by_model(ranker, model), label=label, qid=qid)
    return rows, ranker.predict(rows, n_trees=n_trees)


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
