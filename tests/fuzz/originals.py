"""Whole models of other libraries and engines, for `tests.fuzz.foreign` to change.

They are kept as files, so that cases stay the same whatever releases of the libraries are
installed. ``python -m tests.fuzz.originals`` trains and writes them anew, which makes other cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "wholes"
N_FEATURES = 3
NAMES = ["a", "b", "c"]


@cache
def wholes(ending: str) -> list[bytes]:
    """The files whose names have this ending, such as ``lightgbm.txt``, in a fixed order."""
    return [path.read_bytes() for path in sorted(FOLDER.glob(f"*{ending}"))]


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features with missing values and zeros, labels, and query ids."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(120, N_FEATURES)), 2)
    X[:, 1] *= rng.random(120) < 0.5
    labels = np.clip(np.rint(X[:, 0] + (X[:, 1] > 0) + 1), 0, 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, labels, np.repeat(np.arange(12), 10)


def _lightgbm() -> Iterator[tuple[str, bytes]]:
    import lightgbm

    X, labels, _ = rows()
    common = {"verbose": -1, "num_threads": 1, "num_leaves": 4, "min_data_in_leaf": 5}
    kinds: dict[str, dict[str, Any]] = {
        "rank": {"objective": "lambdarank"},
        "zeros": {"objective": "regression", "zero_as_missing": True},
        "binary": {"objective": "binary", "use_missing": False},
        "mean": {
            "objective": "regression", "boosting": "rf", "bagging_fraction": 0.6,
            "bagging_freq": 1,
        },
        "leaf": {"objective": "regression", "min_data_in_leaf": 100},
        "categories": {"objective": "regression", "min_data_per_group": 2, "cat_smooth": 1.0},
    }  # fmt: skip
    for kind, params in kinds.items():
        y = labels > 1 if kind == "binary" else labels
        group = [10] * 12 if kind == "rank" else None
        values, categorical = X, "auto"
        if kind == "categories":
            values, categorical = X.copy(), [1]
            values[:, 1] = np.arange(len(X)) % 5
            y = y + values[:, 1] % 2
        data = lightgbm.Dataset(
            values, y, group=group, feature_name=NAMES, categorical_feature=categorical
        )
        booster = lightgbm.train({**common, **params}, data, 3)
        yield f"{kind}.lightgbm.txt", _without_parameters(booster.model_to_string())
        if kind != "categories":  # which LightGBM itself does not read as JSON
            yield f"{kind}.lightgbm.json", json.dumps(booster.dump_model()).encode()


def _without_parameters(text: str) -> bytes:
    """LightGBM's text with three of its parameters: no score depends on them."""
    trees, begin, rest = text.partition("\nparameters:\n")
    parameters, end, last = rest.partition("\nend of parameters\n")
    few = "\n".join(parameters.splitlines()[:3])
    return f"{trees}{begin}{few}{end}{last}".encode()


def _xgboost() -> Iterator[tuple[str, bytes]]:
    import xgboost

    X, labels, _ = rows()
    kinds: dict[str, dict[str, Any]] = {
        "rank": {"objective": "rank:ndcg"},
        "logistic": {"objective": "binary:logistic", "base_score": 0.3},
        "dart": {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5},
        "leaf": {"objective": "reg:squarederror", "gamma": 1e6},
        "lossguide": {
            "objective": "count:poisson", "grow_policy": "lossguide", "max_leaves": 5,
            "num_parallel_tree": 2, "subsample": 0.7,
        },
    }  # fmt: skip
    for kind, params in kinds.items():
        y = labels > 1 if kind == "logistic" else labels
        names = NAMES if kind in ("rank", "dart") else None
        data = xgboost.DMatrix(X, y, feature_names=names)
        if kind == "rank":
            data.set_group([10] * 12)
        booster = xgboost.train(
            {"nthread": 1, "max_depth": 2, "eta": 0.3, "seed": 1, **params}, data, 3
        )
        yield f"{kind}.xgboost.json", bytes(booster.save_raw("json"))
        yield f"{kind}.xgboost.ubj", bytes(booster.save_raw("ubj"))


def _catboost() -> Iterator[tuple[str, bytes]]:
    import catboost

    X, labels, qid = rows()
    kinds: dict[str, dict[str, Any]] = {
        "rank": {"loss_function": "YetiRank"},
        "max": {"loss_function": "RMSE", "nan_mode": "Max"},
        "lossguide": {"loss_function": "RMSE", "grow_policy": "Lossguide", "max_leaves": 4},
        "depthwise": {"loss_function": "Logloss", "grow_policy": "Depthwise"},
        "classes": {"loss_function": "MultiClass"},
    }
    for kind, params in kinds.items():
        y = labels > 1 if kind == "depthwise" else labels
        booster = catboost.CatBoost(
            {"iterations": 3, "depth": 2, "border_count": 8, "thread_count": 1, "random_seed": 1,
             "logging_level": "Silent", "allow_writing_files": False, **params}
        ).fit(X, y, group_id=qid if kind == "rank" else None)  # fmt: skip
        # No score depends on what is said of the training.
        about = booster.get_metadata()
        for name in list(about.keys()):
            del about[name]
        for form in ("json", "cbm"):
            path = FOLDER / "model"
            booster.save_model(str(path), format=form)
            yield f"{kind}.catboost.{form}", path.read_bytes()
            path.unlink()


def _engines() -> Iterator[tuple[str, bytes]]:
    """What our own writers make of rankers for engines whose libraries are not at hand."""
    import rankinite as rk
    from rankinite.exchange.writers import FORMATS

    X, labels, qid = rows()
    trees = {"n_estimators": 3, "max_leaf_nodes": 4, "min_samples_leaf": 5}
    whole = rk.Dataset(X, labels, qid=qid, feature_names=NAMES)
    filled = rk.Dataset(np.nan_to_num(X), labels, qid=qid, feature_names=NAMES)
    ranker = rk.LambdaMART(**trees).fit(whole).plain()
    simple = rk.LambdaMART(**trees).fit(filled).plain()
    linear = rk.LambdaBoost(n_estimators=3).fit(filled)
    for engine, ending, forms in (
        ("ranklib", "ranklib.txt", [{"missing": "zero"}]),
        ("quickrank", "quickrank.xml", [{"missing": "zero"}]),
        ("solr", "solr.json", [{"thresholds": "nearest"}]),
        ("elasticsearch", "elasticsearch.json", [{"form": "dump"}, {"form": "raw"}]),
        ("vespa", "vespa.json", [{"form": "lightgbm"}, {"form": "xgboost"}]),
    ):
        form = FORMATS[engine]
        for options in forms:
            name = options.get("form", "trees")
            yield f"{name}.{ending}", form.write(ranker, variant=form.suffixes[0], **options)
    yield (
        "zeros.solr.json",
        FORMATS["solr"].write(simple, variant=".json", missing="zero", thresholds="nearest"),
    )
    content = FORMATS["ranklib"].write(simple, variant=".xml", missing="zero")
    yield "mart.ranklib.txt", content.replace(b"## LambdaMART", b"## MART")
    for engine, ending, options in (
        ("ranklib", "ranklib.txt", {}),
        ("solr", "solr.json", {"constant": "drop"}),
    ):
        path = FOLDER / f"model{FORMATS[engine].suffixes[0]}"
        linear.export(path, engine, sample=np.nan_to_num(X), **options)
        yield f"linear.{ending}", path.read_bytes()
        path.unlink()


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for make in (_lightgbm, _xgboost, _catboost, _engines):
        for name, content in make():
            (FOLDER / name).write_bytes(content)
            print(f"{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
