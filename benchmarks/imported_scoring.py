"""Models of other libraries, scored by their library and by rankinite, which has imported them.

    python benchmarks/imported_scoring.py [--leaves 31 255] [--trees 500]
                                          [--libraries LightGBM XGBoost CatBoost] [--repeats 2000]

LightGBM, XGBoost and CatBoost each train a forest on the same rows and write it to a file, which
`rankinite.load` reads. Both score the same rows on one thread, in turns of ten calls, and the
answers are compared first. Each library gets its rows in the quickest form that it takes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost

import rankinite as rk
import web_like
from lines import Line, report
from scoring import timed

BATCHES = (10, 100, 1000)
Predict = Callable[[np.ndarray], np.ndarray]


def lightgbm_forest(train: rk.Dataset, leaves: int, n_trees: int) -> lightgbm.Booster:
    """A forest of LightGBM's."""
    return lightgbm.train(
        {"objective": "lambdarank", "num_leaves": leaves, "verbose": -1, "num_threads": 2},
        lightgbm.Dataset(train.X, train.y, group=train.query_sizes),
        n_trees,
    )


def imported(model: Any, name: str = "forest.txt", **options: Any) -> Any:
    """The model as rankinite reads it from the file that its library writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        model.save_model(str(path), **options)
        ours = rk.load(path)
    ours.n_threads = 1
    return ours


def of_lightgbm(train: rk.Dataset, leaves: int, n_trees: int) -> tuple[Any, Predict]:
    """LightGBM's model as ours, and how it scores rows itself."""
    theirs = lightgbm_forest(train, leaves, n_trees)
    return imported(theirs), partial(theirs.predict, num_threads=1)


def of_xgboost(train: rk.Dataset, leaves: int, n_trees: int) -> tuple[Any, Predict]:
    """XGBoost's; without a DMatrix, which takes longer to make than to score."""
    rows = xgboost.DMatrix(train.X, train.y, group=train.query_sizes, nthread=2)
    settings = {"objective": "rank:ndcg", "tree_method": "hist", "nthread": 2, "max_depth": 0}
    settings |= {"max_leaves": leaves, "grow_policy": "lossguide"}
    theirs = xgboost.train(settings, rows, n_trees)
    theirs.set_param({"nthread": 1})
    return imported(theirs, "forest.json"), theirs.inplace_predict


def of_catboost(train: rk.Dataset, leaves: int, n_trees: int) -> tuple[Any, Predict]:
    """CatBoost's, whose trees are symmetric, and have one leaf more."""
    theirs = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "iterations": n_trees,
            "depth": int(np.log2(leaves + 1)),
            "thread_count": 2,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }
    )
    qid = np.repeat(np.arange(train.n_queries), train.query_sizes)
    theirs.fit(train.X, train.y, group_id=qid)
    predict = partial(theirs.predict, prediction_type="RawFormulaVal", thread_count=1)
    return imported(theirs, "forest.json", format="json"), predict


LIBRARIES = {"LightGBM": of_lightgbm, "XGBoost": of_xgboost, "CatBoost": of_catboost}


def compare(
    peer: str, ours: Any, predict: Predict, X: np.ndarray, forest: str, repeats: int
) -> Line:
    """Time both on the same rows, after a look at their answers."""
    found, expected = ours.predict(X), predict(X)
    exact = np.array_equal(found.astype(expected.dtype), expected)
    assert exact or np.allclose(found, expected, rtol=1e-6, atol=1e-6), peer
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(max(5, repeats // len(X))):
        times[0].extend(timed(ours.predict, X))
        times[1].extend(timed(predict, X))
    own, other = (float(np.median(each)) for each in times)
    print(f"{peer:20}{forest:10}{len(X):6}{own:10.3f}{other:10.3f}{other / own:8.1f}×", flush=True)
    return Line(
        f"an imported forest, {forest}, {len(X)} documents",
        f"{own:.3f} ms",
        f"{other:.3f} ms ({peer})",
        f"{other / own:.1f}",
        "10" if peer == "LightGBM" and len(X) == max(BATCHES) else "1",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--repeats", type=int, default=2000)
    arguments = parser.parse_args()
    train = web_like.dataset(400)
    print(f"{'one thread, ms':30}{'rows':>6}{'rankinite':>10}{'its own':>10}{'ratio':>9}")
    lines = []
    for leaves in arguments.leaves:
        for peer in arguments.libraries:
            ours, predict = LIBRARIES[peer](train, leaves, arguments.trees)
            for n_docs in BATCHES:
                X = np.ascontiguousarray(train.X[:n_docs])
                forest = f"{arguments.trees} × {leaves}"
                lines.append(compare(peer, ours, predict, X, forest, arguments.repeats))
    report(lines)


if __name__ == "__main__":
    main()
