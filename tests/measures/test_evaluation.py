import numpy as np
import pytest

import rankinite as rk
from rankinite import Dataset
from rankinite.errors import DataError, ParameterError
from rankinite.measures import NDCG, Evaluator, Measure, evaluate, mean_value
from tests.naive import measures as naive

# Three queries; "b" is blank.
QID = np.array(["a", "a", "b", "b", "c", "c", "c"])
Y = np.array([0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 1.0])
SCORES = np.array([2.0, 1.0, 0.0, 5.0, 1.0, 3.0, 2.0])


def small(**arguments):
    return Dataset(SCORES[:, None], Y, qid=QID, **arguments)


A = naive.ndcg([0, 1])
C = naive.ndcg([0, 1, 2])


def test_values_per_query_means_and_blanks():
    result = evaluate(SCORES, small(), ["ndcg@10", "mrr"])
    np.testing.assert_allclose(result.per_query["ndcg@10"], [A, np.nan, C])
    np.testing.assert_allclose(result.per_query["mrr"], [1 / 2, np.nan, 1 / 2])
    assert result.means == {"ndcg@10": pytest.approx((A + C) / 2), "mrr": pytest.approx(1 / 2)}
    assert result.n_queries == 3
    assert result.n_blank == {"ndcg@10": 1, "mrr": 1}
    assert list(result.qids) == ["a", "b", "c"]
    assert rk.evaluate is evaluate


def test_means_are_found_by_any_spelling():
    result = evaluate(SCORES, small(), "NDCG@10")
    assert result["ndcg@10"] == result["NDCG@10:gain=exp2"] == result[NDCG(10)]
    with pytest.raises(ParameterError, match="map was not evaluated: there is ndcg@10"):
        result["map"]


def test_the_default_measure_is_ndcg_at_10():
    assert list(evaluate(SCORES, small()).means) == ["ndcg@10"]


@pytest.mark.parametrize(("blank", "value"), [("zero", 0.0), ("one", 1.0)])
def test_blank_queries_count_as_the_policy_says(blank, value):
    result = evaluate(SCORES, small(), blank=blank)
    np.testing.assert_allclose(result.per_query["ndcg@10"], [A, value, C])
    assert result["ndcg@10"] == pytest.approx((A + value + C) / 3)
    assert result.n_blank == {"ndcg@10": 1}


def test_query_weights_weigh_the_means():
    dataset = small(query_weight=[1.0, 10.0, 3.0])
    assert evaluate(SCORES, dataset)["ndcg@10"] == pytest.approx((A + 3 * C) / 4)
    zero = evaluate(SCORES, dataset, blank="zero")
    assert zero["ndcg@10"] == pytest.approx((A + 3 * C) / 14)
    np.testing.assert_allclose(zero.per_query["ndcg@10"], [A, 0, C])


def test_weights_at_the_ends_of_the_numbers_there_are():
    expected = evaluate(SCORES, small(query_weight=[1.0, 10.0, 3.0]))["ndcg@10"]
    for unit in (2.0**1020, 2.0**-1074):
        weights = unit * np.array([1.0, 10.0, 3.0])
        assert evaluate(SCORES, small(query_weight=weights))["ndcg@10"] == expected
        data = small(query_weight=weights)
        assert np.isfinite(rk.line_search(SCORES, -SCORES, data, "ndcg@10").value)
        pairs = {"preferred": [0, 1], "other": [1, 0], "weight": unit * np.array([1.0, 3.0])}
        found = evaluate(SCORES, data.with_preferences(**pairs), "pair_accuracy")
        assert found["pair_accuracy"] in (0.25, 0.75)


def test_mean_value_gives_sums_that_workers_can_add():
    values = np.array([0.5, np.nan, 1.0, 0.25])
    assert mean_value(values) == (1.75, 3.0)
    assert mean_value(values, "one") == (2.75, 4.0)
    weights = np.array([2.0, 1.0, 1.0, 4.0])
    assert mean_value(values, "skip", weights) == (3.0, 7.0)
    assert mean_value(values, "one", weights) == (4.0, 8.0)
    parts = [
        mean_value(values[:2], "zero", weights[:2]),
        mean_value(values[2:], "zero", weights[2:]),
    ]
    assert tuple(np.sum(parts, axis=0)) == mean_value(values, "zero", weights)
    assert mean_value(np.array([np.nan]), "skip") == (0.0, 0.0)


