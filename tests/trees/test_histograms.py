"""Histograms and the division of rows against loops."""

import numpy as np
import pytest

from naive import trees as naive
from rankinite.trees._histogram_kernels import ROWS_AT_ONCE, build_histogram, gather_cells
from rankinite.trees._partition_kernels import draw_rows, partition_rows
from trees.cases import binned_of, bins_of, channels_of, integer_features, integers_of, some_keys


def histogram_of(binned, rows, cells, n_parts):
    rows = np.asarray(rows, np.uint32)
    gathered = np.empty(len(rows), np.int64)
    gather_cells(cells, rows, n_parts, gathered)
    n_blocks = binned.blocks.shape[0]
    histogram = np.full((n_blocks, 16 * 256), -1, np.int64)
    partial = np.full((n_parts, *histogram.shape), -1, np.int64)
    if n_parts == 1:
        partial = histogram[np.newaxis]
    build_histogram(binned.blocks.view(np.uint64), rows, gathered, partial, histogram)
    return histogram.reshape(-1, 256)[: binned.n_features]


@pytest.mark.parametrize("n_features", [1, 16, 17, 33])
def test_histograms_equal_the_loops(n_features):
    n = 60
    binned = binned_of(integer_features(n, n_features))
    packed = channels_of(np.random.default_rng(0).normal(size=n))[0]
    some = np.flatnonzero(np.arange(n) % 3 != 1)
    for rows in (np.arange(n), some, np.array([5]), np.array([], np.int64)):
        expected = naive.histogram(bins_of(binned), rows, packed.cells)
        for n_parts in (1, 2, 5):
            found = histogram_of(binned, rows, packed.cells, n_parts)
            np.testing.assert_array_equal(found, expected)


def test_cells_hold_the_sum_and_the_count():
    n = 80
    binned = binned_of(integer_features(n, 3))
    packed = channels_of(np.random.default_rng(1).integers(-9, 10, n))[0]
    rows = np.arange(n)
    found = histogram_of(binned, rows, packed.cells, 1)
    sums = naive.histogram(bins_of(binned), rows, integers_of(packed))
    counts = naive.histogram(bins_of(binned), rows, np.ones(n, np.int64))
    np.testing.assert_array_equal(found >> packed.count_bits, sums)
    np.testing.assert_array_equal(found & (2**packed.count_bits - 1), counts)


def test_a_parent_less_one_child_is_the_other_child():
    n = 100
    binned = binned_of(integer_features(n, 20))
    packed = channels_of(np.random.default_rng(2).normal(size=n))[0]
    left = np.flatnonzero(binned.column(3) <= 2).astype(np.uint32)
    right = np.setdiff1d(np.arange(n), left).astype(np.uint32)
    parent, one, other = (
        histogram_of(binned, rows, packed.cells, 2)
        for rows in (np.arange(n, dtype=np.uint32), left, right)
    )
    np.testing.assert_array_equal(parent - one, other)


@pytest.mark.parametrize("more", [-1, 0, 1, ROWS_AT_ONCE + 1])
def test_as_many_rows_as_are_fetched_at_once(more):
    n = ROWS_AT_ONCE + more
    binned = binned_of(integer_features(n + 5, 2))
    packed = channels_of(np.random.default_rng(3).normal(size=n + 5))[0]
    rows = np.arange(5, n + 5)
    expected = naive.histogram(bins_of(binned), rows, packed.cells)
    for n_parts in (1, 2):
        np.testing.assert_array_equal(histogram_of(binned, rows, packed.cells, n_parts), expected)


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
