import numpy as np
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
    for n_features in (0, -3, True):
        with pytest.raises(ParameterError, match="n_features must be a positive integer or None"):
            rk.read(path, n_features=n_features)


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
