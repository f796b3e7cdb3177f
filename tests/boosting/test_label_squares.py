"""Squared errors of labels beside λs: against loops, as a gradient, and in any order."""

import math

import numpy as np
import pytest

import rankinite as rk
from rankinite._numba import threads
from rankinite.boosting._square_kernels import total_in_any_order
from rankinite.boosting.label_squares import LabelSquares
from rankinite.boosting.objectives import RankingObjective
from rankinite.data import Queries
from rankinite.distributed import Serial
from rankinite.lambdas import LambdaGradients
from rankinite.measures import NDCG
from tests.boosting.small import train_and_valid
from tests.naive import boosting as naive
from tests.workers import deals, found_by_workers

SIZES = np.array([4, 1, 7, 30, 2, 5, 3, 11])
OFFSETS = np.concatenate([[0], np.cumsum(SIZES)])
N = int(OFFSETS[-1])
BETA = 3.0
# The queries of one document have no order, and here another has none either.
BLANK = SIZES == 1
BLANK[5] = True
RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 5, N).astype(float)
NOISE = RNG.normal(size=N)
W = RNG.random(N)
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
WEIGHTS[OFFSETS[4] : OFFSETS[5]] = 0.0


def squares(labels, offsets=OFFSETS, factor=None, sigma=1.0, blank=BLANK, communicator=None):
    queries = Queries(offsets=offsets, qids=np.arange(len(offsets) - 1), y=labels)
    return LabelSquares(queries, blank, factor, BETA, sigma, communicator or Serial())


def added(own, scores, w=W):
    """What is added to a λ and to w."""
    lam, curvature = np.zeros(len(scores)), w.copy()
    own.add(scores, lam, curvature)
    return lam, curvature - w


def part_of(rows_of):
    return [np.arange(*OFFSETS[q : q + 2]) for q in rows_of]


LIVE = part_of(np.flatnonzero(~BLANK))


@pytest.mark.parametrize("factor", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("sigma", [1.0, 0.3])
@pytest.mark.parametrize(
    "scores",
    [0.3 * LABELS + NOISE, 5 * LABELS + NOISE, 1e-3 * NOISE, -LABELS, NOISE + 1e6, np.zeros(N)],
    ids=["noisy", "large", "small", "against", "far", "none"],
)
def test_they_equal_the_loops(factor, sigma, scores):
    found = added(squares(LABELS, factor=factor, sigma=sigma), scores)
    f = np.ones(N) if factor is None else factor
    expected = naive.label_squares(LIVE, LABELS, scores, f, W, BETA, sigma)
    assert np.abs(expected[0]).max() > 1e-4
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-8)


def test_the_pull_is_the_gradient_of_the_squared_error():
    scores = 0.5 * LABELS + NOISE
    lam, w = added(squares(LABELS, factor=WEIGHTS), scores)
    mass = sum(WEIGHTS[rows].sum() for rows in LIVE)

    def centred(values, rows):
        return values[rows] - np.average(values[rows], weights=WEIGHTS[rows])

    live = [rows for rows in LIVE if WEIGHTS[rows].any()]
    t = {rows[0]: centred(LABELS, rows) for rows in live}
    u = {rows[0]: centred(scores, rows) for rows in live}
    sums = {
        name: sum((WEIGHTS[rows] * a[rows[0]] * b[rows[0]]).sum() for rows in live)
        for name, a, b in (("tt", t, t), ("tu", t, u), ("uu", u, u))
    }
    unit, rho = np.sqrt(mass / sums["tt"]), sums["tu"] / np.sqrt(sums["tt"] * sums["uu"])
    slope = min(unit * sums["tu"] / sums["uu"], 1.0)
    assert 0.1 < rho < 1.0

    def cost(at):
        """½ β (1 − ρ²) w̄ Σ f (t − a u)², with a, ρ and w̄ held."""
        total = 0.0
        for rows in live:
            error = unit * t[rows[0]] - slope * centred(at, rows)
            mean_w = W[rows].sum() / WEIGHTS[rows].sum()
            total += 0.5 * BETA * (1 - rho**2) * mean_w * (WEIGHTS[rows] * error**2).sum()
        return total

    step = 1e-5
    for row in range(N):
        moved = np.eye(N)[row] * step
        slope_here = (cost(scores - moved) - cost(scores + moved)) / (2 * step)
        assert lam[row] == pytest.approx(slope_here, abs=1e-7)
    assert (w >= 0).all() and w.any()


def test_only_the_direction_of_labels_counts():
    """Neither their unit, nor what they begin with, nor the slope σ."""
    scores = LABELS + NOISE
    lam, w = added(squares(LABELS), scores)
    for other in (added(squares(50 * LABELS - 7), scores), added(squares(LABELS - 1e3), scores)):
        np.testing.assert_allclose(other, (lam, w), atol=1e-9)
    steeper = added(squares(LABELS, sigma=4.0), scores / 4, 16 * W)
    np.testing.assert_allclose(steeper, (4 * lam, 16 * w), atol=1e-9)


