"""``rankinite adapt``: a ranker for a domain with little data, from one with much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles, at_hand
from rankinite.cli.inputs import Expected, judge_labels, named_files, read_like
from rankinite.cli.options import DATA_PANEL, Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, print_result, save_or_keep
from rankinite.cli.reporting import tell, tell_reading
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset

_TREES_PANEL, _NEAR_PANEL = "Trees", "Growing the training data"


def adapt(
    background: Annotated[
        list[Path],
        typer.Option(
            metavar="MODEL|DATA",
            show_default=False,
            help="The large domain: a ranker (also of LightGBM, XGBoost or CatBoost), or labelled "
            "queries to train one on; give several files of one dataset one by one.",
        ),
    ],
    train: Annotated[
        list[Path], typer.Option(show_default=False, help="Labelled queries of the target.")
    ],
    valid: Annotated[
        list[Path], typer.Option(show_default=False, help="Others, to tune and choose by.")
    ],
    test: Annotated[
        list[Path] | None,
        typer.Option(show_default=False, help="Others, to compare on at the end."),
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODEL|DATA",
            show_default=False,
            help="One more background, to interpolate with; may be given several times.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="chosen by validation",
            help="in_domain, expanded, interpolation, interpolation3, interpolation_all, "
            "lambdaboost, lambdasmart or lambdasmart_random.",
        ),
    ] = None,
    choose: Annotated[
        str,
        typer.Option(
            metavar="significant|best",
            help="Leave the background ranker only for what is better by a paired t-test at 5 %, "
            "or for the highest mean whatever the noise.",
        ),
    ] = "significant",
    measure: Annotated[
        str, typer.Option(metavar="NAME", help="What to learn, tune and choose by.")
    ] = "ndcg@10",
    model: Annotated[Path, typer.Option(help="Where to save the ranker.")] = Path("adapted.rk"),
    force: Force = False,
    n_estimators: Annotated[
        int, typer.Option(help="Most trees, or rounds.", rich_help_panel=_TREES_PANEL)
    ] = 500,
    early_stopping: Annotated[
        int,
        typer.Option(
            help="Stop when validation has not risen for so many rounds.",
            rich_help_panel=_TREES_PANEL,
        ),
    ] = 50,
    max_leaf_nodes: Annotated[
        int, typer.Option(help="Leaves of a tree.", rich_help_panel=_TREES_PANEL)
    ] = 20,
    max_distance: Annotated[
        float | None,
        typer.Option(
            show_default="0.05",
            help="How near background documents must be, as 1 less the cosine.",
            rich_help_panel=_NEAR_PANEL,
        ),
    ] = None,
    seed_fraction: Annotated[
        float | None,
        typer.Option(
            show_default="0.5",
            help="Share of the queries to be near to, those of the least noisy labels.",
            rich_help_panel=_NEAR_PANEL,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
    n_features: Annotated[
        int | None,
        typer.Option(
            help="Number of features of SVMlight text, if the background is data.",
            show_default="largest index in it",
            rich_help_panel=DATA_PANEL,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")] = False,
) -> None:
    """Adapt a ranker to a domain with little data, and save it to one file.

    Trains the ways to do so, compares them with the background ranker on the
    validation data, and keeps the best of those that are surely better: training
    anew, interpolation, and LambdaBoost or LambdaSMART on top of the background
    ranker; with background data also on what is near to the target's.

    Example: rankinite adapt --background old.rk --train few.txt --valid v.txt
    """
    import rankinite as rk
    from rankinite.adaptation import CHOICES, METHODS
    from rankinite.models.parameters import OneOf, Whole

    check_new(model, "the model", force)
    OneOf(CHOICES).check("choose", choose)
    if method is not None:
        OneOf(METHODS).check("method", method)
    Whole(1, optional=True).check("threads", threads)
    Whole(0, 2**63 - 1).check("seed", seed)
    rounds = {"n_estimators": n_estimators, "early_stopping": early_stopping}
    trees = rk.LambdaMART(measure=measure, max_leaf_nodes=max_leaf_nodes, **rounds)
    trees.check_params()
    start, expected = _read_background(DataFiles.of(background, same_id), label, qid, n_features)
    files = named_files(other or [])
    if len(files) < len(other or []):
        raise ParameterError(
            f"two backgrounds have the same name in {', '.join(other or [])}: use NAME=FILE"
        )
    others = {name: _read_other(path, label, qid, expected) for name, path in files.items()}
    lists = {"train": train, "valid": valid, "test": test}
    given = {name: DataFiles.of(paths, same_id) for name, paths in lists.items() if paths}
    for each in given.values() if not quiet else ():
        tell_reading(each)
    data = {name: read_like(each, expected, label=label, qid=qid) for name, each in given.items()}
    for name, rows in data.items():
        judge_labels([measure], given[name], rows)
    if isinstance(start, rk.Dataset):
        judge_labels([measure], DataFiles.of(background, same_id), start)
    if not quiet:
        for name, rows in data.items():
            told = f"{rows.n_rows:,} rows, {rows.n_queries:,} queries"
            tell(f"{given[name]}: {told}")
    near = {"max_distance": max_distance, "seed_fraction": seed_fraction}
    adapted = rk.adapt(
        start,
        **data,
        others=others,
        method=method,
        choose=choose,
        measure=measure,
        ranker=trees,
        boost=rk.LambdaBoost(**rounds),
        smart=trees,
        expansion={name: value for name, value in near.items() if value is not None},
        random_state=seed,
        n_threads=threads,
        verbose=0 if quiet else 1,
    )
    save_or_keep(adapted, model)
    print_result(str(adapted))
    print_result(f"{adapted.reason}\nmodel: {model}")


def _read_background(
    data: DataFiles, label: str, qid: str, n_features: int | None
) -> tuple[Any | Dataset, Expected]:
    """The model or the data, and the features that the target's data must have."""
    from rankinite.formats import read
    from rankinite.models import is_model_file, load

    files = data.at_hand
    models = [path for path in files if is_model_file(path)]
    if not models:
        rows = read(files, label=label, qid=qid, n_features=n_features, same_id=data.same_id)
        owner = f"the background data {data}"
        return rows, Expected(rows.n_features, rows.feature_names, owner)
    path = models[0]
    if len(files) > 1:
        raise ParameterError(
            f"several files as --background are one dataset, and {path} is a model: give it alone, "
            "and further models by --other"
        )
    if n_features is not None:
        raise ParameterError(
            f"--n-features is for background data in SVMlight text, and {path} is a model, which "
            "knows its features: leave it out"
        )
    ranker = load(path)
    return ranker, Expected.by_model(ranker, path)


def _read_other(path: Path, label: str, qid: str, expected: Expected) -> Any | Dataset:
    """One more background: a model, or data with the features of the first background."""
    from rankinite.models import is_model_file, load

    path = at_hand(path)
    if is_model_file(path):
        return load(path)
    return read_like(DataFiles((path,)), expected, label=label, qid=qid)
