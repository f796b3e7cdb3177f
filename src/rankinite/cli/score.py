"""``rankinite score``: apply a ranker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankinite.cli.inputs import Expected, load_model, read_like
from rankinite.cli.options import Label, NRounds, Qid, Threads
from rankinite.cli.outputs import check_writable, write_lines


def score(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", show_default=False, help="Queries; labels may be absent."),
    ],
    model: Annotated[Path, typer.Option(show_default=False, help="A saved ranker.")],
    output: Annotated[
        Path | None, typer.Option(show_default="standard output", help="Where the scores go.")
    ] = None,
    n_rounds: NRounds = None,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
) -> None:
    """Score documents: one score a line, in the order of the rows.

    Example: rankinite score test.txt --model ranker.rk --output scores.txt
    """
    check_writable(output, "the scores")
    ranker = load_model(model, threads)
    expected = Expected.by_model(ranker, model)
    rows = read_like(data, expected, label=label, qid=qid, labels_needed=False)
    scores = ranker.predict(rows, n_rounds=n_rounds)
    # repr is the shortest text that reads back as the same number.
    write_lines(map(repr, scores.tolist()), output)
