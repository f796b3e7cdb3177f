"""Ensembles by several workers, here threads of one process: the bytes of one process."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rankinite as rk
from rankinite.distributed.threads import on_threads
from rankinite.ensemble.plan import MEMBER, TRAIN, WAY, Step
from rankinite.ensemble.teamwork import _packed, _Team, _unpacked
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from tests.ensemble.test_assembling import DECLARED, FAILING, FEW, SETS, files_of, files_times

TRAIN_DATA, VALID, TEST = SETS
# All kinds of members: bags, augmented, of a part and of others' scores, of one process alone.
SOME = {
    **DECLARED,
    "member": {
        **{name: DECLARED["member"][name] for name in ("bag", "grown", "part", "mart", "probable")},
        "net": {"ranker": "LambdaRank", "parameters": {"n_epochs": 2, "n_hidden": 3}},
        "searched": {"ranker": "LambdaMART", "bag": True, "parameters": {"step": "line_search"}},
        "classes": {"ranker": "McRank", "bag": True, "parameters": {**FEW, "n_estimators": 2}},
    },
}


def assembled(size, declared, *data, folder=None, **options):
    """What each of so many workers gets; only worker 0 is given the folder of the run."""

    def work(communicator):
        run = folder if communicator.rank == 0 else folder and folder.with_name("not written")
        return rk.assemble(declared, *data, run=run, communicator=communicator, **options)

    return on_threads(size, work)


def file_of(found, path):
    found.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """By one process: the folder, and what came out; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, rk.assemble(SOME, TRAIN_DATA, test=TEST, run=folder)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_the_bytes_are_those_of_one_process(whole, tmp_path, size):
    folder, one = whole
    found = assembled(size, SOME, TRAIN_DATA, None, TEST, folder=tmp_path / "run")
    assert files_of(tmp_path / "run") == files_of(folder)
    expected = file_of(one, tmp_path / "one.rk")
    for rank, each in enumerate(found):
        assert file_of(each, tmp_path / f"{rank}.rk") == expected
        assert str(each) == str(one)
    assert (tmp_path / "run" / "report.txt").read_text() == (folder / "report.txt").read_text()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"run", "one.rk", *(f"{rank}.rk" for rank in range(size))}
    # Logs of what others have trained are there too.
    for member in ("net", "bag"):
        assert (tmp_path / "run" / "members" / member / "fold-02.log").exists()


@pytest.mark.slow
def test_a_run_goes_on_with_workers_or_without(whole, tmp_path):
    folder, _ = whole
    few = {**SOME, "member": {name: SOME["member"][name] for name in ("mart", "net")}}
    run = tmp_path / "run"
    rk.assemble(few, TRAIN_DATA, run=run)
    before = files_times(run)
    assembled(2, SOME, TRAIN_DATA, folder=run)
    assert files_of(run) == files_of(folder)
    kept = {path for path in before if "members" in path.parts}
    assert {path: files_times(run)[path] for path in kept} == {path: before[path] for path in kept}
    # Half of it is lost, also what other steps need, and one process does it again.
    for record in sorted(run.rglob("*.done.json"))[::2]:
        record.unlink()
    rk.assemble(SOME, TRAIN_DATA, run=run)
    assert files_of(run) == files_of(folder)
    for record in sorted(run.rglob("*.done.json"))[1::2]:
        record.unlink()
    assembled(3, SOME, TRAIN_DATA, folder=run)
    assert files_of(run) == files_of(folder)
    # And with nothing to do they have the same.
    times = files_times(run)
    assembled(2, SOME, TRAIN_DATA, folder=run)
    assert files_times(run) == times


def test_validation_data_and_more_workers_than_queries_of_a_fold(tmp_path):
    few = {"data": {"folds": 3}, "member": {"a": {"ranker": "MART", "parameters": FEW}}}
    train, valid = TRAIN_DATA.select_queries(np.arange(9)), VALID.select_queries(np.arange(4))
    one = rk.assemble(few, train, valid, run=tmp_path / "one")
    found = assembled(5, few, train, valid, folder=tmp_path / "run")
    assert files_of(tmp_path / "run") == files_of(tmp_path / "one")
    assert file_of(found[4], tmp_path / "5.rk") == file_of(one, tmp_path / "1.rk")


TWO = {
    "data": {"folds": 3},
    "member": {
        "good": {"ranker": "MART", "parameters": FEW},
        "net": {"ranker": "LambdaRank", "parameters": {"n_epochs": 1, "n_hidden": 2}},
        "bad": FAILING,
    },
    "combine": {"methods": ["average"]},
}


