"""A measure that a user writes in Python is as good as a built-in one, only slower."""

import numpy as np
import pytest

from rankinite import Dataset
from rankinite.errors import ParameterError
from rankinite.measures import Evaluator, Measure, evaluate, measure
from rankinite.measures.protocol import MOST_ORDERS, N_SHUFFLES
from tests.naive import measures as naive


class OwnNDCG(Measure):
    """The least that the protocol asks for."""

    name = "own ndcg@3"

    def value(self, labels):
        return naive.ndcg(labels, k=3)


class Counting(Measure):
    """Counts how often it is asked."""

    name = "counting"

    def __init__(self):
        self.calls = 0

    def value(self, labels):
        self.calls += 1
        return float(labels[0])


@pytest.fixture
def dataset():
    rng = np.random.default_rng(4)
    qid = np.repeat(np.arange(12), 5)
    y = rng.integers(0, 4, 60)
    y[5:10] = 0
    return Dataset(rng.normal(size=(60, 2)), y, qid=qid)


def test_it_passes_through_and_prints_its_name():
    own = OwnNDCG()
    assert measure(own) is own
    assert str(own) == "own ndcg@3"
    assert own.resolve(np.array([1.0])) is own


def test_swap_deltas_equal_the_built_in():
    labels = np.array([0.0, 3.0, 1.0, 1.0, 2.0])
    built_in = measure("ndcg@3")
    np.testing.assert_allclose(
        OwnNDCG().swap_deltas(labels), built_in.swap_deltas(labels), atol=1e-12
    )


def test_evaluation_equals_the_built_in(dataset):
    scores = np.random.default_rng(1).integers(0, 3, 60).astype(np.float64)
    result = evaluate(scores, dataset, [OwnNDCG(), "ndcg@3"])
    np.testing.assert_allclose(
        result.per_query["own ndcg@3"], result.per_query["ndcg@3"], atol=1e-12
    )
    assert result["own ndcg@3"] == pytest.approx(result["ndcg@3"])
    assert result.n_blank == {"own ndcg@3": 1, "ndcg@3": 1}
    assert np.isnan(result.per_query["own ndcg@3"][1])


def test_few_orders_are_enumerated_and_many_sampled():
    few = Counting()
    assert few.expected_value(np.zeros(6), np.arange(6.0)) == pytest.approx(np.mean(np.arange(6)))
    assert few.calls == MOST_ORDERS == 720
    many = Counting()
    value = many.expected_value(np.zeros(50), np.arange(50.0))
    assert many.calls == N_SHUFFLES
    # The mean of 200 draws from 0..49, whose standard deviation is 14.4, is within 4 errors.
    assert value == pytest.approx(24.5, abs=4 * 14.4 / np.sqrt(200))
    order = np.random.default_rng(0).permutation(50)
    assert Counting().expected_value(np.zeros(50), np.arange(50.0)[order]) == value


def test_interchangeable_documents_need_no_orders():
    counting = Counting()
    assert counting.expected_value(np.zeros(50), np.ones(50)) == 1.0
    assert counting.calls == 1


def test_the_value_may_not_be_kept_or_changed_by_the_measure():
    class Careless(Measure):
        name = "careless"

        def value(self, labels):
            labels.sort()
            return float(labels[0])

    labels = np.array([2.0, 1.0, 0.0])
    assert Careless().expected_value(np.zeros(3), labels) == 0.0
    np.testing.assert_array_equal(labels, [2, 1, 0])


def test_own_blank_queries_and_undefined_values(dataset):
    class LastQueries(OwnNDCG):
        def is_blank(self, labels):
            return bool(labels[0] == labels[1])

    expected = [y[0] == y[1] for y in np.split(dataset.y, dataset.offsets[1:-1])]
    np.testing.assert_array_equal(Evaluator(LastQueries(), dataset).blank, expected)

    class Undefined(OwnNDCG):
        def value(self, labels):
            return float("nan")

    with pytest.raises(ParameterError, match="own ndcg@3 is NaN for query 0: let its is_blank say"):
        evaluate(np.zeros(60), dataset, Undefined())


def test_a_name_and_a_value_are_the_least():
    class Nameless(Measure):
        def value(self, labels):
            return 0.0

    with pytest.raises(TypeError, match="abstract"):
        Nameless()
