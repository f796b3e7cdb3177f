"""A forked child reads, uses, trains on and writes models of other libraries."""

import os
import subprocess
import sys

import pytest

from tests.fuzz.originals import FOLDER

SCRIPT = """
import os, sys, time
import numpy as np
import rankinite as rk

kind, path = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(3000, 4))
y = (X[:, 0] > 0).astype(float)
qid = np.repeat(np.arange(100), 30)
if kind == "sklearn":
    from sklearn.ensemble import HistGradientBoostingRegressor
    base = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    base.predict(X)
elif kind == "lightgbm":
    from lightgbm import LGBMRegressor
    base = LGBMRegressor(n_estimators=3, verbose=-1).fit(X, y)
elif kind == "catboost":
    from catboost import CatBoostRegressor
    quiet = {"verbose": 0, "allow_writing_files": False}
    base = CatBoostRegressor(iterations=3, thread_count=4, **quiet).fit(X, y)
    base.predict(X)
elif kind == "xgboost":
    from xgboost import XGBRegressor
    base = XGBRegressor(n_estimators=3).fit(X, y)
elif kind == "linear":
    from xgboost import XGBRegressor
    base = XGBRegressor(n_estimators=3, booster="gblinear").fit(X, y)
else:  # a file of any of the formats
    X = X[:, :3].copy()
    base = rk.load(kind)

def fit():
    return rk.LambdaMART(n_estimators=2, base_model=base, n_threads=4).fit(X, y, qid=qid)

model = fit()
expected = model.predict(X)
if kind != "sklearn":  # which cannot be saved
    model.save(path)
    content = open(path, "rb").read()
data = rk.Dataset(X, y, qid=qid)
own = rk.evaluate(base, data)["ndcg@10"]

def load():
    assert np.array_equal(rk.load(path).predict(X), expected)
    if os.path.exists(kind):
        theirs = rk.load(kind)
        assert np.array_equal(theirs.predict(X), base.predict(X))
        again = rk.LambdaMART(n_estimators=2, base_model=theirs, n_threads=4).fit(X, y, qid=qid)
        assert np.array_equal(again.predict(X), expected)

def save(model):
    model.save(path + ".2")
    assert open(path + ".2", "rb").read() == content

def evaluate():
    assert rk.evaluate(base, data)["ndcg@10"] == own

def combine():
    rk.Combination({"a": base, "b": model}).fit(data).predict(data)

tasks = [fit, lambda: model.predict(X), evaluate, combine]
if kind != "sklearn":
    tasks += [load, lambda: save(model), lambda: save(fit())]
for what in tasks:
    child = os.fork()
    if child == 0:
        what()
        os._exit(0)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        sys.exit("a child waits for ever")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "sklearn", "catboost", "linear"])
def test_a_forked_child_does_not_wait_for_ever(library, tmp_path):
    pytest.importorskip("xgboost" if library == "linear" else library)
    run_script(library, tmp_path)


# Files that our readers take, and one that its library scores in a process of its own.
FILES = [
    "rank.lightgbm.txt",
    "rank.xgboost.ubj",
    "lossguide.catboost.json",
    "rank.catboost.cbm",
    "trees.ranklib.txt",
    "trees.quickrank.xml",
    "categories.lightgbm.txt",
]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("name", FILES)
def test_base_models_from_files_in_a_forked_child(name, tmp_path):
    if name.endswith("cbm") or name.startswith("categories"):
        pytest.importorskip(name.split(".")[1])
    run_script(str(FOLDER / name), tmp_path)


def run_script(kind, tmp_path):
    several = {**os.environ, "OMP_NUM_THREADS": "4", "NUMBA_NUM_THREADS": "4"}
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, kind, str(tmp_path / "model.rk")]
    done = subprocess.run(words, env=several, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