def test_all_queries_blank_gives_nan_and_prints_so():
    dataset = Dataset(SCORES[:, None], np.zeros(7), qid=QID)
    result = evaluate(SCORES, dataset)
    assert np.isnan(result["ndcg@10"])
    assert "nan" in str(result)
    assert evaluate(SCORES, dataset, blank="one")["ndcg@10"] == 1.0


def test_printing_is_an_aligned_table():
    assert str(evaluate(SCORES, small(), ["ndcg@10", "p@1"])).splitlines() == [
        "measure    mean  queries  blank (skipped)",
        f"ndcg@10  {(A + C) / 2:.4f}        3                1",
        "p@1      0.0000        3                1",
    ]
    assert "blank (counted as 1)" in str(evaluate(SCORES, small(), blank="one"))


def test_rows_in_any_order_and_scorers_of_any_kind_agree():
    expected = evaluate(SCORES, small()).means
    order = np.array([4, 2, 0, 5, 6, 3, 1])
    with pytest.warns(rk.RankiniteWarning):
        shuffled = Dataset(SCORES[order, None], Y[order], qid=QID[order])
    assert evaluate(SCORES[order], shuffled).means == expected
    assert evaluate(lambda X: X[:, 0], shuffled).means == expected

    class Model:
        def predict(self, X):
            return X[:, 0]

    assert evaluate(Model(), shuffled).means == expected


def test_evaluator_judges_once_and_evaluates_often():
    evaluator = Evaluator("err@10", small())
    assert str(evaluator.measure) == "err@10:max_label=2"
    assert evaluator.judged is not None
    np.testing.assert_array_equal(evaluator.blank, [False, True, False])
    for scores in (SCORES, -SCORES, np.zeros(7)):
        values = evaluate(scores, small(), "err@10").per_query["err@10"]
        np.testing.assert_array_equal(evaluator.values(scores), values)
    # The scale comes from the whole dataset: label 1 of query "a" is not its top.
    assert evaluator.values(SCORES)[0] == pytest.approx(1 / 4 / 2)


def test_ties_are_taken_in_expectation():
    result = evaluate(np.zeros(7), small(), ["p@1", "pairs"])
    np.testing.assert_allclose(result.per_query["p@1"], [1 / 2, np.nan, 2 / 3])
    np.testing.assert_allclose(result.per_query["pairs"], [1 / 2, np.nan, 1 / 2])


def test_mistakes_are_told():
    with pytest.raises(ParameterError, match="blank must be 'skip', 'zero' or 'one', got 'drop'"):
        evaluate(SCORES, small(), blank="drop")
    with pytest.raises(ParameterError, match="measures is empty: name at least one"):
        evaluate(SCORES, small(), [])
    with pytest.raises(ParameterError, match="unknown measure 'accuracy'"):
        evaluate(SCORES, small(), ["accuracy"])
    with pytest.raises(DataError, match="the data has no labels: pass y"):
        evaluate(SCORES, Dataset(SCORES[:, None], qid=QID))
    with pytest.raises(DataError, match="the label -1"):
        evaluate(SCORES, Dataset(SCORES[:, None], Y - 1, qid=QID))
    evaluator = Evaluator("ndcg", small())
    with pytest.raises(DataError, match="a score of query c is NaN"):
        evaluator.values(np.where(np.arange(7) == 4, np.nan, SCORES))
    with pytest.raises(DataError, match=r"scores have shape \(3,\), but there are 7 rows"):
        evaluator.values(np.zeros(3))


def test_measures_named_alike_are_told_apart():
    class Other(Measure):
        name = "ndcg@10"

        def value(self, labels):
            return 0.0

    with pytest.raises(ParameterError, match="two different measures have the name ndcg@10"):
        evaluate(SCORES, small(), ["ndcg@10", Other()])
    assert list(evaluate(SCORES, small(), ["ndcg@10", NDCG(10)]).means) == ["ndcg@10"]
