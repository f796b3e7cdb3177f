"""Closed and open tests of adapted rankers, on artificial markets (Gao et al. 2009, Tables 5-12).

Expected: on the closed test, which is like the training data, LambdaSMART is the best; on open
tests that differ, the interpolated rankers are, and LambdaBoost loses less than LambdaSMART.

The background market has much data. The target market shares 70 % of the terms of its polynomial
with it, and has little. The open tests are what the target may become: `nearer` to the background
market (85 % shared), `farther` from it (55 %), `wider` (features up to 1.3 times as large,
which the training data has never seen), and `noisy` (40 % of the labels are one off). The papers'
rankers are nets; both kinds are run. A figure is the mean of NDCG@10 over three families of
markets; + and − are significant against the background ranker by a paired t-test over all queries,
p < 0.05.

Run: python experiments/markets.py
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from typing import Any

import rankinite as rk
from rankinite.training import Learner
from table import pooled_table

SHAPE: dict[str, Any] = {"n_docs": 30, "n_features": 20}
WIDTH = 3**0.5  # features of variance 1
SHARED = 0.7
OPEN: dict[str, dict[str, Any]] = {
    "nearer": {"shared": 0.85},
    "farther": {"shared": 0.55},
    "wider": {"shared": SHARED, "width": 1.3 * WIDTH},
    "noisy": {"shared": SHARED, "label_noise": 0.4},
}
RANKERS: dict[str, Learner] = {
    "trees": rk.LambdaMART(max_leaf_nodes=20, early_stopping=50),
    "net": rk.LambdaRank(n_hidden=10, n_epochs=100, early_stopping=20),
}
MAX_DISTANCE = 0.35  # so that some percent of the background documents are near


def markets(seed: int, queries: list[int]) -> tuple[rk.Dataset, ...]:
    """Background, train, valid and the closed test."""
    n_background, *of_target = queries
    options = {**SHAPE, "width": WIDTH, "random_state": seed}
    # With all terms shared, the background market has just those that are common to all markets.
    background = rk.artificial(n_background, shared=1.0, **options)
    return background, *rk.artificial(of_target, market=1, shared=SHARED, **options)


def open_tests(seed: int, n_queries: int) -> dict[str, rk.Dataset]:
    # The fourth of four: documents that neither training nor the closed test has.
    sizes = (1, 1, 1, n_queries)
    return {
        name: rk.artificial(
            sizes, market=1, random_state=seed, **{**SHAPE, "width": WIDTH, **options}
        )[-1]
        for name, options in OPEN.items()
    }


def run(kind: str, seeds: int, queries: list[int]) -> None:
    values: dict = defaultdict(lambda: defaultdict(list))
    chosen: Counter[str] = Counter()
    for seed in range(seeds):
        background, train, valid, closed = markets(seed, queries)
        adapted = rk.adapt(
            background, train, valid, ranker=RANKERS[kind], random_state=seed,
            expansion={"max_distance": MAX_DISTANCE},
        )  # fmt: skip
        assert adapted.expansion is not None
        chosen[adapted.method] += 1
        n_near = adapted.expansion.n_rows
        print(f"seed {seed}: {adapted.method}, {n_near:,} of {background.n_rows:,} rows are near")
        for column, data in {"closed": closed, **open_tests(seed, queries[-1])}.items():
            for name, model in adapted.models.items():
                evaluation = rk.evaluate(model, data, "ndcg@10")
                values[name][column].append(evaluation.per_query["ndcg@10"])
    print(f"\n{pooled_table(kind, values, 'background')}\n\nchosen: {dict(chosen)}\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rankers", nargs="+", choices=list(RANKERS), default=list(RANKERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--queries", type=int, nargs=4, default=[1000, 100, 100, 500],
        help="of the background, and of the target's train, valid and tests",
    )  # fmt: skip
    arguments = parser.parse_args()
    for kind in arguments.rankers:
        run(kind, arguments.seeds, arguments.queries)


if __name__ == "__main__":
    main()
