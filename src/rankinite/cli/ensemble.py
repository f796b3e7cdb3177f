"""``rankinite ensemble``: from a declaration to one ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, judge_labels, read_like
from rankinite.cli.options import DATA_PANEL, Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, print_result, save_or_keep
from rankinite.cli.reporting import tell, tell_reading
from rankinite.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset
    from rankinite.ensemble.declaration import Declaration


def ensemble(
    declaration: Annotated[
        Path | None,
        typer.Argument(
            metavar="DECLARATION",
            show_default=False,
            help="A TOML file with the members; --example prints one.",
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(
            show_default="what the declaration says",
            help="Labelled queries; give several files one by one.",
        ),
    ] = None,
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            show_default="what the declaration says, or none",
            help="Others, to compare, combine and choose by; without them each training query is "
            "scored by models that have not seen it.",
        ),
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(
            show_default="what the declaration says, or none",
            help="Others, to measure on at the end.",
        ),
    ] = None,
    model: Annotated[Path, typer.Option(help="Where to save the ranker.")] = Path("ensemble.rk"),
    force: Force = False,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            show_default="the model's name with .run",
            help="Where models, scores and logs of all members are kept: started again with it, "
            "the run goes on, and does anew only what depends on a change.",
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Models that are trained side by side, in processes.")
    ] = 1,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Do without members that fail.")
    ] = False,
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            help="Print a declaration with comments, the twelve models that won the Yahoo! "
            "challenge, and do nothing else.",
        ),
    ] = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
    n_features: Annotated[
        int | None,
        typer.Option(
            help="Number of features of SVMlight text.",
            show_default="largest index in the training data",
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")] = False,
) -> None:
    """Train the rankers of a declaration, combine them, and save the result as one ranker.

    The declaration names the members: any ranker with its parameters, on data as
    it is or augmented, on a part of the features, with features from the scores of
    other members, as a bag. Members, combinations and families are compared on
    queries that they have not learned from.

    Example: rankinite ensemble --example > e.toml; rankinite ensemble e.toml --train t.txt
    """
    from rankinite.ensemble.assembling import assemble
    from rankinite.ensemble.declaration import example as example_text
    from rankinite.ensemble.reading import read_declaration
    from rankinite.models.parameters import Whole

    if example:
        print_result(example_text().rstrip("\n"))
        return
    if declaration is None:
        raise ParameterError("there is no declaration: pass a TOML file; --example prints one")
    check_new(model, "the model", force)
    folder = model.with_name(f"{model.name}.run") if run is None else run
    _check_folder(folder)
    Whole(1).check("jobs", jobs)
    Whole(1, optional=True).check("threads", threads)
    declared = read_declaration(declaration)
    given = {"train": train, "valid": valid, "test": test}
    files = {
        name: DataFiles.of(paths or declared.paths[name], same_id)
        for name, paths in given.items()
        if paths or name in declared.paths
    }
    if "train" not in files:
        declared.fail("there is no training data: pass --train, or add train to [data]", "data")
    data = _read(files, declared, label, qid, n_features, quiet)
    found = assemble(
        declared,
        **data,
        run=folder,
        jobs=jobs,
        keep_going=keep_going,
        n_threads=threads,
        verbose=0 if quiet else 1,
    )
    save_or_keep(found, model)
    print_result(f"{found}\nmodel: {model}")


def _read(
    files: dict[str, DataFiles],
    declared: Declaration,
    label: str,
    qid: str,
    n_features: int | None,
    quiet: bool,
) -> dict[str, Dataset]:
    """The sets by name; all have the features of the training data."""
    from rankinite.formats import read

    if not quiet:
        for each in files.values():
            tell_reading(each)
    first = files["train"]
    known = n_features if first.is_text else None
    rows = read(first.at_hand, label=label, qid=qid, n_features=known, same_id=first.same_id)
    expected = Expected(rows.n_features, rows.feature_names, f"the training data {first}")
    data = {"train": rows}
    for name in ("valid", "test"):
        if name in files:
            data[name] = read_like(files[name], expected, label=label, qid=qid)
    for name, some in data.items():
        judge_labels(declared.report, files[name], some)
        if not quiet:
            tell(f"{files[name]}: {some.n_rows:,} rows, {some.n_queries:,} queries")
    return data


def _check_folder(folder: Path) -> None:
    """Refuse a run folder that could not be written, before the data is read."""
    import tempfile

    if folder.exists() and not folder.is_dir():
        raise DataError(f"cannot keep the run in {folder}: it is a file, pass a folder")
    inside = folder if folder.is_dir() else folder.parent
    if not inside.is_dir():
        raise DataError(
            f"cannot keep the run in {folder}: there is no folder {inside}, create it first"
        )
    try:
        with tempfile.TemporaryFile(dir=inside):
            pass
    except OSError as error:
        raise DataError(f"cannot keep the run in {folder}: {error.strerror}") from error
