"""What "auto" parameters come to: it depends on how many documents there are to learn from.

`benchmarks/quality.py` is where the numbers come from. With few documents λs at rankings that might
as well have been make trees err in different ways, and their sum errs less; and every pair is
needed, those far down the ranking too. Of many documents those that hardly pull need not be looked
at for every tree, which saves most of its time; pairs near the top of their rankings teach soonest;
and noise costs time. So does growing trees in two ways.
"""

from __future__ import annotations

from rankinite.measures import Measure

MANY_ROWS = 100_000
# Of few documents.
NOISE = 0.5
# How deep λs go: so many times the cut-off of the measure, and at least so many ranks.
DEEP, SHALLOW = (6, 60), (3, 30)
# Share of the documents of drawn queries that choose the splits of a tree: of few documents, and of
# ever so many. In between it is what leaves this number of all.
LARGEST_SHARE, SMALLEST_SHARE = 0.75, 0.2
ROWS_OF_SHARE = 120_000
# In one of so many rounds trees are grown in both ways, if documents are many; of few, in all.
ROUNDS_A_TRIAL = 8


def auto_values(n_rows: int, learned: Measure | None) -> dict[str, float | None]:
    """What each parameter comes to if it is "auto".

    Parameters
    ----------
    n_rows : int
        Over all workers.
    learned : Measure or None
        None: what is learned is no measure, and there are no λs of one.
    """
    few = n_rows < MANY_ROWS
    values: dict[str, float | None] = {
        "importance_fraction": min(max(ROWS_OF_SHARE / n_rows, SMALLEST_SHARE), LARGEST_SHARE)
    }
    if learned is not None:
        factor, least = DEEP if few else SHALLOW
        # A document that the measure does not see yet has no force that could bring it up, unless
        # the λs look further down than the measure does.
        cut = learned.cut_off
        values["truncation"] = None if cut is None else max(factor * cut, least)
        values["noise"] = NOISE if few else 0.0
    return values


def rounds_a_trial(n_rows: int) -> int:
    """In one of how many rounds other queries say which way trees grow, if `growth` is "auto"."""
    return 1 if n_rows < MANY_ROWS else ROUNDS_A_TRIAL
