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
    with pytest.raises(DataError, match=rf"{path.name}, .*: a document of query .* has no label"):
        rk.read(path, label="clicks")
    with pytest.raises(DataError, match=f"{path.name}.* column 'qid' "):
        rk.read(path, qid="label", label="w")


ROWS = ["label,qid,w,a,b,url", "1,q1,1,2,3,x", "0,q1,1,,NA,y", "", "2,q2,1,true,nan,z"]
WRONG = [
    ("1,q2,1,7", "line 6 has 4 values, but there are 6 columns: mend the line"),
    ("1,,1,7,7,u", "line 6: there is no query id"),
    (",q2,1,7,7,u", "line 6: a document of query q2 has no label"),
    ("nan,q2,1,7,7,u", "line 6: a document of query q2 has no label"),
    ("good,q2,1,7,7,u", "line 6: a document of query q2 has the label 'good', which is not"),
    ("inf,q2,1,7,7,u", "line 6: a document of query q2 has the label 'inf', which is not"),
    ("1,q2,-1,7,7,u", "line 6: a document of query q2 has the weight '-1', and weights must"),
    ("1,q2,much,7,7,u", "line 6: a document of query q2 has the weight 'much', and weights"),
    ("1,q2,1,7,many,u", "line 6: the value 'many' of column 'b' is not a number: mend it, or"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
@pytest.mark.parametrize("max_bins", [None, 255])
def test_errors_in_csv_name_the_line_and_the_query(tmp_path, line, message, max_bins):
    path = tmp_path / "data.csv"
    path.write_text("\n".join([*ROWS, line, "1,q2,1,5,5,v"]) + "\n")
    with pytest.raises(DataError) as caught:
        rk.read(path, weight="w", features=["a", "b"], max_bins=max_bins)
    assert str(caught.value).startswith(f"{path}, {message}")
    (tmp_path / "fine.csv").write_text("label,qid,w,a,b,url\n1,q0,1,2,3,x\n0,q0,1,2,3,x\n")
    with pytest.raises(DataError) as caught:
        rk.read([tmp_path / "fine.csv", path], weight="w", features=["a", "b"], max_bins=max_bins)
    assert str(caught.value).startswith(f"{path}, {message}")


def test_labels_that_are_text_are_wrong_as_a_column(tmp_path):
    texts = pa.array([None, *map(str, range(1, TABLE.num_rows))])
    table = TABLE.set_column(TABLE.column_names.index("label"), "label", texts)
    with pytest.raises(DataError, match=r"y has the type str"):
        rk.read(write(tmp_path / "a.parquet", table))


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
    with pytest.raises(DataError, match=r"c.csv, line 3: there is no query id"):
        rk.read(write(tmp_path / "c.csv", text="qid,label,a\nx,1,1\n,0,2\n"))


def test_files_that_are_something_else(tmp_path):
    parquet = tmp_path / "a.parquet"
    parquet.write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"a.parquet is not a Parquet file that can be read"):
        rk.read(parquet)
    with pytest.raises(DataError, match=r"a.csv, line 2 has 2 values, but there are 3 columns"):
        rk.read(write(tmp_path / "a.csv", text="qid,label,a\n1,0\n"))
    with pytest.raises(DataError, match=r"b.csv, line 2: .* query 1 has the label 'word'"):
        rk.read(write(tmp_path / "b.csv", text="qid,label,a\n1,word,1\n"))
    torn = write(tmp_path / "c.csv.gz")
    torn.write_bytes(torn.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"c.csv.gz cannot be decompressed"):
        rk.read(torn)
