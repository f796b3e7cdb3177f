"""RankNet and LambdaRank as their users see them."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.models.file import read_model, write_model
from tests.boosting.small import QUICK, qid_of, train_and_valid
from tests.naive import measures as naive
from tests.subjects import same, saved

KINDS = [rk.RankNet, rk.LambdaRank]


class OwnNDCG(rk.Measure):
    """NDCG, written in Python."""

    name = "own ndcg"

    def value(self, labels):
        return naive.ndcg(labels)


@pytest.fixture(scope="module")
def sets():
    return rk.artificial(n_queries=(150, 60, 100), n_docs=25, n_features=10, random_state=1)


@pytest.mark.parametrize("kind", KINDS)
def test_learning(kind, sets):
    from sklearn.linear_model import LinearRegression

    train, valid, test = sets
    regression = LinearRegression().fit(train.X, train.y)
    baseline = rk.evaluate(regression, test)["ndcg@10"]
    nothing = rk.evaluate(np.zeros(test.n_rows), test)["ndcg@10"]
    linear = kind(n_hidden=0, n_epochs=30).fit(train, valid=valid)
    net = kind(n_hidden=10, n_epochs=60, learning_rate=0.05).fit(train, valid=valid)
    values = [rk.evaluate(model, test)["ndcg@10"] for model in (linear, net)]
    assert min(values) > nothing + 0.1
    assert values[0] > baseline - 0.01 and values[1] > baseline + 0.01


def test_modes_learn_the_same(sets):
    train, valid, _ = sets
    models = [
        rk.RankNet(n_hidden=4, n_epochs=3, mode=mode).fit(train, valid=valid)
        for mode in ("factorised", "pairwise")
    ]
    np.testing.assert_allclose(*(model.net_.weights for model in models), rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        *(model.history_["train"]["cost"] for model in models), rtol=0, atol=1e-12
    )


def test_the_rate_does_not_depend_on_the_length_of_queries(sets):
    """Every document twice has four times the pairs, and each λ twice its size, half as dear."""
    train, _, _ = sets
    twice = np.repeat(np.arange(train.n_rows), 2)
    longer = rk.Dataset(train.X[twice], train.y[twice], qid=qid_of(train)[twice])
    one = rk.RankNet(n_hidden=0, n_epochs=1).fit(train).net_.weights
    two = rk.RankNet(n_hidden=0, n_epochs=1).fit(longer).net_.weights
    # Another order of the queries, but about the same way.
    assert np.linalg.norm(two - one) < 0.1 * np.linalg.norm(one)


def test_a_measure_of_ones_own(sets):
    train, valid, _ = sets
    few = train.select_queries(np.arange(20))
    own, built_in = (
        rk.LambdaRank(measure, n_hidden=n_hidden, n_epochs=2).fit(few, valid=valid)
        for n_hidden, measure in ((4, OwnNDCG()), (4, "ndcg"))
    )
    np.testing.assert_allclose(own.net_.weights, built_in.net_.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        own.history_["train"]["cost"], built_in.history_["train"]["cost"], atol=1e-12
    )
    weighted = rk.Dataset(
        few.X, few.y, qid=qid_of(few), weight=np.where(np.arange(few.n_rows) % 2, 0.5, 2.0)
    )
    own, built_in = (
        rk.LambdaRank(measure, n_hidden=0, n_epochs=1).fit(weighted)
        for measure in (OwnNDCG(), "ndcg")
    )
    np.testing.assert_allclose(own.net_.weights, built_in.net_.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", ["weights", "trees", "net", "function"])
def test_base_model(kind, base, tmp_path):
    train, valid = train_and_valid()
    base = {
        "weights": np.linspace(-1, 1, 8),
        "trees": rk.MART(**QUICK).fit(train),
        "net": rk.RankNet(n_epochs=2, n_hidden=0).fit(train),
        "function": lambda X: X[:, 0].astype(np.float64),
    }[base]
    model = kind(n_hidden=3, n_epochs=3, base_model=base).fit(train, valid=valid)
    net = model.net_.score(valid.X)
    if isinstance(base, np.ndarray):
        alone = valid.X @ base
    else:
        alone = base.predict(valid.X) if hasattr(base, "predict") else base(valid.X)
    np.testing.assert_allclose(model.predict(valid.X), net + alone, rtol=0, atol=1e-12)
    assert np.ptp(net) > 0
    assert rk.evaluate(model, valid)["ndcg@10"] == max(model.history_["valid"]["ndcg@10"])
    if not callable(base):
        model.save(tmp_path / "model.rk")
        assert same(rk.load(tmp_path / "model.rk").predict(valid), model.predict(valid))


def test_a_net_can_be_the_base_of_trees(tmp_path):
    train, valid = train_and_valid()
    net = rk.LambdaRank(n_hidden=3, n_epochs=3).fit(train)
    model = rk.LambdaMART(base_model=net, **QUICK).fit(train, valid=valid)
    model.save(tmp_path / "model.rk")
    assert same(rk.load(tmp_path / "model.rk").predict(valid), model.predict(valid))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_raw_features(kind):
    train, valid = train_and_valid()
    X = train.X.astype(np.float64) * np.arange(1, 9) + 5
    X[:, 2] = 1.0
    linear = kind(n_hidden=0, n_epochs=3).fit(X, train.y, qid=qid_of(train))
    expected = X @ linear.coef_ + linear.intercept_
    np.testing.assert_allclose(linear.predict(X), expected, rtol=0, atol=1e-12)
    assert linear.coef_[2] == 0
    assert "no hidden units after 3 epochs" in linear.in_words()
    net = kind(n_hidden=3, n_epochs=1).fit(train)
    with pytest.raises(AttributeError, match="coef_ is there only for a linear net"):
        _ = net.coef_
    assert not hasattr(net, "intercept_") and "3 hidden units" in net.in_words()
    hidden, top = net.net_.hidden_weights(), net.net_.output_weights()
    assert hidden.shape == (9, 3) and top.shape == (3,)
    Z = net.net_.standardizer.transform(valid.X)
    np.testing.assert_allclose(
        net.predict(valid), np.tanh(Z @ hidden[:-1] + hidden[-1]) @ top, atol=1e-12
    )


def test_large_batches_are_scored_in_threads():
    train, _ = train_and_valid()
    X = np.tile(train.X, (10, 1))
    for n_hidden in (0, 6):
        model = rk.RankNet(n_hidden=n_hidden, n_epochs=1).fit(train)
        whole = model.predict(X)
        assert len(X) > 4 * 1024
        for n_threads in (1, 2):
            assert same(model.set_params(n_threads=n_threads).predict(X), whole)
        assert same(np.concatenate([model.predict(X[i : i + 1]) for i in range(50)]), whole[:50])


def test_labels_that_a_measure_cannot_take():
    train, _ = train_and_valid()
    odd = train.y.copy()
    odd[45] = 0.5
    with pytest.raises(
        rk.DataError, match=rf"a document of query {qid_of(train)[45]} has the label 0\.5"
    ):
        rk.LambdaRank(n_epochs=1).fit(train.X, odd, qid=qid_of(train))
    model = rk.RankNet(n_epochs=1).fit(train.X, odd - 1, qid=qid_of(train))
    assert np.ptp(model.predict(train)) > 0


def test_damaged_files(tmp_path):
    train, _ = train_and_valid()
    path = tmp_path / "model.rk"
    saved(rk.RankNet(n_hidden=3, n_epochs=1).fit(train), tmp_path)
    state, arrays = read_model(path)
    for name, array, complaint in (
        ("weights", arrays["weights"][1:], "weights of shape"),
        ("last_weights", np.full_like(arrays["weights"], np.nan), "a weight that is no number"),
        ("standardizer/mean", arrays["standardizer/mean"][1:], "a mean of shape"),
    ):
        write_model(path, state, arrays | {name: array})
        with pytest.raises(rk.ModelFileError, match=complaint):
            rk.load(path)
    write_model(path, {**state, "training": {}}, arrays)
    with pytest.raises(rk.ModelFileError, match="incomplete or damaged"):
        rk.load(path)
