"""Random numbers that belong to documents, and seeds that belong to places."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rankinite.binning import bin_matrix
from rankinite.data import Preferences
from rankinite.order.row_keys import fingerprint, row_keys, row_keys_with_pairs
from rankinite.order.seeds import derive_seed, draw_without_replacement
from tests.naive.lambdas import mix as naive_mix

OFFSETS = np.array([0, 40, 41, 100], np.int64)
GOLDEN = 0x9E3779B97F4A7C15


def some_data(n_features=18, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, n_features))
    labels = rng.integers(0, 5, 100).astype(np.float64)
    return bin_matrix(X, 255), labels, rng.random(100)


def naive_keys(binned, labels, weight, offsets):
    """The definition, in Python's integers."""
    columns = [labels, weight]
    keys = []
    for first, last in itertools.pairwise(offsets):
        own = []
        for row in range(first, last):
            key = GOLDEN
            words = [w for block in binned.blocks for w in block[row].view(np.uint64)]
            extras = [np.float64(column[row]).view(np.uint64) for column in columns]
            for word in (*words, *extras):
                key = (naive_mix(key ^ int(word)) + GOLDEN) % 2**64
            own.append(key)
        query = naive_mix(sum(own) % 2**64)
        keys += [naive_mix(key ^ query) for key in own]
    return np.array(keys, np.uint64)


def test_keys_by_their_definition():
    binned, labels, weight = some_data()
    keys = row_keys(binned, labels, weight, OFFSETS)
    assert keys.dtype == np.uint64
    np.testing.assert_array_equal(keys, naive_keys(binned, labels, weight, OFFSETS))


def test_no_weight_is_a_weight_of_one():
    binned, labels, _ = some_data()
    np.testing.assert_array_equal(
        row_keys(binned, labels, None, OFFSETS), row_keys(binned, labels, np.ones(100), OFFSETS)
    )


def test_keys_go_with_the_rows_of_a_query():
    binned, labels, weight = some_data()
    rng = np.random.default_rng(1)
    shuffle = np.concatenate(
        [first + rng.permutation(last - first) for first, last in itertools.pairwise(OFFSETS)]
    )
    keys = row_keys(binned, labels, weight, OFFSETS)
    moved = row_keys(binned.select_rows(shuffle), labels[shuffle], weight[shuffle], OFFSETS)
    np.testing.assert_array_equal(moved, keys[shuffle])


def test_keys_do_not_depend_on_the_place_of_a_query():
    binned, labels, weight = some_data()
    keys = row_keys(binned, labels, weight, OFFSETS)
    turned = np.concatenate([np.arange(41, 100), np.arange(41)])
    offsets = np.array([0, 59, 99, 100], np.int64)
    moved = row_keys(binned.select_rows(turned), labels[turned], weight[turned], offsets)
    np.testing.assert_array_equal(moved, keys[turned])


