"""``rankinite ensemble``: from a declaration to one ranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, judge_labels, read_like
from rankinite.cli.options import DATA_PANEL, Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, print_result, save_or_keep
from rankinite.cli.reporting import tell, tell_reading
from rankinite.cli.workers import workers
from rankinite.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset
    from rankinite.distributed import Communicator
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
    Started by mpiexec, the processes train boosted trees together, and each trains some
    of the other models; the result is the same.

    Example: rankinite ensemble --example > e.toml; rankinite ensemble e.toml --train t.txt
    """
    from rankinite.ensemble.declaration import example as example_text

    if example:
        print_result(example_text().rstrip("\n"))
        return
    if declaration is None:
        raise ParameterError("there is no declaration: pass a TOML file; --example prints one")
    with workers("rows") as communicator:
        leads = communicator.rank == 0
        quiet = quiet or not leads
        check_new(model, "the model", force or not leads)
        folder = model.with_name(f"{model.name}.run") if run is None else run
        if leads:
            _check_folder(folder)
        _assemble(
            declaration,
            {"train": train, "valid": valid, "test": test},
            {"label": label, "qid": qid, "n_features": n_features, "same_id": same_id},
            communicator,
            model,
            run=folder,
            jobs=jobs,
            keep_going=keep_going,
            n_threads=threads,
            verbose=0 if quiet else 1,
        )


def _assemble(
    declaration: Path,
    given: dict[str, list[Path] | None],
    roles: dict[str, Any],
    communicator: Communicator,
    model: Path,
    **options: Any,
) -> None:
    """Read what is needed, train, and save; worker 0 saves for all."""
    from rankinite.ensemble.assembling import assemble, check_one_job
    from rankinite.ensemble.reading import read_declaration
    from rankinite.models.parameters import Whole

    Whole(1).check("jobs", options["jobs"])
    check_one_job(options["jobs"], communicator)
    Whole(1, optional=True).check("threads", options["n_threads"])
    declared = read_declaration(declaration)
    same_id = roles.pop("same_id")
    files = {
        name: DataFiles.of(paths or declared.paths[name], same_id)
        for name, paths in given.items()
        if paths or name in declared.paths
    }
    if "train" not in files:
        declared.fail("there is no training data: pass --train, or add train to [data]", "data")
    # Each worker reads all of it: scores of all documents are what an ensemble is made of.
    data = _read(files, declared, **roles, quiet=not options["verbose"])
    found = assemble(
        declared,
        data["train"],
        data.get("valid"),
        data.get("test"),
        communicator=communicator,
        **options,
    )
    if communicator.rank == 0:
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
