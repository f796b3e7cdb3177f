import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from rankinite.errors import DataError
from rankinite.formats import files


def test_compression_comes_from_the_suffix():
    names = {"a.gz": "gzip", "a.txt.GZ": "gzip", "a.zst": "zstd", "a.txt": None, "gz": None}
    for name, expected in names.items():
        assert files.compression_of(Path(name)) == expected


def test_bytes_are_decompressed(tmp_path):
    content = b"one\ntwo\n" * 1000
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.zst").write_bytes(pa.compress(content, "zstd", asbytes=True))
    for name in ("a", "a.gz", "a.zst"):
        found = files.read_bytes(tmp_path / name)
        assert found.tobytes() == content
        assert not found.flags.writeable
    (tmp_path / "empty").touch()
    assert len(files.read_bytes(tmp_path / "empty")) == 0


def test_a_file_is_replaced_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with files.replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), files.replacing(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    with pytest.raises(DataError, match="a cannot be written: full"), files.replacing(path):
        raise OSError(28, "full")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_rights_of_any_other(tmp_path):
    ordinary, replaced = tmp_path / "a", tmp_path / "b"
    ordinary.touch()
    with files.replacing(replaced):
        pass
    assert replaced.stat().st_mode == ordinary.stat().st_mode
