"""Doing steps: in order, side by side, past what is done and what fails, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rankinite._crew import check_jobs
from rankinite.ensemble.plan import MEMBER, TRAIN, Step
from rankinite.ensemble.run_folder import RunFolder
from rankinite.ensemble.running import Progress, pending, run_steps
from rankinite.errors import DataError, ModelFileError, WorkerError

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def step(owner, *needs, key="k", cost=1.0):
    return Step(MEMBER, owner, None, needs, key, cost)


@pytest.fixture
def folder(tmp_path):
    found = RunFolder(tmp_path / "run")
    with found.held():
        yield found


class Work:
    """Steps that write their name, and fail if they are told to."""

    def __init__(self, folder, failing=(), bugs=()):
        self.folder, self.failing, self.bugs = folder, failing, bugs

    def __call__(self, step):
        self.folder.begin(step)
        if step.owner in self.failing:
            raise DataError("it is no good")
        if step.owner in self.bugs:
            raise ZeroDivisionError("by zero")
        path = self.folder.write_scores(step, np.array([float(os.getpid())]))
        self.folder.finish(step, [path], 0.5)


def do(steps, work, jobs=1, keep_going=False):
    lines = []
    progress = Progress(lines.append, jobs)
    progress.expect(pending(steps, work.folder))
    failures = run_steps(steps, work.folder, work, progress, keep_going=keep_going)
    return failures, lines


JOBS = [1, pytest.param(2, marks=needs_fork)]
STEPS = [step("a"), step("b", "a"), step("c"), step("d", "b", "c", cost=10.0)]


@pytest.mark.parametrize("jobs", JOBS)
def test_all_is_done_once(folder, jobs):
    failures, lines = do(STEPS, Work(folder), jobs)
    assert failures == {} and all(map(folder.is_done, STEPS))
    assert [line.split(": ")[0] for line in lines][-1] == "d"
    assert lines[-1].endswith("4 of 4 steps") and "s left" in lines[0]
    processes = {int(folder.read_scores(each, 1)[0]) for each in STEPS}
    assert (os.getpid() in processes) == (jobs == 1)
    assert do(STEPS, Work(folder), jobs) == ({}, [])
    anew = [*STEPS[:3], step("d", "b", "c", key="other")]
    assert len(do(anew, Work(folder), jobs)[1]) == 1
    assert folder.seconds(anew[3]) == 0.5


@pytest.mark.parametrize("jobs", JOBS)
def test_a_failure_ends_the_run_and_is_named(folder, jobs):
    with pytest.raises((DataError, WorkerError), match=r"^b failed: it is no good$"):
        do(STEPS, Work(folder, failing=["b"]), jobs)
    assert folder.is_done(STEPS[0]) and not folder.is_done(STEPS[3])


@pytest.mark.parametrize("jobs", JOBS)
def test_the_rest_goes_on_if_asked(folder, jobs, capfd):
    failures, lines = do(STEPS, Work(folder, bugs=["b"]), jobs, keep_going=True)
    assert failures == {"b": "ZeroDivisionError: by zero", "d": "it needs b"}
    assert [folder.is_done(each) for each in STEPS] == [True, False, True, False]
    assert sum("failed: ZeroDivisionError" in line for line in lines) == 1
    assert sum("left out" in line for line in lines) == 1
    assert ("Traceback" in capfd.readouterr().err) == (jobs == 2)


@needs_fork
def test_a_process_that_is_killed(folder):
    class Killed(Work):
        def __call__(self, step):
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(WorkerError, match=r"^[ac] failed: its process has ended by signal 9"):
        do(STEPS, Killed(folder), jobs=2)


@needs_fork
def test_processes_end_with_their_parent(tmp_path):
    code = """
import os, sys, time
from tests.ensemble.test_running import *
class Slow(Work):
    def __call__(self, step):
        Path(sys.argv[1], f"{step.owner}.pid").write_text(str(os.getpid()))
        time.sleep(600)
folder = RunFolder(Path(sys.argv[1], "run"))
with folder.held():
    do(STEPS, Slow(folder), jobs=2)
"""
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    try:
        pids = [tmp_path / "a.pid", tmp_path / "c.pid"]
        deadline = time.monotonic() + 120
        while not all(path.exists() and path.read_text() for path in pids):
            assert parent.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    while any(Path(f"/proc/{path.read_text()}").exists() for path in pids):
        assert time.monotonic() < deadline, "a process has outlived its parent"
        time.sleep(0.05)
    with RunFolder(tmp_path / "run").held():
        pass  # and nobody holds the folder


def test_a_folder_is_for_one_run(folder):
    pytest.importorskip("fcntl")
    with pytest.raises(DataError, match="another run is at work in"), RunFolder(folder.path).held():
        pass
    with (
        pytest.raises(DataError, match="cannot be written"),
        RunFolder(folder.path / "no" / "such").held(),
    ):
        pass


def test_what_is_damaged_or_gone_does_not_count(folder):
    one = Step(TRAIN, "a", 0, (), "k", 1.0)
    do([one], Work(folder))
    assert folder.is_done(one)
    scores = folder.scores(one)
    content = scores.read_bytes()
    scores.write_bytes(content[:-1])
    with pytest.raises(ModelFileError, match=r"is damaged \(.*\): delete it, and start again"):
        folder.read_scores(one, 1)
    scores.write_bytes(content)
    with pytest.raises(ModelFileError, match="other scores than it should"):
        folder.read_scores(one, 2)
    scores.unlink()
    assert not folder.is_done(one)
    do([one], Work(folder))
    record = scores.with_name("fold-01.done.json")
    for text in ("", "[]", "{}", '{"key": "k", "files": 1}'):
        record.write_text(text)
        assert not folder.is_done(one)


def test_threads_of_jobs():
    assert check_jobs(2, 8) == 4 and check_jobs(8, 2) == 1
