import numpy as np
import pytest

import rankinite as rk
from rankinite.boosting.classes import ExpectedRelevance, Multinomial, Ordinal
from rankinite.distributed import Serial
from tests.boosting.small import QUICK, qid_of, train_and_valid, with_labels
from tests.naive import classes as naive

FORMS = {"multinomial": Multinomial, "ordinal": Ordinal}
LOSSES = {"multinomial": naive.multinomial_loss, "ordinal": naive.ordinal_loss}
N, K = 37, 4


def some_rows(form):
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(K if form == "multinomial" else K - 1, N)) * 2
    return outputs, rng.integers(0, K, N), rng.uniform(0.2, 2, N)


def objective_of(form, classes, weight):
    link = ExpectedRelevance(form, np.arange(K) * 1.0, np.arange(K) * 1.0)
    return FORMS[form](classes, K, weight, link, Serial())


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_are_those_of_the_twin(form):
    outputs, _, _ = some_rows(form)
    outputs[:, 0], outputs[0, 1] = 0.0, 700.0
    link = ExpectedRelevance(form, np.arange(K) * 1.0, np.array([0.0, 1.0, 3.0, 7.0]))
    expected = (naive.softmax if form == "multinomial" else naive.at_least)(outputs)
    assert link.probabilities(outputs) == pytest.approx(expected, abs=1e-15)
    assert link.probabilities(outputs).sum(axis=0) == pytest.approx(np.ones(N), abs=1e-14)
    assert link.scores(outputs) == pytest.approx(link.values @ expected, abs=1e-13)
    extreme = np.array([[1e300, -1e300]] * len(outputs))
    assert np.isfinite(link.probabilities(extreme)).all()


