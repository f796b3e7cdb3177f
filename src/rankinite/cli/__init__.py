"""The command line: ``rankinite`` and its verbs, one file each."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit; `argv` is that of the process by default."""
    try:
        _run(argv)
    except KeyboardInterrupt:  # while importing, say; a verb is interrupted in its own way
        _say_interrupted()
        raise SystemExit(INTERRUPTED) from None


def _run(argv: Sequence[str] | None) -> None:
    from rankinite._environment import check_environment
    from rankinite.cli.app import app
    from rankinite.cli.data_files import streams_kept
    from rankinite.cli.reporting import one_line_errors, open_missing_streams, readable_anywhere

    open_missing_streams()
    readable_anywhere()
    with one_line_errors(), streams_kept():
        check_environment()
        # Not as typer's own main, which draws a box around errors of usage.
        code = app(
            args=None if argv is None else list(argv), prog_name="rankinite", standalone_mode=False
        )
        raise SystemExit(code if isinstance(code, int) else 0)


def _say_interrupted() -> None:
    if sys.stderr is not None:
        print("interrupted", file=sys.stderr)
