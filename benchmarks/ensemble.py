"""How long the ensemble of ``rankinite ensemble --example`` takes, from data to one model file.

    python benchmarks/ensemble.py [--queries 5000] [--docs 25] [--features 100] [--trees 300]
                                  [--jobs 2] [--folds 10] [--run FOLDER]

Artificial data with label noise; every member of trees grows so many, and nets take the epochs that
the example says. The time is that of the whole: all models of all members, their held-out scores,
all ways to combine them, the search for the best subset, and the tables. Then the time to score
with the file is measured beside the sum of its members' times.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from pathlib import Path

import rankinite as rk
from rankinite.ensemble.declaration import example

BAR_MINUTES = 30.0
BAR_SCORING = 1.3


def declared(n_trees: int, n_folds: int) -> dict:
    tables = tomllib.loads(example())
    tables["data"]["folds"] = n_folds
    for ranker in ("LambdaMART", "MART"):
        tables["defaults"][ranker]["n_estimators"] = n_trees
    return tables


def seconds_to_score(ranker: object, data: rk.Dataset, repeats: int = 3) -> float:
    """The shortest of some times, after one that lays the forests out."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        ranker.predict(data)  # type: ignore[attr-defined]
        times.append(time.perf_counter() - started)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("queries", 5000), ("docs", 25), ("features", 100), ("trees", 300)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    sizes = {"n_docs": options.docs, "n_features": options.features, "label_noise": 0.1}
    train, test = rk.artificial((options.queries, max(50, options.queries // 5)), **sizes)
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or Path(folder) / "run"
        started = time.perf_counter()
        found = rk.assemble(
            declared(options.trees, options.folds),
            train,
            test=test,
            run=run,
            jobs=options.jobs,
            verbose=1,
        )
        found.save(Path(folder) / "ranker.rk")
        minutes = (time.perf_counter() - started) / 60
        print(found)
        size = (Path(folder) / "ranker.rk").stat().st_size / 1e6
        model = rk.load(Path(folder) / "ranker.rk")
        members = {name: rk.load(run / "members" / name / "member.rk") for name in model.rankers}
        print(f"\n{minutes:.1f} minutes; the bar at the sizes by default is {BAR_MINUTES:g}")
        print(f"{size:.1f} MB, {len(members)} members")
        alone = sum(seconds_to_score(member, test) for member in members.values())
        ratio = seconds_to_score(model, test) / alone
        print(f"scoring takes {ratio:.2f} of the sum of the members; the bar is {BAR_SCORING:g}")


if __name__ == "__main__":
    main()
