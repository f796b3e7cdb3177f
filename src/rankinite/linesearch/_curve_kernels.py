"""Kernel that adds up the events of all queries along α."""

from __future__ import annotations

from rankinite._numba import kernel
from rankinite.linesearch._start_kernels import SAME


@kernel()
def add_up(alphas, changes, total, edges, totals):
    """Add changes to a total in the order of α; those at one α are one step.

    The sum is kept in two floats, so that millions of changes leave no error behind.

    Parameters
    ----------
    alphas, changes : float64, shape (n_events,)
        By ascending α.
    total : float
        At the start.
    edges : float64, shape (n_events + 2,)
        Output from place 1 on: the α of each step.
    totals : float64, shape (n_events + 1,)
        Output: the total in each interval.

    Returns
    -------
    int
        The number of steps.
    """
    n = 0
    rest = 0.0
    totals[0] = total
    for e in range(alphas.shape[0]):
        if e == 0 or alphas[e] > alphas[e - 1] + SAME * abs(alphas[e - 1]):
            n += 1
            edges[n] = alphas[e]
        change = changes[e]
        added = total + change
        # What rounding took from the larger of the two, and from the smaller (Knuth's two-sum).
        shadow = added - total
        rest += (total - (added - shadow)) + (change - shadow)
        total = added
        totals[n] = total + rest
    return n