def test_different_rows_have_different_keys():
    keys = row_keys(*some_data(), OFFSETS)
    assert len(np.unique(keys)) == 100
    # As random bits: each of the 64 is set in about half of the keys.
    bits = (keys[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert 0.45 < bits.mean() < 0.55
    assert (np.abs(bits.mean(axis=0) - 0.5) < 0.25).all()


@pytest.mark.parametrize("what", ["bin", "label", "weight"])
def test_a_change_of_one_row_changes_all_keys_of_its_query_and_no_other(what):
    binned, labels, weight = some_data()
    keys = row_keys(binned, labels, weight, OFFSETS)
    if what == "bin":
        binned.blocks[1, 50, 1] ^= 1
    else:
        {"label": labels, "weight": weight}[what][50] += 1
    changed = row_keys(binned, labels, weight, OFFSETS) != keys
    np.testing.assert_array_equal(changed, np.arange(100) >= 41)


def test_equal_rows_of_one_query_share_a_key_and_of_two_queries_do_not():
    binned, labels, weight = some_data()
    rows = np.array([0, 5, 0, 0, 7])
    keys = row_keys(binned.select_rows(rows), labels[rows], weight[rows], np.array([0, 3, 5]))
    assert keys[0] == keys[2]
    assert keys[0] != keys[3]


def test_negative_zero_is_zero():
    binned, labels, _ = some_data()
    minus = np.where(labels == 0, -0.0, labels)
    np.testing.assert_array_equal(
        row_keys(binned, labels, None, OFFSETS), row_keys(binned, minus, None, OFFSETS)
    )


def test_a_fingerprint_tells_data_apart_in_any_order_of_the_rows():
    binned, labels, weight = some_data()

    def print_of(binned, labels, weight, extra, offsets=OFFSETS):
        return fingerprint(binned, row_keys(binned, labels, weight, offsets), offsets, extra)

    extra = np.arange(100.0)
    base = print_of(binned, labels, weight, extra)
    rng = np.random.default_rng(1)
    shuffle = np.concatenate(
        [first + rng.permutation(last - first) for first, last in itertools.pairwise(OFFSETS)]
    )
    moved = binned.select_rows(shuffle)
    assert print_of(moved, labels[shuffle], weight[shuffle], extra[shuffle]) == base
    one_more = np.eye(100)[50]
    other_edges = replace(binned.mapper, edges=binned.mapper.edges + 1)
    others = [
        print_of(binned, labels + one_more, weight, extra),
        print_of(binned, labels, weight + one_more, extra),
        print_of(binned, labels, weight, extra + one_more),
        print_of(binned, labels, weight, extra[::-1].copy()),
        print_of(binned, labels, weight, extra, np.array([0, 39, 41, 100])),
        print_of(replace(binned, mapper=other_edges), labels, weight, extra),
        print_of(some_data(seed=1)[0], labels, weight, extra),
    ]
    assert len({base, *others}) == 8


def naive_seed(numbers):
    key = 0
    for number in numbers:
        key = (naive_mix(key ^ number) + GOLDEN) % 2**64
    return naive_mix(key)


def test_seeds_by_their_definition():
    assert derive_seed(7, 3, "ties") == naive_seed([7, 3, 2])
    large = 2**64 - 12345
    assert derive_seed(np.uint64(large), 3, "rows") == naive_seed([large, 3, 3])
    assert derive_seed(large) == naive_seed([large])
    assert isinstance(derive_seed(0), np.uint64)


def test_seeds_differ_by_every_part_and_their_order():
    streams = ("tree", "ties", "rows", "features")
    places = list(itertools.product(range(6), range(50), streams))
    assert len({int(derive_seed(*place)) for place in places}) == len(places)
    assert derive_seed(1, 2, "tree") != derive_seed(2, 1, "tree")
    assert derive_seed(0) != derive_seed(0, 0)
    base = 2**63 + 1
    assert derive_seed(np.uint64(base), "rows") != derive_seed(np.uint64(base + 1), "rows")


@pytest.mark.parametrize("n", [1, 2, 10, 137])
def test_draws_without_replacement(n):
    for n_drawn in {1, n // 2, n - 1, n} - {0}:
        drawn = draw_without_replacement(n, n_drawn, derive_seed(n, n_drawn))
        assert len(np.unique(drawn)) == len(drawn) == n_drawn
        assert 0 <= drawn.min() <= drawn.max() < n
        assert (np.diff(drawn) > 0).all()
        again = draw_without_replacement(n, n_drawn, derive_seed(n, n_drawn))
        np.testing.assert_array_equal(drawn, again)


def test_every_number_is_drawn_equally_often():
    n, n_drawn, n_draws = 12, 3, 4000
    counts = np.zeros(n)
    for seed in range(n_draws):
        counts[draw_without_replacement(n, n_drawn, derive_seed(seed, "features"))] += 1
    share = n_drawn / n
    # Five standard deviations.
    assert np.abs(counts - share * n_draws).max() < 5 * np.sqrt(n_draws * share * (1 - share))


def some_pairs(seed=0, n_pairs=60):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 100, n_pairs)
    start, stop = (OFFSETS[np.searchsorted(OFFSETS, first, "right") + shift] for shift in (-1, 0))
    other = start + (first - start + 1 + rng.integers(0, 10**6, n_pairs)) % (stop - start)
    kept = first != other
    first, other = first[kept], other[kept]
    return first, other, rng.random(len(first)), rng.random(len(first))


def test_keys_with_pairs_are_those_of_the_definition():
    binned, _, _ = some_data()
    first, other, probability, weight = some_pairs()
    keys = naive_keys(binned, np.zeros(100), np.ones(100), OFFSETS).tolist()
    sums = [0] * 100
    for i, j, *terms in zip(first, other, probability, weight, strict=True):
        won = naive_mix((keys[j] + GOLDEN) % 2**64)
        lost = naive_mix((naive_mix(keys[i]) + GOLDEN) % 2**64)
        for term in terms:
            word = int(np.float64(term).view(np.uint64))
            won = (naive_mix(won ^ word) + GOLDEN) % 2**64
            lost = (naive_mix(lost ^ word) + GOLDEN) % 2**64
        sums[i] += won
        sums[j] += lost
    expected = [naive_mix(key ^ naive_mix(s % 2**64)) for key, s in zip(keys, sums, strict=True)]
    found = row_keys_with_pairs(binned, Preferences(OFFSETS, first, other, probability, weight))
    assert found.tolist() == expected


def test_keys_tell_pairs_apart():
    binned, _, _ = some_data()
    pairs = some_pairs()

    def keys(*arrays):
        return row_keys_with_pairs(binned, Preferences(OFFSETS, *arrays))

    def print_of(*arrays):
        return fingerprint(binned, keys(*arrays), OFFSETS, np.zeros(100))

    order = np.random.default_rng(1).permutation(len(pairs[0]))
    assert np.array_equal(keys(*pairs), keys(*(array[order] for array in pairs)))
    first, other, probability, weight = pairs
    others = [
        (other, first, probability, weight),
        (first, other, probability, weight * 2),
        (first, other, 1 - probability, weight),
        tuple(array[1:] for array in pairs),
        tuple(np.append(array, array[:1]) for array in pairs),
    ]
    prints = {print_of(*each) for each in (pairs, *others)}
    assert len(prints) == 1 + len(others)
