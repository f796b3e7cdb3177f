"""rankinite and its peers on the same footing: threads, bins, leaves, learning rate, pairs.

All learn NDCG with λs for the pairs whose upper document is among the first thirty, which is the
default of rankinite and of LightGBM; XGBoost takes thirty pairs a document from the top. CatBoost's
LambdaMart has no such setting and takes all pairs; its time with the loss QueryRMSE, which has no
pairs at all, is shown beside it.

Each learner lives in a process of its own and waits there for its turn: threads that one library
leaves behind would otherwise slow another down.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rankinite as rk
import web_like
from rankinite.training import Run

THREADS = 2
LEARNING_RATE = 0.1
MIN_SAMPLES_LEAF = 20
BINS = 255
# LightGBM's GOSS begins after 1 / learning rate trees.
WARM_UP = 11

RANKINITE_SETTINGS: dict[str, dict] = {
    "rankinite": {},
    "rankinite, best first": {"growth": "best_first"},
    "rankinite least squares": {"split": "least_squares"},
    "rankinite, all documents": {"query_fraction": 1.0, "importance_fraction": 1.0},
}
LIGHTGBM_SETTINGS: dict[str, dict] = {
    "LightGBM": {},
    "LightGBM columns": {"force_col_wise": True},
    "LightGBM rows": {"force_row_wise": True},
    "LightGBM quantised": {"use_quantized_grad": True},
    "LightGBM quantised rows": {"use_quantized_grad": True, "force_row_wise": True},
    "LightGBM quantised 16, renewed": {
        "use_quantized_grad": True,
        "num_grad_quant_bins": 16,
        "quant_train_renew_leaf": True,
    },
    "LightGBM GOSS": {"data_sample_strategy": "goss"},
    "LightGBM GOSS, quantised 16": {
        "data_sample_strategy": "goss",
        "use_quantized_grad": True,
        "num_grad_quant_bins": 16,
        "quant_train_renew_leaf": True,
    },
}


class Trained(NamedTuple):
    """When each tree was finished (seconds since the first began), and scores after n trees."""

    times: np.ndarray
    predict: Callable[[np.ndarray, int], np.ndarray]


class Result(NamedTuple):
    """When each tree was finished, and NDCG@10 on other queries: after all trees, or after each."""

    times: np.ndarray
    ndcgs: list[float]

    def seconds_a_tree(self) -> float:
        """Without the first trees: LightGBM's GOSS sees all rows until then."""
        return float(self.times[-1] - self.times[WARM_UP - 1]) / (len(self.times) - WARM_UP)


class Learner:
    """A learner in a process of its own, with its rows binned.

    Parameters
    ----------
    name : str
        One of `names`.
    leaves : int
    train, test : Path
        Rows that `leave` has left there.
    """

    def __init__(self, name: str, leaves: int, train: Path, test: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, name, leaves, train, test), daemon=True
        )
        self._process.start()
        theirs.close()

    def wait(self) -> None:
        """Until the rows are binned."""
        self._connection.recv()

    def run(self, trees: int, every_tree: bool = False) -> Result:
        """Train; NDCG@10 after every tree if asked for."""
        self._connection.send((trees, every_tree))
        return self._connection.recv()

    def close(self) -> None:
        self._connection.close()
        self._process.join()


def names() -> list[str]:
    """All learners."""
    peers = ["XGBoost", "CatBoost LambdaMart", "CatBoost QueryRMSE"]
    return [*RANKINITE_SETTINGS, *LIGHTGBM_SETTINGS, *peers]


def leave(rows: rk.Dataset, path: Path) -> Path:
    """Write rows of queries of `web_like.N_DOCS` documents for the processes of the learners."""
    np.savez(path, X=rows.X, y=rows.y)
    return path


