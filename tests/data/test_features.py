"""The two forms of features, which answer the same questions."""

import numpy as np
import pytest

from rankinite.binning import bin_matrix
from rankinite.data import FeatureBins, FeatureValues
from rankinite.errors import DataError, ParameterError

MAX_BINS = 8
NAMES = ["a", "b", "c"]


def matrix(seed=0):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    X[4, 1] = np.nan
    return X


def all_rows():
    return np.arange(60)


def values():
    return FeatureValues(matrix(), NAMES)


def bins():
    return FeatureBins(bin_matrix(matrix(), MAX_BINS), NAMES)


@pytest.fixture(params=[values, bins])
def features(request):
    return request.param()


def columns(binned):
    return np.stack([binned.column(j) for j in range(binned.n_features)])


def test_shape_and_names(features):
    assert (features.n_rows, features.n_features, features.names) == (60, 3, NAMES)
    assert type(features)(features.matrix).names is None


def test_bins_with_the_same_edges(features):
    binned, expected = features.bins(MAX_BINS, all_rows), bin_matrix(matrix(), MAX_BINS)
    assert binned.mapper.equals(expected.mapper)
    assert np.array_equal(binned.blocks, expected.blocks)
    assert features.bins(MAX_BINS, all_rows) is binned
    assert features.mapper(MAX_BINS, all_rows) is binned.mapper
    again = features.bins_by(binned.mapper, "not needed")
    assert again.mapper is binned.mapper and np.array_equal(again.blocks, binned.blocks)


def test_selected_rows(features):
    rows = np.array([7, 4, 7])
    part = features.select_rows(rows)
    assert type(part) is type(features)
    assert (part.n_rows, part.n_features, part.names) == (3, 3, NAMES)
    mapper = features.mapper(MAX_BINS, all_rows)
    found, whole = part.bins_by(mapper, "not needed"), features.bins_by(mapper, "not needed")
    assert np.array_equal(columns(found), columns(whole)[:, rows])
    assert features.n_rows == 60


def test_values_are_neither_copied_nor_refused():
    X = matrix()
    features = FeatureValues(X)
    assert features.matrix is X
    assert features.values() is X
    assert features.values("there are only bins") is X
    assert features.notes() == []
    assert not np.shares_memory(features.select_rows(np.arange(60)).matrix, X)


def test_values_in_bins_of_any_number():
    features = values()
    assert features.bins(4, all_rows) is not features.bins(5, all_rows)
    assert features.bins(4, all_rows).mapper.max_bins == 4
    other = bin_matrix(matrix(seed=1), 6).mapper
    binned = features.bins_by(other, "not needed")
    for j in range(3):
        known = ~np.isnan(features.matrix[:, j])
        expected = np.searchsorted(other.feature_edges(j), features.matrix[known, j])
        assert np.array_equal(binned.column(j)[known], expected)
    with pytest.raises(ParameterError, match="max_bins must be between 2 and 255, got 1"):
        features.bins(1, all_rows)
    with pytest.raises(DataError, match="has 3 features, but the bins were made for 2"):
        features.bins_by(bin_matrix(matrix()[:, :2], 6).mapper, "not needed")


def test_bins_refuse_what_they_cannot_give():
    features = bins()
    with pytest.raises(
        DataError, match="holds only bins, and feature values are needed here: pass"
    ):
        features.values()
    with pytest.raises(DataError, match=r"^a cook needs values$"):
        features.values("a cook needs values")
    with pytest.raises(
        DataError,
        match=r"was binned with max_bins=8 and .* cannot be binned with max_bins=9: use the same",
    ):
        features.bins(9, all_rows)
    other = bin_matrix(matrix(seed=1), MAX_BINS).mapper
    with pytest.raises(DataError, match=r"^these are other bins$"):
        features.bins_by(other, "these are other bins")
    assert features.mapper(9, all_rows) is features.matrix.mapper
    assert features.notes() == ["binned with max_bins=8"]
