import doctest
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankinite.data import Dataset, FeatureBins, FeatureValues, Queries, dataset
from rankinite.errors import DataError, RankiniteWarning

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        return Dataset(*args, **kwargs)


def ten_queries():
    sizes = np.arange(1, 11)
    qid = np.repeat(np.arange(100, 110), sizes)
    n = len(qid)
    features = np.column_stack([np.arange(n), qid]).astype(np.float64)
    return Dataset(features, np.arange(n) % 3, qid=qid, weight=np.arange(n), query_weight=sizes)


def test_contiguous_data_is_stored_as_it_is():
    data = Dataset(X, [1, 0, 2, 0], qid=[7, 7, 3, 3])
    assert data.X is X
    assert data.order is None
    assert data.y.dtype == np.float64
    assert data.offsets.dtype == np.int64
    assert data.offsets.tolist() == [0, 2, 4]
    assert data.qids.tolist() == [7, 3]
    assert (data.n_rows, data.n_queries, data.n_features) == (4, 2, 3)
    assert data.query_sizes.tolist() == [2, 2]
    assert data.weight is None and data.query_weight is None and data.feature_names is None


def test_queries_in_pieces_are_gathered_with_one_warning():
    with pytest.warns(RankiniteWarning, match="the rows of 2 of 3 queries") as caught:
        data = Dataset(X[[0, 1, 2, 3, 0]], [0, 1, 2, 3, 4], qid=list("abcab"), weight=range(5))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert data.qids.tolist() == ["a", "b", "c"]
    assert data.order.tolist() == [0, 3, 1, 4, 2]
    assert data.offsets.tolist() == [0, 2, 4, 5]
    assert data.y.tolist() == [0, 3, 1, 4, 2]
    assert data.weight.tolist() == [0, 3, 1, 4, 2]
    assert np.array_equal(data.X, X[[0, 3, 1, 0, 2]])
    assert data.in_caller_order(data.y).tolist() == [0, 1, 2, 3, 4]


QIDS = {
    "int": [5, -1, 5, 9],
    "big": [2**70, 1, 2**70, 2],
    "unsigned": [2**63, -1, 2**63, 2],
    "str": ["x", "", "x", "y"],
    "bytes": [b"x", b"", b"x", b"y"],
    "mixed": [1, "1", 1, b"1"],
    "float": np.array([0.5, 1.5, 0.5, 2.5]),
    "unicode array": np.array(["ab", "c", "ab", "d"]),
    "dates": np.array(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-03"], "M8[D]"),
}


@pytest.mark.parametrize("kind", QIDS)
def test_ids_of_any_type(kind):
    qid = QIDS[kind]
    data = quiet(X, qid=qid)
    assert data.order.tolist() == [0, 2, 1, 3]
    assert data.offsets.tolist() == [0, 2, 3, 4]
    assert list(data.qids) == [qid[0], qid[1], qid[3]]


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.lists(st.one_of(st.integers(0, 4), st.sampled_from("ab")), min_size=1, max_size=30))
def test_stored_order_against_a_dictionary(qid):
    n = len(qid)
    data = quiet(np.arange(n, dtype=np.float64)[:, None], np.arange(n), qid=qid)
    rows = {}
    for row, q in enumerate(qid):
        rows.setdefault(q, []).append(row)
    expected = [row for members in rows.values() for row in members]
    assert data.X[:, 0].tolist() == expected
    assert data.y.tolist() == expected
    assert list(data.qids) == list(rows)
    assert data.query_sizes.tolist() == [len(members) for members in rows.values()]
    values = np.arange(2 * n).reshape(n, 2)
    assert np.array_equal(data.in_stored_order(values), values[expected])
    assert np.array_equal(data.in_caller_order(data.in_stored_order(values)), values)
    assert np.array_equal(data.in_stored_order(data.in_caller_order(values)), values)


