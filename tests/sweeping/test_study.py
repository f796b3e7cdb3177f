"""Studies on disk: going on, after a kill too, and refusing what is another sweep."""

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankinite as rk
from tests.sweeping.small import QUICK, RANKER, SPACE, data, outcomes

RANDOM = {**QUICK, "sampler": "random"}


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_a_sweep_goes_on_to_the_number_of_trials(sampler, tmp_path):
    space = {**SPACE, "learning_rate": [0.05, 0.1, 0.5]} if sampler == "grid" else SPACE
    options = {"n_folds": 3, "sampler": sampler, "prune": "median"}
    whole = rk.sweep(RANKER, space, data(), **options, trials=16)
    study = tmp_path / "a study? 100%{x}.db"
    part = rk.sweep(RANKER, space, data(), **options, trials=5, study=study)
    assert outcomes(part) == outcomes(whole)[:5]
    rest = rk.sweep(RANKER, space, data(), **options, trials=16, study=study)
    assert outcomes(rest) == outcomes(whole)
    assert [each.seconds for each in rest.trials[:5]] == [each.seconds for each in part.trials]
    again = rk.sweep(RANKER, space, data(), **options, trials=16, study=study)
    assert outcomes(again) == outcomes(whole)
    # Fewer trials than there are: those are left aside.
    fewer = rk.sweep(RANKER, space, data(), **options, trials=3, study=study)
    assert outcomes(fewer) == outcomes(whole)[:3]
    assert [path.name for path in tmp_path.iterdir()] == [study.name], "no lock is left"


def test_optuna_can_read_it(tmp_path):
    import optuna

    found = rk.sweep(RANKER, SPACE, data(), **RANDOM, study=tmp_path / "sweep.db")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="rankinite", storage=f"sqlite:///{tmp_path / 'sweep.db'}")
    assert study.best_params == found.best_params and study.best_value == found.best_value
    assert study.best_trial.intermediate_values


def test_nothing_of_optuna_is_seen(tmp_path, capfd):
    options = {"n_folds": 2, "trials": 17, "sampler": "tpe"}
    ranker = rk.LambdaMART(n_estimators=2)
    rk.sweep(ranker, SPACE, data(), **options, study=tmp_path / "sweep.db")
    assert capfd.readouterr() == ("", "")
    rk.sweep(ranker, SPACE, data(), **{**options, "trials": 18}, study=tmp_path / "sweep.db")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranker": rk.MART(n_estimators=12)}, "another ranker, LambdaMART and not MART"),
        (
            {"ranker": RANKER.__sklearn_clone__().set_params(max_bins=64)},
            "other fixed parameters",
        ),
        ({"space": {"max_leaf_nodes": [2, 3]}}, "another space"),
        ({"measure": "map"}, "another measure, ndcg@10 and not map"),
        ({"n_folds": 4}, "another number of folds, 3 and not 4"),
        ({"sampler": "tpe"}, "another sampler, random and not tpe"),
        ({"random_state": 1}, "another seed, 0 and not 1"),
        ({"prune": "none"}, "another rule of pruning, quarter and not none"),
        ({"data": rk.artificial(n_queries=30, n_docs=10, n_features=5, random_state=1)}, "other d"),
    ],
)
def test_a_study_of_another_sweep(changes, message, tmp_path):
    study = tmp_path / "sweep.db"
    few = {**RANDOM, "trials": 1}
    rk.sweep(RANKER, SPACE, data(), **few, study=study)
    options = {"ranker": RANKER, "space": SPACE, "data": data(), **few, **changes}
    positional = [options.pop(name) for name in ("ranker", "space", "data")]
    with pytest.raises(rk.DataError, match=f"sweep.db holds a sweep of {message}"):
        rk.sweep(*positional, **options, study=study)
    # Threads and the number of jobs and trials may be others.
    threads = RANKER.__sklearn_clone__().set_params(n_threads=1)
    assert len(rk.sweep(threads, SPACE, data(), **{**few, "trials": 2}, study=study).trials) == 2


def test_files_that_are_no_studies(tmp_path):
    text, folder, other = tmp_path / "a.txt", tmp_path / "folder", tmp_path / "other.db"
    text.write_text("1 qid:1 1:2\n" * 9)
    folder.mkdir()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(storage=f"sqlite:///{other}", study_name="mine")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\x00" + bytes(range(200)))
    for path, message in (
        (text, "a.txt is no study, but another file"),
        (folder, "it is a folder"),
        (tmp_path / "none" / "sweep.db", "in a folder that does not exist"),
        (other, "holds studies that are no sweeps of rankinite"),
        (broken, "broken.db cannot be used: file is not a database"),
    ):
        with pytest.raises(rk.DataError, match=message):
            rk.sweep(RANKER, SPACE, data(), **RANDOM, study=path)
    assert text.read_text() == "1 qid:1 1:2\n" * 9
    assert not list(tmp_path.glob("*.lock"))


def test_a_study_in_use(tmp_path):
    study = tmp_path / "sweep.db"
    lock = sqlite3.connect(tmp_path / "sweep.db.lock", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    with pytest.raises(rk.DataError, match=r"sweep.db is in use by another sweep: wait"):
        rk.sweep(RANKER, SPACE, data(), **RANDOM, study=study)
    lock.close()
    assert len(rk.sweep(RANKER, SPACE, data(), **RANDOM, study=study).trials) == 6


KILLED = """
import sys
import rankinite as rk
from tests.sweeping.small import RANKER, SPACE, data
rk.sweep(RANKER, SPACE, data(), n_folds=3, trials=30, sampler="tpe", prune="median",
         study=sys.argv[1], jobs=int(sys.argv[2]), verbose=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_that_is_killed_goes_on(jobs, tmp_path):
    study = tmp_path / "sweep.db"
    options = {"n_folds": 3, "trials": 30, "sampler": "tpe", "prune": "median"}
    whole = rk.sweep(RANKER, SPACE, data(), **options)
    rng = np.random.default_rng(jobs)
    for n_seen in (2, 6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(study), str(jobs)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(n_seen):
            assert "trial" in process.stderr.readline()
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
    with sqlite3.connect(study) as kept:
        numbers = [
            int(value)
            for (value,) in kept.execute(
                "SELECT value_json FROM trial_user_attributes WHERE key = 'number'"
            )
        ]
    assert 8 <= len(numbers) == len(set(numbers)) < 30
    found = rk.sweep(RANKER, SPACE, data(), **options, study=study)
    assert outcomes(found) == outcomes(whole)


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "sweep.db"), "2"],
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stderr.readline()
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    # Trials are short, and there is a moment between two of them.
    while not (children := listed.read_text().split()):
        assert process.poll() is None
    process.kill()
    process.wait()
    process.stderr.close()
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