def test_a_class_never_has_less_than_nothing():
    link = ExpectedRelevance("ordinal", np.arange(4.0), np.arange(4.0))
    # P(y ≥ 2) is above P(y ≥ 1): class 1 is left with nothing.
    p = link.probabilities(np.array([[-1.0], [2.0], [-3.0]]))[:, 0]
    low, high = 1 / (1 + np.exp(1.0)), 1 / (1 + np.exp(3.0))
    assert p == pytest.approx([1 - low, 0, low - high, high], abs=1e-15)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_by_finite_differences(form):
    outputs, classes, weight = some_rows(form)
    pulls = list(objective_of(form, classes, weight).gradients(outputs, 0))
    assert len(pulls) == len(outputs)
    h = 1e-4
    for k, (lam, w) in enumerate(pulls):
        for i in range(N):
            losses = []
            for shift in (-h, 0.0, h):
                moved = outputs[:, i : i + 1].copy()
                moved[k] += shift
                losses.append(LOSSES[form](moved, classes[i : i + 1], weight[i : i + 1]))
            assert lam[i] == pytest.approx(-(losses[2] - losses[0]) / (2 * h), abs=1e-8)
            second = (losses[2] - 2 * losses[1] + losses[0]) / h**2
            # Friedman's factor: the classes' outputs move together.
            factor = K / (K - 1) if form == "multinomial" else 1.0
            assert w[i] == pytest.approx(factor * second, abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_the_start_is_that_of_the_shares(form):
    _, classes, weight = some_rows(form)
    objective = objective_of(form, classes, weight)
    shares = np.array([weight[classes == k].sum() for k in range(K)]) / weight.sum()
    start = np.repeat(objective.start()[:, np.newaxis], N, axis=1)
    link = objective.link
    assert link.probabilities(start)[:, 0] == pytest.approx(shares, abs=1e-12)
    for lam, _ in objective.gradients(start, 0):
        assert lam.sum() == pytest.approx(0, abs=1e-10)


def test_against_scikit_learn():
    """The multinomial form is Friedman's algorithm 6, as scikit-learn has it."""
    from sklearn.ensemble import GradientBoostingClassifier

    rng = np.random.default_rng(1)
    # Large leaves: small ones would have splits of equal gain, and then anyone may choose.
    X = rng.integers(0, 40, size=(400, 5)).astype(np.float64)
    y = np.clip(np.rint((X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=400) * 5) / 20), 0, 3)
    settings = {"n_estimators": 30, "max_leaf_nodes": 4, "min_samples_leaf": 20}
    theirs = GradientBoostingClassifier(learning_rate=0.2, max_depth=None, **settings).fit(X, y)
    ours = rk.McRank(learning_rate=0.2, **settings).fit(X, y, qid=np.arange(400) // 20)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
    assert ours.predict(X) == pytest.approx(theirs.predict_proba(X) @ theirs.classes_, abs=1e-5)


def test_the_ordinal_form_is_a_mart_for_every_cut():
    train, _ = train_and_valid()
    model = rk.McRank(form="ordinal", **QUICK).fit(train)
    expected = np.zeros(train.n_rows)
    above = np.ones(train.n_rows)
    for label in model.classes_[1:]:
        cut = rk.MART(loss="logistic", sigma=0.5, **QUICK)
        cut.fit(with_labels(train, (train.y >= label).astype(float)))
        above = np.minimum(above, cut.predict_proba(train)[:, 1])
        expected += above
    assert model.predict(train) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_class_values(form):
    train, _ = train_and_valid()
    by = {}
    for values in ("label", "gain", [0.0, 1.0, 5.0, 6.0, 6.5]):
        model = rk.McRank(form=form, class_values=values, **QUICK).fit(train)
        assert np.array_equal(model.classes_, np.arange(5.0))
        by[str(values)] = model
        expected = model.predict_proba(train) @ model.class_values_
        assert model.predict(train) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(by["gain"].class_values_, [0, 1, 3, 7, 15])
    probabilities = [model.predict_proba(train).tobytes() for model in by.values()]
    assert len(set(probabilities)) == 1, "values change the score, not what is learned"
    with pytest.raises(rk.ParameterError, match=r"class_values has 2 values, but .* 5 labels"):
        rk.McRank(form=form, class_values=[0, 1], **QUICK).fit(train)


@pytest.mark.parametrize("form", FORMS)
def test_labels_of_any_value(form):
    train, _ = train_and_valid()
    plain = rk.McRank(form=form, class_values=[0, 1, 2, 3, 4], **QUICK).fit(train)
    odd = np.array([-3.0, 0.5, 2.0, 10.0, 11.0])[train.y.astype(int)]
    model = rk.McRank(form=form, class_values=[0, 1, 2, 3, 4], measure="pairs", **QUICK)
    model.fit(with_labels(train, odd))
    assert np.array_equal(model.classes_, [-3.0, 0.5, 2.0, 10.0, 11.0])
    assert np.array_equal(model.predict(train), plain.predict(train))


def test_too_many_labels():
    train, _ = train_and_valid()
    labels = np.random.default_rng(0).normal(size=train.n_rows)
    with pytest.raises(rk.DataError, match="needs graded labels, but there are 600 different"):
        rk.McRank(**QUICK).fit(with_labels(train, labels))


@pytest.mark.parametrize("form", FORMS)
def test_a_base_model_gives_the_first_ranking(form):
    train, valid = train_and_valid()
    weights = np.linspace(-1, 1, 8)
    model = rk.McRank(form=form, base_model=weights, **QUICK).fit(train, valid=valid)
    base = np.einsum("ij,j->i", valid.X, weights)
    first = model.predict(valid, n_rounds=0)
    assert np.array_equal(np.argsort(first), np.argsort(base))
    value = rk.evaluate(model, valid, "ndcg@10")["ndcg@10"]
    assert value == model.history_["valid"]["ndcg@10"][-1]
    assert value > rk.evaluate(first, valid, "ndcg@10")["ndcg@10"]


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_of_any_container(form, tmp_path):
    train, valid = train_and_valid()
    model = rk.McRank(form=form, **QUICK).fit(train, valid=valid)
    expected = model.predict_proba(valid.X)
    order = np.random.default_rng(2).permutation(valid.n_rows)
    with pytest.warns(rk.RankiniteWarning):
        shuffled = rk.Dataset(valid.X[order], valid.y[order], qid=qid_of(valid)[order])
    assert np.array_equal(model.predict_proba(shuffled), expected[order])
    valid.save(tmp_path / "bins", like=train)
    assert np.array_equal(model.predict_proba(rk.read(tmp_path / "bins")), expected)
    fewer = model.predict_proba(valid, n_rounds=2)
    shorter = rk.McRank(form=form, **{**QUICK, "n_estimators": 2}).fit(train)
    assert np.array_equal(fewer, shorter.predict_proba(valid))


def test_one_class_is_nothing_to_learn():
    train, _ = train_and_valid()
    for form in FORMS:
        model = rk.McRank(form=form, **QUICK).fit(with_labels(train, np.full(train.n_rows, 2.0)))
        assert np.array_equal(model.predict(train), np.full(train.n_rows, 2.0))
        assert np.array_equal(model.predict_proba(train), np.ones((train.n_rows, 1)))


def test_in_words():
    train, _ = train_and_valid()
    assert rk.McRank(**QUICK).fit(train).in_words() == (
        "McRank with 6 rounds of 5 trees (multinomial)"
    )
