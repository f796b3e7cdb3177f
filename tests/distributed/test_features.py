"""Features shared out to workers that all have the same rows: the model is that of one of them."""

import pytest

import rankinite as rk
from tests.distributed.cases import CASES, SOME, data, file_of, trained
from tests.distributed.test_rows import on_workers, refusal

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_one_worker(name, tmp_path):
    expected = file_of(trained(name), tmp_path)
    for size in (1, 2, 5):
        for model in on_workers(size, lambda c: trained(name, c, "features")):
            assert file_of(model, tmp_path) == expected, size


def test_only_best_splits_pass_between_workers():
    def work(communicator):
        trained("lambdamart", communicator, "features")
        return communicator.traffic.by_verb

    for counts in on_workers(2, work):
        assert "reduce_scatter" not in counts
        # Of five trees of each growth with up to six leaves, but for what is said at the start.
        assert counts["sum"].bytes <= 2 * 5 * 6 * 2 * 2 * 5 * 8


def test_other_data_is_refused():
    train, valid = data()

    def other_rows(communicator):
        rows = train if communicator.rank == 0 else train.select_queries(range(20))
        rk.LambdaMART(**SOME).fit(rows, communicator=communicator, distribute="features")

    assert "has other data than worker" in refusal(2, other_rows)

    def other_valid(communicator):
        rows = valid if communicator.rank == 0 else valid.select_queries(range(5))
        learner = rk.LambdaMART(**SOME)
        learner.fit(train, valid=rows, communicator=communicator, distribute="features")

    assert "has other data than worker" in refusal(2, other_valid)


def test_what_is_distributed_is_said_alike():
    train, _ = data()

    def work(communicator):
        distribute = ("rows", "features")[communicator.rank]
        rk.LambdaMART(**SOME).fit(train, communicator=communicator, distribute=distribute)

    assert "distribute='rows' and worker 1 with distribute='features'" in refusal(2, work)
    with pytest.raises(rk.ParameterError, match="distribute must be"):
        rk.LambdaMART().fit(train, distribute="columns")
