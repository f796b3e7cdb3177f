"""What is wrong with a file of another engine, as one sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from rankinite.errors import ModelFileError
from rankinite.exchange.plain import PlainForest, PlainLinear

Read = Callable[[bytes, str], PlainForest | PlainLinear]
Found = TypeVar("Found")


class UnsupportedModelError(ModelFileError):
    """A model that is whole, but says what none of our models can say."""


class DamagedError(Exception):
    """A file is not what its format asks for; the message says in what."""


class BeyondError(Exception):
    """A model has something that ours have not; the message says what, and what to do."""


# What a file whose content is wrong may raise below its reader.
_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def reader(
    origin: str,
) -> Callable[[Callable[[bytes], Found]], Callable[[bytes, str], Found]]:
    """Let a function from bytes to a model raise errors that name the file.

    Parameters
    ----------
    origin : str
        Whose model it is: "LightGBM".
    """

    def named(read: Callable[[bytes], Found]) -> Callable[[bytes, str], Found]:
        @wraps(read)
        def read_file(content: bytes, where: str) -> Found:
            try:
                return read(content)
            except BeyondError as beyond:
                raise UnsupportedModelError(
                    f"{where}, a model of {origin}, cannot become one of ours: {beyond}"
                ) from None
            except DamagedError as damage:
                why = str(damage)
            except RecursionError:
                why = "it has things in things without end"
            except MemoryError:
                why = "it asks for more memory than there is"
            except KeyError as error:
                why = f"it has no {error.args[0]!r}"
            except _FAULTS as error:
                why = _one_line(str(error) or type(error).__name__)
            raise ModelFileError(f"{where} is no whole model of {origin} ({why}): save it again")

        return read_file

    return named


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:120]}..."