def test_missing_and_infinite_features_are_kept():
    data = Dataset([[np.nan, np.inf], [-np.inf, 0.0]], qid=[1, 1])
    assert np.isnan(data.X[0, 0])
    assert data.X[0, 1] == np.inf and data.X[1, 0] == -np.inf
    assert data.y is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": None}, "qid is missing: pass qid="),
        ({"qid": [1, None, 2, 2]}, "qid is missing in row 1"),
        ({"qid": [1.0, 1.0, np.nan, np.nan]}, r"row 2 \(rows without a qid: 2\)"),
        ({"qid": np.array(["2020", "2021", "NaT", "2022"], "M8[D]")}, "qid is missing in row 2"),
        ({"qid": [1, 1]}, "qid has 2 values, but the data has 4 rows"),
        ({"qid": np.ones((4, 2))}, r"qid must be one-dimensional, but it has shape \(4, 2\)"),
        ({"qid": [1, 2, [3], 4]}, "a list is not an array"),
        ({"qid": np.array([[], {}, 1, 2], dtype=object)}, "qid holds a value that cannot be an"),
        ({"qid": "q"}, "qid is the column name 'q', but X is a ndarray"),
        ({"y": [0, 1]}, "y has 2 values, but the data has 4 rows"),
        ({"y": [0, np.nan, np.inf, 1]}, r"y is nan in row 1 \(2 labels are NaN or infinite\)"),
        ({"y": [0, 1, -np.inf, 1]}, r"y is -inf in row 2 \(1 labels"),
        ({"y": [0, None, 1, 1]}, "y is nan in row 1"),
        ({"y": ["a", "b", "c", "d"]}, "y has the type str"),
        ({"y": np.array(["a", "b", "c", "d"])}, "y has the type <U1"),
        ({"y": np.ones((4, 2))}, r"y must be one-dimensional, but it has shape \(4, 2\)"),
        ({"weight": [1, 1, 1]}, "weight has 3 values, but the data has 4 rows"),
        ({"weight": [1, -1, 1, 1]}, r"weight is -1.0 in row 1 \(1 are negative"),
        ({"weight": [1, 1, np.nan, 1]}, "weight is nan in row 2"),
        ({"weight": [1, 1, 1, np.inf]}, "weight is inf in row 3"),
        ({"query_weight": [1, 1, 1]}, "query_weight has 3 values, but the data has 2 queries"),
        ({"query_weight": [1, -2]}, "query_weight is -2.0 in query 1"),
        ({"query_weight": {1: 1.0}}, r"no weight for query 2 \(1 queries are missing\)"),
        ({"query_weight": {1: 1.0, 2: np.nan}}, "query_weight is nan in query 1"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but the data has 3 features"),
        ({"X": np.empty((0, 3))}, "X has no rows"),
        ({"X": Queries.from_rows(qid=[1])}, "X is a Queries: pass a matrix or frame of features"),
        ({"X": np.empty((4, 0))}, "X has no feature columns"),
        ({"X": np.ones(4)}, r"two dimensions .*, but this ndarray has shape \(4,\)"),
        ({"X": [[1, 2], [3], [4], [5]]}, "X is not a matrix"),
    ],
)
def test_errors_say_what_and_where(arguments, message):
    given_arguments = {"X": X, "qid": [1, 1, 2, 2], **arguments}
    with pytest.raises(DataError, match=message):
        Dataset(given_arguments.pop("X"), given_arguments.pop("y", None), **given_arguments)


def test_query_weights_follow_the_first_appearance_or_a_mapping():
    qid = ["b", "a", "b", "c"]
    listed = quiet(X, qid=qid, query_weight=[3, 1, 2])
    mapped = quiet(X, qid=qid, query_weight={"a": 1, "b": 3, "c": 2, "other": -1})
    assert listed.qids.tolist() == ["b", "a", "c"]
    assert listed.query_weight.tolist() == mapped.query_weight.tolist() == [3.0, 1.0, 2.0]


