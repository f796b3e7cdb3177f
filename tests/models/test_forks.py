"""A forked child reads, uses, trains on and writes models of libraries with OpenMP."""

import os
import subprocess
import sys

import pytest

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
else:
    from xgboost import XGBRegressor
    base = XGBRegressor(n_estimators=3).fit(X, y)

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
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "sklearn"])
def test_a_forked_child_does_not_wait_for_ever(library, tmp_path):
    pytest.importorskip(library)
    several = {**os.environ, "OMP_NUM_THREADS": "4", "NUMBA_NUM_THREADS": "4"}
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT, library, str(tmp_path / "model.rk")]
    done = subprocess.run(words, env=several, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
