"""``rankinite sweep``: try parameters of a ranker, and train with the best."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.compiling import be_silent_about_compiling
from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import judge_labels, labels_located
from rankinite.cli.options import (
    AsJson,
    DataPaths,
    Force,
    Label,
    NFeatures,
    Qid,
    SameId,
    Weight,
)
from rankinite.cli.outputs import (
    check_new,
    check_writable,
    number_or_none,
    print_result,
    save_or_keep,
)
from rankinite.cli.ranker_options import flag_of, make_ranker, takes_ranker_parameters
from rankinite.cli.reporting import EndingSignal, exit_code, tell, tell_reading
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.data import Dataset
    from rankinite.sweeping import Sweep
    from rankinite.sweeping.declaration import Declaration
    from rankinite.sweeping.sweep import Plan, Sweeping

_SWEEP_PANEL = "The sweep"


@takes_ranker_parameters
def sweep(
    data: DataPaths,
    *,
    parameters: dict[str, Any],
    space: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="TOML with the ranker, what is fixed, and the values of each parameter.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="lambdamart, unless there is --space",
            help="A space that is there already: lambdamart, or of the papers lambdamart-004, "
            "lambdarank-004, lambdamart-000, lambdarank-000, lambdaboost-002, lambdasmart-002.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            show_default="as declared, the whole grid, or 30",
            help="How many there are to be, with those of --study.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            metavar="tpe|random|grid",
            show_default="as declared, or tpe",
            help="How values are chosen.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            show_default="as declared, or 5",
            help="Of the cross-validation of each trial.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            metavar="quarter|median|none",
            show_default="as declared, or quarter",
            help="Give up trials that would be in the last quarter, or half, of earlier ones.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="SQLite file that keeps the trials; started again, the sweep goes on from it.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            help="Processes side by side, which share the threads; no result depends on it.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="Also draw the trials, to a .png or .svg file.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            show_default=False,
            help="Train with the best parameters on DATA, and save the ranker here.",
            rich_help_panel=_SWEEP_PANEL,
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print the result only.", rich_help_panel=_SWEEP_PANEL),
    ] = False,
    label: Label = "label",
    qid: Qid = "qid",
    weight: Weight = None,
    same_id: SameId = "error",
    n_features: NFeatures = None,
) -> None:
    """Try parameters of a ranker, each cross-validated by query, and show the best.

    The parameters below are fixed, also those that the space would vary. With --early-stopping a
    trial watches a part of its training queries, and can be given up inside a fold.
    Ctrl-C ends the sweep with the table so far.

    Example: rankinite sweep train.txt --preset lambdamart --study sweep.db --model best.rk
    """
    from rankinite.plots.figures import check_plot
    from rankinite.sweeping.study import check_study
    from rankinite.sweeping.sweep import Sweeping

    if quiet:
        be_silent_about_compiling()
    if plot is not None:
        check_plot(plot)
        check_writable(plot, "the plot")
    if model is not None:
        check_new(model, "the model", force)
    asked = {"trials": trials, "sampler": sampler, "folds": folds, "prune": prune}
    declared = _declared(space, preset, parameters, asked)
    plan = _plan(declared)
    if study is not None:
        check_study(study)
    files = DataFiles.of(data, same_id)
    roles = {"label": label, "qid": qid, "weight": weight}
    rows = _read(files, plan, n_features, roles, quiet)
    judge_labels([plan.measure], files, rows)
    interrupt: BaseException | None = None
    with labels_located(files, rows), Sweeping(plan, rows, study, jobs) as sweeping:
        try:
            _run(sweeping, quiet)
        except (KeyboardInterrupt, EndingSignal) as caught:
            interrupt = caught
        found = sweeping.found()
    if interrupt is not None:
        print_result(_as_json(found) if as_json else str(found))
        tell(_how_to_go_on(study))
        raise typer.Exit(exit_code(interrupt))
    found.best  # noqa: B018 (an error if there is none)
    if plot is not None:
        found.plot(plot)
    if model is not None:
        save_or_keep(found.train(rows), model)
    if as_json:
        print_result(_as_json(found))
        return
    print_result(str(found))
    print_result(f"train with the best:\n  {_command(found, declared.ranker, files)}")
    home = "rankinite.torch" if declared.ranker == "perceptron" else "rk"
    print_result(f"  {home}.{found.best_ranker!r}")
    if model is not None:
        print_result(f"model: {model}")


def _declared(
    space: Path | None, preset: str | None, parameters: dict[str, Any], asked: dict[str, Any]
) -> Declaration:
    """The declaration of a file or a preset, with what was asked for on the command line."""
    from rankinite.sweeping.declaration import read_declaration
    from rankinite.sweeping.presets import preset as declaration_of

    if space is not None and preset is not None:
        raise ParameterError("--space and --preset are two spaces: leave out one of them")
    if space is not None:
        declared = read_declaration(space)
    else:
        declared = declaration_of(preset or "lambdamart")
    changes = {name: value for name, value in asked.items() if value is not None}
    declared = replace(declared, **changes)
    fixed = dict(parameters)
    # Of the sweep as well as of the ranker.
    if "measure" in fixed:
        declared = replace(declared, measure=fixed["measure"])
    if "random_state" in fixed:
        declared = replace(declared, seed=fixed["random_state"])
    # Options are text: as parameters they are what the ranker makes of them.
    checked = make_ranker(declared.ranker, fixed).get_params(deep=False)
    return declared.with_fixed({name: checked[name] for name in fixed})


def _plan(declared: Declaration) -> Plan:
    from rankinite.sweeping.sweep import Plan

    return Plan.of(
        declared.make_ranker(),
        declared.space,
        declared.measure,
        declared.trials,
        declared.sampler,
        declared.folds,
        declared.prune,
        declared.seed,
    )


def _read(
    files: DataFiles,
    plan: Plan,
    n_features: int | None,
    roles: dict[str, Any],
    quiet: bool,
) -> Dataset:
    """The data: only bins, unless a base model needs the values, or their number is swept."""
    from rankinite._numba import threads
    from rankinite.formats import read

    ranker = plan.ranker
    binned = ranker.learns_from_bins and ranker.base_model is None
    binned = binned and "max_bins" not in plan.space.names
    max_bins = ranker.get_params(deep=False)["max_bins"] if binned else None
    if not quiet:
        tell_reading(files)
    with threads(ranker.n_threads):
        rows = read(
            files.at_hand,
            n_features=n_features,
            max_bins=max_bins,
            same_id=files.same_id,
            **roles,
        )
    if not quiet:
        told = f"{rows.n_rows:,} rows, {rows.n_queries:,} queries"
        tell(f"{files}: {told}; {plan.n_trials} trials of {plan.n_folds} folds")
    return rows


def _run(sweeping: Sweeping, quiet: bool) -> None:
    if sweeping.n_taken_over and not quiet:
        tell(f"{sweeping.n_taken_over} trials are there already")
    for _ in sweeping.run():
        if not quiet:
            tell(sweeping.progress())


def _how_to_go_on(study: Path | None) -> str:
    if study is None:
        return "interrupted: add --study FILE to be able to go on the next time"
    return f"interrupted: {study} holds what was tried; the same command goes on from there"


def _command(found: Sweep, kind: str, files: DataFiles) -> str:
    """The command that trains with the best parameters on all data."""
    from rankinite.training.cross_validation import watches

    ranker = found.best_ranker
    words = ["rankinite", "train", *map(str, files.paths)]
    if kind != "lambdamart":
        words += ["--ranker", kind]
    defaults = type(ranker)().get_params(deep=False)
    for name, value in ranker.get_params(deep=False).items():
        if name in ("verbose", "n_threads", "base_model") or value == defaults[name]:
            continue
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif isinstance(value, (list, tuple)):
            words += [flag_of(name), ",".join(map(str, value))]
        else:
            words += [flag_of(name), "none" if value is None else str(value)]
    if ranker.base_model is not None:
        words += ["--base-model", "FILE"]
    if watches(ranker):
        words += ["--valid", "FILE"]
    return shlex.join(words)


def _as_json(found: Sweep) -> str:
    trials = [
        {
            **asdict(each),
            "value": number_or_none(each.value),
            "folds": [number_or_none(value) for value in each.folds],
            "curve": [list(look) for look in each.curve],
        }
        for each in found.trials
    ]
    best = found.ranking[0] if found.ranking else None
    return json.dumps(
        {
            "measure": str(found.measure),
            "n_trials": found.n_trials,
            "best": None if best is None else best.number,
            "best_params": None if best is None else best.params,
            "trials": trials,
        },
        indent=2,
    )
