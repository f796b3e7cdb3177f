"""Workers by XGBoost's collective: the verbs, the same files, and what becomes of errors."""

import json
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import rankinite as rk
from rankinite.distributed import Tracker
from tests.distributed import verbs
from tests.distributed.cases import CASES, file_of, trained
from tests.distributed.jobs import finish, of_a_process

pytestmark = [
    pytest.mark.dask,
    pytest.mark.skipif(find_spec("xgboost") is None, reason="there is no XGBoost"),
]


def start(size, text, folder, *arguments):
    """Start so many processes, which find each other by the environment, and their tracker."""
    tracker = Tracker(size, "127.0.0.1")
    path = Path(folder, "job.py")
    path.write_text(text, encoding="utf-8")
    jobs = []
    for rank in range(size):
        places = {name.upper(): str(value) for name, value in tracker.arguments(rank).items()}
        job = subprocess.Popen(
            [sys.executable, path, *map(str, arguments)],
            env={**of_a_process(), **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        jobs.append(job)
    return tracker, jobs


def run(size, text, folder, *arguments):
    """Exit codes and what was said on standard error, by rank."""
    tracker, jobs = start(size, text, folder, *arguments)
    ended = [finish(job) for job in jobs]
    tracker.stop()
    return [code for code, _, _ in ended], [err for _, _, err in ended]


@pytest.mark.parametrize("size", [2, 3])
def test_verbs(size, tmp_path):
    text = verbs.script("rk.collective()", verbs.ANY_ARRAYS)
    codes, told = run(size, text, tmp_path, tmp_path)
    assert codes == [0] * size, told
    verbs.check(size, tmp_path)


TRAIN = """
import sys
import rankinite as rk
from tests.distributed.cases import trained

with rk.collective() as comm:
    for name in sys.argv[2:]:
        trained(name, comm).save(f"{sys.argv[1]}/{name} {comm.rank}.rk")
"""


@pytest.mark.parametrize("size", [2, 3])
def test_the_file_is_that_of_one_process(size, tmp_path):
    codes, told = run(size, TRAIN, tmp_path, tmp_path, *CASES)
    assert codes == [0] * size, told
    for name in CASES:
        expected = file_of(trained(name), tmp_path)
        for rank in range(size):
            assert (tmp_path / f"{name} {rank}.rk").read_bytes() == expected, (name, rank)


FAILS = """
import os, sys, time
import rankinite as rk
from tests.distributed.cases import SOME, data, dealt

class Slowly:
    def after_round(self, run):
        time.sleep(0.05)
        if run.n_done == 3:
            open(f"{sys.argv[1]}/third {comm.rank}", "w").close()
        if comm.rank == 1 and run.n_done == 3 and sys.argv[2] == "raise":
            raise rk.DataError("my own mistake")

    def finish(self, run):
        pass

comm = rk.collective(timeout=5)
share = dealt(data()[0], comm.rank, comm.size)
try:
    settings = {**SOME, "n_estimators": 2000}
    rk.LambdaMART(**settings).fit(share, callbacks=[Slowly()], communicator=comm)
except rk.RankiniteError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def test_an_error_on_one_ends_the_training_on_all(tmp_path):
    codes, told = run(3, FAILS, tmp_path, tmp_path, "raise")
    assert codes == [1, 1, 1]
    for rank, err in enumerate(told):
        lost = f"LostWorkersError: worker {rank} of 3 has lost the others"
        assert ("DataError: my own mistake" if rank == 1 else lost) in err, err
        assert "Traceback" not in err


LEAVES = """
import json, sys
import numpy as np
import rankinite as rk
from rankinite.distributed import LostWorkersError

for places in json.loads(sys.argv[1]):
    comm = rk.collective(places, timeout=5)
    try:
        for i in range(200):
            comm.sum(np.ones(3, np.int64))
        if comm.rank == 1:
            comm.abort(KeyError("enough"))
        while True:
            comm.sum(np.ones(3, np.int64))
    except KeyError:
        print("left")
    except LostWorkersError:
        comm.close()
        print("lost")
"""


def test_a_worker_that_goes_in_the_midst_of_a_sum_is_missed_by_all(tmp_path):
    """XGBoost's own verb then never returns on some, each second or third time."""
    trackers = [Tracker(3, "127.0.0.1") for _ in range(8)]
    path = tmp_path / "job.py"
    path.write_text(LEAVES, encoding="utf-8")
    jobs = [
        subprocess.Popen(
            [sys.executable, path, json.dumps([each.arguments(rank) for each in trackers])],
            env=of_a_process(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    ended = [finish(job, 120) for job in jobs]
    for tracker in trackers:
        tracker.stop()
    for rank, (code, out, err) in enumerate(ended):
        said = [line for line in out.splitlines() if "got rank" not in line]
        assert (code, said) == (0, ["left" if rank == 1 else "lost"] * 8), (out, err)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (signal.SIGKILL, "has lost the others"),
        (signal.SIGSTOP, "has not heard of the others for 5 seconds"),
    ],
    ids=["killed", "stopped"],
)
def test_a_worker_that_is_killed_or_stopped_ends_the_training(number, sentence, tmp_path):
    tracker, jobs = start(2, FAILS, tmp_path, tmp_path, "go on")
    deadline = time.monotonic() + 120
    while not (tmp_path / "third 1").exists():
        assert jobs[1].poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    jobs[1].send_signal(number)
    try:
        code, _, err = finish(jobs[0], 30)
    finally:
        jobs[1].kill()
        jobs[1].communicate()
        tracker.stop()
    assert code == 1 and f"worker 0 of 2 {sentence}" in err


def test_a_tracker_is_asked_for(monkeypatch):
    monkeypatch.delenv("DMLC_TRACKER_URI", raising=False)
    with pytest.raises(rk.ParameterError, match="set DMLC_TRACKER_URI in the environment"):
        rk.collective()
    with pytest.raises(rk.ParameterError, match="pass dmlc_tracker_port"):
        rk.collective({"dmlc_tracker_uri": "127.0.0.1"})
    with pytest.raises(rk.ParameterError, match="must be a number, got 'x'"):
        rk.collective({"dmlc_tracker_uri": "127.0.0.1", "dmlc_tracker_port": "x"})
    with pytest.raises(rk.ParameterError, match="timeout must be"):
        rk.collective(timeout=0)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(rk.ParameterError, match=r"pip install 'rankinite\[dask\]'"):
        rk.collective()
