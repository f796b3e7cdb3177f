"""Documents drawn for a tree by how much they pull: against loops, fair, and in any order."""

from itertools import pairwise

import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import threads
from rankinite.boosting._importance_kernels import N_CLASSES, count_importances, draw_important
from rankinite.boosting.query_sample import QuerySample
from rankinite.boosting.row_sample import RowSample, factor_for
from rankinite.distributed import Serial
from rankinite.trees import gradients
from tests.boosting.small import QUICK, train_and_valid, with_labels
from tests.boosting.test_mart import few_values
from tests.naive import boosting as naive
from tests.workers import deals, found_by_workers

SERIAL = Serial()


def some_gradients(n, seed=0):
    """λ, w and the keys of rows: many hardly pull, some not at all, and some with no λ yet w."""
    rng = np.random.default_rng([seed, n])
    lam = rng.normal(size=n) ** 5
    w = rng.random(n) ** 3
    lam[::7] = 0.0
    w[::14] = 0.0
    return lam, w, rng.integers(0, 2**64, n, np.uint64)


def drawn_by(keys, lam, w, fraction=0.3, seed=5, round_number=2, queries=None, communicator=SERIAL):
    sample = RowSample(keys, communicator, fraction, queries)
    terms = (gradients(values, communicator) for values in (lam, w))
    return sample.draw(*terms, seed, round_number)


def counted(rows, lam, w, units, n_parts=3):
    counts = np.zeros((n_parts, N_CLASSES), np.int64)
    count_importances(np.asarray(rows, np.uint32), lam, w, *units, counts)
    return counts.sum(axis=0)


@pytest.mark.parametrize("n_parts", [1, 3, 32])
@pytest.mark.parametrize("n", [0, 1, 20, 400])
def test_kernels_equal_the_loops(n, n_parts):
    lam, w, keys = some_gradients(n)
    seed, units, factor = np.uint64(99), (0.25, 0.8), 1.5
    values = naive.importances(lam, w, *units)
    for rows in (np.arange(n), np.arange(n)[1::3]):
        rows = rows.astype(np.uint32)
        found = counted(rows, lam, w, units, n_parts)
        expected = naive.classes(values[row] for row in rows)
        assert {k: found[k] for k in np.flatnonzero(found)} == expected
        drawn, weighted = np.empty_like(rows), np.empty((2, len(rows)))
        scratch = np.empty(n_parts, np.int64)
        args = (rows, lam, w, *units, factor, keys, seed, scratch, drawn, weighted)
        n_drawn = draw_important(*args)
        twin = naive.draw_important(rows, values, factor, keys, seed)
        assert drawn[:n_drawn].tolist() == list(twin)
        own, p = drawn[:n_drawn], np.array(list(twin.values()))
        np.testing.assert_array_equal(weighted[:, :n_drawn], [lam[own] / p, w[own] / p])


rng = np.random.default_rng(3)
IMPORTANCES = {
    "normal": np.abs(rng.normal(size=5000)),
    "heavy tail": np.abs(rng.standard_cauchy(5000)) ** 3,
    "all equal": np.full(5000, 1 / 3),
    "all just below a power of two": np.full(5000, np.nextafter(1, 0)),
    "many zeros": np.where(rng.random(5000) < 0.5, 0.0, rng.random(5000)),
    "one giant": np.append(rng.random(4999), 1e12),
    "a few giants": np.append(rng.random(4000), np.full(1000, 1e200)),
    "tiny": rng.random(5000) * 1e-290,
    "from the least to the largest": np.ldexp(1.0, rng.integers(-1000, 1000, 5000)),
}


@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.25, 0.45])
@pytest.mark.parametrize("values", IMPORTANCES.values(), ids=list(IMPORTANCES))
def test_as_many_are_drawn_as_are_wanted(values, fraction):
    """To 7 %: those of a class differ by an eighth at most, and are taken for its middle."""
    n = len(values)
    counts = counted(np.arange(n), values, np.zeros(n), (1.0, 0.0))
    factor = factor_for(counts, fraction * n)
    with np.errstate(over="ignore"):
        probabilities = np.minimum(1.0, factor * values)
    assert probabilities.sum() == pytest.approx(fraction * n, rel=0.07)


@pytest.mark.parametrize("wanted", [201.0, 500.0, 999.9])
def test_all_that_pull_are_drawn_where_more_are_wanted(wanted):
    values = np.where(np.arange(1000) % 5 == 0, np.random.default_rng(0).random(1000) ** 9, 0.0)
    assert (values > 0).sum() == 200
    factor = factor_for(counted(np.arange(1000), values, np.zeros(1000), (1.0, 0.0)), wanted)
    assert (factor * values[values > 0] >= 1.0).all()
    drawn = drawn_by(some_gradients(1000)[2], values, np.zeros(1000), wanted / 1000)
    assert drawn.rows.tolist() == np.flatnonzero(values).tolist()
    np.testing.assert_array_equal(drawn.lam.values, values[drawn.rows])


