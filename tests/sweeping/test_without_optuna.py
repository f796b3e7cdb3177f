"""Without optuna grids and random trials work, and a sentence says what the rest needs."""

import subprocess
import sys

import pytest

import rankinite as rk
from tests.sweeping.small import SPACE, data

FEW = {"n_folds": 2, "trials": 2}
RANKER = rk.LambdaMART(n_estimators=2)


@pytest.fixture
def no_optuna(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "optuna"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optuna", None)


@pytest.mark.usefixtures("no_optuna")
def test_what_needs_it(tmp_path):
    assert len(rk.sweep(RANKER, SPACE, data(), **FEW, sampler="random").trials) == 2
    with pytest.raises(rk.RankiniteError, match=r"optuna, .* pip install 'rankinite\[sweep\]'"):
        rk.sweep(RANKER, SPACE, data(), **FEW, sampler="random", study=tmp_path / "sweep.db")
    with pytest.raises(rk.RankiniteError, match="the sampler tpe need optuna"):
        rk.sweep(RANKER, SPACE, data(), **FEW, sampler="tpe")


def test_nothing_else_imports_it():
    code = (
        "import sys, rankinite as rk; [getattr(rk, name) for name in rk.__all__];"
        "import rankinite.cli.app; assert 'optuna' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