def test_select_queries_takes_them_in_the_given_order():
    data = ten_queries()
    part = data.select_queries([3, 0, 3])
    assert isinstance(part, Dataset)
    assert part.qids.tolist() == [103, 100, 103]
    assert part.query_sizes.tolist() == [4, 1, 4]
    rows = [6, 7, 8, 9, 0, 6, 7, 8, 9]  # query q begins at row q (q + 1) / 2
    assert part.X[:, 0].tolist() == rows
    assert part.y.tolist() == [row % 3 for row in rows]
    assert part.weight.tolist() == rows
    assert part.query_weight.tolist() == [4, 1, 4]
    assert part.order is None
    mask = np.zeros(10, dtype=bool)
    mask[[1, 9]] = True
    assert data.select_queries(mask).qids.tolist() == [101, 109]


def test_split_cuts_between_queries():
    data = ten_queries()
    parts = data.split()
    assert [part.n_queries for part in parts] == [6, 2, 2]
    together = np.concatenate([part.qids for part in parts])
    assert sorted(together.tolist()) == data.qids.tolist()
    for part in parts:
        assert isinstance(part, Dataset)
        assert part.qids.tolist() == sorted(part.qids.tolist())
        assert part.query_sizes.tolist() == (part.qids - 99).tolist()
        assert part.X[:, 1].tolist() == np.repeat(part.qids, part.query_sizes).tolist()
    again = data.split(random_state=0)
    other = data.split(random_state=1)
    assert all(np.array_equal(a.X, b.X) for a, b in zip(parts, again, strict=True))
    assert not all(np.array_equal(a.qids, b.qids) for a, b in zip(parts, other, strict=True))
    assert [part.n_queries for part in data.split((0.3,))] == [3]


def test_repr():
    assert repr(Dataset(X, [1, 0, 2, 0], qid=[1, 1, 2, 2])) == (
        "Dataset(4 rows, 2 queries, 3 features, labels 0: 2, 1: 1, 2: 1)"
    )
    assert repr(Dataset(X, qid=[1, 1, 2, 2])) == (
        "Dataset(4 rows, 2 queries, 3 features, no labels)"
    )
    many = Dataset(np.ones((8, 1)), np.arange(8) / 4, qid=[1] * 8)
    assert repr(many) == "Dataset(8 rows, 1 queries, 1 features, labels 0 to 1.75)"


def test_bins_are_computed_once():
    data = ten_queries()
    assert data.binned(16) is data.binned(16)
    assert data.binned(16).mapper.max_bins == 16
    assert data.binned(4) is not data.binned(16)
    assert data.binned(16).n_features == 2


def test_queries_and_features_put_together():
    data = ten_queries()
    data.documents = np.arange(data.n_rows)
    given = data.with_preferences(preferred=[1], other=[2])
    features = FeatureValues(np.ones((data.n_rows, 3)), ["a", "b", "c"])
    made = Dataset.of(given, features)
    assert made.features is features and made.X is features.matrix
    assert (made.n_features, made.feature_names) == (3, ["a", "b", "c"])
    for name in ("offsets", "qids", "y", "weight", "query_weight", "order", "documents"):
        assert getattr(made, name) is getattr(given, name), name
    assert made.preferences is given.preferences
    assert (given.n_features, given.features) == (2, data.features)


def test_bins_instead_of_values():
    data = ten_queries()
    bins = Dataset.of(data, FeatureBins(data.binned(4), ["a", "b"]))
    assert bins.binned(4) is data.binned(4)
    assert bins.mapper(9) is data.mapper(4)
    assert (bins.n_rows, bins.n_features, bins.feature_names) == (55, 2, ["a", "b"])
    with pytest.raises(DataError, match="holds only bins, and feature values are needed here"):
        _ = bins.X
    part = bins.select_queries([3, 0])
    assert isinstance(part, Dataset)
    rows = [6, 7, 8, 9, 0]
    assert part.binned(4).column(0).tolist() == data.binned(4).column(0)[rows].tolist()
    assert repr(part) == (
        "Dataset(5 rows, 2 queries, 2 features, labels 0: 3, 1: 1, 2: 1, binned with max_bins=4)"
    )


def test_examples_of_the_documentation():
    assert doctest.testmod(dataset).failed == 0
