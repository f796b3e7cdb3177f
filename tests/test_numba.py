import _thread
import signal
import threading
import time

import numba
import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import in_threads, query_blocks, threads


@pytest.mark.parametrize("n_threads", [1, 2, np.int64(2), 10**6, None])
def test_threads_are_scoped(n_threads):
    before = numba.get_num_threads()
    available = numba.config.NUMBA_NUM_THREADS
    expected = available if n_threads is None else min(int(n_threads), available)
    with threads(n_threads) as n:
        assert n == numba.get_num_threads() == expected
        with threads(1):
            assert numba.get_num_threads() == 1
        assert numba.get_num_threads() == expected
    assert numba.get_num_threads() == before
    with pytest.raises(KeyError), threads(1):
        raise KeyError
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "2", [1]])
def test_numbers_of_threads_that_are_none(n_threads):
    with (
        pytest.raises(rk.ParameterError, match="n_threads must be a positive integer or None, got"),
        threads(n_threads),
    ):
        pass


@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_block_is_worked_on_once(n_threads):
    done, workers, before = [], set(), threading.active_count()

    def work(first, last, name):
        workers.add(threading.get_ident())
        done.append((first, last, name))

    with threads(n_threads):
        in_threads(work, np.array([0, 3, 3, 4, 9]), "x")
        assert sorted(done) == [(0, 3, "x"), (3, 4, "x"), (4, 9, "x")]
        assert len(workers) <= numba.get_num_threads()
        in_threads(work, np.array([5]))
    assert len(done) == 3
    assert threading.active_count() == before


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_goes_wrong_in_a_thread_is_told(n_threads):
    def work(first, last):
        raise KeyError(first)

    with threads(n_threads), pytest.raises(KeyError):
        in_threads(work, np.array([0, 1, 2]))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_after_a_failure_nobody_begins_another_block(n_threads):
    begun = []

    def work(first, last):
        begun.append(first)
        if first == 0:
            raise KeyError("the first")
        time.sleep(0.05)

    with threads(n_threads), pytest.raises(KeyError, match="the first"):
        in_threads(work, np.arange(100))
    assert len(begun) <= 2


def is_main_thread():
    # Not current_thread(), which makes an entry for a thread that it does not know.
    return threading.get_ident() == threading.main_thread().ident


needs_two_threads = pytest.mark.skipif(
    numba.config.NUMBA_NUM_THREADS < 2 or not hasattr(signal, "pthread_kill"),
    reason="a second thread and signals to a thread",
)


@needs_two_threads
def test_ctrl_c_in_a_block():
    both, done = threading.Barrier(2), []

    def work(first, last):
        both.wait(timeout=60)
        if is_main_thread():
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.05)
        done.append(first)

    with threads(2), pytest.raises(KeyboardInterrupt):
        in_threads(work, np.arange(100))
    assert len(done) == 1, "the block of the other thread is waited for"


@needs_two_threads
def test_ctrl_c_while_the_last_block_is_waited_for():
    both, done = threading.Barrier(2), []

    def work(first, last):
        both.wait(timeout=60)
        if not is_main_thread():
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.05)
            done.append(first)

    with threads(2), pytest.raises(KeyboardInterrupt):
        in_threads(work, np.arange(3))
    assert len(done) == 1


@needs_two_threads
def test_ctrl_c_at_any_moment_leaves_no_thread_behind():
    """An alarm stands for the key: it raises KeyboardInterrupt wherever the main thread is."""
    before = _thread._count()
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with threads(2):
            for tenths in range(1, 101):
                try:
                    # Again after a second: Python drops what is raised inside callbacks of its
                    # garbage collector, and hypothesis has one.
                    signal.setitimer(signal.ITIMER_REAL, tenths * 1e-4, 1.0)
                    while True:
                        in_threads(lambda first, last: None, np.arange(5))
                except KeyboardInterrupt:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                # A thread is counted until a moment after its last block.
                deadline = time.monotonic() + 10
                while _thread._count() > before and time.monotonic() < deadline:
                    time.sleep(0.001)
                assert _thread._count() == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize("sizes", [[3], [0, 5, 0, 0], [1] * 100, [1, 500, 2, 30, 0], []])
def test_blocks_have_every_query_once(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for rows_a_block in (1, 10, 10_000):
        blocks = query_blocks(offsets, rows_a_block)
        assert (blocks[0], blocks[-1]) == (0, len(sizes))
        assert (np.diff(blocks) >= 0).all()
        assert len(blocks) <= 17


def test_the_threading_layer_survives_threads_and_is_not_left_to_chance():
    rk.LambdaMART(n_estimators=1).fit(rk.artificial(n_queries=20, n_docs=20, n_features=3))
    assert numba.threading_layer() in ("tbb", "omp")
