"""Where in a table the first thing stands that cannot be used.

Tables are read by columns, as whole blocks of numbers, and what fails there does not know its line.
So the file is looked through once more, by rows, when something in it was refused.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankinite.formats.kinds import PARQUET, kind_of
from rankinite.formats.tables import Roles, lines_of

_TRUTHS = {"true", "false"}
_OF_LABEL = "which is not a finite number: mend it, or leave the row out"
_OF_WEIGHT = "and weights must be finite and at least 0"


def first_fault(path: Path, roles: Roles) -> str | None:
    """What is wrong with the first row that cannot be used, and where; None if none is found."""
    try:
        rows = _parquet_rows(path, roles) if kind_of(path) == PARQUET else _csv_rows(path)
        return _first_fault(path, rows, roles)
    except (csv.Error, LookupError, OSError, ValueError):
        return None  # so damaged that rows cannot be told: what failed before says enough


def _first_fault(path: Path, rows: Iterator[tuple[str, list[str]]], roles: Roles) -> str | None:
    _, columns = next(rows, ("", []))
    nulls = _nulls()
    for place, cells in rows:
        if len(cells) != len(columns):
            return (
                f"{path}, {place} has {len(cells)} values, but there are {len(columns)} columns: "
                "mend the line"
            )
        row = dict(zip(columns, cells, strict=True))
        fault = _fault_of_head(row, roles, nulls) or _fault_of_features(row, roles, nulls)
        if fault is not None:
            return f"{path}, {place}: {fault}"
    return None


def _fault_of_head(row: dict[str, str], roles: Roles, nulls: set[str]) -> str | None:
    """What is wrong with the query id, the label or the weight."""
    document = "a document"
    if roles.qid is not None:
        if not row[roles.qid]:
            return "there is no query id: give every row the id of its query"
        document = f"a document of query {row[roles.qid]}"
    if roles.label is not None:
        label = row[roles.label]
        if not math.isfinite(_number(label)):
            if label in nulls:
                return f"{document} has no label: give it one, or leave the row out"
            return f"{document} has the label {label!r}, {_OF_LABEL}"
    if roles.weight is not None:
        weight = row[roles.weight]
        if not 0 <= _number(weight) < math.inf:
            return f"{document} has the weight {weight!r}, {_OF_WEIGHT}"
    return None


def _fault_of_features(row: dict[str, str], roles: Roles, nulls: set[str]) -> str | None:
    for name in roles.features(list(row)):
        text = row.get(name, "")
        if text in nulls or text.lower() in _TRUTHS or not math.isnan(_number(text)):
            continue
        return (
            f"the value {text!r} of column {name!r} is not a number: mend it, or leave the column "
            "out of the features"
        )
    return None


def _number(text: str) -> float:
    """The number that a cell holds; NaN if it holds none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _nulls() -> set[str]:
    """Cells that stand for a missing value."""
    from pyarrow import csv as arrow_csv

    return set(arrow_csv.ConvertOptions().null_values)


def _csv_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The header, and then the rows, each with its place."""
    return ((f"line {line}", cells) for line, cells in lines_of(path))


def _parquet_rows(path: Path, roles: Roles) -> Iterator[tuple[str, list[str]]]:
    """The names of the columns of labels, ids and weights, and then their values as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [name for name in (roles.qid, roles.label, roles.weight) if name is not None]
    yield "", names
    with pq.ParquetFile(path) as file:
        kinds = [file.schema_arrow.field(name).type for name in names if name != roles.qid]
        if any(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in kinds):
            return  # then it is the column that is wrong, and not a row
        first = 0
        for batch in file.iter_batches(columns=names):
            columns = [map(_as_text, batch.column(name).to_pylist()) for name in names]
            for row, cells in enumerate(zip(*columns, strict=True), start=first):
                yield f"row {row} (from 0)", list(cells)
            first += batch.num_rows


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
