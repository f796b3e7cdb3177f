"""How the command line speaks of what went wrong: one line on standard error."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer

from rankinite.cli.wording import in_options
from rankinite.errors import DataError, DeclarationError, RankiniteError, RankiniteWarning

if TYPE_CHECKING:
    from rankinite.cli.data_files import DataFiles

USER_ERROR = 2
# Bytes of files whose reading takes long enough to be told.
LARGE_FILE = 20_000_000
# Signals that ask a process to end; Ctrl-C is Python's own.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# typer has it from click, or from a copy of its own, and does not name it.
_UsageError: Any = typer.BadParameter.__base__
# Whether another process speaks for this one.
_silent = False


def readable_anywhere() -> None:
    """Let a terminal that cannot show a character show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class EndingSignal(BaseException):
    """The process was asked to end, as by Ctrl-C; not a KeyboardInterrupt, which typer catches."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(interrupt: BaseException) -> int:
    """Of a process that was interrupted: 128 and the signal's number, as shells count."""
    number = interrupt.number if isinstance(interrupt, EndingSignal) else signal.SIGINT
    return 128 + int(number)


@contextmanager
def ending_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C inside the block: what was learned is kept.

    One of them is enough: those that follow are ignored, so that they do not cut off what the
    first one let the process do. A signal that is already ignored (nohup) stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: Any) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)
        raise EndingSignal(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def open_missing_streams() -> None:
    """Open /dev/null in the place of standard streams that the caller has closed.

    Else the first files that are opened would take their place, and get what is meant for them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def be_silent() -> None:
    """Say and print nothing from now on: another process does."""
    global _silent
    _silent = True


def tell(text: str) -> None:
    """Say something on standard error that may as well not arrive."""
    if _silent:
        return
    try:
        typer.echo(text, err=True)
    except (OSError, ValueError):  # closed, or not for these letters
        _give_up(sys.stderr)


def tell_reading(files: DataFiles) -> None:
    """Say that data is read now, if that takes a while."""
    if files.n_bytes > LARGE_FILE:
        tell(f"reading {files}, {files.n_bytes / 1e6:,.0f} MB")


def report(text: str) -> None:
    """Print a result; a reader that has gone does not want it."""
    if _silent:
        return
    try:
        typer.echo(text)
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        raise DataError(f"standard output cannot be written: {error.strerror}") from error


def _give_up(stream: TextIO) -> None:
    """Write nothing more to a broken stream, also not what is left in it at the end."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError, AttributeError):
        pass


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a user's mistake into ``error: ...`` and exit code 2; a bug keeps its traceback."""
    with warnings.catch_warnings(), ending_signals():
        warnings.simplefilter("always", RankiniteWarning)
        warnings.showwarning = _show_warning
        try:
            yield
        except _UsageError as error:
            _fail_of_usage(error)
        except typer.Abort as error:
            # typer takes the end of a file for the user's wish to stop, and here it is a bug.
            raise error.__cause__ or error from None
        except (KeyboardInterrupt, EndingSignal) as interrupt:
            tell("interrupted")
            raise SystemExit(exit_code(interrupt)) from None
        except DeclarationError as error:
            # What it names are keys of a file, not options.
            _fail(str(error), in_file=True)
        except RankiniteError as error:
            _fail(str(error))
        except OSError as error:
            _fail(_in_words(error))


def _fail(message: str, in_file: bool = False) -> None:
    tell(f"error: {_joined(message) if in_file else _one_line(message)}")
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
    return in_options(_joined(message))


def _joined(message: str) -> str:
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
    tell(text.rstrip("\n"))
