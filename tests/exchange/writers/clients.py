"""The readers of RankLib, Solr, OpenSearch and Vespa themselves, where they are at hand.

They are in ``../shared/formats`` beside the project, or where RANKINITE_FORMATS says, and need
Java.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

_BESIDE = Path(__file__).resolve().parents[3].parent / "shared" / "formats"
_SCORE = Path(os.environ.get("RANKINITE_FORMATS", _BESIDE)) / "clients" / "score"
_JARS = Path("/usr/share/java")
_NEEDED = ("commons-math3.jar", "jackson-core.jar", "jackson-databind.jar", "lucene-core-8.7.0.jar")

needs_clients = pytest.mark.skipif(
    not _SCORE.exists()
    or shutil.which("java") is None
    or not all((_JARS / name).exists() for name in _NEEDED),
    reason="the readers of the engines, Java or its libraries are not here",
)


def engine_scores(kind, content, X, tmp_path, *, nan=False):
    """Scores of rows by an engine's own reader; absent values are NaN, or else 0.

    Parameters
    ----------
    kind : str
        ``ranklib``, ``solr``, ``opensearch-dump`` or ``opensearch-raw``.
    """
    model, rows = tmp_path / "model", tmp_path / "rows.txt"
    model.write_bytes(content)
    rows.write_text("".join(map(_svmlight, X)))
    count = [str(X.shape[1])] if kind.startswith("opensearch") else []
    printed = _run(kind, model, rows, *count, *(["-nan"] if nan else []))
    return np.array([float(line) for line in printed.split()])


def _svmlight(row):
    """A row with all its values, zeros too; Java's name for infinity."""
    values = (
        f"{j + 1}:{str(x).replace('inf', 'Infinity')}" for j, x in enumerate(row) if not np.isnan(x)
    )
    return f"0 qid:1 {' '.join(values)}\n"


def vespa_scores(content, X, names, tmp_path, prefix=""):
    """Scores of rows by the ranking expression that Vespa makes of a file."""
    model = tmp_path / "model.json"
    model.write_bytes(content)
    first, _, expression = _run("vespa", f"{prefix}{model}").partition("\n")
    assert first.startswith("OK"), first
    return evaluated(
        expression, {name: X[:, j].astype(float) for j, name in enumerate(names)}, len(X)
    )


def _run(*words):
    done = subprocess.run([_SCORE, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


_TOKEN = re.compile(
    r"\s*(if \(|!\((?P<upper>\w+) >= (?P<high>[-\d.E]+)\)|(?P<lower>\w+) < (?P<low>[-\d.E]+)"
    r"|(?P<number>-?[\d.]+(?:E-?\d+)?)|[,+)])"
)


def evaluated(expression, columns, n_rows):
    """Sums of numbers and of ``if (x < t, a, b)``, in doubles from left to right."""
    tokens = list(_TOKEN.finditer(expression))
    assert "".join(t.group() for t in tokens).split() == expression.split()
    place = 0

    def term():
        nonlocal place
        token = tokens[place]
        place += 1
        if token["number"] is not None:
            return np.full(n_rows, float(token["number"]))
        assert token[1] == "if ("
        condition = tokens[place]
        if condition["upper"]:
            goes_left = ~(columns[condition["upper"]] >= float(condition["high"]))
        else:
            goes_left = columns[condition["lower"]] < float(condition["low"])
        place += 2  # the condition and a comma
        left = term()
        place += 1
        right = term()
        place += 1
        return np.where(goes_left, left, right)

    sums = term()
    while place < len(tokens):
        assert tokens[place][1] == "+"
        place += 1
        sums = sums + term()
    return sums