def test_sums_over_drawn_rows_are_right_on_average():
    """Of any group of rows; to five standard errors of the mean over many rounds."""
    n, n_rounds, fraction = 300, 600, 0.3
    lam, w, keys = some_gradients(n)
    group = np.arange(n) % 4
    sums, sizes = np.zeros((n_rounds, 2, 4)), np.zeros(n_rounds)
    sample = RowSample(keys, SERIAL, fraction)
    terms = gradients(lam, SERIAL), gradients(w, SERIAL)
    for k in range(n_rounds):
        rows, *drawn, n_meant = sample.draw(*terms, 7, k)
        assert n_meant == n
        sizes[k] = len(rows)
        sums[k] = [np.bincount(group[rows], each.values, minlength=4) for each in drawn]
    errors = sums.std(axis=0) / np.sqrt(n_rounds)
    expected = [np.bincount(group, values) for values in (lam, w)]
    assert (np.abs(sums.mean(axis=0) - expected) < 5 * errors).all()
    # So that this tells something.
    assert (errors < 0.05 * np.array([np.bincount(group, np.abs(v)) for v in (lam, w)])).all()
    assert sizes.mean() == pytest.approx(fraction * n, rel=0.07)
    assert sizes.std() > 0


def test_those_that_pull_most_are_drawn_and_count_once():
    lam, w, keys = some_gradients(2000)
    rows, forces, bends, _ = drawn_by(keys, lam, w)
    most = np.argsort(-np.abs(lam))[:100]
    assert np.isin(most, rows).all()
    where = np.searchsorted(rows, most)
    np.testing.assert_array_equal(forces.values[where], lam[most])
    np.testing.assert_array_equal(bends.values[where], w[most])
    # Some have no λ, and yet something to say.
    assert ((lam[rows] == 0) & (w[rows] > 0)).any()
    assert not ((lam[rows] == 0) & (w[rows] == 0)).any()
    assert rows.dtype == np.uint32 and (np.diff(rows.astype(int)) > 0).all()


def test_neither_the_unit_of_the_labels_nor_of_the_weights_matters():
    """Powers of two, so that nothing rounds differently."""
    lam, w, keys = some_gradients(500)
    plain = drawn_by(keys, lam, w)
    for lam_power, w_power in ((2, 0), (0, -3), (-300, 400), (900, -800)):
        lam_unit, w_unit = 2.0**lam_power, 2.0**w_power
        scaled = drawn_by(keys, lam * lam_unit, w * w_unit)
        assert scaled.rows.tobytes() == plain.rows.tobytes()
        assert scaled.lam.values.tobytes() == (plain.lam.values * lam_unit).tobytes()
        assert scaled.w.values.tobytes() == (plain.w.values * w_unit).tobytes()


@pytest.mark.parametrize("largest", [3e-308, 1.0, 1e300])
@pytest.mark.parametrize("smallest", [0.0, 5e-324, 1e-308])
def test_gradients_at_the_ends_of_the_numbers_there_are(largest, smallest):
    keys = some_gradients(400)[2]
    few = np.where(np.arange(400) % 100 == 0, largest, smallest)
    for lam in (np.full(400, 1.0), np.full(400, 1e300), np.full(400, 1e-307), few):
        for w in (few, np.full(400, largest), np.full(400, smallest)):
            drawn = drawn_by(keys, lam, w)
            assert np.isfinite([drawn.lam.values, drawn.w.values]).all()
            assert len(drawn.rows) >= 4


def test_neither_the_order_of_rows_nor_threads_nor_workers_matter():
    n = 3000
    lam, w, keys = some_gradients(n)
    plain = drawn_by(keys, lam, w)
    assert 0.2 * n < len(plain.rows) < 0.4 * n
    with threads(1):
        alone = drawn_by(keys, lam, w)
    assert alone.rows.tobytes() == plain.rows.tobytes()
    assert alone.lam.values.tobytes() == plain.lam.values.tobytes()

    def forces_of(drawn, order):
        return dict(zip(order[drawn.rows].tolist(), drawn.lam.values.tolist(), strict=True))

    expected = forces_of(plain, np.arange(n))
    order = np.random.default_rng(1).permutation(n)
    assert forces_of(drawn_by(keys[order], lam[order], w[order]), order) == expected
    for dealt in deals(n):

        def work(communicator, rows):
            drawn = drawn_by(keys[rows], lam[rows], w[rows], communicator=communicator)
            return forces_of(drawn, rows), drawn.lam.exponents.tobytes()

        found = found_by_workers(dealt, work)
        assert {row: force for own, _ in found for row, force in own.items()} == expected
        assert {exponents for _, exponents in found} == {plain.lam.exponents.tobytes()}


