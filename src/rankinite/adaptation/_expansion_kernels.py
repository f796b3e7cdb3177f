"""Kernels of the search for near seeds: unit vectors, and the largest of many inner products.

Products run in tiles of four rows by eight seeds, whose 32 sums stay in registers and are never
written anywhere: almost all of them are too small to matter. That shows early: what the features
still to come can add is at most the product of the lengths of the two rests, so after every
`SEGMENT` features a tile is left that cannot reach what it must. A sum that is finished goes over
the features in their order, rounded once a feature, so it has the same bits in every tile and on
every thread.
"""

import math

import numpy as np

from rankinite._float_vectors import fill4, fma4, lane4, load4, reaches4, spread4
from rankinite._numba import kernel

ROWS = 4
SEEDS = 8
SEGMENT = 16
# Larger than all rounding errors of a product of unit vectors.
_MARGIN = 1e-9
# Rows that meet a panel of seeds one after the other: both stay in the first-level cache.
_BATCH = 64


@kernel()
def make_unit_rows(Z):
    """Divide every row by its length; a row of zeros stays as it is.

    Parameters
    ----------
    Z : ndarray of float64, shape (n_rows, n_features)
    """
    for row in range(Z.shape[0]):
        squares = 0.0
        for j in range(Z.shape[1]):
            squares += Z[row, j] * Z[row, j]
        factor = 1.0 / math.sqrt(squares) if squares > 0.0 else 0.0
        for j in range(Z.shape[1]):
            Z[row, j] *= factor


@kernel()
def rest_lengths(Z, out):
    """Write the length of what is left of each row behind every segment of features.

    Parameters
    ----------
    Z : ndarray of float64, shape (n_rows, n_features)
    out : ndarray of float64, shape (n_rows, n_segments)
        Output.
    """
    for row in range(Z.shape[0]):
        squares = 0.0
        for segment in range(out.shape[1] - 1, -1, -1):
            out[row, segment] = math.sqrt(squares)
            start = segment * SEGMENT
            for j in range(start, min(start + SEGMENT, Z.shape[1])):
                squares += Z[row, j] * Z[row, j]


@kernel()
def find_nearest(units, rests, n_features, panels, panel_rests, limit, similarities, seeds):
    """Find the seeds with the largest inner product with each row, if it reaches a limit.

    Parameters
    ----------
    units : ndarray of float64, shape (n_rows * n_features,)
        A row after the other; their number is a multiple of `ROWS`.
    rests : ndarray of float64, shape (n_rows, n_segments)
        From `rest_lengths`.
    n_features : int
    panels : ndarray of float64, shape (n_panels * n_features * SEEDS,)
        Eight seeds after the other, feature by feature; seeds of zeros fill up the last panel.
    panel_rests : ndarray of float64, shape (n_panels, n_segments)
        The largest rest of the seeds of each panel.
    limit : float
        Above 0, so that zeros never reach it.
    similarities : ndarray of float64, shape (n_rows, n_neighbors)
        Output, from the largest down; `limit` where there is no seed.
    seeds : ndarray of int64, shape (n_rows, n_neighbors)
        Output: the seeds, of equal ones the first; -1 where there is none.
    """
    n_rows = seeds.shape[0]
    similarities[:] = limit
    seeds[:] = -1
    # What a seed must reach to be among the nearest of a row.
    floors = np.full(n_rows, limit)
    n_panels, n_segments = panel_rests.shape
    for start in range(0, n_rows, _BATCH):
        stop = min(start + _BATCH, n_rows)
        for panel in range(n_panels):
            at = panel * n_features * SEEDS
            first = panel * SEEDS
            for row in range(start, stop, ROWS):
                x0 = row * n_features
                x1, x2, x3 = x0 + n_features, x0 + 2 * n_features, x0 + 3 * n_features
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = fill4(0.0)
                finished = True
                for segment in range(n_segments):
                    begin = segment * SEGMENT
                    for f in range(begin, min(begin + SEGMENT, n_features)):
                        a, b = load4(panels, at + SEEDS * f), load4(panels, at + SEEDS * f + 4)
                        x = spread4(units, x0 + f)
                        a0, b0 = fma4(x, a, a0), fma4(x, b, b0)
                        x = spread4(units, x1 + f)
                        a1, b1 = fma4(x, a, a1), fma4(x, b, b1)
                        x = spread4(units, x2 + f)
                        a2, b2 = fma4(x, a, a2), fma4(x, b, b2)
                        x = spread4(units, x3 + f)
                        a3, b3 = fma4(x, a, a3), fma4(x, b, b3)
                    most = panel_rests[panel, segment]
                    c0 = floors[row] - most * rests[row, segment] - _MARGIN
                    c1 = floors[row + 1] - most * rests[row + 1, segment] - _MARGIN
                    c2 = floors[row + 2] - most * rests[row + 2, segment] - _MARGIN
                    c3 = floors[row + 3] - most * rests[row + 3, segment] - _MARGIN
                    if not (
                        reaches4(a0, c0)
                        or reaches4(b0, c0)
                        or reaches4(a1, c1)
                        or reaches4(b1, c1)
                        or reaches4(a2, c2)
                        or reaches4(b2, c2)
                        or reaches4(a3, c3)
                        or reaches4(b3, c3)
                    ):
                        finished = False
                        break
                if finished:
                    _offer(a0, b0, first, row, floors, similarities, seeds)
                    _offer(a1, b1, first, row + 1, floors, similarities, seeds)
                    _offer(a2, b2, first, row + 2, floors, similarities, seeds)
                    _offer(a3, b3, first, row + 3, floors, similarities, seeds)


@kernel(inline="always")
def _offer(a, b, first, row, floors, similarities, seeds):
    """Take eight seeds into the nearest of a row, as far as they belong there."""
    floor = floors[row]
    if reaches4(a, floor):
        for lane in range(4):
            _insert(lane4(a, lane), first + lane, row, floors, similarities, seeds)
    if reaches4(b, floor):
        for lane in range(4):
            _insert(lane4(b, lane), first + 4 + lane, row, floors, similarities, seeds)


@kernel()
def _insert(similarity, seed, row, floors, similarities, seeds):
    """Take one seed in; seeds come in ascending order, so equal ones go behind."""
    if similarity < floors[row]:
        return
    last = seeds.shape[1] - 1
    place = last
    while place > 0 and (seeds[row, place - 1] < 0 or similarities[row, place - 1] < similarity):
        similarities[row, place] = similarities[row, place - 1]
        seeds[row, place] = seeds[row, place - 1]
        place -= 1
    similarities[row, place] = similarity
    seeds[row, place] = seed
    if seeds[row, last] >= 0:
        # Only a larger one displaces the last from now on.
        floors[row] = np.nextafter(similarities[row, last], math.inf)
