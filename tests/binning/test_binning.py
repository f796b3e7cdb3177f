"""Edges and bins: their number, their place between the values, and what does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite._numba import threads
from rankinite.binning import BinMapper, apply_mapper, bin_matrix, learn_mapper, sampling
from rankinite.errors import DataError, ParameterError

both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def edges_of(values, max_bins=255, dtype=np.float64):
    X = np.array(values, dtype)[:, None]
    return learn_mapper(X, max_bins).feature_edges(0)


def sizes_of(values, max_bins):
    """Number of rows in each bin."""
    X = np.asarray(values, np.float64)[:, None]
    binned = bin_matrix(X, max_bins)
    return np.bincount(binned.column(0), minlength=binned.mapper.n_bins[0])


@both_dtypes
def test_few_distinct_values_get_a_bin_each_cut_in_the_middle(dtype):
    edges = edges_of([3, 1, 1, 7, 3, np.nan, 1], dtype=dtype)
    np.testing.assert_array_equal(edges, [2, 5])
    np.testing.assert_array_equal(edges_of(np.arange(255), dtype=dtype), np.arange(254) + 0.5)
    np.testing.assert_array_equal(edges_of(np.arange(4), 4, dtype), [0.5, 1.5, 2.5])
    assert len(edges_of(np.arange(5), 4, dtype)) <= 3


def test_constant_and_missing_features_have_one_bin():
    assert len(edges_of([5, 5, np.nan])) == 0
    assert len(edges_of([np.nan, np.nan])) == 0
    assert len(edges_of([np.inf, np.inf])) == 0
    assert len(edges_of([-0.0, 0.0])) == 0


@pytest.mark.parametrize(("n", "max_bins"), [(10_000, 50), (1000, 255), (300, 7), (256, 255)])
def test_distinct_values_are_cut_into_equal_numbers(n, max_bins):
    sizes = sizes_of(np.random.default_rng(0).permutation(n), max_bins)
    assert len(sizes) == max_bins
    assert sizes.min() >= n // max_bins - 1
    assert sizes.max() <= n // max_bins + 2


def test_heavy_values_get_their_own_bins_and_the_rest_is_even():
    rng = np.random.default_rng(1)
    heavy = {0.0: 4000, 1.5: 2000, -3.0: 1000}
    light = rng.normal(size=3000)
    values = np.concatenate([light, *(np.full(n, v) for v, n in heavy.items())])
    X = values[:, None]
    binned = bin_matrix(X, 20)
    bins = binned.column(0)
    assert binned.mapper.n_bins[0] == 20
    for value, n in heavy.items():
        own = bins[values == value][0]
        assert (bins == own).sum() == n
    # 17 bins are left for 3000 values; a gap before a heavy value may cut one short.
    sizes = np.bincount(bins)
    light_sizes = sizes[~np.isin(sizes, list(heavy.values()))]
    assert light_sizes.max() <= 1.25 * 3000 / 17


@pytest.mark.parametrize("max_bins", [2, 3, 16])
def test_one_heavy_value_at_either_end(max_bins):
    """As the zeros of a sparse feature: the bin of the heavy value holds nothing else."""
    light = np.arange(1.0, 101.0)
    for values in (np.append(light, np.zeros(900)), np.append(light, np.full(900, 200.0))):
        sizes = sizes_of(values, max_bins)
        assert len(sizes) == max_bins
        assert 900 in sizes
        others = np.sort(sizes)[:-1]
        assert others.max() - others.min() <= 2


@settings(deadline=None, max_examples=80, derandomize=True)
@given(st.integers(1, 6), st.integers(50, 800), st.sampled_from([8, 16, 63]), st.integers(0, 2**32))
def test_heavy_values_never_share_a_bin_if_there_are_enough(n_heavy, n_light, max_bins, seed):
    """Enough: one for each heavy value, and one for each run of others between them."""
    rng = np.random.default_rng(seed)
    repeated = np.repeat(rng.normal(size=n_heavy), rng.integers(1, n_light, n_heavy))
    values = np.concatenate([repeated, rng.normal(size=n_light)])
    levels, counts = np.unique(values, return_counts=True)
    heavy = counts * max_bins >= len(values)
    n_runs = np.count_nonzero(~heavy & np.append(True, heavy[:-1]))
    X = values[:, None]
    bins = bin_matrix(X, max_bins).column(0)
    if len(levels) > max_bins and heavy.sum() + n_runs <= max_bins:
        for value, count in zip(levels[heavy], counts[heavy], strict=True):
            assert (bins == bins[values == value][0]).sum() == count


distinct = st.floats(allow_nan=False, width=32) | st.sampled_from([0.0, 1.0, -np.inf, np.inf, 1e38])


@both_dtypes
@settings(deadline=None, max_examples=80, derandomize=True)
@given(st.lists(distinct, min_size=1, max_size=60), st.integers(2, 12), st.integers(0, 2**32))
def test_laws_of_edges(dtype, drawn, max_bins, seed):
    rng = np.random.default_rng(seed)
    values = np.repeat(np.array(drawn, dtype), rng.integers(1, 9, len(drawn)))
    edges = edges_of(values, max_bins, dtype)
    levels = np.unique(values).astype(np.float64)
    assert len(edges) <= max_bins - 1
    if len(levels) <= max_bins:
        assert len(edges) == len(levels) - 1
    else:
        assert len(edges) >= 1
    # Strictly between neighbours, low ≤ edge < high, no two in one gap.
    gaps = np.searchsorted(levels, edges, side="right") - 1
    assert (gaps >= 0).all()
    assert (gaps < len(levels) - 1).all()
    assert len(np.unique(gaps)) == len(gaps)
    assert (np.diff(edges) > 0).all()
    # Whatever the type of the data.
    assert edges.tobytes() == edges_of(values.astype(np.float64), max_bins).tobytes()


@both_dtypes
def test_neighbours_in_floating_point_are_told_apart(dtype):
    ones = [dtype(1), np.nextafter(dtype(1), dtype(2))]
    largest = np.finfo(dtype).max
    tiny = np.finfo(dtype).smallest_subnormal
    for values in (ones, [-largest, largest], [0, tiny], [-tiny, 0], [-np.inf, np.inf],
                   [-np.inf, -largest], [largest, np.inf]):  # fmt: skip
        X = np.array(values, dtype)[:, None]
        binned = bin_matrix(X, 255)
        assert binned.column(0).tolist() == [0, 1]


@both_dtypes
@pytest.mark.parametrize("max_bins", [2, 20, 255])
def test_bins_equal_searchsorted(dtype, max_bins):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 19)).astype(dtype)
    X[:, 4] = rng.integers(0, 5, 1200)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = np.inf
    X[rng.random(X.shape) < 0.02] = -np.inf
    binned = bin_matrix(X, max_bins)
    assert binned.blocks.shape == (2, 1200, 16)
    assert (binned.n_rows, binned.n_features) == (1200, 19)
    for feature in range(19):
        edges = binned.mapper.feature_edges(feature)
        expected = np.searchsorted(edges, X[:, feature].astype(np.float64), side="left")
        expected[np.isnan(X[:, feature])] = 255
        np.testing.assert_array_equal(binned.column(feature), expected)
        np.testing.assert_array_equal(
            binned.blocks[feature // 16, :, feature % 16], binned.column(feature)
        )
    # Columns that no feature fills stay 0.
    assert not binned.blocks[1, :, 3:].any()
    assert (binned.mapper.n_bins <= max_bins).all()


def test_a_mapper_bins_other_data():
    mapper = BinMapper(np.array([0.5, 2.5, -np.inf]), np.array([0, 2, 3]), 255)
    X = np.array([[-9, 0], [0.5, -np.inf], [0.6, np.nan], [2.5, 1], [np.inf, -1], [np.nan, np.inf]])
    binned = apply_mapper(X, mapper)
    assert binned.column(0).tolist() == [0, 0, 1, 1, 2, 255]
    assert binned.column(1).tolist() == [1, 0, 255, 1, 1, 1]
    assert mapper.n_bins.tolist() == [3, 2]
    assert apply_mapper(X[:0], mapper).blocks.shape == (1, 0, 16)


def test_narrow_values_and_edges_that_they_cannot_hold():
    rng = np.random.default_rng(0)
    values = np.unique(rng.normal(size=400).astype(np.float32))
    above = np.nextafter(values.astype(np.float64), np.inf)
    below = np.nextafter(values.astype(np.float64), -np.inf)
    edges = np.unique(np.concatenate([rng.choice(above, 120), rng.choice(below, 120), [1e300]]))
    mapper = BinMapper(edges, np.array([0, len(edges)]), 255)
    X = np.concatenate([values, [np.inf, -np.inf, np.nan, 0]]).astype(np.float32)[:, None]
    expected = np.searchsorted(edges, X[:, 0].astype(np.float64), side="left")
    expected[np.isnan(X[:, 0])] = 255
    np.testing.assert_array_equal(apply_mapper(X, mapper).column(0), expected)


@both_dtypes
@pytest.mark.parametrize("n_edges", [0, 1, 2, 14, 15, 16, 17, 31, 32, 127, 128, 253, 254])
def test_any_number_of_edges(dtype, n_edges):
    edges = np.arange(n_edges) + 0.5
    mapper = BinMapper(edges, np.array([0, n_edges]), 255)
    X = np.arange(-1, 1 + n_edges, 0.5, dtype=dtype)[:, None]
    np.testing.assert_array_equal(
        apply_mapper(X, mapper).column(0), np.searchsorted(edges, X[:, 0])
    )
    wide = mapper.widened(3)
    assert wide.n_bins.tolist() == [n_edges + 1, 1, 1]


def test_minus_zero_leaves_no_trace_in_the_edges():
    tiny = np.finfo(np.float64).smallest_subnormal
    edges = [edges_of([zero, tiny]) for zero in (0.0, -0.0)]
    assert edges[0].tobytes() == edges[1].tobytes()


def test_mappers_are_equal_if_their_edges_are():
    X = np.random.default_rng(0).integers(0, 9, (50, 3)).astype(np.float64)
    mapper = learn_mapper(X, 255)
    assert mapper.equals(learn_mapper(X, 100))
    assert not mapper.equals(learn_mapper(X, 5))
    assert not mapper.equals(learn_mapper(X[:, :2], 255))
    # The same edges, cut differently between the features.
    one, other = (BinMapper(np.array([1.0, 2.0]), np.array([0, cut, 2]), 9) for cut in (1, 2))
    assert not one.equals(other)


def test_selected_rows_keep_their_bins():
    X = np.random.default_rng(0).normal(size=(30, 18))
    binned = bin_matrix(X, 255)
    rows = np.array([7, 3, 3, 29])
    some = binned.select_rows(rows)
    np.testing.assert_array_equal(some.blocks, apply_mapper(X[rows], binned.mapper).blocks)
    assert some.blocks.flags.c_contiguous


def queries_of(n_queries, size, n_features=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_queries * size, n_features))
    return X, np.arange(0, n_queries * size + 1, size)


def test_the_sample_is_of_whole_queries_so_their_inner_order_is_irrelevant(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 200)
    X, offsets = queries_of(100, 10)
    rows = sampling.sampled_rows(np.arange(100), offsets)
    mapper = learn_mapper(X, 16, rows)
    rng = np.random.default_rng(1)
    shuffle = np.concatenate([first + rng.permutation(10) for first in offsets[:-1]])
    shuffled = learn_mapper(X[shuffle], 16, rows)
    assert mapper.edges.tobytes() == shuffled.edges.tobytes()
    # It is a sample, spread over the file: the first 200 rows would give other edges.
    assert not mapper.equals(learn_mapper(X[:200], 16))
    assert not mapper.equals(learn_mapper(X, 16))


def test_values_outside_the_sample_fall_into_the_outer_bins():
    X = np.arange(1000.0)[::-1].reshape(-1, 1).copy()
    binned = bin_matrix(X, 255, np.arange(440, 450))
    edges = binned.mapper.feature_edges(0)
    np.testing.assert_array_equal(binned.column(0), np.searchsorted(edges, X[:, 0]))


def test_one_thread_and_two_give_equal_bytes():
    X, _ = queries_of(150, 10, n_features=20)
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            binned = bin_matrix(X, 63)
            found.append((binned.blocks.tobytes(), binned.mapper.edges.tobytes()))
    assert found[0] == found[1]


@pytest.mark.parametrize("max_bins", [1, 0, -3, 256, True])
def test_max_bins_out_of_range(max_bins):
    X = np.zeros((3, 1))
    with pytest.raises(ParameterError, match=f"max_bins must be between 2 and 255, got {max_bins}"):
        bin_matrix(X, max_bins)


def test_another_number_of_features_is_refused():
    X = np.zeros((3, 4))
    mapper = learn_mapper(X, 255)
    message = "the data has 3 features, but the bins were made for 4"
    with pytest.raises(DataError, match=message):
        apply_mapper(np.zeros((3, 3)), mapper)


def test_edges_between_neighbours_of_float32_are_exact_for_both_types():
    """A middle that is no float32 must cut float32 values where it cuts equal float64 ones."""
    one = np.float32(1)
    above = np.nextafter(one, np.float32(2))
    single = np.array([[one], [above], [np.nextafter(above, np.float32(2))], [-one], [1e30]])
    single = single.astype(np.float32)
    double = single.astype(np.float64)
    middles = np.unique(double)
    mapper = learn_mapper(single, 255)
    assert mapper.equals(learn_mapper(double, 255))
    np.testing.assert_array_equal(mapper.edges, (middles[1:] + middles[:-1]) / 2)
    assert (mapper.edges.astype(np.float32) != mapper.edges).any()
    for values in (single, double):
        assert apply_mapper(values, mapper).column(0).tolist() == [1, 2, 3, 0, 4]
    near = np.concatenate([np.nextafter(mapper.edges, side) for side in (-np.inf, np.inf)])
    both = np.concatenate([mapper.edges, near])[:, None]
    expected = np.searchsorted(mapper.edges, both[:, 0])
    assert apply_mapper(both, mapper).column(0).tolist() == expected.tolist()
    rounded = both.astype(np.float32)
    expected = np.searchsorted(mapper.edges, rounded[:, 0].astype(np.float64))
    assert apply_mapper(rounded, mapper).column(0).tolist() == expected.tolist()
