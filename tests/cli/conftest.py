from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import rankinite as rk
from rankinite.cli import main
from rankinite.cli.compiling import NOTICE


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line in this process; words are its arguments."""

    def call(*words: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        code = exited.value.code
        # Whether there is anything left to compile depends on what ran before on this machine.
        err = re.sub(rf"^({NOTICE}|compiled \d of).*\n", "", captured.err, flags=re.MULTILINE)
        return Result(0 if code is None else int(code), captured.out, err)

    return call


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder, not to be changed: train, valid and test as text and CSV, and ranker.rk."""
    folder = tmp_path_factory.mktemp("files")
    parts = rk.artificial(n_queries=(40, 15, 15), n_docs=12, n_features=5, random_state=3)
    for name, rows in zip(("train", "valid", "test"), parts, strict=True):
        rk.write_svmlight(rows, folder / f"{name}.txt")
        (folder / f"{name}.csv").write_text(as_csv(rows))
    train, valid, _ = parts
    model = rk.LambdaMART(n_estimators=6, max_leaf_nodes=5).fit(train, valid=valid)
    model.save(folder / "ranker.rk")
    return folder


def as_csv(rows: rk.Dataset, label: bool = True) -> str:
    names = [f"f{i}" for i in range(rows.n_features)]
    lines = [",".join([*(["label"] if label else []), "qid", *names])]
    qids = [qid for qid, n in zip(rows.qids, rows.query_sizes, strict=True) for _ in range(n)]
    for y, qid, values in zip(rows.y, qids, rows.X, strict=True):
        cells = [*([y] if label else []), qid, *values.tolist()]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"
