"""Queries dealt out to workers: the model is that of one worker, byte for byte."""

import warnings

import numpy as np
import pytest

import rankinite as rk
from rankinite.binning import sampling
from rankinite.distributed import Serial
from tests.distributed.cases import ALL_ROWS, CASES, SOME, data, dealt, file_of, trained
from tests.workers import found_by_workers

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")


def on_workers(size, work):
    """What ``work(communicator)`` returns on each of so many workers."""
    return found_by_workers([None] * size, lambda communicator, _: work(communicator))


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_one_worker(name, tmp_path):
    expected = file_of(trained(name), tmp_path)
    for size in (1, 2, 3, 5):
        for model in on_workers(size, lambda communicator: trained(name, communicator)):
            assert file_of(model, tmp_path) == expected, size


def test_all_features_on_more_workers_than_there_are_blocks(tmp_path):
    train, _ = data()
    few = rk.Dataset(train.X[:, :3], train.y, qid=np.repeat(train.qids, train.query_sizes))
    expected = file_of(rk.LambdaMART(**SOME).fit(few), tmp_path)

    def work(communicator):
        share = dealt(few, communicator.rank, communicator.size)
        return rk.LambdaMART(**SOME).fit(share, communicator=communicator)

    assert all(file_of(model, tmp_path) == expected for model in on_workers(4, work))


def test_edges_come_from_a_sample_of_all_queries(monkeypatch):
    train, _ = data()
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 100)
    expected = train.select_queries(np.arange(train.n_queries)).binned(255).mapper
    rows = sampling.sampled_rows(train.qids, train.offsets)
    assert 100 <= len(rows) < train.n_rows

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        return share.binned(255, communicator).mapper

    for mapper in on_workers(3, work):
        assert mapper.equals(expected) and len(mapper.edges)


def test_bytes_of_a_tree_do_not_depend_on_the_number_of_rows():
    def bytes_of(n_docs):
        train = rk.artificial(n_queries=20, n_docs=n_docs, n_features=20)

        def work(communicator):
            share = dealt(train, communicator.rank, communicator.size)
            sizes = []
            for n in (2, 4):
                before = communicator.traffic.total.bytes
                learner = rk.LambdaMART(n_estimators=n, max_leaf_nodes=6, min_samples_leaf=2)
                learner.fit(share, communicator=communicator)
                sizes.append(communicator.traffic.total.bytes - before)
            return sizes[1] - sizes[0]

        return on_workers(2, work)

    few, many = bytes_of(10), bytes_of(100)
    assert few == many and min(few) > 0


def test_calls_are_counted_by_verb():
    def work(communicator):
        trained("lambdamart", communicator)
        return communicator.traffic

    for traffic in on_workers(2, work):
        counts = traffic.by_verb
        # A histogram for every split but the last, and one for the root, of at most six leaves; of
        # trees of both growths.
        assert 5 <= counts["reduce_scatter"].calls <= 2 * 5 * 5
        assert counts["reduce_scatter"].bytes == counts["reduce_scatter"].calls * 2 * 16 * 256 * 8
        assert traffic.total.calls == sum(count.calls for count in counts.values())
        assert traffic.total.seconds > 0


