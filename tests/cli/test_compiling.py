"""Kernels compiled ahead, with the types that training uses."""

import os
import subprocess
import sys

from rankinite.cli import compiling

WATCH = """
import rankinite as rk
from rankinite.cli.compiling import evaluate_a_ranking, grow_a_tree, trees_are_compiled
from rankinite.measures import _value_kernels
from rankinite.trees import _fixed_point_kernels, _histogram_kernels, _partition_kernels
from rankinite.trees import _predict_kernels, _split_kernels

def compiled():
    modules = (_fixed_point_kernels, _histogram_kernels, _partition_kernels, _value_kernels)
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in (*modules, _predict_kernels, _split_kernels)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures")
    }

assert not any(compiled().values())
grow_a_tree()
evaluate_a_ranking("ndcg@10")
before = compiled()
assert before["rankinite.trees._split_kernels.best_splits"] == 1
train, valid = rk.artificial(n_queries=(20, 10), n_docs=30, n_features=20)
for split in ("least_squares", "newton"):
    model = rk.LambdaMART(split=split, n_estimators=3).fit(train, valid=valid)
valid.save("valid.rkd", like=train)
rk.evaluate(model, rk.read("valid.rkd"))
assert compiled() == before, (before, compiled())
assert trees_are_compiled()
"""


def python(code, folder=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_training_finds_all_kernels_of_trees_and_measures_compiled(tmp_path):
    done = python(WATCH, tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_empty_cache_is_seen(tmp_path):
    code = "from rankinite.cli.compiling import trees_are_compiled; print(trees_are_compiled())"
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout == "False\n"


def test_the_second_process_ends_with_the_first(tmp_path):
    """Also if it is still compiling."""
    code = """
from rankinite.cli import compiling
end = compiling._end
compiling._end = lambda process: (end(process), print(process.returncode))
compiling.compile_ahead()
"""
    done = python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "-15\n"


def test_the_second_process_takes_no_module_of_the_working_folder(tmp_path, monkeypatch):
    """A numba.py that lies there would be imported, whoever wrote it."""
    (tmp_path / "numba.py").write_text("raise SystemExit(3)")
    began = []
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "trees_are_compiled", lambda: False)
        patch.setattr(compiling.os, "cpu_count", lambda: 2)
        patch.setattr(compiling.atexit, "register", lambda *_: None)
        patch.setattr(compiling.subprocess, "Popen", lambda words, **_: began.append(words))
        compiling.compile_ahead()
    words = [*began[0][:-1], "import numba; numba.njit"]
    assert subprocess.run(words, cwd=tmp_path, timeout=120, check=False).returncode == 0
