import gzip
import io
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankinite as rk
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


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a", tmp_path / "link"
    link.symlink_to(target)
    for content in ("new", "newer"):  # at first the link leads to nothing
        with files.replacing(link) as temporary:
            temporary.write_text(content)
        assert link.is_symlink()
        assert target.read_text() == content
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "folder", target, link]


def test_a_device_and_a_pipe_are_written_to(tmp_path):
    with files.replacing(Path("/dev/null")) as place:
        place.write_text("x")
    assert Path("/dev/null").is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    rk.LambdaMART(n_estimators=1).fit(rk.artificial(n_queries=4)).save(pipe)
    reader.join(20)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / "model.rk").write_bytes(found[0])
    assert rk.load(tmp_path / "model.rk").forest_.n_trees == 1


def test_rights_of_a_replaced_file_stay(tmp_path):
    path = tmp_path / "a"
    path.touch(0o600)
    with files.replacing(path) as temporary:
        temporary.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o664)
    with files.replacing(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_what_is_replaced_is_on_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda at: synced.append(str(Path(f"/proc/self/fd/{at}").readlink()))
    )
    with files.replacing(tmp_path / "a"):
        pass
    assert synced[0].endswith(".tmp") and synced[1] == str(tmp_path)


def feed(pipe, content):
    """Write to a pipe once, as another process would."""
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    return writer


TEXT = b"1 qid:1 1:0.5\n0 qid:1 2:2\n0 qid:2 1:1\n"
TABLE = b"qid,label,a\n1,1,0.5\n1,0,2\n"


def contents(tmp_path):
    data = rk.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    data.save(tmp_path / "a.bins")
    table = pa.table({"qid": [1, 1], "label": [1, 0], "a": [0.5, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    return {
        "text": TEXT,
        "text.gz": gzip.compress(TEXT),
        "csv": TABLE,
        "tsv.zst": pa.compress(TABLE.replace(b",", b"\t"), "zstd", asbytes=True),
        "binned": (tmp_path / "a.bins").read_bytes(),
        "parquet": (tmp_path / "a.parquet").read_bytes(),
    }


@pytest.mark.parametrize("binned", [False, True])
def test_pipes_are_read_once_and_rightly(tmp_path, binned, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    for kind, content in contents(tmp_path).items():
        (tmp_path / "file").write_bytes(content)
        options = {"max_bins": 255} if binned else {}
        expected = rk.read(tmp_path / "file", **options)
        pipe = tmp_path / f"pipe-{kind.replace('.', '-')}"
        writer = feed(pipe, content)
        found = rk.read(pipe, **options)
        writer.join(20)
        assert repr(found) == repr(expected)
        np.testing.assert_array_equal(found.binned().blocks, expected.binned().blocks)
    assert list(folder.iterdir()) == []


def test_errors_name_the_pipe(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipe = tmp_path / "pipe"
    writer = feed(pipe, TEXT + b"x qid:1 1:1\n")
    with pytest.raises(
        DataError, match=r"^\S*/pipe, line 4: the label 'x' is not a number \(query 1\)$"
    ):
        rk.read(pipe)
    writer.join(20)
    assert list(tmp_path.iterdir()) == [pipe]


def test_standard_input(tmp_path, monkeypatch):
    class Input:
        buffer = io.BytesIO(TEXT)

    monkeypatch.setattr("sys.stdin", Input)
    assert rk.read("-").n_rows == 3
    with pytest.raises(DataError, match="standard input has no data rows"):
        rk.read("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        rk.read("-")
    with pytest.raises(rk.ParameterError, match="'-' twice"):
        rk.read(["-", "-"])


def test_pairs_from_a_pipe(tmp_path):
    data = rk.Queries.from_rows(qid=[7, 7, 7])
    writer = feed(tmp_path / "pipe", b"preferred,other\n0,1\n2,1\n")
    assert data.with_preferences(tmp_path / "pipe").preferences.n_pairs == 2
    writer.join(20)
    writer = feed(tmp_path / "pipe2", b"preferred,other\n0,1\n\n2,9\n")
    with pytest.raises(DataError, match=r"pipe2, line 4: there is no document '9'"):
        data.with_preferences(tmp_path / "pipe2")
    writer.join(20)
