import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankinite as rk
from rankinite.data import FeatureBins
from rankinite.errors import DataError, ParameterError, RankiniteWarning

TEXT = "1 qid:1 1:0.1\n0 qid:1 2:2\n"


@pytest.mark.parametrize("name", ["a.txt", "a", "a.svm", "fold1.csv.txt", "a.parquet.txt"])
def test_other_names_are_svmlight_text(tmp_path, name):
    (tmp_path / name).write_text(TEXT)
    data = rk.read(tmp_path / name)
    assert data.X.dtype == np.float64
    assert data.X.tolist() == [[0.1, 0], [0, 2]]
    assert rk.read(str(tmp_path / name), dtype=np.float32).X[0, 0] == np.float32(0.1)
    assert rk.read(tmp_path / name, n_features=4).n_features == 4


def test_a_saved_dataset_is_known_by_its_content(tmp_path):
    data = rk.artificial(n_queries=3, n_docs=4, n_features=5)
    for name in ("a.txt", "a.parquet", "a.csv"):
        data.save(tmp_path / name)
        assert isinstance(rk.read(tmp_path / name).features, FeatureBins)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"nothing.txt does not exist"):
        rk.read(tmp_path / "nothing.txt")
    with pytest.raises(DataError, match="is a folder: pass the path of a file"):
        rk.read(tmp_path)
    with pytest.raises(DataError, match=r"empty.txt has no data rows"):
        (tmp_path / "empty.txt").touch()
        rk.read(tmp_path / "empty.txt")


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text(TEXT)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(DataError, match=r"a.txt cannot be read: Permission denied"):
        rk.read(path)


def test_the_line_of_a_file_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT + "0 qid:1 2=2\n")
    with pytest.raises(DataError) as caught:
        rk.read(path)
    assert str(caught.value) == f"{path}, line 3: '2=2' is not a feature of the form index:value"


