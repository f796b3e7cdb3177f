"""The ensemble that won the Yahoo! challenge, in the form of Burges et al. 2011, Tables 1 to 3.

Expected, from the paper: every way to combine beats the best single model, and a plain average is
as good as what is learned; no family is needed, yet most help; LambdaMART models are the best
single ones. From its section 5: a single model does not come to what the ensemble does.

The twelve members are those that ``rankinite ensemble --example`` prints, with its parameters. All
of them learn from the same queries, in folds; ways to combine are learned from held-out scores;
all figures are of test queries that nobody has seen. Beside the ensemble stand LightGBM
(lambdarank) and CatBoost (YetiRank), each tuned by as many random trials as the ensemble has
members: a trial learns from three quarters of the queries and stops on the last; the best then
learns from all, with the number of trees that it stopped at. NDCG@10 decides for the peers; for
the ensemble ERR@10, as in the paper, and NDCG@10 in a second run.

A figure is the mean over the parts; + and − are significant against the best single member (or
whatever stands first) by a paired t-test over the test queries of all parts, p < 0.05.

Run: python experiments/winning_ensemble.py --on mq2007 --data FOLDER [--run FOLDER] [--jobs 2]

mq2007 is LETOR 4.0's MQ2007 cut in five, in mq2007*/C1.txt.gz to C5.txt.gz: each part is the test
part once. mslr is a piece of MSLR-WEB in mslr*/train.txt.gz and test.txt.gz. artificial needs no
files: polynomials of three seeds, 600 queries of 25 documents to learn from, and label noise.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import rankinite as rk
from rankinite.ensemble.declaration import example
from table import pooled_table

MEASURES = ("ndcg@10", "err@10")
FAMILIES = ("LambdaMART, ERR", "LambdaMART, NDCG", "LambdaRank", "MART")
WAYS = ("average", "linear", "net", "powell", "exact_powell", "pair_tree")
N_TRIALS = 12
MOST_TREES = 500

Part = tuple[rk.Dataset, rk.Dataset]
Values = dict[str, np.ndarray]


def mq2007(folder: Path) -> list[Part]:
    (found,) = folder.glob("mq2007*")
    parts = [rk.read(found / f"C{i}.txt.gz", n_features=46) for i in range(1, 6)]
    return [(rk.concat(parts[:i] + parts[i + 1 :]), parts[i]) for i in range(5)]


def mslr(folder: Path) -> list[Part]:
    (found,) = folder.glob("mslr*")
    return [(rk.read(found / "train.txt.gz"), rk.read(found / "test.txt.gz"))]


def artificial(folder: Path) -> list[Part]:
    sizes = {"n_docs": 25, "n_features": 30, "label_noise": 0.5}
    return [rk.artificial((600, 1000), random_state=seed, **sizes) for seed in range(3)]


SETS: dict[str, Callable[[Path], list[Part]]] = {
    "mq2007": mq2007,
    "mslr": mslr,
    "artificial": artificial,
}


def declared(measure: str, choose: str, n_folds: int) -> dict:
    tables = tomllib.loads(example())
    tables["data"] |= {"measure": measure, "folds": n_folds}
    tables["combine"]["choose"] = choose
    return tables


def per_query(scores: object, test: rk.Dataset) -> Values:
    evaluation = rk.evaluate(scores, test, list(MEASURES))
    return {measure: evaluation.per_query[measure] for measure in MEASURES}


class Tables:
    """Values of the test queries by table, ranker, measure and part; kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.values: dict[str, dict[str, dict[str, dict[str, list[float]]]]] = {}
        if path.exists():
            self.values = json.loads(path.read_text())

    def has(self, table: str, part: int) -> bool:
        return any(str(part) in ranker["ndcg@10"] for ranker in self.values.get(table, {}).values())

    def keep(self, table: str, part: int, values: dict[str, Values]) -> None:
        for ranker, of_measures in values.items():
            for measure, of_queries in of_measures.items():
                held = self.values.setdefault(table, {}).setdefault(ranker, {})
                held.setdefault(measure, {})[str(part)] = of_queries.tolist()
        self._path.write_text(json.dumps(self.values))

    def shown(self, title: str, tables: list[str], baseline: str | None = None) -> str:
        """Tables below each other, beside the baseline; the best of the first if none is named."""
        parts: dict[str, dict[str, list[np.ndarray]]] = defaultdict(dict)
        for table in tables:
            for ranker, of_measures in self.values[table].items():
                for measure, of_parts in of_measures.items():
                    parts[ranker][measure] = [np.array(of_parts[k]) for k in sorted(of_parts)]
        if baseline is None:
            means = {name: mean_of(parts[name]["ndcg@10"]) for name in self.values[tables[0]]}
            baseline = max(means, key=means.__getitem__)
        return pooled_table(f"{title}, beside {baseline}", parts, baseline)


