"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_PANEL = "Data"
DEFAULT_MEASURES = "ndcg@10,err@10,map,mrr"

DataPath = Annotated[
    Path, typer.Argument(metavar="DATA", show_default=False, help="Labelled queries.")
]
Label = Annotated[
    str, typer.Option(help="Column of the labels in CSV or Parquet.", rich_help_panel=DATA_PANEL)
]
Qid = Annotated[
    str, typer.Option(help="Column of the query ids in CSV or Parquet.", rich_help_panel=DATA_PANEL)
]
Threads = Annotated[
    int | None, typer.Option(show_default="all cores", help="No result depends on it.")
]
Measures = Annotated[
    str,
    typer.Option(
        metavar="A,B,...",
        help="Among ndcg@K, dcg@K, err@K, map, mrr, p@K, pairs, avendcg.",
    ),
]
Blank = Annotated[
    str,
    typer.Option(
        metavar="skip|zero|one",
        help="What a query counts in which no order is better than another.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
NTrees = Annotated[
    int | None, typer.Option(show_default="all", help="Use only the first trees of the model.")
]
