"""Accuracy beside LightGBM's lambdarank on real data: same leaves, rate and number of trees.

    python benchmarks/accuracy.py [--data FOLDER] [--only mq2008] [--repeats 3]

Both learners get the same rows, leaves, learning rate and smallest leaf, both choose the number of
trees by NDCG@10 on the validation part, and both are measured by the same code on the test part
(queries without a relevant document are skipped). LightGBM keeps its defaults otherwise. Both
break ties between scores in some order, which moves the result on collections this small: rankinite
by its seed, LightGBM by the order of the rows. So each is trained `repeats` times, with another
seed or with the documents of every query in another order, and the mean is shown. FOLDER
holds LETOR's MQ2008 (S1–S5), MQ2007 cut in five parts by queries (C1–C5), and a piece of MSLR-WEB;
a folder that is not there is left out. Artificial data with noise is measured besides, so that
there is a table on any machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
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


def rankinite_scores(
    fold: Fold, leaves: int, trees: int, repeat: int, **options: object
) -> np.ndarray:
    train, valid, test = fold
    model = rk.LambdaMART(
        MEASURE,
        n_estimators=trees,
        max_leaf_nodes=leaves,
        early_stopping=trees,
        random_state=repeat,
        **options,
    )
    return model.fit(train, valid=valid).predict(test)


def lightgbm_scores(fold: Fold, leaves: int, trees: int, repeat: int) -> np.ndarray:
    train, valid, test = fold
    rows = shuffled_rows(train, repeat)
    train_set = lightgbm.Dataset(train.X[rows], train.y[rows], group=train.query_sizes)
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


def shuffled_rows(dataset: rk.Dataset, repeat: int) -> np.ndarray:
    """The documents of every query in another order; repeat 0 is the order of the file."""
    if repeat == 0:
        return np.arange(dataset.n_rows)
    rng = np.random.default_rng(repeat)
    queries = np.repeat(np.arange(dataset.n_queries), dataset.query_sizes)
    return np.lexsort((rng.random(dataset.n_rows), queries))


# λs and splits as the papers have them.
AS_IN_PAPERS = {
    "growth": "best_first",
    "split": "least_squares",
    "normalize": False,
    "squares": 0.0,
    "truncation": None,
    "noise": 0.0,
    "query_fraction": 1.0,
    "importance_fraction": 1.0,
}
LEARNERS = {
    "LightGBM": lightgbm_scores,
    "rankinite": rankinite_scores,
    "papers": partial(rankinite_scores, **AS_IN_PAPERS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=Path, default=here.parent / "shared" / "data")
    parser.add_argument("--leaves", type=int, nargs="+", default=[10, 31])
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="names of collections")
    arguments = parser.parse_args()
    print(f"mean test {MEASURE}, at most {arguments.trees} trees chosen on the validation part")
    print("rankinite: the defaults; papers: λs and splits as the papers have them")
    print(f"{'data':16}{'leaves':>7}{'folds':>6}" + "".join(f"{name:>11}" for name in LEARNERS))
    started = time.perf_counter()
    for name, folds in collections(arguments.data).items():
        if arguments.only and name not in arguments.only:
            continue
        for leaves in arguments.leaves:
            row = f"{name:16}{leaves:7}{len(folds):6}"
            for scores_of in LEARNERS.values():
                values = [
                    rk.evaluate(scores_of(fold, leaves, arguments.trees, repeat), fold[2])[MEASURE]
                    for fold in folds
                    for repeat in range(arguments.repeats)
                ]
                row += f"{np.mean(values):11.4f}"
            print(row, flush=True)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
