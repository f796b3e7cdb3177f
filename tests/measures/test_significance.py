import numpy as np
import pytest
from scipy import stats

import rankinite as rk
from rankinite import Dataset
from rankinite.errors import ParameterError
from rankinite.measures import compare, evaluate
from rankinite.measures.significance import paired_t_test


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(8)
    qid = np.repeat(np.arange(40), 12)
    y = rng.integers(0, 4, len(qid))
    y[:12] = 0
    scorers = {
        "weak": y + rng.normal(scale=4.0, size=len(qid)),
        "strong": y + rng.normal(scale=1.0, size=len(qid)),
    }
    scorers["same"] = scorers["weak"] * 2.0  # another scale, the same order
    return Dataset(rng.normal(size=(len(qid), 2)), y, qid=qid), scorers


def test_against_scipy(case):
    dataset, scorers = case
    result = compare(scorers, dataset, ["ndcg@10", "map"])
    assert rk.compare is compare
    assert [(r.measure, r.scorer) for r in result.rows] == [
        ("ndcg@10", "strong"),
        ("ndcg@10", "same"),
        ("map", "strong"),
        ("map", "same"),
    ]
    for row in result.rows:
        if row.scorer == "same":
            continue
        ours = evaluate(scorers["strong"], dataset, row.measure).per_query[row.measure]
        theirs = evaluate(scorers["weak"], dataset, row.measure).per_query[row.measure]
        differences = (ours - theirs)[~np.isnan(ours)]
        oracle = stats.ttest_rel(ours, theirs, nan_policy="omit")
        interval = oracle.confidence_interval(0.95)
        assert row.p_value == pytest.approx(oracle.pvalue, rel=1e-9)
        assert (row.low, row.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
        assert row.difference == pytest.approx(differences.mean())
        assert row.mean - row.baseline_mean == row.difference
        assert row.wins == (differences > 1e-12).sum()
        assert row.losses == (differences < -1e-12).sum()
        assert row.n_queries == len(differences) < 40


def test_no_difference_at_all(case):
    dataset, scorers = case
    row = compare(scorers, dataset, "ndcg@10").rows[1]
    assert (row.scorer, row.baseline) == ("same", "weak")
    assert (row.p_value, row.low, row.high, row.difference) == (1.0, 0.0, 0.0, 0.0)
    assert (row.wins, row.losses, row.ties) == (0, 0, row.n_queries)


def test_another_baseline_turns_the_signs(case):
    dataset, scorers = case
    forth = compare(scorers, dataset).rows[0]
    back = compare(scorers, dataset, baseline="strong").rows[0]
    assert (back.scorer, back.baseline) == ("weak", "strong")
    assert back.difference == -forth.difference
    assert back.p_value == pytest.approx(forth.p_value)
    assert (back.low, back.high) == (pytest.approx(-forth.high), pytest.approx(-forth.low))
    assert (back.wins, back.losses) == (forth.losses, forth.wins)


def test_blank_queries_that_count_are_ties(case):
    dataset, scorers = case
    skipped, counted = compare(scorers, dataset), compare(scorers, dataset, blank="zero")
    blank = skipped.evaluations["weak"].n_blank["ndcg@10"]
    assert blank > 0
    assert counted.rows[0].n_queries == 40
    assert counted.rows[0].ties == skipped.rows[0].ties + blank


def test_query_weights_weigh_the_test_like_the_mean(case):
    dataset, scorers = case
    weights = np.random.default_rng(0).uniform(0.1, 5.0, 40)
    weights[3] = 0.0
    weighted = Dataset(dataset.X, dataset.y, qid=np.repeat(np.arange(40), 12), query_weight=weights)
    row = compare(scorers, weighted).rows[0]
    assert row.difference == pytest.approx((row.low + row.high) / 2)
    assert row.n_queries == compare(scorers, dataset).rows[0].n_queries - 1


def test_weighted_t_test_spelled_out():
    d, w = np.array([0.3, -0.1, 0.2]), np.array([1.0, 2.0, 5.0])
    mean = (0.3 - 0.2 + 1.0) / 8
    error = np.sqrt(3 / 2 * np.sum((w / 8) ** 2 * (d - mean) ** 2))
    p_value, low, high = paired_t_test(d, w)
    assert p_value == pytest.approx(2 * stats.t.sf(mean / error, 2))
    half = stats.t.ppf(0.975, 2) * error
    assert (low, high) == (pytest.approx(mean - half), pytest.approx(mean + half))
    # Only the proportions of the weights matter.
    assert paired_t_test(d, 10 * w) == pytest.approx((p_value, low, high))


def test_equal_differences_leave_no_doubt():
    assert paired_t_test(np.full(4, 0.5), np.ones(4)) == (0.0, 0.5, 0.5)


def test_one_query_has_no_p_value():
    dataset = Dataset(np.zeros((2, 1)), [0, 1], qid=[7, 7])
    row = compare({"a": [0.0, 1.0], "b": [1.0, 0.0]}, dataset).rows[0]
    assert np.isnan(row.p_value)
    assert np.isnan(row.low)
    assert (row.wins, row.losses, row.ties) == (0, 1, 0)


def test_printing_is_an_aligned_table(case):
    dataset, scorers = case
    result = compare(scorers, dataset, ["ndcg@10", "map"])
    lines = str(result).splitlines()
    assert lines[0].split() == (
        [
            "measure",
            "scorer",
            "mean",
            "difference",
            "95",
            "%",
            "interval",
            "p",
            "wins",
            "losses",
            "ties",
        ]
    )
    assert len(lines) == 1 + 2 * 3
    assert lines[1].split() == [
        "ndcg@10",
        "weak",
        "(baseline)",
        f"{result.rows[0].baseline_mean:.4f}",
    ]
    row = result.rows[0]
    assert lines[2].startswith("ndcg@10  strong")
    assert f"{row.mean:.4f}" in lines[2]
    assert f"{row.difference:+.4f}" in lines[2]
    assert lines[2].split()[-3:] == [str(row.wins), str(row.losses), str(row.ties)]


def test_mistakes_are_told(case):
    dataset, scorers = case
    with pytest.raises(ParameterError, match=r"compare needs two or more scorers, got 1: \['a'\]"):
        compare({"a": scorers["weak"]}, dataset)
    with pytest.raises(ParameterError, match="baseline 'x' is not one of the scorers: weak"):
        compare(scorers, dataset, baseline="x")
