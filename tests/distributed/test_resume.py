"""Checkpoints of several workers: worker 0 writes them, and any number of workers goes on."""

import pytest

import rankinite as rk
from rankinite.training import Checkpoint
from tests.distributed.cases import SOME, data, dealt, file_of
from tests.distributed.test_rows import on_workers, refusal

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")
DRAWN = {**SOME, "n_estimators": 8, "row_fraction": 0.7, "early_stopping": 6}


def fit(communicator, n_estimators=8, rows=None, **options):
    train, valid = data()
    place = communicator.rank, communicator.size
    learner = rk.LambdaMART(**{**DRAWN, "n_estimators": n_estimators})
    return learner.fit(
        dealt(train if rows is None else rows, *place),
        valid=dealt(valid, *place),
        communicator=communicator,
        **options,
    )


@pytest.fixture
def expected(tmp_path):
    train, valid = data()
    return file_of(rk.LambdaMART(**DRAWN).fit(train, valid=valid), tmp_path)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_another_number_of_workers_goes_on(size, tmp_path, expected):
    def part(communicator):
        callbacks = [Checkpoint(tmp_path / "half.rk", every=2)]
        return fit(communicator, n_estimators=4, callbacks=callbacks)

    for model in on_workers(3, part):
        assert len(model.history_["valid"]["ndcg@10"]) == 4

    def rest(communicator):
        # Only worker 0 needs to see the file.
        path = tmp_path / ("half.rk" if communicator.rank == 0 else "nowhere.rk")
        return fit(communicator, resume=path)

    assert all(file_of(model, tmp_path) == expected for model in on_workers(size, rest))


def test_one_file_is_written_once(tmp_path):
    saved = []

    class Counted(Checkpoint):
        def _save(self, run):
            saved.append(run.n_done)
            super()._save(run)

    on_workers(3, lambda c: fit(c, callbacks=[Counted(tmp_path / "model.rk", every=4)]))
    assert saved == [4, 8, 8]


def test_a_run_saves_on_worker_0_alone(tmp_path, expected):
    class Save:
        def __init__(self, rank):
            self.path = tmp_path / f"{rank}.rk"
            self.spoke = set()

        def after_round(self, run):
            run.save(self.path)
            self.spoke.add(run.speaks)

        def finish(self, run):
            assert self.spoke == {run.speaks}

    on_workers(2, lambda c: fit(c, callbacks=[Save(c.rank)]))
    assert [path.name for path in tmp_path.glob("?.rk")] == ["0.rk"]


def test_a_full_disk_costs_the_checkpoint_alone(tmp_path, expected):
    callbacks = [Checkpoint("/dev/full", every=2)]
    with pytest.warns(rk.RankiniteWarning, match="there is no checkpoint of tree 2"):
        models = on_workers(2, lambda c: fit(c, callbacks=callbacks))
    assert all(file_of(model, tmp_path) == expected for model in models)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    train, _ = data()
    on_workers(2, lambda c: fit(c, callbacks=[Checkpoint(tmp_path / "model.rk")]))
    other = train.select_queries(range(20))
    message = refusal(2, lambda c: fit(c, rows=other, resume=tmp_path / "model.rk"))
    assert "trained on other data" in message
    message = refusal(2, lambda c: fit(c, resume=tmp_path / "nowhere.rk"))
    assert "nowhere.rk" in message
