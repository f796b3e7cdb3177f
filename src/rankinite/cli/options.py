"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_PANEL = "Data"
MODEL_HELP = "A saved ranker, also of LightGBM, XGBoost or CatBoost."
# What the columns are called unless the user says otherwise.
LABEL, QID = "label", "qid"
DEFAULT_MEASURES = "ndcg@10,err@10,map,mrr"

DataPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        show_default=False,
        help="Labelled queries, one file or several that are one dataset; - is standard input.",
    ),
]
SameId = Annotated[
    str,
    typer.Option(
        metavar="error|join|apart",
        help="What to do with a query id that two files of one dataset have: refuse it, make one "
        "query of the rows, or keep the files apart.",
        rich_help_panel=DATA_PANEL,
    ),
]
Label = Annotated[
    str,
    typer.Option(help="Column of the labels in CSV, TSV or Parquet.", rich_help_panel=DATA_PANEL),
]
Qid = Annotated[
    str,
    typer.Option(
        help="Column of the query ids in CSV, TSV or Parquet.", rich_help_panel=DATA_PANEL
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column of the documents' weights in CSV or Parquet.",
        show_default=False,
        rich_help_panel=DATA_PANEL,
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        help="Number of features of SVMlight text.",
        show_default="largest index in DATA",
        rich_help_panel=DATA_PANEL,
    ),
]
Pairs = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="CSV, TSV or Parquet of preference pairs to look at instead of labels: columns "
        "preferred and other, and if need be probability, weight, query.",
        rich_help_panel=DATA_PANEL,
    ),
]
Document = Annotated[
    str | None,
    typer.Option(
        show_default="rows, from 0",
        help="Column of the ids in CSV, TSV or Parquet by which pairs name documents.",
        rich_help_panel=DATA_PANEL,
    ),
]
Threads = Annotated[
    int | None, typer.Option(show_default="all cores", help="No result depends on it.")
]
_MEASURES_HELP = "Among ndcg@K, dcg@K, err@K, map, mrr, p@K, pairs, avendcg"
Measures = Annotated[str, typer.Option(metavar="A,B,...", help=f"{_MEASURES_HELP}.")]
AllMeasures = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        show_default=f"{DEFAULT_MEASURES}, or those of pairs",
        help=f"{_MEASURES_HELP}; of pairs pair_accuracy, pair_log_loss.",
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
Force = Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")]
NRounds = Annotated[
    int | None,
    typer.Option(show_default="all", help="Use only the first rounds (trees) of the model."),
]
