"""The lines of the one table that `python benchmarks/all.py` prints at the end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

# Where a script that is run by all.py leaves its lines.
FILE = "RANKINITE_BENCHMARK_LINES"


class Line(NamedTuple):
    """What was measured: ours, the best of a peer's, their ratio, and what was aimed at."""

    what: str
    ours: str
    peer: str
    ratio: str
    bar: str


def report(lines: list[Line]) -> None:
    """Print lines as a table, and leave them for all.py."""
    print("\n" + as_table(lines), flush=True)
    if FILE in os.environ:
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


def read(path: Path) -> list[Line]:
    """The lines that scripts have left."""
    return [Line(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def as_table(lines: list[Line]) -> str:
    """Markdown, in columns of equal width."""
    rows = [Line("what", "rankinite", "peer", "ratio", "bar"), *lines]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    printed = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    printed.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(printed)
