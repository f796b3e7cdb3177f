"""``rankinite distil``: one fast ranker out of a slow one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, judge_labels, load_model, read_like, split_measures
from rankinite.cli.options import AsJson, Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, number_or_none, print_result, save_or_keep
from rankinite.cli.reporting import tell, tell_reading
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.ensemble import Distillation

STUDENTS = {"lambdamart": "LambdaMART", "mart": "MART"}
_STUDENT_PANEL = "The student"


def distil(
    teacher: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="The ranker to learn from, such as a combination; also of LightGBM, XGBoost or "
            "CatBoost.",
        ),
    ],
    data: Annotated[
        list[Path],
        typer.Option(
            show_default=False,
            help="Queries for the teacher to score, with labels or without; give several files of "
            "one dataset one by one.",
        ),
    ],
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            show_default=False,
            help="Queries for the student to watch: by their labels, or by the teacher if a table "
            "has none.",
        ),
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(show_default=False, help="Labelled queries, to compare on."),
    ] = None,
    labelled: Annotated[
        list[Path] | None,
        typer.Option(
            show_default=False,
            help="Labelled queries, to train a ranker like the student on, for comparison.",
        ),
    ] = None,
    model: Annotated[Path, typer.Option(help="Where to save the student.")] = Path("small.rk"),
    force: Force = False,
    measures: Annotated[
        str, typer.Option(metavar="A,B,...", help="What to compare by on --test.")
    ] = "ndcg@10,err@10",
    documents: Annotated[
        str,
        typer.Option(
            metavar="given|augmented",
            help="Learn from the queries as they are, or also from ten halves of each.",
        ),
    ] = "given",
    targets: Annotated[
        str,
        typer.Option(
            metavar="scores|quantiles|ranks",
            help="What the student takes for labels: the teacher's scores, the share of all "
            "documents that it puts below (for short queries), or that of the query's.",
            rich_help_panel=_STUDENT_PANEL,
        ),
    ] = "scores",
    student: Annotated[
        str,
        typer.Option(
            metavar="|".join(STUDENTS),
            help="The kind of ranker to train.",
            rich_help_panel=_STUDENT_PANEL,
        ),
    ] = "mart",
    trees: Annotated[
        int, typer.Option(help="Trees, at most.", rich_help_panel=_STUDENT_PANEL)
    ] = 500,
    leaves: Annotated[
        int, typer.Option(help="Leaves of a tree.", rich_help_panel=_STUDENT_PANEL)
    ] = 31,
    learning_rate: Annotated[
        float, typer.Option(help="Length of a step.", rich_help_panel=_STUDENT_PANEL)
    ] = 0.1,
    early_stopping: Annotated[
        int | None,
        typer.Option(
            show_default="never",
            help="Stop when --valid has not risen for so many trees.",
            rich_help_panel=_STUDENT_PANEL,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    as_json: AsJson = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")] = False,
) -> None:
    """Train one ranker on the scores of another, and save it to one file.

    An ensemble is slow to score with; one forest that has learned to rank as it
    does is fast. The table says what it keeps, and how much faster it is.

    Example: rankinite distil combined.rk --data more.txt --test test.txt
    """
    import rankinite as rk
    from rankinite.ensemble.distillation import DOCUMENTS
    from rankinite.ensemble.targets import TARGETS
    from rankinite.measures.evaluation import measure_list
    from rankinite.models.parameters import OneOf, Whole

    check_new(model, "the student", force)
    OneOf(tuple(STUDENTS)).check("--student", student)
    OneOf(tuple(TARGETS)).check("--targets", targets)
    OneOf(DOCUMENTS).check("--documents", documents)
    Whole(1).check("--trees", trees)
    Whole(2).check("--leaves", leaves)
    if early_stopping is not None and not valid:
        raise ParameterError("--early-stopping needs data to look at: add --valid, or leave it out")
    ranker = getattr(rk, STUDENTS[student])(
        n_estimators=trees,
        max_leaf_nodes=leaves,
        learning_rate=learning_rate,
        early_stopping=early_stopping,
        random_state=seed,
    )
    ranker.check_params()
    wanted = measure_list(split_measures(measures))
    ranking = load_model(teacher, threads)
    expected = Expected.by_model(ranking, teacher)
    lists = {"data": data, "valid": valid, "labelled": labelled, "test": test}
    given = {name: DataFiles.of(paths, same_id) for name, paths in lists.items() if paths}
    for each in given.values() if not quiet else ():
        tell_reading(each)
    sets = {
        name: read_like(
            each, expected, label=label, qid=qid, labels_needed=name in ("labelled", "test")
        )
        for name, each in given.items()
    }
    if test:
        judge_labels(wanted, given["test"], sets["test"])
    if not quiet:
        for name, rows in sets.items():
            tell(f"{given[name]}: {rows.n_rows:,} rows, {rows.n_queries:,} queries")
    found = rk.distil(
        ranking,
        sets.pop("data"),
        ranker,
        targets=targets,
        documents=documents,
        measures=wanted,
        random_state=seed,
        n_threads=threads,
        verbose=0 if quiet else 1,
        **sets,
    )
    save_or_keep(found, model)
    print_result(_as_json(found) if as_json else f"{found}\nmodel: {model}")


def _as_json(found: Distillation) -> str:
    comparison = found.comparison
    rows = [] if comparison is None else [asdict(row) for row in comparison.rows]
    return json.dumps(
        {
            "documents": found.n_documents,
            "queries": found.n_queries,
            "costs": {name: asdict(cost) for name, cost in found.costs.items()},
            "speedup": found.speedup,
            "rows": [
                {key: number_or_none(v) if isinstance(v, float) else v for key, v in row.items()}
                for row in rows
            ],
        },
        indent=2,
    )
