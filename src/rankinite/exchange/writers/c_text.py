"""Names and numbers as C writes them."""

from __future__ import annotations

import re

import numpy as np

from rankinite.data.feature_labels import feature_label
from rankinite.errors import ExportError
from rankinite.exchange.plain import Plain
from rankinite.exchange.writers.names import names_from_one

# What stands in a text and in a comment as it is: nothing that could end either of them, begin a
# trigraph, or end a statement.
_ASIS = re.compile(rb"[A-Za-z0-9 !#$%&'()+,\-./:<=>\[\]^_`{|}~]")
# Prefixes of names: no underscore where C or C++ keeps names with it to itself.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", re.ASCII)
_LONGEST_NAME = 63
# Names of files that would end the text that includes them, or mean something else in it.
_NOT_IN_FILES = re.compile(r'["\\?@;*\x00-\x1f\x7f\ud800-\udfff]')
# So many characters every C99 compiler takes in a text.
_LONGEST_TEXT = 4095
_A_LINE = 100


def checked_name(name: str | None, stem: str) -> str:
    """What the names of all functions begin with; that of the file unless it is given."""
    found = stem if name is None else name
    if not isinstance(found, str) or not _NAME.fullmatch(found) or len(found) > _LONGEST_NAME:
        why = "functions are named after the file: " if name is None else ""
        raise ExportError(
            f"{why}{found!r} is no name that C functions can begin with: pass a name of up to "
            f"{_LONGEST_NAME} letters, digits and single underscores, such as name='ranker'"
        )
    return found


def check_stem(stem: str) -> None:
    """Refuse a file name that the source could not include its header by."""
    if not stem or _NOT_IN_FILES.search(stem):
        raise ExportError(
            f"a C file includes its header by the name, and {stem!r} has characters that cannot "
            "stand there: choose another name for the file"
        )


def texts_of_names(plain: Plain) -> list[str]:
    """The names of the features as C texts, in quotes."""
    texts = [f'"{_escaped(name)}"' for name in names_from_one(plain)]
    for j, name in enumerate(names_from_one(plain)):
        size = len(_encoded(name))
        if size > _LONGEST_TEXT:
            raise ExportError(
                f"the name of {feature_label(j)} has {size:,} bytes, and a C text no more than "
                f"{_LONGEST_TEXT:,}: train with a shorter name"
            )
    return texts


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _escaped(name: str) -> str:
    """Bytes that do not stand for themselves as three octal digits, after which digits may come."""
    return "".join(
        chr(byte) if _ASIS.fullmatch(bytes([byte])) else f"\\{byte:03o}" for byte in _encoded(name)
    )


def name_of_text(text: str) -> str:
    """The name of which `texts_of_names` made a text."""
    inner = re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), text[1:-1])
    return inner.encode("latin-1").decode("utf-8", "surrogatepass")


def number(x: float) -> str:
    """A double as C text.

    Seventeen digits, and not the shortest text: a compiler that rounds the last place wrongly still
    finds the right number, to which they are nearer.
    """
    text = f"{x:.17g}"
    if "inf" in text:
        return text.replace("inf", "INFINITY")
    return text if "." in text or "e" in text else f"{text}.0"


def number_of(text: str) -> float:
    """The number of which `number` made a text; a ValueError if it is another one's."""
    value = float(text.strip().replace("INFINITY", "inf"))
    if number(value) != text.strip():
        raise ValueError(f"it has {text.strip()[:40]!r} for a number")
    return value


def numbers(values: np.ndarray) -> list[str]:
    """Doubles as C texts."""
    return [number(x) for x in values.tolist()]


def lines(texts: list[str]) -> str:
    """Elements of an array, a comma after each but the last, in lines that end."""
    out: list[str] = []
    line = ""
    for text in texts:
        if line and len(line) + len(text) + 2 > _A_LINE:
            out.append(line)
            line = ""
        line += f"{' ' if line else ''}{text},"
    return "\n".join([*out, line[:-1]])


def finite(values: np.ndarray | float, what: str) -> None:
    """Refuse numbers that are not finite."""
    if not np.isfinite(values).all():
        raise ExportError(f"the model has {what} that is not finite: a C file cannot score by it")
