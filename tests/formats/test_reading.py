import numpy as np
import pytest

import rankinite as rk
from rankinite.data import FeatureBins
from rankinite.errors import DataError, ParameterError

TEXT = "1 qid:1 1:0.1\n0 qid:1 2:2\n"


@pytest.mark.parametrize("name", ["a.txt", "a", "a.svm", "fold1.csv.txt", "a.parquet.txt"])
def test_other_names_are_svmlight_text(tmp_path, name):
    (tmp_path / name).write_text(TEXT)
    data = rk.read(tmp_path / name)
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[np.float32(0.1), 0], [0, 2]]
    assert rk.read(str(tmp_path / name), dtype=np.float64).X[0, 0] == 0.1
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
        with pytest.raises(ParameterError, match="dtype must be 'float32' or 'float64', got"):
            rk.read(path, dtype=dtype)
    for n_features in (0, -3, True):
        with pytest.raises(ParameterError, match="n_features must be a positive integer or None"):
            rk.read(path, n_features=n_features)
