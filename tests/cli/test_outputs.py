from __future__ import annotations

import math
from pathlib import Path

import pytest

from rankinite.cli.outputs import check_writable, number_or_none, write_lines
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
