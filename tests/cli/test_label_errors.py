"""A label that a measure cannot take is told with its line and query, whatever the verb."""

from __future__ import annotations

import pytest

import rankinite as rk

VERBS = {
    "train": ("train", "BAD", "--model", "OUT", "--quiet"),
    "train, valid": ("train", "train.csv", "--valid", "BAD", "--model", "OUT", "--quiet"),
    "mart, valid": ("train", "train.csv", "--valid", "BAD", "--ranker", "mart", "--model", "OUT"),
    "evaluate": ("evaluate", "BAD", "--model", "ranker.rk"),
    "compare": ("compare", "BAD", "--model", "ranker.rk", "--model", "b=ranker.rk"),
    "combine": ("combine", "BAD", "--model", "ranker.rk", "--method", "powell", "--output", "OUT"),
    "combine, test": ("combine", "test.txt", "--model", "a=ranker.rk", "--test", "BAD"),
    "optimality": ("optimality", "BAD", "--model", "net.rk"),
    "adapt": ("adapt", "--background", "ranker.rk", "--train", "BAD", "--valid", "valid.txt"),
    "adapt, valid": ("adapt", "--background", "ranker.rk", "--train", "test.txt", "--valid", "BAD"),
    "adapt, background": ("adapt", "--background", "BAD", "--train", "t", "--valid", "v"),
}


@pytest.fixture(scope="module")
def folder(files, tmp_path_factory):
    """Those of `files`, with a label of -1 in line 31 of bad.csv and in line 30 of bad.txt."""
    folder = tmp_path_factory.mktemp("labels")
    for kind, line in (("csv", 30), ("txt", 29)):
        lines = (files / f"train.{kind}").read_text().splitlines()
        separator = "," if kind == "csv" else " "
        lines[line] = f"-1{separator}" + lines[line].partition(separator)[2]
        (folder / f"bad.{kind}").write_text("\n".join(lines) + "\n")
    train = rk.read(files / "train.txt")
    rk.LambdaRank(n_hidden=0, n_epochs=1).fit(train).save(folder / "net.rk")
    return folder


@pytest.mark.parametrize("kind", ["csv", "txt"])
@pytest.mark.parametrize("verb", VERBS)
def test_line_and_query(run, files, folder, tmp_path, monkeypatch, verb, kind):
    monkeypatch.chdir(tmp_path)
    bad = folder / f"bad.{kind}"
    known = {path.name: path for path in files.iterdir()} | {
        "BAD": bad,
        "OUT": tmp_path / "out.rk",
        "net.rk": folder / "net.rk",
        "t": files / f"test.{kind}",
        "v": files / f"valid.{kind}",
    }
    result = run(*(known.get(word.partition("=")[2] or word, word) for word in VERBS[verb]))
    assert result.code == 2
    place = f"{bad}, line {31 if kind == 'csv' else 30}"
    query = rk.read(files / "train.txt").qids[2]
    assert f"error: {place}: a document of query {query} has the label -1, but" in result.err
    assert not list(tmp_path.iterdir())
