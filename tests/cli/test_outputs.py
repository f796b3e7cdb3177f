from __future__ import annotations

import io
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankinite.cli.outputs import check_writable, number_or_none, print_result, write_lines
from rankinite.errors import DataError


def test_lines_go_to_a_file_or_to_standard_output(tmp_path, capsys):
    write_lines(["a", "b"], tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "a\nb\n"
    for nothing in (None, Path("-")):
        write_lines(["a"], nothing)
        assert capsys.readouterr().out == "a\n"


def test_a_device_is_written_to_and_not_replaced():
    check_writable(Path("/dev/null"), "the scores")
    write_lines(["a"], Path("/dev/null"))
    assert not Path("/dev/null").is_file()


def test_a_check_leaves_nothing_behind(tmp_path):
    check_writable(None, "the model")
    check_writable(tmp_path / "m.rk", "the model")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"there is no folder .*file, create it first"):
        check_writable(tmp_path / "file" / "m.rk", "the model")


def test_json_has_no_nan():
    assert number_or_none(math.nan) is None
    assert number_or_none(0.5) == 0.5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("verb", ["score", "evaluate", "compare", "train"])
def test_a_full_disk_behind_standard_output_is_an_error(files, verb, unbuffered, tmp_path):
    words = ["--model", str(files / "ranker.rk")]
    if verb == "train":
        words = ["--model", str(tmp_path / "m.rk"), "--n-estimators", "2"]
    if verb == "compare":
        words += ["--model", f"same={files / 'ranker.rk'}"]
    with Path("/dev/full").open("w") as full:
        program = [sys.executable, "-c", "from rankinite.cli import main; main()"]
        done = subprocess.run(
            [*program, verb, str(files / "test.txt"), *words],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    # Before it stands that kernels are compiled, if they are.
    assert done.stderr.endswith(
        "error: standard output cannot be written: No space left on device\n"
    )


class ShortWriter(io.RawIOBase):
    """Takes a few bytes at a time, as a pipe or a disk that is nearly full may."""

    def __init__(self):
        self.taken = b""

    def writable(self):
        return True

    def write(self, data):
        self.taken += bytes(data[:7])
        return len(data[:7])


def test_all_of_a_result_is_written_without_a_buffer(monkeypatch):
    raw = ShortWriter()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii", write_through=True))
    write_lines(["größe", *map(str, range(1000))], None)
    expected = "\n".join(["größe", *map(str, range(1000))]) + "\n"
    assert raw.taken.decode() == expected


def test_a_closed_standard_output_is_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(DataError, match="standard output is closed"):
        print_result("x")
