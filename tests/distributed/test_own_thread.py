"""A thread that makes calls for others."""

import threading
import time

import pytest

from rankinite.distributed.own_thread import OwnThread


def test_calls_are_made_in_turn_on_one_other_thread():
    thread = OwnThread()
    made = []
    answers = [thread.ask(lambda i=i: made.append(i) or threading.get_ident()) for i in range(20)]
    found = {answer.result(10) for answer in answers}
    assert made == list(range(20))
    assert len(found) == 1 and threading.get_ident() not in found
    thread.end()


def test_errors_are_those_of_the_call_and_the_thread_goes_on():
    thread = OwnThread()
    with pytest.raises(ZeroDivisionError):
        thread.ask(lambda: 1 // 0).result(10)
    assert thread.ask(lambda: 7).result(10) == 7
    thread.end()


def test_whoever_asks_need_not_wait():
    thread, go = OwnThread(), threading.Event()
    answer = thread.ask(go.wait)
    with pytest.raises(TimeoutError):
        answer.result(0.01)
    assert thread.is_busy
    go.set()
    assert answer.result(10)
    assert not thread.is_busy
    thread.end()


def test_threads_that_a_call_has_started_are_counted():
    thread, other, go = OwnThread(), OwnThread(), threading.Event()
    assert thread.ask(lambda: None).result(10) is None
    if thread.n_threads() == 0:
        pytest.skip("the kernel does not name threads")
    started = threading.Thread(target=go.wait)
    thread.ask(started.start).result(10)
    assert (thread.n_threads(), other.n_threads()) == (2, 1)
    go.set()
    started.join(10)
    # Python knows that a thread has ended before the kernel does.
    deadline = time.monotonic() + 10
    while thread.n_threads() != 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert thread.n_threads() == 1
    thread.end()
    other.end()