def test_rounds_and_seeds_draw_different_rows():
    lam, w, keys = some_gradients(500)
    found = {
        drawn_by(keys, lam, w, seed=seed, round_number=k).rows.tobytes()
        for seed in (1, 2)
        for k in (0, 1, 2)
    }
    assert len(found) == 6


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_gradients_of_zero_draw_nothing(value):
    keys = some_gradients(50)[2]
    for w in (np.ones(50), np.zeros(50)):
        drawn = drawn_by(keys, np.full(50, value), w)
        assert len(drawn.rows) == len(drawn.lam.values) == len(drawn.w.values) == 0


@pytest.mark.parametrize("split", ["least_squares", "newton"])
@pytest.mark.parametrize("kind", [rk.MART, rk.LambdaMART])
def test_nothing_to_draw_gives_one_leaf(kind, split):
    train, _ = train_and_valid()
    model = kind(n_estimators=2, split=split, importance_fraction=0.5)
    with pytest.warns(rk.RankiniteWarning, match="nothing was learned"):
        model.fit(with_labels(train, np.ones(train.n_rows)))
    assert model.forest_.count.tolist() == [train.n_rows] * model.forest_.n_trees
    assert np.ptp(model.predict(train)) == 0.0


def test_of_drawn_queries_some_documents_are_drawn():
    n, n_docs = 1200, 10
    lam, w, keys = some_gradients(n)
    queries = QuerySample(keys, np.arange(0, n + 1, n_docs), 0.4, SERIAL)
    whole = drawn_by(keys, lam, w, fraction=1.0, queries=queries)
    assert 0.3 * n < len(whole.rows) < 0.5 * n and len(whole.rows) % n_docs == 0
    np.testing.assert_array_equal(whole.lam.values, lam[whole.rows])
    np.testing.assert_array_equal(whole.w.values, w[whole.rows])
    some = drawn_by(keys, lam, w, fraction=0.5, queries=queries)
    assert np.isin(some.rows, whole.rows).all()
    assert len(some.rows) == pytest.approx(0.5 * len(whole.rows), rel=0.2)
    assert some.n_meant == whole.n_meant == len(whole.rows)
    held_out = RowSample(keys, SERIAL, 0.5, queries).held_out(seed=5, round_number=2)
    assert np.flatnonzero(~held_out).tolist() == whole.rows.tolist()
    assert RowSample(keys, SERIAL, 0.5).held_out(seed=5, round_number=2) is None


@pytest.mark.parametrize("split", ["least_squares", "newton"])
def test_drawn_documents_choose_the_splits_and_all_documents_the_steps(split):
    X, y, qid = few_values()
    settings = {"n_estimators": 1, "learning_rate": 1.0, "split": split}
    model = rk.MART(importance_fraction=0.3, **settings).fit(X, y, qid=qid)
    whole = rk.MART(**settings).fit(X, y, qid=qid)
    scores = model.predict(X)
    assert not np.array_equal(model.forest_.threshold, whole.forest_.threshold)
    for value in np.unique(scores):
        assert value == pytest.approx(y[scores == value].mean())
    assert model.forest_.count.sum() == len(y)


def test_with_the_line_search_the_training_measure_never_gets_worse():
    train, _ = train_and_valid()
    options = {**QUICK, "importance_fraction": 0.5, "truncation": None}
    model = rk.LambdaMART(step="line_search", learning_rate=1.0, **options)
    model.fit(train, valid={"train": train})
    history = model.history_["train"]["ndcg@10"]
    assert (np.diff(history) >= 0).all() and history[-1] > history[0]


def test_half_of_the_documents_are_nearly_as_good():
    train, valid = train_and_valid()
    settings = [{**QUICK, "n_estimators": 30, "importance_fraction": f} for f in (1.0, 0.5)]
    models = [rk.LambdaMART(**own).fit(train) for own in settings]
    values = [rk.evaluate(model, valid, "ndcg@10")["ndcg@10"] for model in models]
    assert not np.array_equal(*(model.predict(train) for model in models))
    assert abs(values[0] - values[1]) < 0.05


@pytest.mark.parametrize("sizes", [[1], [3, 0, 2], [1] * 500, [200, 0, 0, 1, 64]])
def test_rows_of_drawn_queries_equal_the_loops(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    keys = np.random.default_rng(0).integers(0, 2**64, offsets[-1], np.uint64)
    sample = QuerySample(keys, offsets, 0.6, SERIAL)
    seen = set()
    for seed in range(20):
        rows, held_out = sample.rows(np.uint64(seed)), sample.held_out(np.uint64(seed))
        drawn = [q for q, (a, b) in enumerate(pairwise(offsets)) if not held_out[a:b].any()]
        drawn = [q for q in drawn if sizes[q]]
        assert rows.dtype == np.uint32
        assert rows.tolist() == [row for q in drawn for row in range(offsets[q], offsets[q + 1])]
        assert held_out.tolist() == [row not in set(rows.tolist()) for row in range(offsets[-1])]
        seen.add(tuple(drawn))
    assert len(seen) == 1 if len(sizes) == 1 else len(seen) > 1
