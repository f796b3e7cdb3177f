"""Kernels compiled ahead, with the types that training uses."""

import os
import subprocess
import sys

import pytest

from rankinite.cli import compiling

WATCH = """
import rankinite as rk
from rankinite.boosting import _importance_kernels
from rankinite.cli.compiling import GROUPS, is_compiled
from rankinite.lambdas import _lambda_kernels
from rankinite.measures import _value_kernels
from rankinite.order import _row_key_kernels
from rankinite.boosting import _query_sample_kernels, _square_kernels
from rankinite.trees import _few_rows_kernels, _fixed_point_kernels, _histogram_kernels
from rankinite.trees import _leaf_code_kernels, _level_kernels, _partition_kernels
from rankinite.trees import _predict_kernels, _split_kernels

def compiled():
    modules = (_fixed_point_kernels, _histogram_kernels, _partition_kernels, _value_kernels)
    modules = (*modules, _predict_kernels, _split_kernels, _lambda_kernels, _row_key_kernels)
    modules = (*modules, _importance_kernels, _query_sample_kernels, _square_kernels)
    modules = (*modules, _few_rows_kernels, _leaf_code_kernels, _level_kernels)
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in modules
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures")
    }

assert not any(compiled().values())
groups = ("symmetric trees", "gradients", "measures")
for name in groups:
    GROUPS[name].compile("ndcg@10")
before = compiled()
assert before["rankinite.trees._level_kernels.common_gains"] == 1
assert before["rankinite.trees._partition_kernels.partition_rows"] == 1
train, valid = rk.artificial(n_queries=(20, 10), n_docs=30, n_features=20)
for split in ("least_squares", "newton"):
    model = rk.LambdaMART(split=split, growth="symmetric", n_estimators=3).fit(train, valid=valid)
valid.save("valid.rkd", like=train)
rk.evaluate(model, rk.read("valid.rkd"))
assert compiled() == before, set(compiled().items()) - set(before.items())
assert all(map(is_compiled, groups))
GROUPS["trees"].compile("ndcg@10")
before = compiled()
assert before["rankinite.trees._split_kernels.best_splits"] == 1
for growth in ("best_first", "auto"):
    rk.LambdaMART(growth=growth, n_estimators=3).fit(train, valid=valid)
assert compiled() == before, set(compiled().items()) - set(before.items())
assert is_compiled("trees")
"""


def python(code, folder=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_training_finds_all_kernels_compiled(tmp_path):
    done = python(WATCH, tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_empty_cache_is_seen_and_told_and_its_process_ends_with_the_first(tmp_path):
    """Also if it is still compiling."""
    code = """
import os
os.cpu_count = lambda: 2
from rankinite.cli import compiling
end = compiling._end
compiling._end = lambda process: (end(process), print(process.returncode))
assert not any(map(compiling.is_compiled, ("symmetric trees", "gradients", "measures")))
compiling.CompilingAhead()
"""
    done = python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "-15\n"
    names = "gradients, symmetric trees, trees, measures"
    assert done.stderr == f"{compiling.NOTICE}: {names}\n"


@pytest.fixture
def small_groups(monkeypatch):
    """Groups that compile nothing."""
    done = []
    groups = {
        name: compiling.Group(lambda measure, name=name: done.append(name))
        for name in ("trees", "symmetric trees", "gradients", "measures")
    }
    monkeypatch.setattr(compiling, "GROUPS", groups)
    monkeypatch.setattr(compiling, "is_compiled", lambda name: name == "symmetric trees")
    return done


def test_what_is_missing_is_compiled_before_training(monkeypatch, capsys, small_groups):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    symmetric = {"growth": "symmetric"}
    compiling.CompilingAhead(quiet=True, **symmetric).finish()
    assert (small_groups, capsys.readouterr().err) == (["gradients", "measures"], "")
    compiling.CompilingAhead(**symmetric).finish()
    assert capsys.readouterr().err == (
        f"{compiling.NOTICE}: gradients, measures\n"
        "compiled 1 of 2: gradients\ncompiled 2 of 2: measures\n"
    )
    compiling.CompilingAhead(by_lambdas=False, **symmetric).finish()
    assert small_groups[4:] == ["measures"]
    for growth in ("best_first", "auto"):
        del small_groups[:]
        compiling.CompilingAhead(growth=growth).finish()
        assert small_groups == ["gradients", "trees", "measures"]


def test_compile_tells_how_far_it_is(run, monkeypatch):
    monkeypatch.setattr(compiling, "_run", lambda name: int(name == "RankNet"))
    result = run("compile")
    assert result.code == 2
    assert f"{len(compiling.GROUPS)} of {len(compiling.GROUPS)}: " in result.err
    assert "error: could not compile RankNet: " in result.err
    monkeypatch.setattr(compiling, "_run", lambda name: 0)
    assert run("compile").out == "all kernels are compiled\n"


@pytest.mark.parametrize("name", sorted(compiling.GROUPS))
def test_groups_run(name):
    done = python(f"from rankinite.cli.compiling import compile_groups as c; c([{name!r}], 'mrr')")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{name}\n", "")


def test_a_verb_says_once_that_it_compiles(capsys):
    from rankinite._kernel_cache import before_compiling

    with compiling.announced_compiling():
        for listener in [*before_compiling, *before_compiling]:
            listener("a_kernel")
    assert capsys.readouterr().err == f"{compiling.NOTICE}\n"
    assert before_compiling == []
    with compiling.announced_compiling():
        compiling.be_silent_about_compiling()
        assert before_compiling == []


def test_other_processes_take_no_module_of_the_working_folder(tmp_path, monkeypatch):
    """A numba.py that lies there would be imported, whoever wrote it."""
    (tmp_path / "numba.py").write_text("raise SystemExit(3)")
    began = []
    with monkeypatch.context() as patch:
        patch.setattr(compiling.subprocess, "Popen", lambda words, **_: began.append(words))
        compiling._start(["trees"], "ndcg@10", subprocess.DEVNULL)
    words = [*began[0][:-1], "import numba; numba.njit"]
    assert subprocess.run(words, cwd=tmp_path, timeout=120, check=False).returncode == 0