def test_parameters(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    for dtype in ("int32", "real", np.float16):
        with pytest.raises(ParameterError, match="dtype must be 'float32', 'float64' or None, got"):
            rk.read(path, dtype=dtype)
    for n_features in (0, -3, True, "5", 2.0, 10**400, 10**5000):
        with pytest.raises(ParameterError, match="n_features must be a whole number between 1 and"):
            rk.read(path, n_features=n_features)


CSV = "qid,label,a,b\n1,2,0.5,1\n1,0,1.5,2\n2,1,2.5,3\n"


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_paths_that_are_none(tmp_path):
    for path, what in (
        ("a\0b", "is no name that a file can have"),
        ("a" * 5000, "cannot be read: File name too long"),
        ("\ud800", "is no name that a file can have"),
    ):
        with pytest.raises(DataError, match=what) as caught:
            rk.read(tmp_path / path)
        assert len(str(caught.value)) < 500
        with pytest.raises(DataError, match="cannot be written"):
            rk.artificial(n_queries=2).save(tmp_path / path)
    for wrong in (None, 3, b"a"):
        with pytest.raises(ParameterError, match="path must be a path"):
            rk.read(wrong)


@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a", "a.zst"])
def test_compression_and_tables_are_known_by_content(tmp_path, name, compress):
    for text, names in ((TEXT, None), (CSV, ["a", "b"]), (CSV.replace(",", "\t"), ["a", "b"])):
        content = text.encode()
        if compress != "none":
            content = pa.compress(content, compress, asbytes=True)
        data = rk.read(written(tmp_path, name, content))
        assert data.feature_names == names
        assert data.n_rows == (2 if names is None else 3)


@pytest.mark.parametrize("name", ["a.tsv", "A.TSV.gz", "a.tsv.zst"])
def test_tables_with_tabs(tmp_path, name):
    data = rk.read(written(tmp_path, name, CSV.replace(",", "\t")), max_bins=8)
    assert data.feature_names == ["a", "b"]


def test_text_that_is_not_in_utf8(tmp_path):
    for name, text in (("a.csv", CSV), ("a.txt", TEXT)):
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            with pytest.raises(DataError, match=f"{name} is not text in UTF-8.*iconv"):
                rk.read(written(tmp_path, name, text.encode(encoding)))
    with pytest.raises(DataError, match=r"a.csv is not text in UTF-8: convert it, as by iconv"):
        rk.read(written(tmp_path, "a.csv", CSV.replace("a", "ä").encode("latin-1")))


def test_a_header_of_megabytes(tmp_path):
    names = [f"feature_{'x' * 90}_{k}" for k in range(20_000)]
    rows = ["1,0," + ",".join("1" * 20_000), "1,1," + ",".join("2" * 20_000)]
    text = "\n".join([",".join(["qid", "label", *names]), *rows]) + "\n"
    path = written(tmp_path, "a.csv", text)
    assert rk.read(path).feature_names == names
    assert rk.read(path, max_bins=4).n_features == 20_000


def test_two_columns_of_one_name(tmp_path):
    table = pa.table([[1], [0], [0.5], [1.5]], names=["qid", "label", "a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    written(tmp_path, "a.csv", "qid,label,a,a\n1,0,1,2\n")
    for name in ("a.parquet", "a.csv"):
        for options in ({}, {"max_bins": 8}):
            with pytest.raises(DataError, match=f"{name} has more than one column 'a'"):
                rk.read(tmp_path / name, **options)
    with pytest.raises(DataError, match="features= has more than one column 'b'"):
        rk.read(written(tmp_path, "b.csv", CSV), features=["b", "b"])


OF_COLUMNS = {"label": "rel", "qid": "q", "weight": "w", "features": ["a"], "document": "d"}


@pytest.mark.parametrize("option", OF_COLUMNS)
def test_options_of_columns_are_refused_where_there_are_none(tmp_path, option):
    text = written(tmp_path, "a.txt", TEXT)
    rk.read(text).save(tmp_path / "a.bins")
    for path, what in ((text, "SVMlight text"), (tmp_path / "a.bins", "a dataset in binned form")):
        message = rf"{option}=.* names a column, and .* is {what}, which has none: leave it out"
        with pytest.raises(ParameterError, match=message):
            rk.read(path, **{option: OF_COLUMNS[option]})
        assert rk.read(path, label=None).y is None
    with pytest.raises(ParameterError, match="features must be a list of names"):
        rk.read(written(tmp_path, "a.csv", CSV), features="ab")
    with pytest.raises(ParameterError, match="qid must be the name of a column, got None"):
        rk.read(tmp_path / "a.csv", qid=None)


def test_options_of_text_are_refused_for_tables(tmp_path):
    with pytest.raises(ParameterError, match=r"n_features=2 is for SVMlight text, and .*a.csv is"):
        rk.read(written(tmp_path, "a.csv", CSV), n_features=2)


def test_options_that_do_not_fit_a_binned_file(tmp_path):
    values = rk.read(written(tmp_path, "a.txt", TEXT))
    path = tmp_path / "a.bins"
    values.save(path, max_bins=16)
    same = rk.read(path, max_bins=16, n_features=2)
    assert rk.read(path, like=same).n_rows == 2
    with pytest.raises(DataError, match=r"a.bins was binned with max_bins=16 .* max_bins=255"):
        rk.read(path, max_bins=255)
    with pytest.raises(DataError, match=r"a.bins holds other bins than the data of like="):
        rk.read(path, like=rk.Dataset([[1.0, 2], [3, 4]], [0, 1], qid=[1, 1]))
    with pytest.raises(DataError, match=r"a.bins has 2 features, and n_features=3"):
        rk.read(path, n_features=3)
    with pytest.raises(ParameterError, match=r"dtype='float64' is for values, and .*a.bins holds"):
        rk.read(path, dtype="float64")


def test_columns_go_by_name_to_the_bins_of_another_dataset(tmp_path):
    train = rk.read(written(tmp_path, "a.csv", CSV), max_bins=8)
    other = "b,label,a,qid\n1,2,0.5,1\n2,0,1.5,1\n3,1,2.5,2\n"
    valid = rk.read(written(tmp_path, "b.csv", other), like=train)
    assert valid.feature_names == ["a", "b"]
    np.testing.assert_array_equal(valid.binned(8).blocks, train.binned(8).blocks)
    with pytest.raises(DataError, match=r"b.csv has the feature 'c', which the data of like= does"):
        rk.read(written(tmp_path, "b.csv", "a,b,c,label,qid\n1,1,1,1,1\n"), like=train)


def test_refusals_of_parquet_are_one_sentence(tmp_path):
    pq.write_table(pa.table({"qid": [1], "label": [0], "a": [0.5]}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for broken in (whole[:4] + bytes(len(whole) - 12) + whole[-8:], whole[:20] + whole[-20:]):
        with pytest.raises(DataError, match=r"a.parquet is not a Parquet file") as caught:
            rk.read(written(tmp_path, "a.parquet", broken))
        assert "\n" not in str(caught.value)


def times():
    """Unix times of 60 minutes, which float32 cannot tell apart, and a harmless feature."""
    rng = np.random.default_rng(0)
    minute = np.tile(np.arange(60), 5)
    X = np.column_stack([1.7e9 + minute, rng.random(300)])
    return X, (minute >= 30).astype(float), np.repeat(np.arange(5), 60)


def write_times(path):
    import pandas as pd

    X, y, qid = times()
    if path.suffix == ".txt":
        rk.write_svmlight(X, path, y, qid)
        return path
    frame = pd.DataFrame({"label": y, "qid": qid, "time": X[:, 0], "noise": X[:, 1]})
    frame["time"] = frame["time"].astype(np.int64)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet"])
def test_values_stay_what_they_are_in_the_file(tmp_path, name):
    path = write_times(tmp_path / name)
    X, y, qid = times()
    whole, pieces = rk.read(path), rk.read(path, max_bins=255)
    np.testing.assert_array_equal(whole.X, X)
    memory = rk.Dataset(X, y, qid=qid)
    assert memory.binned().mapper.n_bins[0] == 60
    for data in (whole, pieces):
        assert data.binned().mapper.equals(memory.binned().mapper)
        assert np.array_equal(data.binned().blocks, memory.binned().blocks)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet"])
@pytest.mark.parametrize("options", [{}, {"max_bins": 255}], ids=["values", "bins"])
def test_float32_tells_where_it_merges_values(tmp_path, name, options):
    path = write_times(tmp_path / name)
    column = "feature 1" if name == "a.txt" else "column 'time'"
    message = f"in float32 the 60 different values of {column} become 1; leave dtype= out"
    with pytest.warns(RankiniteWarning, match=message) as told:
        data = rk.read(path, dtype="float32", **options)
    assert len(told) == 1
    assert data.binned().mapper.n_bins[0] == 1
    assert options or data.X.dtype == np.float32


def test_parquet_stays_float32_where_that_holds_all_values(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"label": [0, 1], "qid": [1, 1], "a": [1.5, 2.5], "b": [3, 4]})
    for kinds, expected in (
        ({"a": np.float32, "b": np.int16}, np.float32),
        ({"a": np.float32, "b": np.int64}, np.float64),
        ({"a": np.float64, "b": np.int16}, np.float64),
    ):
        frame.astype(kinds).to_parquet(tmp_path / "a.parquet")
        assert rk.read(tmp_path / "a.parquet").X.dtype == expected