def refusal(size, work):
    with pytest.raises(rk.RankiniteError) as caught:
        on_workers(size, work)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_query_on_two_workers_is_refused():
    train, valid = data()

    def twice(communicator):
        share = train.select_queries([communicator.rank, 5 if communicator.rank != 1 else 9])
        rk.LambdaMART(**SOME).fit(share, communicator=communicator)

    message = refusal(3, twice)
    assert f"query {train.qids[5]} of the training data is on worker 0 and on worker 2" in message

    def watched_twice(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        rk.LambdaMART(**SOME).fit(share, valid=valid, communicator=communicator)

    assert "of the validation set 'valid' is on worker 0 and on" in refusal(2, watched_twice)


def test_an_id_may_be_a_number_here_and_text_there():
    train, _ = data()

    def work(communicator):
        share = train.select_queries([communicator.rank])
        qid = np.full(share.n_rows, "7") if communicator.rank else np.full(share.n_rows, 7)
        share = rk.Dataset(share.X, share.y, qid=qid)
        rk.LambdaMART(**SOME).fit(share, communicator=communicator)

    assert "query 7 of the training data" in refusal(2, work)


def test_shares_that_do_not_fit_together_are_refused():
    train, _ = data()
    qid = np.repeat(train.qids, train.query_sizes)

    def with_(**other):
        def work(communicator):
            first = communicator.rank == 0
            share = dealt(train, communicator.rank, communicator.size)
            rows = np.isin(qid, share.qids)
            made = {"X": train.X[rows], "y": train.y[rows], "qid": qid[rows]}
            share = rk.Dataset(**made | {} if first else made | other["data"](made))
            learner = rk.LambdaMART(**SOME, **({} if first else other.get("learner", {})))
            learner.fit(share, communicator=communicator)

        return refusal(2, work)

    found = with_(data=lambda made: {"X": made["X"][:, :7]})
    assert "20 features on worker 0 and 7 on worker 1" in found
    assert "has y on worker 0 and none on worker 1" in with_(data=lambda made: {"y": None})
    found = with_(data=lambda made: {"weight": made["y"] + 1})
    assert "has weight on worker 1 and none on worker 0" in found
    names = [f"f{k}" for k in range(20)]
    assert "worker 1 has names of features" in with_(data=lambda made: {"feature_names": names})
    found = with_(data=lambda made: {}, learner={"learning_rate": 0.3})
    assert "worker 0 trains with learning_rate=0.1 and worker 1 with learning_rate=0.3" in found


def test_bins_must_be_those_of_the_whole(tmp_path):
    train, _ = data()
    expected = file_of(rk.LambdaMART(**SOME).fit(train), tmp_path)
    train.save(tmp_path / "train.bin")
    binned = rk.read(tmp_path / "train.bin")

    def shared(communicator):
        share = dealt(binned, communicator.rank, communicator.size)
        return rk.LambdaMART(**SOME).fit(share, communicator=communicator)

    assert all(file_of(model, tmp_path) == expected for model in on_workers(5, shared))

    def apart(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        share.save(tmp_path / f"{communicator.rank}.bin")
        share = rk.read(tmp_path / f"{communicator.rank}.bin")
        rk.LambdaMART(**SOME).fit(share, communicator=communicator)

    assert "is not in the same bins on worker 0 and worker 1" in refusal(2, apart)


def test_no_rows_anywhere():
    message = refusal(2, lambda c: rk.MART(**SOME).fit(None, communicator=c))
    assert "no worker has the training data" in message


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (lambda: rk.RankNet(), "a RankNet cannot be trained by several workers"),
        (lambda: rk.LambdaBoost(), "a LambdaBoost cannot be trained by several workers"),
        (lambda: rk.LambdaMART(step="line_search"), "step='line_search' searches all"),
        (lambda: rk.LambdaMART(backfit=1), "backfit=1 searches all"),
    ],
)
def test_learners_that_see_all_data_at_once_are_refused(learner, why):
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        learner().fit(share, communicator=communicator)

    assert why in refusal(2, work)
    # One worker is no different from none.
    learner().set_params(random_state=1)
    rk.LambdaBoost(n_estimators=1).fit(train, communicator=Serial())


def test_nothing_to_learn_is_told_by_one_worker():
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        same = rk.Dataset(
            share.X, np.ones(share.n_rows), qid=np.repeat(share.qids, share.query_sizes)
        )
        rk.LambdaMART(**SOME).fit(same, communicator=communicator)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        on_workers(3, work)
    told = [str(each.message) for each in caught if each.category is rk.NothingLearnedWarning]
    assert told == ["nothing was learned: no query has two documents with different labels"]


def test_a_seed_that_is_drawn_is_the_same_on_all(tmp_path):
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        learner = rk.LambdaMART(random_state=None, row_fraction=0.5, **SOME)
        return learner.fit(share, communicator=communicator)

    models = on_workers(3, work)
    assert len({model.seed_ for model in models}) == 1
    assert len({file_of(model, tmp_path) for model in models}) == 1


class StopOn:
    """Ends the run on one worker after two rounds."""

    def __init__(self, wanted):
        self.wanted = wanted

    def after_round(self, run):
        return self.wanted and run.n_done == 2

    def finish(self, run):
        pass


def test_one_worker_ends_the_run_for_all():
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        callbacks = [StopOn(communicator.rank == 1)]
        return rk.LambdaMART(**SOME).fit(share, callbacks=callbacks, communicator=communicator)

    assert [model.n_rounds_ for model in on_workers(3, work)] == [2, 2, 2]


def test_an_error_of_one_worker_ends_all():
    train, _ = data()

    def work(communicator):
        share = dealt(train, communicator.rank, communicator.size)
        if communicator.rank == 1:
            share.y[3] = -1.0
        rk.LambdaMART(**ALL_ROWS, **SOME).fit(share, communicator=communicator)

    assert "has the label -1" in refusal(3, work)
