"""Queries by themselves, and as the part of a dataset that is not its features."""

import doctest
import warnings

import numpy as np
import pytest

import rankinite as rk
from rankinite.data import Dataset, Queries, queries
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.lambdas import PreferenceGradients
from rankinite.linesearch import LineSearcher
from rankinite.measures import Evaluator

SIZES = np.arange(1, 11)
QID = np.repeat(np.arange(100, 110), SIZES)
N = len(QID)


def alone():
    return Queries.from_rows(np.arange(N) % 3, qid=QID, weight=np.arange(N), query_weight=SIZES)


def with_features():
    return Dataset(np.eye(N), np.arange(N) % 3, qid=QID, weight=np.arange(N), query_weight=SIZES)


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        return Queries.from_rows(*args, **kwargs)


@pytest.fixture(params=[alone, with_features])
def ten(request):
    return request.param()


def in_pieces():
    """Rows of queries that do not lie together, as queries and as a dataset, with scores."""
    rng = np.random.default_rng(3)
    qid = rng.integers(0, 12, 90)
    y = rng.integers(0, 4, 90)
    options = {"qid": qid, "weight": rng.uniform(0.5, 2, 90), "query_weight": rng.uniform(1, 2, 12)}
    scores = rng.normal(size=(2, 90))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        return Queries.from_rows(y, **options), Dataset(scores.T, y, **options), scores


def assert_same(found, expected):
    for name in ("offsets", "qids", "y", "weight", "query_weight", "order", "documents"):
        a, b = getattr(found, name), getattr(expected, name)
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), name


def test_the_constructor_takes_arrays_as_they_are():
    parts = {
        "offsets": np.array([0, 2, 3]),
        "qids": np.array(["a", "b"]),
        "y": np.array([1.0, 0.0, 2.0]),
        "weight": np.ones(3),
        "query_weight": np.ones(2),
        "order": np.array([0, 2, 1]),
        "documents": np.array([7, 8, 9]),
    }
    made = Queries(**parts)
    for name, array in parts.items():
        assert getattr(made, name) is array, name
    assert made.preferences is None
    assert (made.n_rows, made.n_queries, made.query_sizes.tolist()) == (3, 2, [2, 1])
    assert made.labels is made.y
    bare = Queries(offsets=parts["offsets"], qids=parts["qids"])
    assert bare.y is bare.weight is bare.query_weight is bare.order is bare.documents is None
    with pytest.raises(DataError, match="the data has no labels: pass y"):
        _ = bare.labels


def test_rows_are_laid_out_as_in_a_dataset():
    assert_same(alone(), with_features())
    found, expected, _ = in_pieces()
    assert found.order is not None
    assert_same(found, expected)
    mapped = quiet(qid=["b", "a", "b"], query_weight={"a": 1, "b": 3})
    assert mapped.query_weight.tolist() == [3.0, 1.0]
    with pytest.warns(RankiniteWarning, match="the rows of 1 of 2 queries") as caught:
        Queries.from_rows(qid=["b", "a", "b"])
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": []}, "qid has no rows: queries need at least one"),
        ({"qid": [1, None, 2]}, "qid is missing in row 1"),
        ({"qid": [1, 1]}, "y has 3 values, but the data has 2 rows"),
        ({"y": [0, np.nan, 1]}, "y is nan in row 1"),
        ({"y": ["a", "b", "c"]}, "y has the type str"),
        ({"weight": [1, -1, 1]}, "weight is -1.0 in row 1"),
        ({"query_weight": [1, 1, 1]}, "query_weight has 3 values, but the data has 2 queries"),
    ],
)
def test_errors_say_what_and_where(arguments, message):
    given = {"y": [0, 1, 2], "qid": [1, 1, 2], **arguments}
    with pytest.raises(DataError, match=message):
        Queries.from_rows(given.pop("y"), **given)


def test_values_must_have_one_entry_per_row(ten):
    with pytest.raises(DataError, match=r"shape \(3,\), but the dataset has 55 rows"):
        ten.in_caller_order([1, 2, 3])
    with pytest.raises(DataError, match=r"shape \(\)"):
        ten.in_stored_order(1.0)


def test_to_the_callers_order_and_back():
    made = quiet([0, 1, 2, 3, 4], qid=list("abcab"))
    assert made.order.tolist() == [0, 3, 1, 4, 2]
    assert made.y.tolist() == [0, 3, 1, 4, 2]
    assert made.in_caller_order(made.y).tolist() == [0, 1, 2, 3, 4]
    assert made.in_stored_order(np.arange(10).reshape(5, 2))[:, 0].tolist() == [0, 6, 2, 8, 4]


