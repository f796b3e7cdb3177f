import numpy as np
import pytest

import rankinite as rk
from rankinite.combination import compare_methods
from rankinite.combination.choosing import ways_to_combine
from rankinite.combination.members import in_content_order
from tests.combination.cases import columns, rows_of_scores, scored

QUICK = [("average", "data"), ("average", "query"), ("exact_powell", "data")]


def test_held_out_means_are_those_of_folds():
    data, measure = scored(n_queries=30, noise=1.0), "map:relevant=2"
    found = compare_methods(columns(), data, measure, QUICK, n_folds=3, random_state=4)
    assert [c.held_out for c in found] == sorted((c.held_out for c in found), reverse=True)
    assert {(c.method, c.normalize) for c in found} == set(QUICK)
    for contender in found:
        values = []
        for fit, test in in_content_order(data).folds(3, random_state=4):
            model = rk.Combination(columns(), contender.method, measure, contender.normalize)
            values.append(rk.evaluate(model.fit(fit), test, measure).per_query[measure])
        assert contender.held_out == pytest.approx(np.nanmean(np.concatenate(values)), rel=1e-12)


def test_order_of_rows_and_threads_are_no_matter():
    X, y, qid = rows_of_scores()
    order = np.random.default_rng(0).permutation(len(y))
    with pytest.warns(rk.RankiniteWarning):
        shuffled = rk.Dataset(X[order], y[order], qid=qid[order])
    first = compare_methods(columns(), rk.Dataset(X, y, qid=qid), ways=QUICK, n_threads=1)
    assert compare_methods(columns(), shuffled, ways=QUICK, n_threads=2) == first


def test_ways():
    assert ways_to_combine()[:3] == [("average", "data"), ("average", "query"), ("linear", "data")]
    assert len(ways_to_combine()) == 7
    assert len(ways_to_combine("query")) == 6


def test_mistakes():
    with pytest.raises(rk.ParameterError, match="n_folds must lie between 2"):
        compare_methods(columns(), scored(), ways=QUICK, n_folds=1)
    with pytest.raises(rk.ParameterError, match="method must be one of"):
        compare_methods(columns(), scored(), ways=[("best", "data")])
    with pytest.raises(rk.ParameterError, match="ways must be pairs"):
        compare_methods(columns(), scored(), ways=["average"])
    with pytest.raises(rk.ParameterError, match="n_folds must lie between 2"):
        compare_methods(columns(), scored(), ways=QUICK, n_folds="3")
    with pytest.raises(rk.DataError, match="must be a Dataset"):
        compare_methods(columns(), scored().X, ways=QUICK)
