"""Checkpoints of workers that grow trees by themselves: the same workers go on, and no others."""

import pytest

import rankinite as rk
from rankinite.training import Checkpoint
from tests.distributed.cases import SOME, data, dealt, file_of
from tests.distributed.test_rows import on_workers, refusal

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")
SETTINGS = {**SOME, "row_fraction": 0.7, "early_stopping": 6}


def fit(communicator, n_estimators=8, turned=0, **options):
    """With a turn the shares go to other workers."""
    train, valid = data()
    rank, size = communicator.rank, communicator.size
    return rk.LambdaMART(**SETTINGS | {"n_estimators": n_estimators}).fit(
        dealt(train, (rank + turned) % size, size),
        valid=dealt(valid, rank, size),
        communicator=communicator,
        **{"distribute": "trees"} | options,
    )


def checkpoint(path, size=3, **options):
    callbacks = [Checkpoint(path, every=2)]
    on_workers(size, lambda c: fit(c, n_estimators=3, callbacks=callbacks, **options))


@pytest.mark.parametrize(("select", "overlap"), [("sample", 0), ("sample", 2), ("full", 1)])
def test_a_resumed_run_ends_with_the_same_bytes(select, overlap, tmp_path):
    options = {"select": select, "overlap": overlap}
    whole = {file_of(model, tmp_path) for model in on_workers(3, lambda c: fit(c, **options))}
    checkpoint(tmp_path / "half.rk", **options)

    def rest(communicator):
        # Only worker 0 needs to see the file.
        path = tmp_path / ("half.rk" if communicator.rank == 0 else "nowhere.rk")
        return fit(communicator, resume=path, **options)

    resumed = on_workers(3, rest)
    assert {file_of(model, tmp_path) for model in resumed} == whole
    assert len(resumed[0].history_["valid"]["ndcg@10"]) == 8


def test_other_shares_are_refused(tmp_path):
    path = tmp_path / "half.rk"
    checkpoint(path)
    others = [
        (2, {}),
        (3, {"turned": 1}),
        (3, {"select": "full"}),
        (3, {"overlap": 1}),
        (3, {"distribute": "rows"}),
        (1, {"distribute": "rows"}),
    ]
    for size, options in others:
        message = refusal(size, lambda c: fit(c, resume=path, **options))  # noqa: B023
        assert "or on other shares of it: with distribute='trees' a run goes on with" in message
    checkpoint(path, distribute="rows")
    assert "or on other shares of it" in refusal(3, lambda c: fit(c, resume=path))
