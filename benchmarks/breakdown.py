"""Where the time of a tree goes: milliseconds in each kernel, on rows like a web collection's.

python benchmarks/breakdown.py [--queries 6000] [--leaves 31 255] [--measure ndcg@10]
                                     [--set noise=1 split='"newton"']
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import Any

import rankinite as rk
import web_like
from rankinite.boosting import label_squares, newton_steps, row_sample, tree_stage
from rankinite.lambdas import built_in
from rankinite.trees import few_rows, grower, level_search, split_search, symmetric

PARTS = {
    built_in: ("in_threads",),
    row_sample: ("count_importances", "draw_important"),
    grower: ("copy_rows", "partition_rows", "leaves_of"),
    split_search: ("build_histogram", "best_splits"),
    few_rows: ("divide_and_search",),
    level_search: ("gather_uncounted", "common_gains", "best_common", "gains_of_nodes"),
    symmetric: ("divide_nodes",),
    label_squares: ("in_threads",),
    newton_steps: ("sums_over_leaves",),
    tree_stage: ("gradients", "pack_least_squares", "pack_newton", "add_grown_tree"),
}


# What several modules call, by what it does there.
SHARED = {built_in: "the λs", label_squares: "squares beside them"}


def watch(module: Any, name: str, part: str, seconds: Counter[str]) -> None:
    """Replace a function by one that also adds up its time, as that of a part."""
    function = getattr(module, name)

    def timed(*arguments: Any) -> Any:
        started = time.perf_counter()
        result = function(*arguments)
        seconds[part] += time.perf_counter() - started
        return result

    setattr(module, name, timed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--trees", type=int, default=15)
    parser.add_argument("--measure", default="ndcg@10")
    parser.add_argument("--set", nargs="*", default=[], help="other parameters, name=value")
    arguments = parser.parse_args()
    options = {name: json.loads(value) for name, value in (o.split("=") for o in arguments.set)}
    train = web_like.dataset(arguments.queries)
    train.binned()
    rk.LambdaMART(n_estimators=1, **options).fit(train)  # compiles
    seconds: Counter[str] = Counter()
    for module, names in PARTS.items():
        for name in names:
            watch(module, name, SHARED.get(module, name), seconds)
    for leaves in arguments.leaves:
        seconds.clear()
        model = rk.LambdaMART(
            arguments.measure, n_estimators=arguments.trees, max_leaf_nodes=leaves, **options
        )
        started = time.perf_counter()
        model.fit(train)
        total = time.perf_counter() - started
        # Before the first tree, and in Python.
        seconds["everything else"] = total - sum(seconds.values())
        print(f"\n{leaves} leaves: {1e3 * total / arguments.trees:.1f} ms a tree")
        for name, spent in seconds.most_common():
            print(f"  {name:20}{1e3 * spent / arguments.trees:8.1f}")


if __name__ == "__main__":
    main()
