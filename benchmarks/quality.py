"""How well rankinite and its peers rank, at equal budgets, on many kinds of data.

    python benchmarks/quality.py [--data FOLDER] [--only NAME ...] [--learners NAME ...]
                                 [--results FILE]

Every learner gets the same rows, trees, leaves, learning rate and smallest leaf; each keeps its
defaults otherwise. On small data the number of trees is chosen by NDCG@10 on validation queries and
every fold is trained several times (other seeds; LightGBM, which has none, sees the documents of
every query in another order); on large data NDCG@10 on test queries is told after 100 trees and
after 300. All are measured by the same code; queries without a relevant document are skipped.

The defaults were chosen on the sets that `CHOSEN_ON` lists: the first ones were written down before
any of the others was looked at, those of other worlds showed that trees should not all grow alike.

FOLDER holds LETOR's MQ2008 (S1-S5), MQ2007 cut in five parts by queries (C1-C5), and a piece of
MSLR-WEB; a folder that is not there is left out. With --results what was measured is kept in a
file, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import other_worlds
import rankinite as rk
import web_like
from accuracy import AS_IN_PAPERS, letor_folds, shuffled_rows

MEASURE = "ndcg@10"
THREADS = 2
SPARSE = (0.93, 0.04, 0.02, 0.007)
Fold = tuple[rk.Dataset, rk.Dataset, rk.Dataset]

CHOSEN_ON = (
    "mq2007",
    "web 50 queries",
    "web 500 queries",
    "short queries",
    "many terms 300 queries",
    "web noise 1.5",
    "many terms",
    # And rows of other seeds like these.
    "purchases",
    "words",
    "categories",
    "asked for",
    "much alike",
)


@dataclass(frozen=True)
class Collection:
    """Data, and the budget of all learners on it.

    Attributes
    ----------
    folds : function
        Makes them: train, valid and test.
    trees : tuple of int
        NDCG is told after each of these; one number: at most so many, chosen on validation data.
    """

    folds: Callable[[], list[Fold]]
    repeats: int = 3
    leaves: int = 15
    rate: float = 0.05
    trees: tuple[int, ...] = (300,)

    @property
    def chooses(self) -> bool:
        return len(self.trees) == 1


@dataclass(frozen=True)
class Web:
    """Rows like those of web search; as many training as there are queries, and others."""

    n_queries: int
    n_docs: int = 120
    noise: float = 1.5
    shares: tuple[float, ...] = web_like.LABEL_SHARES
    seeds: int = 1
    n_test: int = 500
    truth: Callable[[np.ndarray], np.ndarray] = web_like.relevance

    def __call__(self) -> list[Fold]:
        n_valid = max(20, self.n_queries // 3)
        folds = []
        for seed in range(self.seeds):
            rows = web_like.dataset(
                self.n_queries + n_valid + self.n_test,
                self.n_docs,
                seed=seed,
                noise=self.noise,
                shares=self.shares,
                truth=self.truth,
            )
            places = np.arange(rows.n_queries)
            cuts = (self.n_queries, self.n_queries + n_valid)
            folds.append(tuple(rows.select_queries(part) for part in np.split(places, cuts)))
        return folds


def artificial(n_queries: int) -> Callable[[], list[Fold]]:
    def make() -> list[Fold]:
        sizes = (n_queries, n_queries // 3, 500)
        options = {"n_docs": 40, "n_features": 30, "label_noise": 0.3}
        return [rk.artificial(sizes, random_state=i, **options) for i in range(2)]

    return make


def world(name: str, seeds: int = 2, n_test: int = 800) -> Callable[[], list[Fold]]:
    make, n_queries = other_worlds.WORLDS[name]
    places = np.arange(n_queries + n_queries // 3 + n_test)
    cuts = (n_queries, n_queries + n_queries // 3)

    def folds() -> list[Fold]:
        found = []
        for seed in range(seeds):
            rows = make(len(places), seed)
            found.append(tuple(rows.select_queries(part) for part in np.split(places, cuts)))
        return found

    return folds


def letor(folder: Path, letter: str) -> Callable[[], list[Fold]]:
    paths = [folder / f"{letter}{i}.txt.gz" for i in range(1, 6)]
    return lambda: list(letor_folds([rk.read(path) for path in paths]))


def mslr(folder: Path) -> Callable[[], list[Fold]]:
    def make() -> list[Fold]:
        train, test = rk.read(folder / "train.txt.gz"), rk.read(folder / "test.txt.gz")
        return [(part, valid, test) for part, valid in train.folds(5)]

    return make


def collections(folder: Path) -> dict[str, Collection]:
    large = {"repeats": 1, "leaves": 31, "rate": 0.1, "trees": (25, 100, 300)}
    found = {
        "mq2007": Collection(letor(folder / "mq2007_partial", "C")),
        "mq2008": Collection(letor(folder / "mq2008", "S")),
        "mslr 5k": Collection(mslr(folder / "mslr_msn1_fold1_5k")),
        "web 50 queries": Collection(Web(50, seeds=3)),
        "web 80 queries": Collection(Web(80, noise=3.0, seeds=3)),
        "web 500 queries": Collection(Web(500, seeds=2), repeats=2),
        "many terms 300 queries": Collection(
            Web(300, truth=web_like.many_terms, seeds=2), repeats=2
        ),
        "short queries": Collection(Web(3000, n_docs=10, seeds=2, n_test=3000), repeats=2),
        "long queries": Collection(Web(60, n_docs=700, seeds=2, n_test=150), repeats=2),
        "artificial": Collection(artificial(1000), repeats=2),
        **{name: Collection(world(name), repeats=1) for name in other_worlds.WORLDS},
        "web noise 0.5": Collection(Web(2500, noise=0.5, n_test=2000), **large),
        "web noise 1.5": Collection(Web(2500, n_test=2000), **large),
        "web noise 4": Collection(Web(2500, noise=4.0, n_test=2000), **large),
        "web sparse": Collection(Web(2500, shares=SPARSE, n_test=2000), **large),
        "web sparse noise 4": Collection(Web(2500, noise=4.0, shares=SPARSE, n_test=2000), **large),
        "many terms": Collection(Web(2500, truth=web_like.many_terms, n_test=2000), **large),
        "many terms noise 4": Collection(
            Web(2500, noise=4.0, truth=web_like.many_terms, n_test=2000), **large
        ),
        "web 5000 queries": Collection(Web(5000, n_docs=60, n_test=2000), **large),
    }
    names = {"mq2007": "mq2007_partial", "mq2008": "mq2008", "mslr 5k": "mslr_msn1_fold1_5k"}
    return {
        name: each
        for name, each in found.items()
        if name not in names or (folder / names[name]).exists()
    }


# A learner takes a fold, the budget and the number of the repeat, and gives the scores of the
# test rows after each number of trees that is to be told.
Learned = Callable[[Fold, Collection, int], list[np.ndarray]]


def rankinite(**options: object) -> Learned:
    def learn(fold: Fold, budget: Collection, repeat: int) -> list[np.ndarray]:
        train, valid, test = fold
        model = rk.LambdaMART(
            MEASURE,
            n_estimators=budget.trees[-1],
            max_leaf_nodes=budget.leaves,
            learning_rate=budget.rate,
            early_stopping=budget.trees[-1] if budget.chooses else None,
            random_state=repeat,
            n_threads=THREADS,
            **options,
        ).fit(train, valid=valid if budget.chooses else None)
        if budget.chooses:
            return [model.predict(test)]
        return [model.predict(test, n_rounds=n) for n in budget.trees]

    return learn


def lightgbm(**options: object) -> Learned:
    def learn(fold: Fold, budget: Collection, repeat: int) -> list[np.ndarray]:
        import lightgbm

        train, valid, test = fold
        rows = shuffled_rows(train, repeat)
        own = lightgbm.Dataset(train.X[rows], train.y[rows], group=train.query_sizes)
        watched = lightgbm.Dataset(valid.X, valid.y, group=valid.query_sizes, reference=own)
        parameters = {
            "objective": "lambdarank",
            "metric": "ndcg",
            "eval_at": [10],
            "num_leaves": budget.leaves,
            "learning_rate": budget.rate,
            "num_threads": THREADS,
            "verbose": -1,
            **options,
        }
        stop = lightgbm.early_stopping(budget.trees[-1], verbose=False)
        booster = lightgbm.train(
            parameters,
            own,
            budget.trees[-1],
            valid_sets=[watched] if budget.chooses else None,
            callbacks=[stop] if budget.chooses else None,
        )
        if budget.chooses:
            return [booster.predict(test.X)]
        return [booster.predict(test.X, num_iteration=n) for n in budget.trees]

    return learn


def xgboost(**options: object) -> Learned:
    def learn(fold: Fold, budget: Collection, repeat: int) -> list[np.ndarray]:
        import xgboost

        train, valid, test = fold
        own = xgboost.QuantileDMatrix(train.X, train.y, group=train.query_sizes)
        watched = xgboost.QuantileDMatrix(valid.X, valid.y, group=valid.query_sizes, ref=own)
        parameters = {
            "objective": "rank:ndcg",
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": budget.leaves,
            "max_depth": 0,
            "eta": budget.rate,
            "eval_metric": "ndcg@10",
            "seed": repeat,
            "nthread": THREADS,
            **options,
        }
        booster = xgboost.train(
            parameters,
            own,
            budget.trees[-1],
            evals=[(watched, "valid")] if budget.chooses else [],
            early_stopping_rounds=budget.trees[-1] if budget.chooses else None,
            verbose_eval=False,
        )
        ends = [booster.best_iteration + 1] if budget.chooses else budget.trees
        rows = xgboost.DMatrix(test.X)
        return [booster.predict(rows, iteration_range=(0, n)) for n in ends]

    return learn


def catboost(**options: object) -> Learned:
    def learn(fold: Fold, budget: Collection, repeat: int) -> list[np.ndarray]:
        import catboost

        train, valid, test = fold
        own, watched = (
            catboost.Pool(
                rows.X, rows.y, group_id=np.repeat(np.arange(rows.n_queries), rows.query_sizes)
            )
            for rows in (train, valid)
        )
        model = catboost.CatBoost(
            {
                "loss_function": "YetiRank",
                "eval_metric": "NDCG:top=10;type=Exp",
                "learning_rate": budget.rate,
                "iterations": budget.trees[-1],
                "random_seed": repeat,
                "thread_count": THREADS,
                "logging_level": "Silent",
                "allow_writing_files": False,
                "metric_period": 5 if budget.chooses else budget.trees[-1],
                "use_best_model": budget.chooses,
                **options,
                **({"max_leaves": budget.leaves} if "grow_policy" in options else {}),
            }
        )
        model.fit(own, eval_set=watched if budget.chooses else None)
        if budget.chooses:
            return [model.predict(test.X)]
        return [model.predict(test.X, ntree_end=n) for n in budget.trees]

    return learn


PEERS: dict[str, Learned] = {
    "LightGBM": lightgbm(),
    "XGBoost topk": xgboost(lambdarank_pair_method="topk"),
    "XGBoost mean": xgboost(lambdarank_pair_method="mean"),
    "CatBoost": catboost(),
    "CatBoost Lossguide": catboost(grow_policy="Lossguide"),
}


def truth(fold: Fold, budget: Collection, repeat: int) -> list[np.ndarray]:
    """What labels are cut from, but for the noise: nobody can rank better on average."""
    assert isinstance(budget.folds, Web)
    return [budget.folds.truth(fold[2].X.copy()).astype(np.float64)] * len(budget.trees)


LEARNERS: dict[str, Learned] = {
    "truth": truth,
    "rankinite": rankinite(),
    "symmetric": rankinite(growth="symmetric"),
    "best first": rankinite(growth="best_first"),
    "papers": rankinite(**AS_IN_PAPERS),
    **PEERS,
}


class Results:
    """What was measured: NDCG by collection, learner, repeat, fold and number of trees."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.values: dict[str, list] = {}
        if path is not None and path.exists():
            self.values = json.loads(path.read_text())

    def keep(self, key: str, value: list) -> None:
        self.values[key] = value
        if self._path is not None:
            # Another process may have measured meanwhile.
            if self._path.exists():
                self.values = json.loads(self._path.read_text()) | self.values
            self._path.write_text(json.dumps(self.values, indent=0))


