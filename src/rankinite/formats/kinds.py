"""Which format a file has: by its content where that can tell, else by its name."""

from __future__ import annotations

from pathlib import Path

from rankinite.errors import DataError
from rankinite.formats.array_file import is_array_file
from rankinite.formats.files import start_of

BINNED, PARQUET, CSV, TSV, TEXT = "binned", "parquet", "csv", "tsv", "text"
TABLES = (PARQUET, CSV, TSV)
# What each is called in messages.
NAMES = {
    BINNED: "a dataset in binned form",
    PARQUET: "a Parquet file",
    CSV: "a CSV file",
    TSV: "a TSV file",
    TEXT: "SVMlight text",
}
_PARQUET = b"PAR1"  # at both ends
_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16 and UTF-32
_LOOKED_AT = 1 << 16


def kind_of(path: Path) -> str:
    """The format of a readable file: one of BINNED, PARQUET, CSV, TSV, TEXT.

    The binned form and Parquet are known by their bytes; the suffixes ``.parquet``, ``.csv`` and
    ``.tsv`` say what they say, the latter two also before ``.gz`` and ``.zst``. Anything else is
    text, a table if its first line that is neither empty nor a comment has a tab or a comma and no
    ``qid:``: such a line is a header, and no line of SVMlight text.
    """
    if is_array_file(path):
        return BINNED
    if _is_parquet(path) or path.suffix.lower() == ".parquet":
        return PARQUET
    start = start_of(path, _LOOKED_AT)
    _check_encoding(start, path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] in ([".gz"], [".zst"]):
        suffixes.pop()
    by_name = {".csv": CSV, ".tsv": TSV}.get(suffixes[-1] if suffixes else "")
    return by_name or _kind_of_text(start)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(4) != _PARQUET:
            return False
        file.seek(0, 2)
        if file.tell() < 12:
            return False
        file.seek(-4, 2)
        return file.read() == _PARQUET


def _kind_of_text(start: bytes) -> str:
    for line in start.splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            if b"qid:" in line:
                return TEXT
            return TSV if b"\t" in line else CSV if b"," in line else TEXT
    return TEXT


def _check_encoding(start: bytes, path: Path) -> None:
    if start.startswith(_MARKS) or b"\0" in start[:64]:
        raise DataError(
            f"{path} is not text in UTF-8, but in UTF-16 or no text at all: convert it, as by "
            "iconv -f UTF-16 -t UTF-8"
        )
