"""What becomes of a training on Dask when a worker fails, is killed, or stops."""

import logging
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import rankinite as rk
from tests.distributed.cases import SOME, data, file_of
from tests.distributed.clusters import cluster, frame, lazy, needs_dask

pytestmark = [*needs_dask, pytest.mark.slow]
# A killed worker must end the job so soon.
SECONDS_TO_END = 30
LONG = {**SOME, "n_estimators": 24, "row_fraction": 0.7}


@pytest.fixture
def client():
    with cluster() as client:
        yield client


class OnWorker:
    """Does something on one worker after some trees; once, if a file is to say that it has."""

    def __init__(self, address, what, once=None):
        self.address, self.what, self.once = address, what, once

    def after_round(self, run):
        from distributed import get_worker

        if run.n_done != 10 or get_worker().address != self.address:
            return
        if self.once is not None:
            if Path(self.once).exists():
                return
            Path(self.once).touch()
        if self.what == "raise":
            raise KeyError("my own mistake")
        os.kill(os.getpid(), getattr(signal, self.what))

    def finish(self, run):
        pass


class Numbers:
    """Writes the number of every round that worker 0 has learned."""

    on_one_worker = True

    def __init__(self, path):
        self.path = path

    def after_round(self, run):
        with Path(self.path).open("a") as file:
            print(run.n_done, file=file)

    def finish(self, run):
        pass


class Slowly:
    """Tells when the first tree is there, and takes its time."""

    def __init__(self, folder):
        self.folder = folder

    def after_round(self, run):
        Path(self.folder, f"{os.getpid()} {run.n_done}").touch()
        time.sleep(0.2)

    def finish(self, run):
        pass


def fit(client, callbacks=(), settings=LONG, **options):
    import rankinite.dask

    ranker = rankinite.dask.LambdaMART(client=client, **settings)
    rows = lazy(frame(data()[0]), 4)
    return ranker.fit(rows, "label", qid="query", callbacks=callbacks, **options)


def expected(folder):
    return file_of(rk.LambdaMART(**LONG).fit(frame(data()[0]), "label", qid="query"), folder)


def test_an_error_of_one_worker_is_raised_with_its_sentence(client, tmp_path):
    addresses = sorted(client.nthreads())
    started = time.monotonic()
    with pytest.raises(rk.WorkerError) as caught:
        fit(client, [OnWorker(addresses[1], "raise")])
    assert str(caught.value) == "worker 1 of 2: KeyError: 'my own mistake'"
    assert caught.value.__cause__ is None and "after_round" in caught.value.remote_traceback
    assert time.monotonic() - started < 60
    # Both workers are as good as before.
    assert sorted(client.nthreads()) == addresses
    assert file_of(fit(client).model_, tmp_path) == expected(tmp_path)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_costs_nothing_but_time(client, victim, tmp_path, caplog):
    """Worker 0 writes the checkpoints and brings the others together."""
    addresses = sorted(client.nthreads())
    kill = OnWorker(addresses[victim], "SIGKILL", tmp_path / "killed")
    checkpoint = tmp_path / "run.rk"
    # What an earlier run has left is none of this one's.
    rk.MART(**SOME).fit(data()[0]).save(checkpoint)
    with caplog.at_level(logging.WARNING, "rankinite.dask"):
        callbacks = [Numbers(tmp_path / "rounds"), kill]
        ranker = fit(client, callbacks, checkpoint=checkpoint, checkpoint_every=4, retries=1)
    assert (tmp_path / "killed").exists()
    assert f"worker {victim} of 2 ({addresses[victim]}) is gone" in caplog.text
    assert file_of(ranker.model_, tmp_path) == expected(tmp_path)
    # It went on from the eighth tree at least: worker 0 keeps what it has when others are lost.
    rounds = list(map(int, (tmp_path / "rounds").read_text().split()))
    assert rounds[:10] == [*range(1, 11)] and rounds[-1] == 24
    assert all(rounds.count(number) == 1 for number in range(1, 9))


def test_a_killed_worker_ends_the_job_soon_and_any_number_of_workers_resumes_it(client, tmp_path):
    address = sorted(client.nthreads())[1]
    checkpoint = tmp_path / "run.rk"
    kill = OnWorker(address, "SIGKILL", tmp_path / "killed")
    with pytest.raises(rk.WorkerError, match=r"is gone.*resume=.*run\.rk") as caught:
        fit(client, [kill], checkpoint=checkpoint, checkpoint_every=3)
    assert time.time() - (tmp_path / "killed").stat().st_mtime < SECONDS_TO_END
    assert caught.value.__cause__ is None
    alone = rk.LambdaMART(**LONG)
    alone.fit(frame(data()[0]), "label", qid="query", resume=checkpoint)
    assert file_of(alone, tmp_path) == expected(tmp_path)
    resumed = fit(client, resume=checkpoint)
    assert file_of(resumed.model_, tmp_path) == expected(tmp_path)


def test_a_stopped_worker_is_noticed_by_the_time_limit(client, tmp_path, caplog):
    addresses = sorted(client.nthreads())
    pids = client.run(os.getpid)
    stop = OnWorker(addresses[1], "SIGSTOP", tmp_path / "stopped")
    try:
        with caplog.at_level(logging.WARNING, "rankinite.dask"):
            ranker = fit(
                client,
                [stop],
                checkpoint=tmp_path / "run.rk",
                checkpoint_every=4,
                retries=1,
                timeout=5,
            )
    finally:
        os.kill(pids[addresses[1]], signal.SIGCONT)
    assert f"({addresses[1]}) did not answer for 5 seconds" in caplog.text
    assert file_of(ranker.model_, tmp_path) == expected(tmp_path)


def test_a_client_that_gives_up_ends_the_training(client, tmp_path):
    """Ctrl-C in the client; the workers stop after the tree that they are at."""

    def interrupt():
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("* 2")) and time.monotonic() < deadline:
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        fit(client, [Slowly(str(tmp_path))], settings={**LONG, "n_estimators": 400})
    time.sleep(3)
    seen = sorted(path.name for path in tmp_path.iterdir())
    time.sleep(1)
    assert sorted(path.name for path in tmp_path.iterdir()) == seen
    assert len(seen) < 100


def test_what_workers_were_to_do_can_be_forgotten_and_the_client_stays(client):
    """Also tasks that nobody holds, between two that somebody does."""
    from rankinite.dask.crew import Crew

    crew = Crew(client, sorted(client.nthreads()))
    first = crew.submit(0, time.sleep, 3)
    last = crew.submit(1, str, crew.submit(1, str, first))
    crew.dismiss()
    assert crew.results([crew.submit(1, max, 1, 2)]) == [2]
    with pytest.raises(rk.WorkerError, match="the scheduler has forgotten"):
        crew.results([last])
