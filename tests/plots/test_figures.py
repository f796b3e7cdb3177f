"""Plots are files that can be looked at."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import rankinite as rk
from rankinite.models import LinearScorer


@pytest.fixture(scope="module")
def result():
    train = rk.artificial(n_queries=20, n_docs=10, n_features=6)
    named = rk.Dataset(
        train.X,
        train.y,
        qid=np.repeat(train.qids, train.query_sizes),
        feature_names=["bm25", "$clicks$_ok", "x" * 60, "größe", "<b>", "age & co"],
    )
    return rk.local_optimality(LinearScorer(np.arange(1.0, 7.0)), named, n_directions=30, curves=6)


def test_png(result, tmp_path):
    result.plot(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    result.plot(str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_svg(result, tmp_path):
    result.plot(tmp_path / "a.SVG")
    text = (tmp_path / "a.SVG").read_text(encoding="utf-8")
    words = "\n".join(ET.fromstring(text).itertext())
    for word in ("bm25", "$clicks$_ok", "größe", "<b>", "age & co", "radius 0.01: "):
        assert word in words, word
    assert "x" * 25 + "…" in words and "x" * 26 not in words
    assert "ndcg@10" in words and "directions" in words
    result.plot(tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text(encoding="utf-8") == text


def test_nothing_moves(tmp_path):
    data = rk.Dataset([[1.0], [0.0]], [1, 0], qid=[0, 0])
    found = rk.local_optimality(LinearScorer([1.0]), data, n_directions=3, radius=0.1)
    assert found.moves[0].n_rising == found.moves[0].n_falling == 0
    found.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_mistakes(result, tmp_path, monkeypatch):
    with pytest.raises(rk.ParameterError, match=r"a plot goes to a \.png or \.svg file, not to"):
        result.plot(tmp_path / "a.jpg")
    with pytest.raises(rk.DataError, match="cannot be written"):
        result.plot(tmp_path / "nowhere" / "a.png")
    monkeypatch.setattr("rankinite.plots.figures.find_spec", lambda name: None)
    with pytest.raises(rk.RankiniteError, match=r"pip install 'rankinite\[plots\]'"):
        result.plot(tmp_path / "a.png")


def test_matplotlib_is_loaded_only_to_draw():
    program = (
        "import sys, numpy as np, rankinite as rk\n"
        "from rankinite.models import LinearScorer\n"
        "data = rk.Dataset([[1.0], [0.0]], [1, 0], qid=[0, 0])\n"
        "rk.local_optimality(LinearScorer([1.0]), data, n_directions=2)\n"
        "sys.exit('matplotlib' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
