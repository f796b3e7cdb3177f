import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankinite as rk
from rankinite.errors import DataError

TABLE = pa.table(
    {
        "qid": ["x", "x", "y"],
        "clicks": [1, None, 3],
        "label": [2, 0, 1],
        "score": [0.1, 0.25, float("nan")],
        "w": [1.0, 0.5, 2.0],
    }
)
CSV = "qid,clicks,label,score,w\nx,1,2,0.1,1\nx,,0,0.25,0.5\ny,3,1,nan,2\n"


def write(path, table=TABLE, text=CSV):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".zst":
        path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
    else:
        path.write_text(text)
    return path


@pytest.fixture(params=["a.parquet", "a.csv", "a.csv.gz", "A.CSV.zst"])
def path(request, tmp_path):
    return write(tmp_path / request.param)


def test_columns_have_roles(path):
    data = rk.read(path, weight="w")
    assert data.feature_names == ["clicks", "score"]
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, [[1, 0.1], [np.nan, 0.25], [3, np.nan]])
    assert data.y.tolist() == [2, 0, 1]
    assert data.qids.tolist() == ["x", "y"]
    assert data.weight.tolist() == [1, 0.5, 2]
    wide = rk.read(path, dtype="float64")
    assert wide.feature_names == ["clicks", "score", "w"]
    assert wide.X[0, 1] == 0.1


def test_features_can_be_chosen_and_ordered(path):
    data = rk.read(path, features=["w", "clicks"], label=None)
    assert data.feature_names == ["w", "clicks"]
    assert data.y is None
    np.testing.assert_array_equal(data.X, [[1, 1], [0.5, np.nan], [2, 3]])
    other = rk.read(path, label="w", qid="label", features=["score"])
    assert other.y.tolist() == [1, 0.5, 2]
    assert other.qids.tolist() == [2, 0, 1]


def test_columns_that_are_not_there(path):
    columns = "its columns are 'qid', 'clicks', 'label', 'score', 'w'"
    for parameter in ("label", "qid", "weight"):
        message = f"has no column 'nope': {columns}; pass {parameter}= with the name"
        with pytest.raises(DataError, match=message):
            rk.read(path, **{parameter: "nope"})
    with pytest.raises(DataError, match="no column 'nope', which features= asks for"):
        rk.read(path, features=["w", "nope"])


def test_errors_in_values_name_the_file(path):
    with pytest.raises(DataError, match=f"{path.name}: y is nan in row 1"):
        rk.read(path, label="clicks")
    with pytest.raises(DataError, match=f"{path.name}: feature column 'qid' has the type string"):
        rk.read(path, qid="label", label="w")


def test_no_rows_or_no_features(tmp_path):
    for name in ("a.parquet", "a.csv"):
        header = CSV.partition("\n")[0] + "\n"
        empty = write(tmp_path / name, TABLE.slice(0, 0), header)
        with pytest.raises(DataError, match=f"{name} has no data rows"):
            rk.read(empty)
        bare = write(tmp_path / name, TABLE.select(["qid", "label"]), "qid,label\nx,1\n")
        with pytest.raises(DataError, match=f"{name} has no feature columns"):
            rk.read(bare)
    with pytest.raises(DataError, match=r"b.csv has no data rows"):
        rk.read(write(tmp_path / "b.csv", text=""))


def test_types_of_csv_do_not_depend_on_the_first_rows(tmp_path):
    many = 200_000  # more than the block from which pyarrow guesses
    text = "qid,label,a,b\n" + "1,0,1,\n" * many + "two,0.5,1.5,2.5\n"
    data = rk.read(write(tmp_path / "a.csv", text=text))
    assert data.qids.tolist() == ["1", "two"]
    assert data.X[-1].tolist() == [1.5, 2.5]
    assert data.y[-1] == 0.5
    assert np.isnan(data.X[0, 1])


def test_csv_ids(tmp_path):
    data = rk.read(write(tmp_path / "a.csv", text="qid,label,a\n7,1,1\n8,0,2\n"))
    assert data.qids.dtype == np.int64
    words = rk.read(write(tmp_path / "b.csv", text="qid,label,a\nnull,1,1\nNA,0,2\n"))
    assert words.qids.tolist() == ["null", "NA"]
    with pytest.raises(DataError, match="qid is missing in row 1"):
        rk.read(write(tmp_path / "c.csv", text="qid,label,a\nx,1,1\n,0,2\n"))


def test_files_that_are_something_else(tmp_path):
    parquet = tmp_path / "a.parquet"
    parquet.write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"a.parquet is not a Parquet file that can be read"):
        rk.read(parquet)
    with pytest.raises(DataError, match=r"a.csv is not a CSV file that can be read"):
        rk.read(write(tmp_path / "a.csv", text="qid,label,a\n1,0\n"))
    with pytest.raises(DataError, match=r"b.csv is not a CSV file .*invalid value 'word'"):
        rk.read(write(tmp_path / "b.csv", text="qid,label,a\n1,word,1\n"))
    torn = write(tmp_path / "c.csv.gz")
    torn.write_bytes(torn.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"c.csv.gz cannot be decompressed"):
        rk.read(torn)
