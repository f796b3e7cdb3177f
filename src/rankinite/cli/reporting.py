"""How the command line speaks of what went wrong: one line on standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer

from rankinite.errors import RankiniteError, RankiniteWarning

USER_ERROR = 2
# typer has it from click, or from a copy of its own, and does not name it.
_UsageError: Any = typer.BadParameter.__base__


def readable_anywhere() -> None:
    """Let a terminal that cannot show a character show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a user's mistake into ``error: ...`` and exit code 2; a bug keeps its traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", RankiniteWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except _UsageError as error:
            _fail_of_usage(error)
        except typer.Abort as error:
            # typer takes the end of a file for the user's wish to stop, and here it is a bug.
            raise error.__cause__ or error from None
        except RankiniteError as error:
            _fail(str(error))
        except OSError as error:
            _fail(_in_words(error))


def _fail(message: str) -> None:
    print(f"error: {_one_line(message)}", file=sys.stderr)
    raise SystemExit(USER_ERROR)


def _fail_of_usage(error: Any) -> None:
    """A wrong word on the command line; none at all is answered by the help."""
    if "NoArgsIsHelp" in type(error).__name__:
        error.show()
        raise SystemExit(error.exit_code)
    verb = "rankinite" if error.ctx is None else error.ctx.command_path
    _fail(f"{error.format_message().rstrip('.')}: {verb} --help shows what there is")


def _in_words(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _one_line(message: str) -> str:
    return " ".join(line.strip() for line in message.splitlines())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, RankiniteWarning):
        text = f"warning: {_one_line(str(message))}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    (sys.stderr if file is None else file).write(text)