def test_selected_queries_are_of_the_same_kind(ten):
    ten = ten.with_preferences(preferred=[7, 17], other=[6, 16], documents=np.arange(N) + 5)
    part = ten.select_queries([3, 0, 3])
    assert type(part) is type(ten)
    assert part.qids.tolist() == [103, 100, 103]
    assert part.offsets.tolist() == [0, 4, 5, 9]
    rows = [6, 7, 8, 9, 0, 6, 7, 8, 9]  # query q begins at row q (q + 1) / 2
    assert part.y.tolist() == [row % 3 for row in rows]
    assert part.weight.tolist() == rows
    assert part.documents.tolist() == [row + 5 for row in rows]
    assert part.query_weight.tolist() == [4, 1, 4]
    assert part.preferences is None
    assert ten.select_queries([1]).preferences.first.tolist() == [1]
    assert ten.n_queries == 10 and ten.preferences.n_pairs == 2
    mask = np.zeros(10, dtype=bool)
    mask[[1, 9]] = True
    assert ten.select_queries(mask).qids.tolist() == [101, 109]


def test_selected_queries_are_in_their_own_order():
    made = quiet([0, 1, 2, 3, 4], qid=list("abcab"))
    part = made.select_queries([1, 0])
    assert part.order is None
    assert part.y.tolist() == [1, 4, 0, 3]


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 10], "indices holds 10, but the dataset has the queries 0 to 9"),
        ([-1], "indices holds -1"),
        ([], "indices selects no query"),
        (np.zeros(10, dtype=bool), "indices selects no query"),
        (np.ones(3, dtype=bool), "indices has 3 values, but the data has 10 queries"),
        ([0.5], "integers or booleans"),
        ([[0]], "one-dimensional"),
    ],
)
def test_select_queries_errors(ten, indices, message):
    with pytest.raises(DataError, match=message):
        ten.select_queries(indices)


def test_split_gives_parts_of_the_same_kind(ten):
    parts = ten.split()
    assert {type(part) for part in parts} == {type(ten)}
    assert [part.n_queries for part in parts] == [6, 2, 2]
    together = np.concatenate([part.qids for part in parts])
    assert sorted(together.tolist()) == ten.qids.tolist()


def test_split_errors(ten):
    for fractions in ((0.9, 0.2), (0.5, 0.0), (-0.1, 0.5), 0.5):
        with pytest.raises(ParameterError, match="fractions must be positive"):
            ten.split(fractions)
    with pytest.raises(DataError, match="10 queries are too few"):
        ten.split((0.98, 0.02))


def test_each_query_is_in_one_test_fold(ten):
    tested = []
    for train, test in ten.folds(n_folds=3):
        assert type(train) is type(test) is type(ten)
        assert sorted([*train.qids, *test.qids]) == ten.qids.tolist()
        assert test.n_queries in (3, 4)
        tested += test.qids.tolist()
    assert sorted(tested) == ten.qids.tolist()
    first = [test.qids.tolist() for _, test in ten.folds(n_folds=3, random_state=5)]
    second = [test.qids.tolist() for _, test in ten.folds(n_folds=3, random_state=5)]
    assert first == second


def test_folds_errors_come_with_the_call(ten):
    for n_folds in (1, 11):
        with pytest.raises(
            ParameterError, match=f"2 and the number of queries .10., got {n_folds}"
        ):
            ten.folds(n_folds)


def test_preferences_share_all_else(ten):
    again = ten.with_preferences(preferred=[1], other=[2])
    assert type(again) is type(ten)
    assert ten.preferences is None
    assert again.preferences.n_pairs == 1
    assert again.y is ten.y and again.offsets is ten.offsets
    assert rk.Preferences.from_labels(ten).n_pairs == rk.Preferences.from_labels(again).n_pairs


def test_repr():
    made = Queries.from_rows([1, 0, 2, 0], qid=[1, 1, 2, 2])
    assert repr(made) == "Queries(4 rows, 2 queries, labels 0: 2, 1: 1, 2: 1)"
    pairs = Queries.from_rows(qid=[1, 1]).with_preferences(preferred=[1], other=[0])
    assert repr(pairs) == "Queries(2 rows, 1 queries, no labels, 1 pairs)"


@pytest.mark.parametrize("spec", ["ndcg@5", "err", "map", "pairs", rk.measure("avendcg")])
def test_measures_need_no_features(spec):
    made, data, scores = in_pieces()
    assert np.array_equal(
        Evaluator(spec, made).values(made.in_stored_order(scores[0])),
        Evaluator(spec, data).values(data.X[:, 0]),
        equal_nan=True,
    )
    found, expected = rk.evaluate(scores[0], made, spec), rk.evaluate(scores[0], data, spec)
    assert found.means == expected.means
    compared = rk.compare({"a": scores[0], "b": scores[1]}, made, spec)
    assert compared.rows == rk.compare({"a": scores[0], "b": scores[1]}, data, spec).rows


def test_measures_of_pairs_need_no_features():
    made, data, scores = in_pieces()
    pairs = rk.Preferences.from_labels(made)
    ours, theirs = (each.with_preferences(pairs) for each in (made, data))
    assert rk.evaluate(scores[0], ours).means == rk.evaluate(scores[0], theirs).means
    at = made.in_stored_order(scores[0])
    lam, _ = PreferenceGradients(ours.preferences, query_weight=ours.query_weight)(at)
    assert abs(lam.sum()) < 1e-9 and lam.any()


