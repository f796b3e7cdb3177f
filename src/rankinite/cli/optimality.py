"""``rankinite optimality``: whether a measure has a maximum at the weights of a saved ranker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, judge_labels, load_model, read_like
from rankinite.cli.options import AsJson, DataPaths, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_writable, print_result
from rankinite.cli.reporting import tell_reading

if TYPE_CHECKING:
    from rankinite.optimality import LocalOptimality


def optimality(
    data: DataPaths,
    model: Annotated[
        Path, typer.Option(show_default=False, help="A saved RankNet, LambdaRank or LambdaBoost.")
    ],
    measure: Annotated[
        str | None, typer.Option(show_default="the one it learned", help="What to look at.")
    ] = None,
    directions: Annotated[
        int | None,
        typer.Option(show_default="459 for 99 % and 1 %", help="Number of random directions."),
    ] = None,
    radius: Annotated[
        list[float] | None,
        typer.Option(
            show_default="0.01 and 0.1",
            help="Length of a move, as a share of the weights' length; may be repeated.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure to be ...")] = 0.99,
    fraction: Annotated[
        float, typer.Option(help="... that at most this share of all directions leads up.")
    ] = 0.01,
    curves: Annotated[
        int, typer.Option(help="Number of weights that are also moved one at a time.")
    ] = 10,
    plot: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Also draw it, to a .png or .svg file."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the directions.")] = 0,
    as_json: AsJson = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
) -> None:
    """Test whether a measure has a local maximum at the weights of a ranker.

    The weights are moved along random directions. Use the data it was trained on.

    Example: rankinite optimality train.txt --model net.rk --plot optimality.png
    """
    from rankinite.optimality.local_optimality import RADII, check_movable, local_optimality
    from rankinite.plots.figures import check_plot

    files = DataFiles.of(data, same_id)
    if plot is not None:
        check_plot(plot)
        check_writable(plot, "the plot")
    ranker = load_model(model, threads)
    check_movable(ranker)
    tell_reading(files)
    rows = read_like(files, Expected.by_model(ranker, model), label=label, qid=qid)
    looked_at = measure or getattr(ranker, "measure", None)
    judge_labels([] if looked_at is None else [looked_at], files, rows)
    result = local_optimality(
        ranker,
        rows,
        measure,
        confidence=confidence,
        fraction=fraction,
        n_directions=directions,
        radius=radius or RADII,
        curves=curves,
        random_state=seed,
    )
    if plot is not None:
        result.plot(plot)
    print_result(_as_json(result) if as_json else str(result))


def _as_json(result: LocalOptimality) -> str:
    return json.dumps(
        {
            "measure": result.measure,
            "value": result.value,
            "weights": result.n_weights,
            "directions": len(result.moves[0].changes),
            "confidence": result.confidence,
            "fraction": result.fraction,
            "radii": [
                {
                    "radius": moves.radius,
                    "rises": moves.n_rising,
                    "falls": moves.n_falling,
                    "largest_rise": moves.largest_rise,
                    "mean_change": float(moves.changes.mean()),
                    "rising_at_most": moves.share,
                    "confidence": moves.confidence,
                }
                for moves in result.moves
            ],
            "curves": [
                {
                    "name": curve.name,
                    "learned": curve.weight,
                    "weights": curve.weights.tolist(),
                    "values": curve.values.tolist(),
                }
                for curve in result.curves
            ],
        },
        indent=2,
    )
