"""What "auto" parameters come to: it depends on how many documents there are to learn from.

`benchmarks/quality.py` is where the numbers come from. With few documents trees that see a part of
them, at rankings that might as well have been, err in different ways, and their sum errs less; and
every pair is needed, those far down the ranking too. Many documents have more to teach than can be
learned from a part, and pairs near the top of their rankings teach it sooner.
"""

from __future__ import annotations

from rankinite.measures import Measure

MANY_ROWS = 100_000
# Of few documents.
ROW_FRACTION = 0.65
NOISE = 0.5
# How deep λs go: so many times the cut-off of the measure, and at least so many ranks.
DEEP, SHALLOW = (6, 60), (3, 30)


def auto_row_fraction(n_rows: int) -> float:
    """Share of the documents that a node of a tree sees."""
    return ROW_FRACTION if n_rows < MANY_ROWS else 1.0


def auto_noise(n_rows: int) -> float:
    """Scale of the noise at which λs are taken. It costs time, and few documents take little."""
    return NOISE if n_rows < MANY_ROWS else 0.0


def auto_truncation(measure: Measure, n_rows: int) -> int | None:
    """How deep λs go; None if the measure has no cut-off of its own.

    A document that the measure does not see yet has no force that could bring it up, unless the λs
    look further down than the measure does.
    """
    if measure.cut_off is None:
        return None
    factor, least = DEEP if n_rows < MANY_ROWS else SHALLOW
    return max(factor * measure.cut_off, least)
