"""The command line: ``rankinite`` and its verbs, one file each."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit; `argv` is that of the process by default."""
    from rankinite._environment import check_environment
    from rankinite.cli.app import app
    from rankinite.cli.inputs import streams_kept
    from rankinite.cli.reporting import one_line_errors, open_missing_streams

    open_missing_streams()
    with one_line_errors(), streams_kept():
        check_environment()
        # Not as typer's own main, which draws a box around errors of usage.
        code = app(
            args=None if argv is None else list(argv), prog_name="rankinite", standalone_mode=False
        )
        raise SystemExit(code if isinstance(code, int) else 0)
