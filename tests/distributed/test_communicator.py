"""One process is a communicator of size one; and what workers tell each other."""

import inspect
import os
import warnings

import numpy as np
import pytest

import rankinite as rk
from rankinite.distributed import (
    Communicator,
    Serial,
    everywhere,
    failing_together,
    on_any,
    share_of,
    told_by,
    told_by_all,
    total,
)
from rankinite.distributed import cores as cores_module
from rankinite.distributed.cores import threads_of_worker
from rankinite.distributed.threads import AbortedError, Meeting, ThreadWorker
from tests.workers import found_by_workers


def test_one_process_has_already_reduced_everything():
    alone: Communicator = Serial()
    assert (alone.rank, alone.size) == (0, 1)
    array = np.array([3, -1, 2**62])
    for reduce in (alone.sum, alone.max, alone.broadcast):
        assert reduce(array) is array
    assert alone.gather(array)[0] is array
    assert alone.reduce_scatter(array, array) is array
    own = np.empty(3, np.int64)
    assert alone.reduce_scatter(array, own) is own and own.tolist() == array.tolist()
    assert array.tolist() == [3, -1, 2**62]
    assert alone.traffic.total.calls == 0
    with pytest.raises(KeyError):
        alone.abort(KeyError("mine"))


def test_every_communicator_has_every_verb():
    verbs = {name for name in vars(Communicator) if not name.startswith("_")}
    assert verbs == {"broadcast", "gather", "sum", "max", "reduce_scatter", "abort", "job"}
    for kind in (Serial, ThreadWorker):
        assert not inspect.isabstract(kind)


@pytest.mark.parametrize(("n", "size"), [(0, 1), (1, 3), (5, 3), (9, 8), (16, 4)])
def test_shares_are_even_and_in_order(n, size):
    shares = [share_of(n, rank, size) for rank in range(size)]
    assert [k for first, last in shares for k in range(first, last)] == list(range(n))
    lengths = [last - first for first, last in shares]
    assert max(lengths) - min(lengths) <= 1


def test_what_workers_tell():
    def work(communicator, rank):
        return (
            told_by_all({"rank": communicator.rank, "ä": [None, 1.5]}, communicator),
            told_by(f"I am {communicator.rank}", communicator, 2),
            total(communicator.rank, communicator),
            on_any(communicator.rank == 1, communicator),
            on_any(False, communicator),
        )

    for told, by_last, count, any_is, none_is in found_by_workers([0, 1, 2], work):
        assert told == [{"rank": rank, "ä": [None, 1.5]} for rank in range(3)]
        assert (by_last, count, any_is, none_is) == ("I am 2", 3, True, False)


def test_an_error_that_all_have_met_ends_no_job():
    def fail(error):
        with failing_together(ThreadWorker(Meeting(2), 0)):
            raise error

    with pytest.raises(AbortedError):
        fail(rk.DataError("mine"))
    with pytest.raises(rk.DataError, match="ours"):
        fail(everywhere(rk.DataError("ours")))
    with pytest.raises(rk.DataError, match="alone"), failing_together(Serial()):
        raise rk.DataError("alone")


def test_threads_of_workers_on_one_machine(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(cores_module, "cores", lambda: 8)
    assert threads_of_worker(None, Serial()) is None and threads_of_worker(3, Serial()) == 3

    def asking(n_threads):
        return found_by_workers([0, 1], lambda c, _: threads_of_worker(n_threads, c))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asking(None) == [4, 4] and asking(7) == [7, 7]
    # Open MPI binds a process to one core.
    monkeypatch.setattr(cores_module, "cores", lambda: 1)
    for n_threads in (None, 4):
        with pytest.warns(rk.RankiniteWarning, match="may use 1 of the 8 cores") as caught:
            assert asking(n_threads) == [1, 1]
        assert "is to have 4 threads" in str(caught[0].message)
