"""The command line, put together from its verbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

import rankinite
from rankinite.cli.adapt import adapt
from rankinite.cli.combine import combine
from rankinite.cli.compare import compare
from rankinite.cli.compile import compile
from rankinite.cli.compiling import announced_compiling
from rankinite.cli.demo import demo
from rankinite.cli.distil import distil
from rankinite.cli.ensemble import ensemble
from rankinite.cli.evaluate import evaluate
from rankinite.cli.explain import explain
from rankinite.cli.export import export
from rankinite.cli.import_ import import_
from rankinite.cli.info import info
from rankinite.cli.optimality import optimality
from rankinite.cli.reporting import exit_code, tell
from rankinite.cli.score import score
from rankinite.cli.sweep import sweep
from rankinite.cli.train import train

# The verbs load the library when they run: `rankinite --help` answers at once.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _as_command(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that says when it compiles, and that ends with a word at Ctrl-C."""

    @wraps(verb)
    def command(*arguments: Any, **options: Any) -> None:
        try:
            with announced_compiling():
                verb(*arguments, **options)
        except KeyboardInterrupt as interrupt:
            tell("interrupted")
            raise typer.Exit(exit_code(interrupt)) from None

    return command


VERBS = (
    demo,
    train,
    score,
    evaluate,
    compare,
    sweep,
    combine,
    distil,
    adapt,
    ensemble,
    optimality,
    explain,
    export,
    import_,
    info,
    compile,
)

for verb in VERBS:
    # A name that Python keeps for itself has an underscore here.
    app.command(verb.__name__.rstrip("_"))(_as_command(verb))


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
    """Learn to rank: train, apply, evaluate, compare, combine, distil and adapt rankers.

    Data is SVMlight / LETOR text (also .gz and .zst), CSV, Parquet, or a saved dataset.
    """
