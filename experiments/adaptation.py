"""Adapting a ranker of MQ2007 to MQ2008, in the form of Gao et al. 2009, Tables 3 and 4.

Expected, from the closed tests there: every adapted ranker is better than the background ranker,
and LambdaSMART is the best. From Wu et al. 2008, section 5.5: with only a few hundred queries of
the target, LambdaSMART does not help.

MQ2007 is the background, MQ2008 the target: other queries, same features. The five folds of MQ2008
are the official ones; the training queries of the target are cut to 10, 25, 50 and 100 percent, the
validation queries are always all. The papers' rankers are nets with two layers (--ranker net); ours
are trees by default. A figure is the mean over the folds; + and − are significant against the
background ranker by a paired t-test over the test queries of all folds, p < 0.05.

Run: python experiments/adaptation.py --data FOLDER

FOLDER has mq2007*/*.txt.gz and mq2008/S1.txt.gz to S5.txt.gz, the parts of LETOR 4.0.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

import rankinite as rk
from rankinite.adaptation.adapting import MEASURES
from rankinite.training import Learner
from table import pooled_table

SHARES = (0.1, 0.25, 0.5, 1.0)
RANKERS: dict[str, Learner] = {
    "trees": rk.LambdaMART(max_leaf_nodes=20, early_stopping=50),
    "net": rk.LambdaRank(n_hidden=10, n_epochs=100, early_stopping=20),
}


def together(parts: list[rk.Dataset]) -> rk.Dataset:
    """Several datasets as one; a query is in one of them only."""
    qid = np.concatenate([np.repeat(part.qids, part.query_sizes) for part in parts])
    X, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y"))
    return rk.Dataset(X, y, qid=qid)


def read_parts(folder: Path, pattern: str) -> list[rk.Dataset]:
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise SystemExit(f"there is no {pattern} in {folder}")
    return [rk.read(path, n_features=46) for path in paths]


def cut(data: rk.Dataset, share: float) -> rk.Dataset:
    """Some of the queries, more and more of the same as the share rises."""
    order = np.random.default_rng(0).permutation(data.n_queries)
    return data.select_queries(np.sort(order[: round(share * data.n_queries)]))


def run(
    folder: Path, shares: list[float], kind: str, folds: list[int], max_distance: float
) -> None:
    background = together(read_parts(folder, "mq2007*/*.txt.gz"))
    parts = read_parts(folder, "mq2008/S?.txt.gz")
    for share in shares:
        values: dict = defaultdict(lambda: defaultdict(list))
        chosen: Counter[str] = Counter()
        n_queries = []
        for k in folds:
            first, second, third, valid, test = (parts[(k + j) % 5] for j in range(5))
            train = cut(together([first, second, third]), share)
            n_queries.append(train.n_queries)
            adapted = rk.adapt(
                background, train, valid, test, ranker=RANKERS[kind],
                expansion={"max_distance": max_distance},
            )  # fmt: skip
            assert adapted.test is not None and adapted.expansion is not None
            chosen[adapted.method] += 1
            for name, evaluation in adapted.test.evaluations.items():
                for measure in MEASURES:
                    values[name][measure].append(evaluation.per_query[measure])
                    if name == adapted.method:
                        values["(chosen)"][measure].append(evaluation.per_query[measure])
            told = f"fold {k + 1}: {adapted.method}, {adapted.expansion.n_rows:,} rows are near"
            print(told, flush=True)
        values["(chosen)"] = values.pop("(chosen)")  # the last row
        title = f"{share:.0%} ({round(np.mean(n_queries))} queries)"
        print(f"\n{pooled_table(title, values, 'background')}\n\nchosen: {dict(chosen)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--ranker", choices=list(RANKERS), default="trees")
    parser.add_argument("--folds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--max-distance", type=float, default=0.05, help="of the expansion")
    arguments = parser.parse_args()
    run(arguments.data, arguments.shares, arguments.ranker, arguments.folds, arguments.max_distance)


if __name__ == "__main__":
    main()
