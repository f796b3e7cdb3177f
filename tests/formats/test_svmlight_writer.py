import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import rankinite as rk
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.formats import svmlight_writer


def test_the_text(tmp_path):
    X = np.array([[0.1, 0, 3], [0, 0, 0], [np.nan, -np.inf, 1e-30]])
    path = tmp_path / "a.txt"
    rk.write_svmlight(X, path, y=[2, 0, 0.5], qid=["a", "a", "b"])
    assert path.read_text() == ("2 qid:a 1:0.1 3:3\n0 qid:a\n0.5 qid:b 1:nan 2:-inf 3:1e-30\n")


def test_rows_come_in_the_callers_order(tmp_path):
    X = np.arange(1, 6, dtype=np.float64)[:, None]
    with pytest.warns(RankiniteWarning):
        data = rk.Dataset(X, [0, 1, 2, 3, 4], qid=[3, 1, 3, 2, 1])
    path = tmp_path / "a.txt"
    rk.write_svmlight(data, path)
    lines = path.read_text().splitlines()
    assert lines == ["0 qid:3 1:1", "1 qid:1 1:2", "2 qid:3 1:3", "3 qid:2 1:4", "4 qid:1 1:5"]


def test_data_without_labels_gets_zeros(tmp_path):
    path = tmp_path / "a.txt"
    rk.write_svmlight(np.ones((1, 1)), path, qid=[b"x"])
    assert path.read_text() == "0 qid:x 1:1\n"


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    st.sampled_from([np.float32, np.float64]).flatmap(
        lambda kind: arrays.arrays(kind, (4, 3), elements=arrays.from_dtype(np.dtype(kind)))
    ),
    st.lists(st.floats(-1e9, 1e9), min_size=4, max_size=4),
)
def test_what_is_written_is_read_back(tmp_path_factory, X, y):
    X = X * (np.abs(X) >= np.finfo(X.dtype).tiny)  # subnormal numbers may be one unit off
    y = np.where(np.abs(y) < 1e-300, 0, y)
    path = tmp_path_factory.mktemp("round") / "a.txt"
    rk.write_svmlight(X, path, y=y, qid=[1, 1, 2, 2])
    data = rk.read(path, n_features=3)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.qids.tolist() == [1, 2]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_blocks_and_compression(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(svmlight_writer, "_BLOCK_VALUES", 100)
    data = rk.artificial(n_queries=20, n_docs=7, n_features=9)
    path = tmp_path / f"a.txt{suffix}"
    rk.write_svmlight(data, path)
    start = {"": b"0", ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}[suffix]
    assert suffix == "" or path.read_bytes().startswith(start)
    back = rk.read(path)
    assert np.array_equal(back.X, data.X)
    assert np.array_equal(back.y, data.y)
    assert np.array_equal(back.offsets, data.offsets)
    assert np.array_equal(back.qids, data.qids)


@pytest.mark.parametrize("qid", ["a b", "", "x#1", "x\ty"])
def test_ids_that_text_cannot_hold(tmp_path, qid):
    path = tmp_path / "a.txt"
    with pytest.raises(DataError, match="cannot be written: SVMlight text needs ids"):
        rk.write_svmlight(np.ones((1, 1)), path, qid=[qid])
    assert list(tmp_path.iterdir()) == []


def test_paths_that_cannot_be_written(tmp_path):
    data = rk.artificial(n_queries=1, n_docs=2, n_features=2)
    with pytest.raises(DataError, match=r"nowhere/a.txt cannot be written: No such file"):
        rk.write_svmlight(data, tmp_path / "nowhere" / "a.txt")
    with pytest.raises(DataError, match="cannot be written: it is a folder"):
        rk.write_svmlight(data, tmp_path)


def test_arguments_that_do_not_fit(tmp_path):
    data = rk.artificial(n_queries=1, n_docs=2, n_features=2)
    with pytest.raises(ParameterError, match="y and qid belong to the Dataset"):
        rk.write_svmlight(data, tmp_path / "a.txt", y=[1, 2])
    with pytest.raises(DataError, match="qid is missing"):
        rk.write_svmlight(np.ones((2, 2)), tmp_path / "a.txt", y=[1, 2])
    data.save(tmp_path / "bins")
    with pytest.raises(DataError, match="holds only bins: its feature values cannot be written"):
        rk.write_svmlight(rk.read(tmp_path / "bins"), tmp_path / "a.txt")