def measured(
    name: str, budget: Collection, learners: dict[str, Learned], results: Results
) -> Iterator[tuple[str, np.ndarray]]:
    """NDCG of each learner, shape (repeats, trees): the mean over the folds."""

    class Made:
        @cached_property
        def folds(self) -> list[Fold]:
            return budget.folds()

    made = Made()
    for learner, learn in learners.items():
        if learn is truth and not isinstance(budget.folds, Web):
            continue
        values = []
        for repeat in range(budget.repeats):
            key = f"{name}|{learner}|{repeat}"
            if key not in results.values:
                started = time.perf_counter()
                ndcgs = [
                    [
                        rk.evaluate(scores, fold[2])[MEASURE]
                        for scores in learn(fold, budget, repeat)
                    ]
                    for fold in made.folds
                ]
                seconds = round(time.perf_counter() - started, 1)
                results.keep(key, [np.mean(ndcgs, axis=0).tolist(), seconds])
            values.append(results.values[key][0])
        yield learner, np.array(values)


def main(learners: dict[str, Learned] = LEARNERS) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=Path, default=here.parent / "shared" / "data")
    parser.add_argument("--only", nargs="+", help="names of collections")
    parser.add_argument("--learners", nargs="+", help="names of learners")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    results = Results(arguments.results)
    chosen = {name: learners[name] for name in arguments.learners or learners}
    for name, budget in collections(arguments.data).items():
        if arguments.only and name not in arguments.only:
            continue
        trees = "at most 300 trees" if budget.chooses else f"{budget.trees} trees"
        use = "chosen on" if name in CHOSEN_ON else "confirmed on"
        print(f"\n{name} ({use}): {trees} of {budget.leaves} leaves, rate {budget.rate}")
        for learner, values in measured(name, budget, chosen, results):
            means = "".join(f"{value:9.4f}" for value in values.mean(axis=0))
            spread = "" if len(values) == 1 else f" ± {values[:, -1].std():.4f}"
            print(f"  {learner:32}{means}{spread}", flush=True)


if __name__ == "__main__":
    main()
