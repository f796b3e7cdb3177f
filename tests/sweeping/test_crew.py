"""Other processes that run trials: what goes wrong with them is told in a sentence."""

import pytest

import rankinite as rk
from rankinite.errors import WorkerError
from rankinite.measures import measure
from rankinite.sweeping.crew import crew_of
from rankinite.sweeping.objective import Objective
from rankinite.sweeping.trial import Task
from tests.sweeping.small import RANKER, data


class Own(rk.LambdaMART):
    """A ranker that lives where no other process looks."""


def objective(ranker=RANKER):
    return Objective(ranker, data(), measure("ndcg@10"), 3, 0, 12, None, n_threads=1)


def test_two_at_a_time_as_one_after_the_other():
    tasks = [Task(number, {"max_leaf_nodes": 2 + number}, []) for number in range(3)]
    alone = [objective().run(task) for task in tasks]
    with crew_of(objective(), 2) as crew:
        crew.give(tasks[0])
        crew.give(tasks[1])
        assert not crew.has_room
        found = [crew.take()]
        crew.give(tasks[2])
        found += [crew.take(), crew.take()]
        assert crew.has_room
    for one, other in zip(alone, sorted(found, key=lambda each: each.number), strict=True):
        assert (one.params, one.value, one.folds) == (other.params, other.value, other.folds)
        assert one.curve == other.curve and one.rounds == other.rounds


def test_a_process_that_dies():
    with crew_of(objective(), 2) as crew:
        crew.give(Task(0, {"n_estimators": 10_000}, []))
        ((_, process),) = crew._crew._running.values()
        process.kill()
        with pytest.raises(WorkerError, match="trial 0 failed: its process has ended by signal 9"):
            crew.take()
    assert not process.is_alive()


def test_processes_end_with_the_crew():
    with crew_of(objective(), 2) as crew:
        crew.give(Task(0, {"n_estimators": 10_000}, []))
        ((_, process),) = crew._crew._running.values()
        assert process.is_alive()
    assert not process.is_alive()


def test_what_only_this_process_knows():
    task = Task(0, {}, [])
    with crew_of(objective(Own(n_estimators=2)), 2) as crew:
        crew.give(task)
        found = crew.take()
    assert found.value == objective(Own(n_estimators=2)).run(task).value
