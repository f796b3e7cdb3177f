"""Histograms and the division of rows against loops."""

import numpy as np
import pytest

from rankinite.trees._histogram_kernels import ROWS_AHEAD, build_histogram
from rankinite.trees._partition_kernels import copy_rows, draw_rows, partition_rows, write_leaves
from tests.naive import trees as naive
from tests.trees.cases import (
    binned_of,
    bins_of,
    halves_of,
    integer_features,
    packed_of,
    some_keys,
)


def histogram_of(binned, rows, cells, n_parts):
    """What the kernel sums, both halves of it, each (n_features, 256)."""
    rows = np.asarray(rows, np.uint32)
    histogram = np.full((len(binned.blocks), 16 * 256), -1, np.int64)
    build_histogram(
        binned.blocks.view(np.uint64),
        rows,
        cells,
        np.empty(binned.n_rows, np.int64),
        histogram[np.newaxis] if n_parts == 1 else np.full((n_parts, *histogram.shape), -1),
        histogram,
    )
    sums = histogram.reshape(-1, 256)[: binned.n_features]
    return [sums >> 32, sums & (2**32 - 1)]


def by_loops(binned, rows, cells):
    return [naive.histogram(bins_of(binned), rows, half) for half in halves_of(cells)]


def cells_of(n, newton, seed=0):
    rng = np.random.default_rng(seed)
    return packed_of(rng.normal(size=n), rng.random(n) if newton else None).cells


@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("n_features", [1, 16, 17, 33])
def test_histograms_equal_the_loops(n_features, newton):
    n = 60
    binned = binned_of(integer_features(n, n_features))
    cells = cells_of(n, newton)
    some = np.flatnonzero(np.arange(n) % 3 != 1)
    for rows in (np.arange(n), some, np.array([5]), np.array([], np.int64)):
        expected = by_loops(binned, rows, cells)
        for n_parts in (1, 2, 5):
            np.testing.assert_array_equal(histogram_of(binned, rows, cells, n_parts), expected)


@pytest.mark.parametrize("newton", [False, True])
def test_a_parent_less_one_child_is_the_other_child(newton):
    n = 100
    binned = binned_of(integer_features(n, 20))
    cells = cells_of(n, newton, seed=2)
    left = np.flatnonzero(binned.column(3) <= 2).astype(np.uint32)
    right = np.setdiff1d(np.arange(n), left).astype(np.uint32)
    parent, one, other = (
        np.array(histogram_of(binned, rows, cells, 2))
        for rows in (np.arange(n, dtype=np.uint32), left, right)
    )
    np.testing.assert_array_equal(parent - one, other)


@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("more", [-1, 0, 1, ROWS_AHEAD + 1])
def test_as_many_rows_as_are_asked_for_ahead(more, newton):
    n = ROWS_AHEAD + more
    binned = binned_of(integer_features(n + 5, 2))
    cells = cells_of(n + 5, newton, seed=3)
    rows = np.arange(5, n + 5)
    expected = by_loops(binned, rows, cells)
    for n_parts in (1, 2):
        np.testing.assert_array_equal(histogram_of(binned, rows, cells, n_parts), expected)


@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("lam", [1.0, -1.0, np.nextafter(1, 0), -1 / 3])
@pytest.mark.parametrize("n", [1, 2, 2**15 - 1, 2**15, 2**17])
def test_no_half_overflows_where_all_rows_are_the_largest_and_in_one_bin(n, lam, newton):
    binned = binned_of(np.zeros((n + 3, 1)))
    cells = packed_of(np.full(n + 3, lam), np.full(n + 3, abs(lam)) if newton else None).cells
    (q, *_), (mass, *_) = halves_of(cells[:1])
    for rows in (np.arange(n + 3), np.arange(3, n + 3)):
        for n_parts in (1, 2):
            found = [int(half[0, 0]) for half in histogram_of(binned, rows, cells, n_parts)]
            assert found == [len(rows) * q, len(rows) * mass]


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_rows_are_divided_in_place_and_stay_in_order(n, missing_left):
    binned = binned_of(integer_features(200, 20, missing=0.3))
    start = np.sort(np.random.default_rng(n).permutation(200)[:n]).astype(np.uint32)
    for feature in (0, 17):
        column = binned.column(feature)
        for threshold in (0, 2, 254):
            goes_left = np.where(column[start] == 255, missing_left, column[start] <= threshold)
            for n_parts in (1, 2, 3):
                rows = start.copy()
                scratch = np.empty((2, 200), np.uint32)
                n_left = partition_rows(
                    binned.blocks[feature // 16],
                    feature % 16,
                    threshold,
                    missing_left,
                    rows,
                    n_parts,
                    *scratch,
                )
                assert n_left == goes_left.sum()
                np.testing.assert_array_equal(rows[:n_left], start[goes_left])
                np.testing.assert_array_equal(rows[n_left:], start[~goes_left])


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
def test_rows_are_drawn_by_their_keys(fraction):
    n = 20_000
    keys, seed = some_keys(n), np.uint64(77)
    limit = np.uint64(fraction * 2.0**64)

    def draw(rows):
        drawn = np.empty(len(rows), np.uint32)
        return drawn[: draw_rows(rows, keys, seed, limit, drawn)]

    rows = np.arange(n, dtype=np.uint32)
    found = draw(rows)
    np.testing.assert_array_equal(found, naive.draw_rows(rows, keys, seed, fraction))
    # Five standard deviations of the number of rows drawn.
    assert abs(len(found) - fraction * n) < 5 * np.sqrt(n * fraction * (1 - fraction))
    np.testing.assert_array_equal(np.sort(draw(rows[::-1].copy())), found)


@pytest.mark.parametrize("n_features", [1, 17])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 64, 65, 150, 200])
def test_rows_are_copied_next_to_each_other(n, n_features):
    binned = binned_of(integer_features(200, n_features))
    rows = np.sort(np.random.default_rng(n).permutation(200)[:n]).astype(np.uint32)
    words = binned.blocks.view(np.uint64)
    copied = np.empty((len(words), n, 2), np.uint64)
    copy_rows(words, rows, copied)
    np.testing.assert_array_equal(copied, words[:, rows])


@pytest.mark.parametrize("sizes", [[5], [1, 0, 3], [100, 1, 50, 49], [0, 0]])
def test_the_leaf_of_every_row_is_written(sizes):
    stops = np.cumsum(sizes)
    rows = np.random.default_rng(0).permutation(stops[-1]).astype(np.uint32)
    leaf_of = np.full(len(rows), -1, np.int32)
    write_leaves(rows, stops - sizes, stops, leaf_of)
    np.testing.assert_array_equal(leaf_of[rows], np.repeat(np.arange(len(sizes)), sizes))