def test_a_member_that_fails_is_named(tmp_path):
    with pytest.raises(rk.RankiniteError, match=r"^bad, all failed: .*loss="):
        assembled(2, TWO, TRAIN_DATA, folder=tmp_path / "run")
    # What one worker alone meets is raised on all, in the same words.
    alone = copy.deepcopy(TWO)
    alone["member"]["bad"] = {"ranker": "LambdaBoost", "parameters": {"measure": "ndcg@10"}}
    huge = rk.Dataset(TRAIN_DATA.X, TRAIN_DATA.y * 400, qid=np.repeat(TRAIN_DATA.qids, 10))
    with pytest.raises(rk.RankiniteError) as one:
        rk.assemble(alone, huge)
    with pytest.raises(rk.RankiniteError) as many:
        assembled(2, alone, huge)
    assert str(many.value) == str(one.value)


def test_keep_going(tmp_path):
    with pytest.warns(RankiniteWarning, match="the member bad is not in the ensemble"):
        one = rk.assemble(TWO, TRAIN_DATA, keep_going=True, run=tmp_path / "one")
    with pytest.warns(RankiniteWarning, match="the member bad is not in the ensemble") as told:
        found = assembled(2, TWO, TRAIN_DATA, keep_going=True, folder=tmp_path / "run")
    assert sum("not in the ensemble" in str(each.message) for each in told) == 1
    assert [list(each.report.failures) for each in found] == [["bad"]] * 2
    assert files_of(tmp_path / "run") == files_of(tmp_path / "one")
    assert file_of(found[1], tmp_path / "2.rk") == file_of(one, tmp_path / "1.rk")
    bad = {**TWO, "member": {"bad": FAILING}}
    with pytest.warns(RankiniteWarning), pytest.raises(DataError, match="all members have failed"):
        assembled(2, bad, TRAIN_DATA, keep_going=True)


def test_workers_must_agree(tmp_path):
    few = {"data": {"folds": 3}, "member": {"a": {"ranker": "MART", "parameters": FEW}}}
    other = {**few, "data": {"folds": 4}}

    def differ(declared, train, **options):
        def work(communicator):
            mine = communicator.rank
            given = {name: values[mine] for name, values in options.items()}
            return rk.assemble(declared[mine], train[mine], communicator=communicator, **given)

        with pytest.raises(DataError, match="worker 1 has another declaration, other data or"):
            on_threads(2, work)

    differ((few, other), (TRAIN_DATA, TRAIN_DATA))
    differ((few, few), (TRAIN_DATA, VALID))
    differ((few, few), (TRAIN_DATA, TRAIN_DATA), test=(TEST, None))
    differ((few, few), (TRAIN_DATA, TRAIN_DATA), keep_going=(True, False))
    with pytest.raises(ParameterError, match="jobs=2 is for one process"):
        assembled(2, few, TRAIN_DATA, jobs=2)


def test_a_folder_in_use_is_told_by_worker_0(tmp_path):
    from rankinite.ensemble.run_folder import RunFolder

    few = {"data": {"folds": 3}, "member": {"a": {"ranker": "MART", "parameters": FEW}}}
    with (
        RunFolder(tmp_path / "run").held(),
        pytest.raises(DataError, match="another run is at work"),
    ):
        assembled(2, few, TRAIN_DATA, folder=tmp_path / "run")


class Plan:
    """A workshop that knows which steps are trained together, and no more."""

    def distributes(self, step):
        return step.owner.startswith("tree")


class Workers:
    size, rank = 3, 0


def step(kind, owner, *needs, part=None):
    return Step(kind, owner, part, needs, "key", 1.0)


def test_waves():
    steps = [
        step(TRAIN, "net", part=0),
        step(TRAIN, "net", part=1),
        step(MEMBER, "net", "net, fold 1", "net, fold 2"),
        step(TRAIN, "trees", "net"),
        step(MEMBER, "trees", "trees, all"),
        step(TRAIN, "boost", part=0),
        step(TRAIN, "boost", part=1),
    ]

    def waves(keep_going):
        team, waiting, found = _Team(Plan(), Workers(), keep_going), list(steps), []
        while waiting:
            wave = team.next_wave(waiting)
            found.append([each.name for each in wave])
            waiting = [each for each in waiting if each not in wave]
        return found

    first = ["net, fold 1", "net, fold 2", "boost, fold 1"]
    assert waves(False) == [first, ["net"], ["trees, all"], ["trees"], ["boost, fold 2"]]
    assert waves(True) == [first, ["net"], ["trees, all", "boost, fold 2"], ["trees"]]
    ways = [step(WAY, name) for name in "abcd"]
    assert len(_Team(Plan(), Workers(), False).next_wave(ways)) == 3


def test_files_are_packed(tmp_path):
    contents = {"a.rk": b"model\n", "b.scores": bytes(range(256)), "c.done.json": b"{}\n"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    files = [tmp_path / name for name in contents]
    assert _unpacked(_packed(files, with_models=True)) == contents
    assert list(_unpacked(_packed(files, with_models=False))) == ["b.scores", "c.done.json"]
    assert _unpacked(_packed([], with_models=True)) == {}
