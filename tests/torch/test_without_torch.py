"""Without PyTorch all else works, and one sentence says what is missing."""

import importlib
import subprocess
import sys

import pytest


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


def test_nothing_else_imports_it():
    code = (
        "import sys, rankinite as rk; [getattr(rk, name) for name in rk.__all__];"
        "import rankinite.cli.app; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
