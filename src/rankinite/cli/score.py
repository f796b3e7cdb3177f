"""``rankinite score``: apply a saved ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, load_model, read_like, scores_by
from rankinite.cli.options import MODEL_HELP, Document, Label, NRounds, Qid, SameId, Threads
from rankinite.cli.outputs import check_writable, write_lines
from rankinite.cli.reporting import tell_reading
from rankinite.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from rankinite.data import Dataset

_TAG = "rankinite"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def score(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            show_default=False,
            help="Queries, one file or several; labels may be absent; - is standard input.",
        ),
    ],
    model: Annotated[Path, typer.Option(show_default=False, help=MODEL_HELP)],
    output: Annotated[
        Path | None,
        typer.Option(
            show_default="standard output",
            help="Where the scores go: .csv, .tsv or .parquet with ids and ranks, else one a line.",
        ),
    ] = None,
    trec: Annotated[
        bool, typer.Option("--trec", help="Write a TREC run: qid Q0 document rank score tag.")
    ] = False,
    n_rounds: NRounds = None,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    document: Document = None,
    same_id: SameId = "error",
) -> None:
    """Score documents, in the order of the rows.

    One score a line; a .csv, .tsv or .parquet file has the columns qid, document (with
    --document), row (from 0), score and rank (from 1, in its query; of equal
    scores the earlier row first). Tables need no query ids unless the ranker does.

    Example: rankinite score test.txt --model ranker.rk --output scores.txt
    """
    check_writable(output, "the scores")
    ranker = load_model(model, threads)
    expected = Expected.by_model(ranker, model)
    needs_queries = trec or bool(getattr(ranker, "needs_queries", False))
    files = DataFiles.of(data, same_id)
    tell_reading(files)
    columns = files.columns
    has_queries = not columns or qid in columns
    rows = read_like(
        files,
        expected,
        label=label,
        qid=qid,
        document=document,
        labels_needed=False,
        queries_needed=needs_queries,
    )
    scores = scores_by(ranker, rows, n_rounds)
    kind = None if output is None else output.suffix.lower()
    if trec:
        write_lines(_trec_lines(_ranked(rows, scores)), output)
    elif output is not None and kind in (".csv", ".tsv", ".parquet"):
        table = _ranked(rows, scores)
        if not has_queries:
            del table["qid"]
        _write_table(table, output)
    else:
        # repr is the shortest text that reads back as the same number.
        write_lines(map(repr, scores.tolist()), output)


def _ranked(rows: Dataset, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of what is known of each row, in the order of the file."""
    import numpy as np

    query = rows.in_caller_order(np.repeat(np.arange(rows.n_queries), rows.query_sizes))
    row = np.arange(rows.n_rows)
    # By query, then by falling score, then by row.
    order = np.lexsort((row, -scores, query))
    rank = np.empty(rows.n_rows, np.int64)
    rank[order] = row - np.repeat(rows.offsets[:-1], rows.query_sizes) + 1
    table = {"qid": rows.qids[query]}
    if rows.documents is not None:
        table["document"] = rows.in_caller_order(rows.documents)
    return table | {"row": row, "score": scores, "rank": rank}


def _trec_lines(table: dict[str, Any]) -> list[str]:
    """A TREC run: by query in the order of the file, and by rank."""
    import numpy as np

    documents = table.get("document", table["row"])
    _, query = np.unique(table["qid"], return_inverse=True)
    first = np.full(query.max() + 1, len(query))
    np.minimum.at(first, query, table["row"])
    lines = []
    for i in np.lexsort((table["rank"], first[query])).tolist():
        ids = [str(table["qid"][i]), str(documents[i])]
        for name in ids:
            if not name or name.split() != [name]:
                raise DataError(
                    f"the id {name!r} has blanks, and a TREC run is cut at them: write .csv instead"
                )
        score = float(table["score"][i])
        lines.append(f"{ids[0]} Q0 {ids[1]} {table['rank'][i]} {score!r} {_TAG}")
    return lines


def _write_table(table: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow import parquet as pq

    from rankinite.formats.files import replacing

    columns = pa.table({name: pa.array(values.tolist()) for name, values in table.items()})
    with replacing(path) as temporary:
        kind = path.suffix.lower()
        if kind == ".parquet":
            pq.write_table(columns, temporary)
        else:
            form = csv.WriteOptions(quoting_style="needed", delimiter=_DELIMITERS[kind])
            csv.write_csv(columns, temporary, form)
