"""LambdaMART, McRank and LambdaRank on the artificial data (Wu et al. 2008, Table 1).

Expected: LambdaMART > McRank > LambdaRank at NDCG@10, 3 and 1, each gap far outside the 95 %
intervals. The paper does not give the scale of its polynomials nor the cut points of its labels;
ours are those of `rankinite.artificial`, the same for every ranker and chosen before any ran.

Run: python experiments/artificial_rankers.py
"""

from __future__ import annotations

import argparse
import time

import rankinite as rk
from table import accuracy_table

QUERIES = (10_000, 5_000, 10_000)
MEASURES = ("ndcg@10", "ndcg@3", "ndcg@1")
PAPER = {
    "LambdaMART": {"ndcg@10": 87.9, "ndcg@3": 81.7, "ndcg@1": 79.6},
    "McRank": {"ndcg@10": 83.7, "ndcg@3": 75.6, "ndcg@1": 72.2},
    "LambdaRank": {"ndcg@10": 75.4, "ndcg@3": 67.8, "ndcg@1": 65.8},
}
# Section 5.2 of the paper. The round is chosen on the validation queries.
RANKERS = {
    "LambdaMART": rk.LambdaMART(n_estimators=1000, max_leaf_nodes=10, learning_rate=0.1),
    "McRank": rk.McRank(n_estimators=1000, max_leaf_nodes=10, learning_rate=0.05),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, nargs=3, default=QUERIES)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS), choices=list(RANKERS))
    parser.add_argument("--patience", type=int, default=100)
    arguments = parser.parse_args()
    train, valid, test = rk.artificial(n_queries=arguments.queries)
    rankers = {name: RANKERS[name] for name in arguments.rankers}
    for name, ranker in rankers.items():
        ranker.set_params(early_stopping=arguments.patience)
        started = time.perf_counter()
        ranker.fit(train, valid=valid)
        print(f"{name}: {ranker.in_words()}, {time.perf_counter() - started:.0f} s", flush=True)
    print(accuracy_table(rankers, test, MEASURES, PAPER))


if __name__ == "__main__":
    main()
