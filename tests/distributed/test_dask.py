"""The workers of a Dask cluster give the file of one process, whatever they are given."""

import importlib
import logging
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import rankinite as rk
from tests.distributed.cases import SOME, data, file_of
from tests.distributed.clusters import arrays, cluster, frame, lazy, needs_dask
from tests.distributed.jobs import ROOT, of_a_process

pytestmark = needs_dask
STOPPING = {**SOME, "n_estimators": 30, "learning_rate": 0.5, "early_stopping": 2}


@pytest.fixture(scope="module")
def client():
    with cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def quiet():
    """That rows of a query lie apart is told by one process, and meant here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the rows of .* did not lie together")
        yield


def on_dask(kind, *values, **parameters):
    import rankinite.dask

    return getattr(rankinite.dask, kind)(*values, **parameters)


@pytest.mark.parametrize("shuffled", [False, True], ids=["together", "scattered"])
def test_frames_with_validation_and_early_stopping(client, shuffled, tmp_path, caplog):
    train, valid = map(frame, data())
    expected = rk.LambdaMART(**STOPPING)
    expected.fit(train, "label", qid="query", valid=rk.Dataset(valid, "label", qid="query"))
    ranker = on_dask("LambdaMART", client=client, **STOPPING)
    with caplog.at_level(logging.INFO, "rankinite.dask"):
        found = ranker.fit(
            lazy(train, 5, shuffled), "label", qid="query", valid=lazy(valid, 3, shuffled)
        )
    assert found is ranker and type(ranker.model_) is rk.LambdaMART
    assert ranker.model_.n_rounds_ < 30
    assert file_of(ranker.to_local(), tmp_path) == file_of(expected, tmp_path)
    if shuffled:
        assert ranker.n_moved_ > 0
        assert "the training data: 25 queries had rows on several workers" in caplog.text
    assert ranker.traffic_.by_verb["reduce_scatter"].calls > 0


def test_what_lies_together_is_not_moved(client, caplog):
    train = frame(data()[0])
    with caplog.at_level(logging.INFO, "rankinite.dask"):
        # Two queries in each partition.
        ranker = on_dask("MART", **SOME).fit(lazy(train[: 24 * 16], 12), "label", qid="query")
    assert ranker.n_moved_ == 0 and "nothing was moved" in caplog.text


@pytest.mark.parametrize("kind", ["MART", "McRank"])
def test_arrays_with_weights(client, kind, tmp_path):
    train, valid = data(weighted=True)
    plain = [
        rk.Dataset(d.X, d.y, qid=np.repeat(d.qids, d.query_sizes), weight=d.weight)
        for d in (train, valid)
    ]
    settings = {**SOME, "n_estimators": 3}
    expected = getattr(rk, kind)(**settings).fit(plain[0], valid=plain[1])
    X, y, qid, weight = arrays(train, 61)
    ranker = on_dask(kind, client=client, **settings)
    ranker.fit(X, y, qid=qid, sample_weight=weight, valid={"valid": arrays(valid, 50)})
    assert file_of(ranker.model_, tmp_path) == file_of(expected, tmp_path)


def test_weights_of_queries_and_a_base_model(client, tmp_path):
    train = frame(data()[0])
    weights = {qid: 1.0 + k % 3 for k, qid in enumerate(train["query"].unique())}
    settings = {**SOME, "base_model": np.linspace(-1, 1, 20)}
    expected = rk.LambdaMART("err@5", **settings)
    expected.fit(
        train.drop(columns="label"),
        train["label"],
        qid="query",
        query_weight=list(weights.values()),
    )
    rows = lazy(train, 4)
    ranker = on_dask("LambdaMART", "err@5", client=client, **settings)
    ranker.fit(rows.drop(columns="label"), rows["label"], qid="query", query_weight=weights)
    assert file_of(ranker.model_, tmp_path) == file_of(expected, tmp_path)


def test_partitions_without_rows_and_workers_without_rows(client, tmp_path):
    train, valid = map(frame, data())
    expected = rk.LambdaMART(**SOME)
    expected.fit(train, "label", qid="query", valid=rk.Dataset(valid, "label", qid="query"))
    one_worker_has_all = lazy(train, 1)
    six = lazy(train, 6)
    some_have_nothing = six.map_partitions(_every_other, train, meta=six._meta)
    for given in (one_worker_has_all, some_have_nothing):
        ranker = on_dask("LambdaMART", client=client, **SOME)
        ranker.fit(given, "label", qid="query", valid=lazy(valid, 1))
        assert file_of(ranker.model_, tmp_path) == file_of(expected, tmp_path)


def _every_other(part, whole, partition_info=None):
    """All rows in partitions 1, 3 and 5, with those of a query in all three."""
    number = partition_info["number"] if partition_info else 0
    return whole.iloc[number // 2 :: 3] if number % 2 else whole[:0]


def test_scores_are_collections_like_the_rows(client):
    import dask.array as da
    import dask.dataframe as dd

    train, valid = data()
    rows = frame(train).set_index(np.arange(train.n_rows)[::-1])
    ranker = on_dask("LambdaMART", client=client, **SOME)
    ranker.fit(lazy(rows, 5), "label", qid="query")
    asked = frame(valid)[["query", *reversed([f"f{j}" for j in range(20)])]]
    found = ranker.predict(lazy(asked, 3))
    assert isinstance(found, dd.Series) and found.npartitions == 3
    scores = found.compute()
    assert scores.name == "score" and scores.index.equals(asked.index)
    assert np.array_equal(scores.to_numpy(), ranker.model_.predict(asked))
    few = ranker.predict(lazy(asked, 3), n_rounds=2).compute()
    assert np.array_equal(few, ranker.model_.predict(asked, n_rounds=2))
    # What is wrong is told before anything is computed.
    with pytest.raises(rk.DataError, match="f3"):
        ranker.predict(lazy(asked.drop(columns="f3"), 3))
    with pytest.raises(rk.ParameterError, match="n_rounds"):
        ranker.predict(lazy(asked, 3), n_rounds=100)

    # An array of a frame does not know its lengths.
    X, y, qid = (
        lazy(frame(train), 4)[name].to_dask_array()
        for name in ([f"f{j}" for j in range(20)], "label", "query")
    )
    unnamed = on_dask("MART", client=client, **SOME).fit(X, y, qid=qid)
    found = unnamed.predict(da.from_array(valid.X, chunks=(40, 3)))
    assert isinstance(found, da.Array) and found.shape == (valid.n_rows,)
    with pytest.raises(rk.DataError, match="20"):
        unnamed.predict(da.from_array(valid.X[:, :4]))
    assert np.array_equal(found.compute(), rk.MART(**SOME).fit(train).predict(valid))


def test_two_trainings_at_once_wait_for_each_other(client, tmp_path):
    train = frame(data()[0])
    rankers = [on_dask("LambdaMART", client=client, random_state=k, **SOME) for k in range(2)]
    jobs = [
        threading.Thread(target=ranker.fit, args=(lazy(train, 3), "label"), kwargs={"qid": "query"})
        for ranker in rankers
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(120)
    for k, ranker in enumerate(rankers):
        expected = rk.LambdaMART(random_state=k, **SOME).fit(train, "label", qid="query")
        assert file_of(ranker.model_, tmp_path) == file_of(expected, tmp_path)


def test_warnings_reach_the_client(client):
    train = frame(data()[0]).assign(label=1.0)
    with pytest.warns(rk.NothingLearnedWarning, match="nothing was learned"):
        on_dask("LambdaMART", client=client, **SOME).fit(lazy(train, 2), "label", qid="query")


def test_parameters_and_repr():
    ranker = on_dask("LambdaMART", "map", n_estimators=7)
    assert repr(ranker) == "rankinite.dask.LambdaMART(measure='map', n_estimators=7)"
    assert ranker.get_params()["n_estimators"] == 7
    assert ranker.set_params(n_estimators=8, client=None).get_params()["n_estimators"] == 8
    with pytest.raises(rk.RankiniteError, match="is not trained: call fit first"):
        ranker.predict(None)
    with pytest.raises(rk.ParameterError, match="num_leaves"):
        on_dask("LambdaMART", num_leaves=3)


def refused(client, kind=rk.DataError, learner=None, **changed):
    rows = lazy(frame(data()[0]), 3)
    given = {"X": rows, "y": "label", "qid": "query", **changed}
    X, y = given.pop("X"), given.pop("y")
    with pytest.raises(kind) as caught:
        on_dask("LambdaMART", client=client, **(learner or SOME)).fit(X, y, **given)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_what_cannot_be_used_is_refused_in_a_sentence(client):
    rows = lazy(frame(data()[0]), 3)
    wrong = rk.ParameterError
    assert "has no qid: pass qid=" in refused(client, qid=None)
    assert "here it must be a Dask array or data frame" in refused(client, wrong, X=np.eye(3))
    assert "y of the training data is a ndarray" in refused(client, wrong, y=np.zeros(3))
    two = rows["label"].repartition(npartitions=2)
    assert "y of the training data has 2 partitions and X has 3" in refused(client, y=two)
    assert "names the column 'nowhere'" in refused(client, qid="nowhere")
    assert "feature column 'query'" in refused(client, qid="f0")
    assert "must be a mapping from query ids" in refused(client, query_weight=[1.0])
    assert "no weight for query 'q" in refused(client, query_weight={"q0": 1.0})
    assert "the validation set 'valid' is a Dataset" in refused(client, wrong, valid=data()[1])
    assert "learning_rate must be" in refused(client, wrong, {**SOME, "learning_rate": -1})
    assert "which no worker has" in refused(client, wrong, {**SOME, "backfit": 1})
    assert "retries must be" in refused(client, wrong, retries=-1)
    assert "has no rows" in refused(client, X=rows[rows["f0"] > 1e9])
    missing = lazy(frame(data()[0]).assign(label=np.nan), 3)
    assert "the training data: partition" in refused(client, X=missing)


def test_without_a_client_one_is_asked_for(monkeypatch):
    from rankinite.dask import learners

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(learners, "get_client", nobody)
    assert "there is no Dask client: make one" in refused(None, rk.ParameterError)


@pytest.fixture
def no_dask(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[:2] == ["rankinite", "dask"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)


def test_importing_it_says_what_to_install(no_dask):
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'rankinite\[dask\]'"):
        importlib.import_module("rankinite.dask")


def test_nothing_else_imports_it():
    code = (
        "import sys, rankinite as rk; [getattr(rk, name) for name in rk.__all__];"
        "import rankinite.cli.app; assert not {'dask', 'distributed', 'xgboost'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_example_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/on_dask.py"],
        env=of_a_process(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "2 workers" in done.stdout and "the file of one process: True" in done.stdout
    assert rk.load(tmp_path / "ranker.rk").n_rounds_ > 0
