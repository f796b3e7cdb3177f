"""``rankinite explain``: why a document of a query is above another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, load_model, read_like
from rankinite.cli.options import Label, Qid, SameId, Threads
from rankinite.cli.outputs import print_result
from rankinite.errors import ModelFileError


def explain(
    data: Annotated[
        list[Path],
        typer.Argument(show_default=False, help="Queries, with labels or without."),
    ],
    model: Annotated[Path, typer.Option(show_default=False, help="The ranker.")],
    query: Annotated[
        str | None, typer.Option(show_default="the first", help="The id of the query.")
    ] = None,
    above: Annotated[
        int | None,
        typer.Option(
            show_default="the first of the ranking",
            help="A document, by its place in the query from 1.",
        ),
    ] = None,
    below: Annotated[
        int | None,
        typer.Option(show_default="the best of the others", help="The document to compare with."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(show_default=False, help="Also draw it, to a .png or .svg file.")
    ] = None,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
) -> None:
    """Say why a document of a query is above another, feature by feature.

    The shares are exact: those of the Shapley values of the two scores, whose
    difference they add up to. Models of other libraries are explained as well.

    Example: rankinite explain test.txt --model ranker.rk --query 17 --plot why.png
    """
    from rankinite.explanation import explain as explained
    from rankinite.plots.figures import check_plot

    if plot is not None:
        check_plot(plot)
    ranker = load_model(model, threads)
    if not hasattr(ranker, "contributions"):
        raise ModelFileError(f"{model} cannot be explained: it is not made of trees or weights")
    files = DataFiles.of(data, same_id)
    expected = Expected.by_model(ranker, model)
    rows = read_like(files, expected, label=label, qid=qid, labels_needed=False)
    found = explained(ranker, rows, query, above, below)
    if plot is not None:
        found.plot(plot)
    print_result(str(found) if plot is None else f"{found}\nplot: {plot}")
