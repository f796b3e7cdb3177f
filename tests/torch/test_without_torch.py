"""Without PyTorch all else works, and one sentence says what is missing."""

import importlib
import subprocess
import sys

import pytest

import rankinite as rk
from rankinite.cli.ranker_options import make_ranker
from rankinite.models.file import write_model

MISSING = r"a Perceptron needs PyTorch, which is not installed: pip install 'rankinite\[torch\]'$"


@pytest.fixture
def no_torch(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[:2] == ["rankinite", "torch"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


def test_importing_it_says_what_to_install(no_torch):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("rankinite.torch")
    assert str(caught.value) == (
        "rankinite.torch needs PyTorch, which is not installed: pip install 'rankinite[torch]'"
    )


DECLARED = """\
[member.trees]
ranker = "LambdaMART"

[member.net]
ranker = "Perceptron"
parameters = { hidden = [8] }
"""


@pytest.mark.usefixtures("no_torch")
def test_a_declaration_with_a_net_is_refused_before_anything_is_trained(tmp_path):
    path = tmp_path / "ensemble.toml"
    path.write_text(DECLARED)
    with pytest.raises(rk.DeclarationError, match=rf"ensemble.toml, line 5: {MISSING}"):
        rk.assemble(path, rk.artificial(n_queries=20), run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    path.write_text(DECLARED.partition("[member.net]")[0] + "[defaults.Perceptron]\n")
    with pytest.raises(rk.DeclarationError, match=rf"line 4: {MISSING}"):
        rk.assemble(path, rk.artificial(n_queries=20))


@pytest.mark.usefixtures("no_torch")
def test_a_file_and_an_option_say_what_to_install(tmp_path):
    write_model(tmp_path / "net.rk", {"kind": "Perceptron"}, {})
    with pytest.raises(rk.ModelFileError, match=f"cannot be used here: {MISSING}"):
        rk.load(tmp_path / "net.rk")
    with pytest.raises(rk.ParameterError, match=MISSING):
        make_ranker("perceptron", {})


def test_nothing_else_imports_it():
    code = (
        "import sys, rankinite as rk; [getattr(rk, name) for name in rk.__all__];"
        "import rankinite.cli.app; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
