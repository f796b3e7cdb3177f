"""What becomes of an MPI job when one of its processes fails, or is killed."""

import os
import random
import signal
import sys
import time

import pytest

import rankinite as rk
from tests.distributed.cases import data, file_of
from tests.distributed.jobs import finish, needs_mpi, run_script, start

pytestmark = needs_mpi
# A killed process must end the job so soon.
SECONDS_TO_END = 30

FIT = """
import os, sys, time
import numpy as np
import rankinite as rk
from tests.distributed.cases import SOME, data, dealt

comm = rk.mpi()
share = dealt(data()[0], comm.rank, comm.size)
"""

WRONG_LABEL = """
if comm.rank == 2:
    share.y[3] = -1.0
try:
    rk.LambdaMART(**SOME).fit(share, communicator=comm)
except Exception:
    time.sleep(600)  # a caller that goes on after the error
"""

OWN_CALLBACK = """
class Fails:
    def after_round(self, run):
        if comm.rank == 1 and run.n_done == 3:
            raise KeyError("my own mistake")

    def finish(self, run):
        pass

rk.LambdaMART(**SOME).fit(share, callbacks=[Fails()], communicator=comm)
"""

INTERRUPTED = """
class Interrupt:
    def after_round(self, run):
        if comm.rank == 1 and run.n_done == 3:
            raise KeyboardInterrupt

    def finish(self, run):
        pass

rk.LambdaMART(**SOME).fit(share, callbacks=[Interrupt()], communicator=comm)
"""

OUTSIDE = """
if comm.rank == 3:
    raise rk.DataError("share 3 is not there")
rk.LambdaMART(**SOME).fit(share, communicator=comm)
"""

ON_ALL = """
rk.LambdaMART(learning_rate=-1.0).fit(share, communicator=comm)
"""

SHARED = """
rk.LambdaMART(**SOME).fit(data()[0], communicator=comm)
"""


@pytest.mark.parametrize(
    ("script", "rank", "sentence"),
    [
        (WRONG_LABEL, 2, "has the label -1"),
        (OWN_CALLBACK, 1, "'my own mistake'"),
        (INTERRUPTED, 1, "interrupted"),
        (OUTSIDE, 3, "share 3 is not there"),
        (ON_ALL, 0, "learning_rate must be"),
        (SHARED, 0, "of the training data is on worker 0 and on worker 1"),
    ],
    ids=["label", "callback", "interrupt", "outside", "all", "shared"],
)
def test_an_error_ends_the_job_with_its_sentence(script, rank, sentence, tmp_path):
    started = time.monotonic()
    code, _, err = run_script(4, FIT + script, tmp_path)
    assert code != 0
    told = [line for line in err.splitlines() if line.startswith("error: worker")]
    assert len(told) == 1 and told[0].startswith(f"error: worker {rank} of 4: "), err
    assert sentence in told[0]
    assert ("Traceback" in err) == (script == OWN_CALLBACK)
    assert time.monotonic() - started < 60


AFFINITY = """
os.sched_setaffinity(0, {0})
rk.LambdaMART(**SOME, n_threads=2).fit(share, communicator=comm)
"""


def test_a_process_that_is_bound_to_a_core_is_told_so(tmp_path):
    code, _, err = run_script(2, FIT + AFFINITY, tmp_path)
    assert code == 0, err
    for rank in range(2):
        assert f"worker {rank} is to have 2 threads, but may use 1 of the" in err
    assert "mpiexec --bind-to none" in err


LONG = {"n_estimators": 120, "max_leaf_nodes": 6, "min_samples_leaf": 5, "row_fraction": 0.7}
TRAIN = """
import sys
from pathlib import Path

folder, settings = Path(sys.argv[1]), eval(sys.argv[2])
Path(folder, f"pid {comm.rank}").write_text(str(os.getpid()))


class Slowly:
    def after_round(self, run):
        time.sleep(0.02)

    def finish(self, run):
        pass


from rankinite.training import Checkpoint

learner = rk.LambdaMART(**settings)
checkpoint = folder / "checkpoint.rk"
callbacks = [Checkpoint(checkpoint, every=1), Slowly()]
resume = checkpoint if checkpoint.exists() else None
learner.fit(share, callbacks=callbacks, resume=resume, communicator=comm)
if comm.rank == 0:
    learner.save(folder / "model.rk")
"""


def killed_once(size, victim, folder, seed):
    """Start the training, and kill a process of it at a random moment; whether it was in time."""
    script = folder / "train.py"
    script.write_text(FIT + TRAIN, encoding="utf-8")
    for old in folder.glob("pid *"):
        old.unlink()
    checkpoint = folder / "checkpoint.rk"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    job = start(size, sys.executable, script, folder, repr(LONG))
    deadline = time.monotonic() + 120
    while not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before:
        assert job.poll() is None and time.monotonic() < deadline, finish(job, 5)
        time.sleep(0.01)
    time.sleep(random.Random(seed).random() * 0.2)
    process = int((folder / f"pid {victim}").read_text())
    done = job.poll() is not None
    if not done:
        os.kill(process, signal.SIGKILL)
    killed = time.monotonic()
    code, _, err = finish(job, SECONDS_TO_END)
    assert time.monotonic() - killed < SECONDS_TO_END
    assert done or code != 0 or (folder / "model.rk").exists(), err
    return not done


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4])
def test_twenty_kills_cost_nothing_but_time(size, tmp_path):
    """Each time another process of the job, or the only one; then the rest on three workers."""
    n_killed = sum(killed_once(size, k % size, tmp_path, seed=k) for k in range(20))
    assert n_killed >= 15
    (tmp_path / "model.rk").unlink(missing_ok=True)
    code, _, err = run_script(3, FIT + TRAIN, tmp_path, tmp_path, repr(LONG))
    assert code == 0, err
    expected = file_of(rk.LambdaMART(**LONG).fit(data()[0]), tmp_path / "..")
    assert (tmp_path / "model.rk").read_bytes() == expected
