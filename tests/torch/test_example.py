"""The example runs, and learns."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")


def test_the_example_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_net.py"))
    before, loop, ranker = map(float, re.findall(r": (0\.\d+)$", capsys.readouterr().out, re.M))
    assert loop > before + 0.1 and ranker > before + 0.1
