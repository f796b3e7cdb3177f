"""Accuracy beside LightGBM's lambdarank on real data: same leaves, rate and number of trees.

    python benchmarks/accuracy.py [--data FOLDER] [--leaves 10 31] [--trees 300]

Both learners get the same rows, leaves, learning rate and smallest leaf, both choose the number of
trees by NDCG@10 on the validation part, and both are measured by the same code on the test part
(queries without a relevant document are skipped). LightGBM keeps its defaults otherwise. FOLDER
holds LETOR's MQ2008 (S1–S5), MQ2007 cut in five parts by queries (C1–C5), and a piece of MSLR-WEB;
a folder that is not there is left out. Artificial data with noise is measured besides, so that
there is a table on any machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import lightgbm
import numpy as np

import rankinite as rk

MEASURE = "ndcg@10"
Fold = tuple[rk.Dataset, rk.Dataset, rk.Dataset]


def joined(parts: list[rk.Dataset]) -> rk.Dataset:
    qids = [np.repeat(part.qids, part.query_sizes) for part in parts]
    return rk.Dataset(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        qid=np.concatenate(qids),
    )


def letor_folds(parts: list[rk.Dataset]) -> Iterator[Fold]:
    """Fold k trains on three parts, validates on the next and tests on the one after it."""
    for k in range(5):
        a, b, c, valid, test = (parts[(k + i) % 5] for i in range(5))
        yield joined([a, b, c]), valid, test


def collections(folder: Path) -> dict[str, list[Fold]]:
    found: dict[str, list[Fold]] = {}
    for name, parts in (("mq2008", "S"), ("mq2007_partial", "C")):
        paths = [folder / name / f"{parts}{i}.txt.gz" for i in range(1, 6)]
        if all(path.exists() for path in paths):
            found[name] = list(letor_folds([rk.read(path) for path in paths]))
    mslr = folder / "mslr_msn1_fold1_5k"
    if mslr.exists():
        train, test = rk.read(mslr / "train.txt.gz"), rk.read(mslr / "test.txt.gz")
        found["mslr 5k"] = [(part, valid, test) for part, valid in train.folds(5)]
    found["artificial"] = [
        rk.artificial((1000, 300, 1000), n_docs=40, n_features=30, label_noise=0.3, random_state=i)
        for i in range(2)
    ]
    return found


def rankinite_scores(fold: Fold, leaves: int, trees: int) -> np.ndarray:
    train, valid, test = fold
    model = rk.LambdaMART(MEASURE, n_estimators=trees, max_leaf_nodes=leaves, early_stopping=trees)
    return model.fit(train, valid=valid).predict(test)


def lightgbm_scores(fold: Fold, leaves: int, trees: int) -> np.ndarray:
    train, valid, test = fold
    train_set = lightgbm.Dataset(train.X, train.y, group=train.query_sizes)
    valid_set = lightgbm.Dataset(valid.X, valid.y, group=valid.query_sizes, reference=train_set)
    parameters = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "num_leaves": leaves,
        "learning_rate": 0.1,
        "min_data_in_leaf": 20,
        "verbose": -1,
    }
    booster = lightgbm.train(
        parameters,
        train_set,
        trees,
        valid_sets=[valid_set],
        callbacks=[lightgbm.early_stopping(trees, verbose=False)],
    )
    return booster.predict(test.X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=Path, default=here.parent / "shared" / "data")
    parser.add_argument("--leaves", type=int, nargs="+", default=[10, 31])
    parser.add_argument("--trees", type=int, default=300)
    arguments = parser.parse_args()
    print(f"mean test {MEASURE}, at most {arguments.trees} trees chosen on the validation part")
    print(
        f"{'data':16}{'leaves':>7}{'folds':>6}{'rankinite':>11}{'LightGBM':>10}{'difference':>12}"
    )
    started = time.perf_counter()
    for name, folds in collections(arguments.data).items():
        for leaves in arguments.leaves:
            means = [
                np.mean(
                    [rk.evaluate(scores(f, leaves, arguments.trees), f[2])[MEASURE] for f in folds]
                )
                for scores in (rankinite_scores, lightgbm_scores)
            ]
            print(
                f"{name:16}{leaves:7}{len(folds):6}{means[0]:11.4f}{means[1]:10.4f}"
                f"{means[0] - means[1]:+12.4f}",
                flush=True,
            )
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
