import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from rankinite.data import Dataset
from rankinite.errors import DataError

COLUMNS = {
    "count": [3, 0, 7, 1],
    "ratio": [0.5, float("nan"), -1.25, 1e300],
    "flag": [True, False, True, True],
}
Y = [2, 0, 1, 0]
QID = ["a", "a", "b", "b"]
WEIGHT = [1.0, 2.0, 0.5, 0.0]
MATRIX = np.array([[3, 0.5, 1], [0, np.nan, 0], [7, -1.25, 1], [1, 1e300, 1]])

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SERIES = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "column of a matrix": lambda values: np.array(values)[:, None],
}


def assert_expected(data):
    np.testing.assert_array_equal(data.X, MATRIX)
    assert data.X.dtype == np.float64 and data.X.flags.c_contiguous
    assert data.y.tolist() == Y
    assert data.y.dtype == np.float64
    assert list(data.qids) == ["a", "b"]
    assert data.weight.tolist() == WEIGHT


@pytest.mark.parametrize("library", FRAMES)
def test_columns_by_name_are_not_features(library):
    frame = FRAMES[library]({"w": WEIGHT, **COLUMNS, "query": QID, "label": Y})
    data = Dataset(frame, "label", qid="query", weight="w")
    assert_expected(data)
    assert data.feature_names == ["count", "ratio", "flag"]


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_any_library_beside_a_frame(library, series):
    column = SERIES[series]
    data = Dataset(FRAMES[library](COLUMNS), column(Y), qid=column(QID), weight=column(WEIGHT))
    assert_expected(data)


def test_names_given_win_over_those_of_the_frame():
    data = Dataset(pd.DataFrame(COLUMNS), qid=QID, feature_names=["a", "b", "c"])
    assert data.feature_names == ["a", "b", "c"]


def test_record_batch_and_one_column_frames():
    batch = pa.record_batch(COLUMNS)
    data = Dataset(batch, pd.DataFrame({"y": Y}), qid=pa.table({"q": QID}), weight=WEIGHT)
    assert_expected(data)


@pytest.mark.parametrize("library", FRAMES)
def test_null_is_missing(library):
    frame = FRAMES[library]({"i": [1, None, 3], "f": [None, 0.5, 1.5], "b": [True, None, False]})
    data = Dataset(frame, qid=[1, 1, 1])
    expected = [[1, np.nan, 1], [np.nan, 0.5, np.nan], [3, 1.5, 0]]
    np.testing.assert_array_equal(data.X, expected)


@pytest.mark.parametrize("library", FRAMES)
def test_null_labels_and_ids_are_errors(library):
    frame = FRAMES[library]({"x": [1, 2, 3], "y": [0, None, 1]})
    with pytest.raises(DataError, match="y is nan in row 1"):
        Dataset(frame, "y", qid=[1, 1, 1])
    for ids in (["a", "a", None], [1, 1, None]):
        frame = FRAMES[library]({"x": [1, 2, 3], "q": ids})
        with pytest.raises(DataError, match="qid is missing in row 2"):
            Dataset(frame, qid="q")


@pytest.mark.parametrize("library", FRAMES)
def test_big_integer_ids_stay_apart(library):
    frame = FRAMES[library]({"x": [1, 2], "q": [2**60, 2**60 + 1]})
    assert Dataset(frame, qid="q").qids.tolist() == [2**60, 2**60 + 1]


@pytest.mark.parametrize(
    ("library", "kind"), [("pandas", "str"), ("polars", "String"), ("pyarrow", "string")]
)
def test_a_feature_that_is_not_a_number(library, kind):
    frame = FRAMES[library]({"x": [1, 2], "city": ["Rome", "Oslo"]})
    with pytest.raises(DataError, match=f"feature column 'city' has the type .*{kind}"):
        Dataset(frame, qid=[1, 1])


def test_a_name_that_is_not_a_column():
    frame = pd.DataFrame({"x": [1], "z": [2]})
    with pytest.raises(DataError, match=r"y names the column 'label', .* it has 'x', 'z'"):
        Dataset(frame, "label", qid=[1])
    wide = pd.DataFrame(np.ones((1, 30)))
    with pytest.raises(DataError, match=r"'19', \.\.\. \(30 in all\)"):
        Dataset(wide, qid="q")


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_sparse_equals_dense(make):
    dense = np.array([[0, 1.5, 0], [2, 0, np.nan]])
    data = Dataset(make(dense), qid=[1, 1])
    np.testing.assert_array_equal(data.X, dense)
    assert data.X.dtype == np.float64 and data.X.flags.c_contiguous
    assert Dataset(make(dense.astype(np.float32)), qid=[1, 1]).X.dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bool", "float32"),
        ("int8", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("int32", "float64"),
        ("uint32", "float64"),
        ("int64", "float64"),
        ("uint64", "float64"),
        ("float64", "float64"),
    ],
)
def test_the_narrowest_float_that_is_exact(kind, expected):
    values = np.array([[0, 1], [1, 0]]).astype(kind)
    assert Dataset(values, qid=[1, 1]).X.dtype == expected
    frame = pd.DataFrame(values)
    assert Dataset(frame, qid=[1, 1]).X.dtype == expected
    assert Dataset(pa.table(frame), qid=[1, 1]).X.dtype == expected
    assert Dataset(np.asfortranarray(values), qid=[1, 1]).X.flags.c_contiguous


