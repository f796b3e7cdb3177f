"""Plain text tables with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> str:
    """Print rows of cells under a header; the first `n_left` columns align left, others right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    printed = []
    for line in lines:
        cells = [
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        printed.append("  ".join(cells).rstrip())
    return "\n".join(printed)
