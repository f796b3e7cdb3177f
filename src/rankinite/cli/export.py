"""``rankinite export``: a ranker in the format of another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, load_model, read_like
from rankinite.cli.options import Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, print_result
from rankinite.errors import ExportError, ParameterError

_FORMAT_PANEL = "Of some formats"


def export(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="A trained ranker, or a model of another library, which is read first.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write it.")],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            show_default="by the name of the output",
            help="lightgbm, xgboost, ranklib, quickrank, solr, elasticsearch, opensearch, vespa, "
            "onnx or c.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            show_default="rows made of the model's thresholds",
            help="Rows to check the written file with.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            show_default=False,
            help="An option of the format, such as store=products for solr or missing=zero for "
            "ranklib; docs/formats.md lists them.",
            rich_help_panel=_FORMAT_PANEL,
        ),
    ] = None,
    force: Force = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
) -> None:
    """Write a ranker as a file that another library or search engine reads.

    The file is read again as the engine reads it, and scores some rows; it is
    written only if it ranks as the model does, as exactly as the format can. What
    a format cannot say is refused before anything is written.

    Example: rankinite export ranker.rk --to solr --output ranker.json
    """
    from rankinite.exchange.exporting import format_of

    for path in (output, *(output.with_suffix(s) for s in format_of(output, to).beside_suffixes)):
        check_new(path, "the exported model", force)
    options = dict(_option(each) for each in option or [])
    ranker = load_model(model, threads)
    sample = None
    if data:
        files = DataFiles.of(data, same_id)
        expected = Expected.by_model(ranker, model)
        sample = read_like(files, expected, label=label, qid=qid, labels_needed=False)
    if not hasattr(ranker, "export"):
        raise ExportError(f"{model} cannot be exported: it is not made of trees or weights")
    found = ranker.export(output, to, sample=sample, **options)
    print_result(
        f"{found.path}: {found.format}, {found.n_bytes:,} bytes; {found.in_words()}",
    )


def _option(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise ParameterError(f"--option must be NAME=VALUE, got {given!r}")
    return name, value