def test_nothing_is_added_where_nothing_can_be_learned():
    nothing = [
        (np.ones(N), NOISE, BLANK),  # no label is better
        (LABELS, NOISE, np.ones_like(BLANK)),
        (LABELS, 1e200 * NOISE, BLANK),  # their squares are no numbers
    ]
    for labels, scores, blank in nothing:
        lam, w = added(squares(labels, blank=blank), scores)
        assert not lam.any() and not w.any()
    lam, w = added(squares(LABELS), LABELS * 0.5)
    # The labels are all explained, but for a query whose scores go the other way.
    assert np.abs(lam).max() < 1e-9


def test_neither_order_nor_threads_nor_workers_matter():
    scores = LABELS + NOISE
    lam, w = added(squares(LABELS, factor=WEIGHTS), scores)
    rng = np.random.default_rng(0)
    queries = rng.permutation(len(SIZES))
    rows = np.concatenate([rng.permutation(np.arange(*OFFSETS[q : q + 2])) for q in queries])
    offsets = np.concatenate([[0], np.cumsum(SIZES[queries])])
    for n_threads in (1, 3):
        with threads(n_threads):
            own = squares(LABELS[rows], offsets, WEIGHTS[rows], blank=BLANK[queries])
            other = added(own, scores[rows], W[rows])
        assert other[0].tobytes() == lam[rows].tobytes()
        assert other[1].tobytes() == w[rows].tobytes()

    def work(communicator, queries):
        rows = np.concatenate([np.empty(0, np.int64), *part_of(queries)]).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(SIZES[queries])])
        own = squares(LABELS[rows], offsets, WEIGHTS[rows], 1.0, BLANK[queries], communicator)
        return rows, added(own, scores[rows], W[rows])

    for dealt in deals(len(SIZES)):
        for rows, other in found_by_workers(dealt, work):
            assert other[0].tobytes() == lam[rows].tobytes()
            assert other[1].tobytes() == w[rows].tobytes()


@pytest.mark.parametrize(("scale", "error"), [(1.0, 1e-11), (1e250, 1e-11), (1e-295, 1e-6)])
def test_sums_do_not_depend_on_the_order(scale, error):
    rng = np.random.default_rng(1)
    terms = scale * rng.normal(size=1000) * 10.0 ** rng.integers(-12, 3, 1000)
    total = total_in_any_order(terms)
    assert total == pytest.approx(math.fsum(terms), rel=error, abs=0.0)
    for _ in range(20):
        assert total_in_any_order(rng.permutation(terms)) == total


def test_sums_tell_what_is_no_number():
    assert total_in_any_order(np.empty(0)) == 0.0
    assert total_in_any_order(np.zeros(9)) == 0.0
    assert total_in_any_order(np.array([1.0, -1.0, 0.25])) == 0.25
    assert total_in_any_order(np.array([1.0, -np.inf])) == np.inf
    assert np.isnan(total_in_any_order(np.array([1.0, np.nan])))


@pytest.mark.parametrize("weighted", [False, True])
def test_an_objective_without_them_is_that_of_the_lambdas(weighted):
    train, _ = train_and_valid()
    if weighted:
        weight = np.random.default_rng(2).random(train.n_queries)
        train = rk.Dataset(
            train.X, train.y, qid=np.repeat(train.qids, train.query_sizes), query_weight=weight
        )
    keys = np.arange(train.n_rows, dtype=np.uint64)
    scores = np.random.default_rng(1).normal(size=train.n_rows)
    measure = NDCG(10).resolve(train.labels)
    plain = LambdaGradients(
        measure, train.labels, train.offsets, keys, query_weight=train.query_weight
    )
    lam, w = plain(scores, 4)
    (found,) = RankingObjective(measure, train, keys, 1.0, 0.0, Serial()).gradients([scores], 4)
    assert np.array_equal(found, (lam, w))
    (found,) = RankingObjective(measure, train, keys, 1.0, BETA, Serial()).gradients([scores], 4)
    LabelSquares(train, plain.blank, plain.factor, BETA, 1.0, Serial()).add(scores, lam, w)
    assert np.array_equal(found, (lam, w)) and plain.blank.sum() < train.n_queries


@pytest.mark.parametrize("measure", ["ndcg@10", "err@10", "map", "mrr"])
def test_they_teach_what_noisy_labels_have_to_say(measure):
    """Other queries are ranked more as they would be if nothing disturbed their labels."""

    def qualities(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9000, 8))
        clean = X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5]
        noisy = clean + 6 * clean.std() * rng.normal(size=len(X))
        qid, train, test = np.arange(9000) // 30, slice(0, 3000), slice(3000, None)

        def labels_of(values):
            return np.searchsorted(np.quantile(values, [0.6, 0.8, 0.9]), values).astype(float)

        data = rk.Dataset(X[train], labels_of(noisy)[train], qid=qid[train])
        others = rk.Dataset(X[test], labels_of(clean)[test], qid=qid[test])
        for squares in (0.0, 4.0):
            model = rk.LambdaMART(measure, n_estimators=60, max_leaf_nodes=7, squares=squares)
            yield rk.evaluate(model.fit(data), others, measure)[measure]

    without, beside = np.mean([list(qualities(seed)) for seed in range(4)], axis=0)
    assert beside > without + 0.01, (without, beside)