def test_pandas_columns_of_extension_types():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None], dtype="Int8"),
            "arrow": pd.array([None, 2], dtype="int16[pyarrow]"),
            "sparse": pd.arrays.SparseArray([0.0, 1.0]),
            "object": np.array([None, 2.5], dtype=object),
            "decimal": [decimal.Decimal("0.5"), pd.NA],
        }
    )
    expected = [[1, np.nan, 0, np.nan, 0.5], [np.nan, 2, 1, 2.5, np.nan]]
    np.testing.assert_array_equal(Dataset(frame, qid=[1, 1]).X, expected)
    with pytest.raises(DataError, match="'c' has the type category"):
        Dataset(pd.DataFrame({"c": pd.Categorical([1, 2])}), qid=[1, 1])
    with pytest.raises(DataError, match="'t' has the type datetime64"):
        Dataset(pd.DataFrame({"t": pd.to_datetime(["2020", "2021"])}), qid=[1, 1])
    with pytest.raises(DataError, match="'o' has the type str"):
        Dataset(pd.DataFrame({"o": np.array(["1.5", 2], dtype=object)}), qid=[1, 1])


def test_pandas_nullable_labels_and_ids():
    data = Dataset(
        np.ones((2, 1)), pd.array([1, 2], dtype="Int64"), qid=pd.array([5, 6], dtype="Int64")
    )
    assert data.y.tolist() == [1, 2]
    assert data.qids.tolist() == [5, 6]
    with pytest.raises(DataError, match="qid is missing in row 1"):
        Dataset(np.ones((2, 1)), qid=pd.array([5, None], dtype="Int64"))


def test_object_and_masked_arrays():
    data = Dataset(np.array([[1, None], [True, 2.5]], dtype=object), qid=[1, 1])
    np.testing.assert_array_equal(data.X, [[1, np.nan], [1, 2.5]])
    masked = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    np.testing.assert_array_equal(Dataset(masked, qid=[1]).X, [[1, np.nan]])
    with pytest.raises(DataError, match="y is nan in row 0"):
        Dataset(np.ones((1, 1)), np.ma.array([1.0], mask=[True]), qid=[1])
    with pytest.raises(DataError, match="X must hold numbers, but its type is <U1"):
        Dataset(np.array([["a"]]), qid=[1])
    with pytest.raises(DataError, match="feature column 'feature 2' has the type str"):
        Dataset(np.array([[1, "2"]], dtype=object), qid=[1])


def test_tall_frames_are_copied_in_blocks():
    values = np.random.default_rng(0).normal(size=(10_000, 3))
    data = Dataset(pl.DataFrame(values), qid=np.zeros(10_000))
    assert np.array_equal(data.X, values)


@pytest.mark.parametrize("names", [["a", "a", "b"], [1, "1", "b"]])
def test_two_columns_of_one_name(names):
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=names)
    message = f"the DataFrame has more than one column '{names[1]}'"
    with pytest.raises(DataError, match=message):
        Dataset(frame, qid=[1, 1])
    with pytest.raises(DataError, match="the Table has more than one column 'a'"):
        Dataset(pa.table([[1], [2]], names=["a", "a"]), qid=[1])


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sparse_matrices_of_every_kind(kind):
    matrix = sp.random(6, 5, 0.5, format=kind, random_state=0)
    np.testing.assert_array_equal(Dataset(matrix, qid=[1] * 6).X, matrix.toarray())


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("array", "at", "value"),
    [("indices", 0, 10**6), ("indices", 0, -5), ("indptr", 1, 10**6), ("indptr", -1, 10**6)],
)
def test_sparse_matrices_that_are_damaged(kind, array, at, value):
    matrix = sp.random(6, 6, 0.5, format=kind, random_state=0)
    getattr(matrix, array)[at] = value
    with pytest.raises(DataError, match="X is a sparse matrix that is damaged"):
        Dataset(matrix, qid=[1] * 6)


def test_sparse_coordinates_out_of_range():
    matrix = sp.random(6, 5, 0.5, format="coo", random_state=0)
    matrix.row[0] = 10**7
    with pytest.raises(DataError, match="an index lies outside its shape"):
        Dataset(matrix, qid=[1] * 6)
    with pytest.raises(DataError, match=r"X has 100000000 columns, .* would take 80000000.0 GB"):
        Dataset(sp.csr_matrix((10**8, 10**8)), qid=[1])


def test_numbers_that_no_float_can_hold():
    for huge in (10**400, decimal.Decimal("sNaN")):
        with pytest.raises(DataError, match="y has a number that is none of 64 bits"):
            Dataset([[1.0], [2.0]], [0, huge], qid=[1, 1])
        with pytest.raises(DataError, match="has a number that is none of 64 bits"):
            Dataset(np.array([[1.0], [huge]], object), qid=[1, 1])


def test_a_sparse_matrix_far_wider_than_its_columns_in_use():
    rows, columns = np.arange(48), np.arange(48) % 11
    columns[20] = 4_999_999
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        X = kind(sp.coo_array((np.ones(48), (rows, columns)), shape=(48, 5_000_000)))
        with pytest.raises(
            DataError,
            match=r"X has 5000000 columns, and nine tenths .* the first 10: all .* take 1.9 GB",
        ):
            Dataset(X, qid=np.zeros(48))
    wide = sp.coo_array((np.ones(2), ([0, 1], [0, 2**40])), shape=(2, 2**41))
    with pytest.raises(DataError, match=r"X has 2199023255552 columns|more than there is mem"):
        Dataset(wide, qid=np.zeros(2))
    # Few values, yet all over the width.
    spread = np.random.default_rng(0).integers(0, 300_000, 500)
    X = sp.csr_array((np.ones(500), (np.arange(500), spread)), shape=(500, 300_000))
    assert Dataset(X.astype(np.float32), qid=np.zeros(500)).n_features == 300_000