def mean_of(parts: list[np.ndarray]) -> float:
    return float(np.mean([np.nanmean(part) for part in parts]))


def ensembles(tables: Tables, number: int, part: Part, run: Path, jobs: int, folds: int) -> None:
    """The members, every way to combine them, and averages without each family."""
    train, test = part
    options = {"run": run, "jobs": jobs, "verbose": 1}
    combined = {}
    for measure in MEASURES:
        found = rk.assemble(declared(measure, "best", folds), train, **options)
        name = f"the ensemble, chosen by {measure}"
        combined[name] = per_query(found.model, test)
        print(f"part {number}: {name} is {found.report.chosen}\n{found}", flush=True)
    members = {f"M{i}": rk.load(run / "members" / f"M{i}" / "member.rk") for i in range(1, 13)}
    tables.keep("members", number, {name: per_query(each, test) for name, each in members.items()})
    models = {}
    for way in WAYS:
        models[way] = rk.assemble(declared("err@10", way, folds), train, **options).model
        combined[way] = per_query(models[way], test)
    tables.keep("combined", number, combined)
    tables.keep("families", number, dict(families(members, test)))
    tables.keep("distilled", number, dict(distilled(models["average"], train, test)))


def families(members: dict[str, object], test: rk.Dataset) -> Iterator[tuple[str, Values]]:
    """Averages of all members but a family, and of a family alone; standardised without labels."""
    family_of = {f"M{i}": FAMILIES[(i - 1) // 4 if i < 9 else 2 + (i > 10)] for i in range(1, 13)}
    scores = {
        name: rk.Combination([each]).fit(test).predict(test) for name, each in members.items()
    }

    def average(names: list[str]) -> Values:
        return per_query(np.mean([scores[name] for name in names], axis=0), test)

    yield "all", average(list(members))
    for family in FAMILIES:
        inside = [name for name in members if family_of[name] == family]
        yield f"all minus {family}", average([name for name in members if name not in inside])
        yield f"only {family}", average(inside)


def distilled(teacher: object, train: rk.Dataset, test: rk.Dataset) -> Iterator[tuple[str, Values]]:
    """What students of an ensemble come to: its own training documents are all there is."""
    yield "teacher", per_query(teacher, test)
    students = {
        "MART": rk.MART(n_estimators=300, max_leaf_nodes=31),
        "LambdaMART": rk.LambdaMART("ndcg@10", n_estimators=300, max_leaf_nodes=31),
    }
    for name, student in students.items():
        for targets in ("scores", "quantiles"):
            found = rk.distil(teacher, train, student, targets=targets)
            yield f"{name} student, {targets}", per_query(found.model, test)
        yield f"{name} on labels", per_query(copy.deepcopy(student).fit(train), test)


def lightgbm_trial(rng: np.random.Generator) -> dict:
    return {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "verbose": -1,
        "num_threads": 1,
        "learning_rate": float(rng.choice([0.02, 0.05, 0.1])),
        "num_leaves": int(rng.choice([7, 15, 31, 63])),
        "min_data_in_leaf": int(rng.choice([5, 20, 50, 100])),
        "feature_fraction": float(rng.choice([0.3, 0.6, 1.0])),
        "bagging_fraction": float(rng.choice([0.5, 0.8, 1.0])),
        "bagging_freq": 1,
        "lambda_l2": float(rng.choice([0.0, 1.0, 10.0])),
        "lambdarank_truncation_level": int(rng.choice([10, 30, 60])),
    }


def catboost_trial(rng: np.random.Generator) -> dict:
    tree = {"grow_policy": "Lossguide", "max_leaves": int(rng.choice([15, 31]))}
    return {
        "loss_function": "YetiRank",
        "eval_metric": "NDCG:top=10;type=Exp",
        "logging_level": "Silent",
        "allow_writing_files": False,
        "thread_count": 1,
        "learning_rate": float(rng.choice([0.03, 0.06, 0.1])),
        "l2_leaf_reg": float(rng.choice([1.0, 3.0, 10.0])),
        "random_strength": float(rng.choice([0.0, 1.0, 3.0])),
        "rsm": float(rng.choice([0.3, 0.6, 1.0])),
        **(tree if rng.random() < 0.5 else {"depth": int(rng.choice([4, 6, 8]))}),
    }


def learn_lightgbm(trial: dict, train: rk.Dataset, valid: rk.Dataset | None, n_trees: int):
    import lightgbm

    own = lightgbm.Dataset(train.X, train.y, group=train.query_sizes)
    watched = valid and lightgbm.Dataset(valid.X, valid.y, group=valid.query_sizes, reference=own)
    stop = [lightgbm.early_stopping(50, verbose=False)] if valid else None
    model = lightgbm.train(trial, own, n_trees, [watched] if valid else None, callbacks=stop)
    return model, model.best_iteration


def learn_catboost(trial: dict, train: rk.Dataset, valid: rk.Dataset | None, n_trees: int):
    import catboost

    def pool(rows: rk.Dataset):
        places = np.repeat(np.arange(rows.n_queries), rows.query_sizes)
        return catboost.Pool(rows.X, rows.y, group_id=places)

    model = catboost.CatBoost({**trial, "iterations": n_trees, "use_best_model": bool(valid)})
    stop = {"eval_set": pool(valid), "early_stopping_rounds": 50} if valid else {}
    model.fit(pool(train), **stop)
    return model, model.tree_count_


PEERS = {
    "LightGBM, tuned": (lightgbm_trial, learn_lightgbm),
    "CatBoost, tuned": (catboost_trial, learn_catboost),
}


def peers(tables: Tables, number: int, part: Part) -> None:
    """LightGBM and CatBoost with the best of some random parameters."""
    train, test = part
    for name, (draw, learn) in PEERS.items():
        if tables.has(name, number):
            continue
        rng = np.random.default_rng(number)
        learned, watched = next(iter(train.folds(4)))
        best = (-1.0, 0, {})
        for _ in range(N_TRIALS):
            trial = draw(rng)
            model, n_trees = learn(trial, learned, watched, MOST_TREES)
            value = rk.evaluate(model.predict(watched.X), watched, "ndcg@10")["ndcg@10"]
            best = max(best, (value, n_trees, trial), key=lambda found: found[0])
        _, n_trees, trial = best
        model, _ = learn(trial, train, None, max(1, n_trees))
        tables.keep(name, number, {name: per_query(model.predict(test.X), test)})
        print(f"part {number}: {name}: {n_trees} trees, {trial}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", choices=SETS, required=True)
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--run", type=Path, help="what was done is kept here, and gone on from")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--parts", type=int, nargs="+")
    parser.add_argument("--only", choices=("peers", "ensembles"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run = options.run or Path(temporary)
        run.mkdir(parents=True, exist_ok=True)
        tables = Tables(run / f"{options.only or 'tables'}.json")
        for number, part in enumerate(SETS[options.on](options.data)):
            if options.parts and number not in options.parts:
                continue
            if options.only != "peers" and not tables.has("distilled", number):
                own = run / f"part{number}"
                ensembles(tables, number, part, own, options.jobs, options.folds)
            if options.only != "ensembles":
                peers(tables, number, part)
    if not options.only:
        print(tables.shown("member", ["members"]), "\n")
        print(tables.shown("combination", ["members", "combined", *PEERS]), "\n")
        print(tables.shown("average of", ["families"], "all"), "\n")
        print(tables.shown("distillation", ["distilled"], "teacher"))


if __name__ == "__main__":
    main()