@pytest.mark.parametrize("mode", ["convex", "additive"])
def test_the_line_search_needs_no_features(mode):
    made, data, scores = in_pieces()
    found = rk.line_search(*scores, made, "ndcg@5", mode)
    expected = rk.line_search(lambda X: X[:, 0], lambda X: X[:, 1], data, "ndcg@5", mode)
    assert (found.alpha, found.value, found.interval) == (
        expected.alpha,
        expected.value,
        expected.interval,
    )
    stored = [made.in_stored_order(each) for each in scores]
    assert LineSearcher("ndcg@5", made).search(*stored, 0.0, 1.0, convex=True).value <= 1.0


@pytest.mark.parametrize(
    "use", [rk.evaluate, lambda scorer, made: rk.line_search(scorer, [0], made)]
)
def test_what_scores_features_says_that_there_are_none(use):
    made = Queries.from_rows([0, 1, 2, 0], qid=[1, 1, 2, 2])
    train = rk.artificial(n_queries=5, n_docs=4, n_features=3)
    model = rk.LambdaMART(n_estimators=1).fit(train)

    def first(X):
        return X[:, 0]

    for scorer, name in ((model, "LambdaMART"), (first, "first")):
        with pytest.raises(DataError, match=f"queries without features, and {name} needs them"):
            use(scorer, made)
    with pytest.raises(DataError, match="X is a Queries: pass a matrix or frame of features"):
        rk.LambdaMART().fit(made)


def test_examples_of_the_documentation():
    assert doctest.testmod(queries).failed == 0


def weighed(**weights):
    return Dataset(np.arange(6.0)[:, None], np.arange(6), qid=list("aabbcc"), **weights)


def test_what_weighs_nothing_does_not_count():
    data = weighed(weight=[0, 2, 0, 0, 3, 1], query_weight=[4, 1, 8])
    data = data.with_preferences(
        preferred=[0, 4, 5, 4], other=[1, 5, 4, 5], weight=[1, 3, 0, 6], probability=[1, 0.9, 1, 1]
    )
    part = data.that_count()
    assert type(part) is Dataset
    assert part.X[:, 0].tolist() == part.y.tolist() == [1, 4, 5]
    assert part.qids.tolist() == ["a", "c"] and part.offsets.tolist() == [0, 1, 3]
    # Only their ratio counts: in units of a power of two, the largest lies between 1 and 2.
    assert part.weight.tolist() == [1, 1.5, 0.5]
    assert part.query_weight.tolist() == [0.5, 1]
    pairs = part.preferences
    assert pairs.first.tolist() == [1, 1] and pairs.other.tolist() == [2, 2]
    assert pairs.weight.tolist() == [0.75, 1.5] and pairs.probability.tolist() == [0.9, 1]
    assert pairs.offsets.tolist() == [0, 0, 2]
    # The caller's own is as it was.
    assert data.n_rows == 6 and data.weight[1] == 2 and data.preferences.n_pairs == 4


def test_without_weights_all_counts():
    plain = weighed()
    assert plain.that_count() is plain
    part = weighed(weight=[5] * 6, query_weight=[0, 7, 7]).that_count()
    assert part.weight is None and part.query_weight is None and part.n_rows == 4
    with_pairs = plain.with_preferences(preferred=[0, 2], other=[1, 3], weight=[9, 9])
    assert with_pairs.that_count().preferences.weight.tolist() == [1, 1]
    # Features are shared with what binned them before.
    heavy = weighed(weight=np.arange(1, 7))
    assert heavy.that_count().binned() is heavy.binned()


def test_weights_that_cannot_be_added_up():
    with pytest.raises(DataError, match="every document has a weight of 0, its own or its query's"):
        weighed(weight=[0, 0, 0, 0, 1, 1], query_weight=[1, 1, 0]).that_count()
    with pytest.raises(DataError, match=r"weight goes from 1e-200 to 1, too far apart to be added"):
        weighed(weight=[1, 1, 1, 1, 1, 1e-200]).that_count()
    tiny = weighed(weight=[5e-324, 1e-323, 5e-324, 5e-324, 0, 0]).that_count()
    assert tiny.weight.tolist() == [0.5, 1, 0.5, 0.5]
    large = weighed(weight=[1.5e308, 1e308, 1, 1, 0, 0], query_weight=[1, 0, 1]).that_count()
    assert large.weight.tolist() == [1.5e308 / 2**1023, 1e308 / 2**1023]


def test_edges_of_bins_do_not_see_what_weighs_nothing():
    data = weighed(weight=[1, 1, 0, 1, 1, 1], query_weight=[1, 1, 0])
    assert data.mapper(255).edges.tolist() == [0.5, 2.0]
    assert np.array_equal(data.that_count().mapper(255).edges, data.mapper(255).edges)
