"""The command line, put together from its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

import rankinite
from rankinite.cli.combine import combine
from rankinite.cli.compare import compare
from rankinite.cli.demo import demo
from rankinite.cli.evaluate import evaluate
from rankinite.cli.optimality import optimality
from rankinite.cli.score import score
from rankinite.cli.train import train

# The verbs load the library when they run: `rankinite --help` answers at once.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (demo, train, score, evaluate, compare, combine, optimality):
    app.command()(verb)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankinite {rankinite.__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: rankinite demo. Every verb has its own --help.")
def rankinite_command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
    ] = False,
) -> None:
    """Learn to rank: train, apply, evaluate, compare and combine rankers.

    Data is SVMlight / LETOR text (also .gz and .zst), CSV, Parquet, or a saved dataset.
    """
