"""Whole runs: what comes out, that it never depends on how it was run, and what is done anew."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankinite as rk
from rankinite.combination.normalising import by_query
from rankinite.errors import DataError, DeclarationError, RankiniteWarning

FEW = {"n_estimators": 4, "max_leaf_nodes": 5, "min_samples_leaf": 3}
DECLARED = {
    "data": {"measure": "ndcg@10", "folds": 3, "report": ["err@10"]},
    "defaults": {"LambdaMART": FEW, "MART": {**FEW, "loss": "graded"}},
    "member": {
        "bag": {"ranker": "LambdaMART", "bag": True, "family": "trees"},
        "grown": {
            "ranker": "LambdaMART",
            "family": "trees",
            "augment": {"fraction": 0.5, "times": 2},
            "parameters": {"early_stopping": 2},
        },
        "part": {"ranker": "LambdaMART", "features": ["1-2", 4], "extra": ["mart"], "bag": True},
        "mart": {"ranker": "MART"},
        "probable": {"scores_of": "mart", "normalize": "query_max", "family": "MART"},
        "net": {"ranker": "LambdaRank", "parameters": {"n_epochs": 2, "n_hidden": 3}},
    },
    "combine": {"methods": ["average", "linear"], "subset": True},
}
SETS = rk.artificial(n_queries=(45, 20, 20), n_docs=10, n_features=6, random_state=1)


def declared(**changes):
    """The declaration with other members, or without those that are None."""
    found = copy.deepcopy(DECLARED)
    for name, member in changes.items():
        if member is None:
            del found["member"][name]
        else:
            found["member"][name] = {**found["member"].get(name, {}), **member}
    return found


def files_of(folder):
    """The bytes of all models and scores of a run."""
    kinds = ("*.rk", "*.scores", "subset.json")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in kinds
        for path in Path(folder).rglob(kind)
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run on training data alone: its folder, and what came out; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    found = rk.assemble(DECLARED, SETS[0], test=SETS[2], run=folder)
    found.save(folder.parent / "model.rk")
    return folder, found


def test_the_result_is_one_model(whole):
    folder, found = whole
    loaded = rk.load(folder.parent / "model.rk")
    for rows in SETS:
        assert np.array_equal(loaded.predict(rows), found.model.predict(rows))
    assert isinstance(loaded, rk.Combination)
    test = found.report.test.evaluations["the ensemble"]
    assert test["ndcg@10"] == rk.evaluate(loaded, SETS[2])["ndcg@10"]


def test_the_tables(whole):
    folder, found = whole
    report, names = found.report, list(DECLARED["member"])
    assert list(report.members.evaluations) == names
    assert list(report.ways.evaluations)[1:] == ["average", "linear", "best subset"]
    groups = ["all", *(f"{kind} {f}" for f in ("trees", "LambdaMART", "MART", "LambdaRank")
                       for kind in ("all minus", "only"))]  # fmt: skip
    assert list(report.families.evaluations) == [*groups, "best subset"]
    assert set(report.subset) <= set(names) and report.failures == {}
    best = max(names, key=lambda n: report.members.evaluations[n]["ndcg@10"])
    assert report.best_member == best == report.ways.baseline
    values = {n: e["ndcg@10"] for n, e in report.ways.evaluations.items() if n != best}
    assert report.chosen == max(values, key=values.get) and report.chosen in report.reason
    text = str(found)
    assert (folder / "report.txt").read_text() == f"{text}\n"
    assert "on test data" in text and "err@10" in text.splitlines()[0]


def test_members_are_what_is_declared(whole):
    folder, _ = whole
    models = {name: rk.load(folder / "members" / name / "member.rk") for name in DECLARED["member"]}
    kinds = {name: type(model).__name__ for name, model in models.items()}
    assert kinds == {"bag": "Bagging", "grown": "LambdaMART", "part": "Stacked", "mart": "MART",
                     "probable": "Rescaled", "net": "LambdaRank"}  # fmt: skip
    train, test = SETS[0], SETS[2]
    P = models["mart"].predict_proba(test)[:, 1:]
    expected = by_query("query_max", ["mart"], P, test.offsets)[:, 0]
    assert np.array_equal(models["probable"].predict(test), expected)
    top = models["part"].ranker_
    assert type(top).__name__ == "Narrowed" and list(top.columns) == [0, 1, 3, 6, 7, 8, 9]
    # Features that it does not see do not matter, though the member below sees them all.
    other = rk.Dataset(test.X * [1, 1, 1, 1, 0, 1], test.y, qid=np.repeat(test.qids, 10))
    assert not np.array_equal(models["part"].predict(test), models["part"].predict(other))
    wide = rk.ensemble.with_query_features(test, {"mart": models["mart"].predict(test)})
    assert np.array_equal(top.predict(wide), models["part"].predict(test))
    # Without early stopping a single model learns from all queries.
    alone = rk.MART(**FEW, loss="graded").fit(train)
    assert np.array_equal(models["mart"].predict(test), alone.predict(test))


def test_members_share_folds_and_held_out_scores_are_of_others(whole):
    folder, found = whole
    train = SETS[0]
    folds = rk.ensemble.fold_numbers(train, 3, 0)
    bag = rk.Bagging(rk.LambdaMART(**FEW), n_folds=3).fit(train, folds=folds)
    assert np.array_equal(
        rk.load(folder / "members" / "bag" / "member.rk").predict(train), bag.predict(train)
    )
    expected = rk.evaluate(bag.oof_scores_, train)["ndcg@10"]
    assert found.report.members.evaluations["bag"]["ndcg@10"] == pytest.approx(expected, abs=1e-12)
    alone = rk.ensemble.out_of_fold(rk.MART(**FEW, loss="graded"), train, 3, folds=folds)
    expected = rk.evaluate(alone, train)["ndcg@10"]
    assert found.report.members.evaluations["mart"]["ndcg@10"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_the_order_of_the_rows_does_not_matter(whole, tmp_path):
    folder, _ = whole
    train = SETS[0]
    rows = np.random.default_rng(5).permutation(train.n_rows)
    qid = np.repeat(train.qids, train.query_sizes)
    with pytest.warns(RankiniteWarning, match="did not lie together"):
        shuffled = rk.Dataset(train.X[rows], train.y[rows], qid=qid[rows])
    again = rk.assemble(DECLARED, shuffled, run=tmp_path / "run")
    assert files_of(tmp_path / "run") == files_of(folder)
    again.save(tmp_path / "model.rk")
    assert (tmp_path / "model.rk").read_bytes() == (folder.parent / "model.rk").read_bytes()
    # So a run goes on with the same data in another order.
    before = files_times(folder)
    rk.assemble(DECLARED, shuffled, run=folder)
    assert files_times(folder) == before


def files_times(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*.done.json")}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_jobs_and_threads_do_not_matter(whole, tmp_path):
    folder, _ = whole
    found = rk.assemble(DECLARED, SETS[0], run=tmp_path / "run", jobs=3, n_threads=2)
    assert files_of(tmp_path / "run") == files_of(folder)
    found.save(tmp_path / "model.rk")
    assert (tmp_path / "model.rk").read_bytes() == (folder.parent / "model.rk").read_bytes()


def done_again(folder, declaration, *sets, **options):
    """The steps that a second run does, in the words of their records."""
    before = files_times(folder)
    rk.assemble(declaration, *sets, run=folder, **options)
    return {
        json.loads(path.read_text())["step"]
        for path, when in files_times(folder).items()
        if before.get(path) != when
    }


@pytest.mark.slow
def test_only_what_depends_on_a_change_is_done_again(tmp_path):
    few = declared(net=None, grown=None)
    rk.assemble(few, SETS[0], run=tmp_path / "run")
    ways = {"combination by average", "combination by linear", "best subset"}
    assert done_again(tmp_path / "run", few, SETS[0]) == set()
    other = copy.deepcopy(few)
    other["member"]["bag"]["parameters"] = {"learning_rate": 0.3}
    bag = {"bag", *(f"bag, fold {k}" for k in (1, 2, 3))}
    assert done_again(tmp_path / "run", other, SETS[0]) == bag | ways
    other["combine"]["methods"] = ["average", "pair_tree"]
    assert done_again(tmp_path / "run", other, SETS[0]) == {"combination by pair_tree"}
    other["member"]["mart"]["parameters"] = {"learning_rate": 0.3}
    again = done_again(tmp_path / "run", other, SETS[0])
    assert again == {
        *("mart", "probable", "part", "mart, all", "combination by average"),
        *("combination by pair_tree", "best subset"),
        *(f"{name}, fold {k}" for name in ("mart", "part") for k in (1, 2, 3)),
    }
    # What was half done counts as not done.
    (tmp_path / "run" / "members" / "bag" / "fold-02.rk").unlink()
    assert done_again(tmp_path / "run", other, SETS[0]) == {"bag, fold 2"}
    more = SETS[0].select_queries(np.arange(40))
    assert {"bag, fold 1", "mart, all"} < done_again(tmp_path / "run", other, more)


def test_validation_data_decides_if_it_is_there(tmp_path):
    train, valid, _ = SETS
    found = rk.assemble(declared(grown=None), train, valid, run=tmp_path / "run")
    members = tmp_path / "run" / "members"
    # Models for scores of the training data are made only where others learn from them.
    assert not (members / "net" / "fold-01.rk").exists()
    assert (members / "mart" / "fold-01.rk").exists()
    net = rk.load(members / "net" / "member.rk")
    told = found.report.members.evaluations["net"]["ndcg@10"]
    assert told == pytest.approx(rk.evaluate(net, valid)["ndcg@10"], abs=1e-12)
    expected = rk.Combination(
        {name: rk.load(members / name / "member.rk") for name in found.model.rankers},
        found.model.method,
    ).fit(valid)
    assert np.array_equal(expected.predict(SETS[2]), found.model.predict(SETS[2]))


FAILING = {"ranker": "MART", "parameters": {"loss": "logistic"}}  # labels are not 0 and 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_member_that_fails_is_named(tmp_path, jobs):
    bad = declared(net=None, grown=None, part=None, bad=FAILING)
    with pytest.raises(rk.RankiniteError, match=r"^bad, all failed: .*loss="):
        rk.assemble(bad, SETS[0], run=tmp_path / "run", jobs=jobs)
    bad["member"]["top"] = {"ranker": "LambdaMART", "extra": ["bad"]}
    with pytest.warns(RankiniteWarning, match="the member bad is not in the ensemble") as told:
        found = rk.assemble(bad, SETS[0], run=tmp_path / "run", jobs=jobs, keep_going=True)
    assert list(found.report.failures) == ["bad", "top"]
    assert sum("is not in the ensemble" in str(each.message) for each in told) == 2
    assert list(found.report.members.evaluations) == ["bag", "mart", "probable"]
    assert "without top: it needs bad" in str(found)


def test_all_members_fail():
    bad = {**DECLARED, "member": {"bad": FAILING}}
    with pytest.warns(RankiniteWarning), pytest.raises(DataError, match="all members have failed"):
        rk.assemble(bad, SETS[0], keep_going=True)


def test_one_member_and_no_folder():
    one = {"data": {"folds": 3}, "member": {"a": {"ranker": "MART", "parameters": FEW}}}
    found = rk.assemble(one, SETS[0])
    assert found.report.members is None and found.report.families is None
    assert list(found.model.rankers) == ["a"] and found.report.best_member == "a"
    asked = {**one, "combine": {"choose": "linear"}}
    assert rk.assemble(asked, SETS[0]).model.method == "linear"


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"data": {"folds": 46}}, "data.folds", "take fewer folds"),
        ({"data": {"folds": 20}}, "data.folds", "has no query with documents of which some are"),
        ({"data": {"measure": "err@10:max_label=1"}}, "data.measure", "max_label"),
        ({"member": {"a": {"ranker": "MART", "features": [7]}}}, "member.a.features",
         "features has 7, and the data has the features 1 to 6"),
        ({"member": {"a": {"ranker": "MART", "features": ["x"]}}}, "member.a.features",
         "there is no such feature"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_data(change, place, message, tmp_path):
    train = SETS[0]
    y = np.where(np.repeat(np.arange(train.n_queries) < 15, 10), train.y, 0.0)
    data = rk.Dataset(train.X, y, qid=np.repeat(train.qids, 10))
    with pytest.raises(DeclarationError, match=message) as caught:
        rk.assemble({**DECLARED, **change}, data, run=tmp_path / "run")
    assert str(caught.value).startswith(f"the declaration, {place}: ")
    assert not list((tmp_path / "run").rglob("*.rk"))


def test_data_that_cannot_be_used():
    train = SETS[0]
    unlabelled = rk.Dataset(train.X, qid=np.repeat(train.qids, 10))
    narrow = rk.artificial(n_queries=5, n_docs=5, n_features=3)
    for data, message in (
        ((3,), "train must be a Dataset"),
        ((unlabelled,), "the train data has no labels"),
        ((train, narrow), "the valid data has 3 features, but the training data has 6"),
    ):
        with pytest.raises(DataError, match=message):
            rk.assemble(DECLARED, *data)


KILLED = """
import sys
from tests.ensemble.test_assembling import *
few = declared(net=None, grown=None)
found = rk.assemble(few, SETS[0], run=sys.argv[1], jobs=int(sys.argv[2]))
found.save(sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_any_moment_it_ends_with_the_same_bytes(tmp_path, jobs):
    def command(name):
        paths = (tmp_path / f"{name}.run", str(jobs), tmp_path / f"{name}.rk")
        return [sys.executable, "-c", KILLED, *map(str, paths)]

    def records():
        return sorted(run.rglob("*.done.json"))

    subprocess.run(command("whole"), check=True)
    draw, n_killed, run = random.Random(jobs), 0, tmp_path / "killed.run"
    while n_killed < 10:  # twenty for both numbers of jobs
        # A moment that is as likely after any step, however fast the machine is.
        last = len(records()) + draw.randint(0, 6)
        process = subprocess.Popen(command("killed"))
        while process.poll() is None and len(records()) < last:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.2))
        n_killed += process.poll() is None
        process.kill()
        process.wait()
        for record in records()[:: draw.randint(2, 3)]:
            record.unlink()  # so that there is always something to do
    subprocess.run(command("killed"), check=True)
    assert files_of(run) == files_of(tmp_path / "whole.run")
    assert (tmp_path / "killed.rk").read_bytes() == (tmp_path / "whole.rk").read_bytes()
    assert not list(run.rglob("*.tmp"))