def _rows(path: Path) -> rk.Dataset:
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    return rk.Dataset(X, y, qid=np.arange(len(y)) // web_like.N_DOCS)


def _work(connection: Connection, name: str, leaves: int, train: Path, test: Path) -> None:
    run = _trainer(name, leaves, _rows(train))
    rows = _rows(test)
    connection.send("ready")
    while True:
        try:
            trees, every_tree = connection.recv()
        except EOFError:
            return
        trained = run(trees)
        ndcgs = [
            rk.evaluate(trained.predict(rows.X, n), rows)["ndcg@10"]
            for n in range(1 if every_tree else trees, trees + 1)
        ]
        connection.send(Result(trained.times, ndcgs))


def _trainer(name: str, leaves: int, train: rk.Dataset) -> Callable[[int], Trained]:
    if name in LIGHTGBM_SETTINGS:
        return lightgbm(train, leaves, LIGHTGBM_SETTINGS[name])
    if name == "XGBoost":
        return xgboost(train, leaves)
    if name.startswith("CatBoost"):
        losses = {"LambdaMart": "LambdaMart:metric=NDCG", "QueryRMSE": "QueryRMSE"}
        return catboost(train, leaves, losses[name.split()[1]])
    setting = RANKINITE_SETTINGS[name]
    train.binned()
    rankinite(train, leaves, 1, setting)  # compiles
    return lambda trees: rankinite(train, leaves, trees, setting)


class Clock:
    """Notes when each tree was finished."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def after_round(self, run: Run) -> bool:
        self.times.append(time.perf_counter())
        return False

    def finish(self, run: Run) -> None:
        pass


def rankinite(train: rk.Dataset, leaves: int, trees: int, setting: dict) -> Trained:
    clock = Clock()
    model = rk.LambdaMART(
        n_estimators=trees,
        max_leaf_nodes=leaves,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=MIN_SAMPLES_LEAF,
        max_bins=BINS,
        n_threads=THREADS,
        **setting,
    )
    started = time.perf_counter()
    model.fit(train, callbacks=[clock])
    return Trained(np.array(clock.times) - started, lambda X, n: model.predict(X, n_rounds=n))


def lightgbm(train: rk.Dataset, leaves: int, setting: dict) -> Callable[[int], Trained]:
    """Bin the rows once; the result trains."""
    import lightgbm

    parameters = {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 30,
        "num_leaves": leaves,
        "learning_rate": LEARNING_RATE,
        "min_data_in_leaf": MIN_SAMPLES_LEAF,
        "max_bin": BINS,
        "num_threads": THREADS,
        "verbose": -1,
    } | setting
    rows = lightgbm.Dataset(train.X, train.y, group=train.query_sizes, params=parameters)
    rows.construct()

    def run(trees: int) -> Trained:
        started = time.perf_counter()
        booster = lightgbm.Booster(parameters, rows)
        times = _rounds(trees, started, lambda _: booster.update())
        return Trained(times, lambda X, n: booster.predict(X, num_iteration=n))

    return run


def xgboost(train: rk.Dataset, leaves: int) -> Callable[[int], Trained]:
    import xgboost

    parameters = {
        "objective": "rank:ndcg",
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": 30,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": leaves,
        "max_depth": 0,
        "max_bin": BINS,
        "eta": LEARNING_RATE,
        "nthread": THREADS,
    }
    group = train.query_sizes
    rows = xgboost.QuantileDMatrix(train.X, train.y, group=group, max_bin=BINS, nthread=THREADS)

    def run(trees: int) -> Trained:
        started = time.perf_counter()
        booster = xgboost.Booster(parameters, [rows])
        times = _rounds(trees, started, lambda round_number: booster.update(rows, round_number))
        return Trained(
            times,
            lambda X, n: booster.inplace_predict(X, iteration_range=(0, n), strict_shape=False),
        )

    return run


def catboost(train: rk.Dataset, leaves: int, loss: str) -> Callable[[int], Trained]:
    import catboost

    rows = catboost.Pool(
        train.X, train.y, group_id=np.repeat(np.arange(train.n_queries), train.query_sizes)
    )
    rows.quantize(border_count=BINS - 1)

    def run(trees: int) -> Trained:
        times: list[float] = []

        class Watch:
            def after_iteration(self, info: object) -> bool:
                times.append(time.perf_counter())
                return True

        model = catboost.CatBoost(
            {
                "loss_function": loss,
                "grow_policy": "Lossguide",
                "max_leaves": leaves,
                "depth": 16,
                "learning_rate": LEARNING_RATE,
                "min_data_in_leaf": MIN_SAMPLES_LEAF,
                "iterations": trees,
                "bootstrap_type": "No",
                "random_strength": 0,
                "score_function": "L2",
                "thread_count": THREADS,
                "logging_level": "Silent",
                "allow_writing_files": False,
                "metric_period": trees + 1,
            }
        )
        started = time.perf_counter()
        model.fit(rows, callbacks=[Watch()])
        return Trained(np.array(times) - started, lambda X, n: model.predict(X, ntree_end=n))

    return run


def _rounds(trees: int, started: float, update: Callable[[int], object]) -> np.ndarray:
    times = np.empty(trees)
    for round_number in range(trees):
        update(round_number)
        times[round_number] = time.perf_counter() - started
    return times
