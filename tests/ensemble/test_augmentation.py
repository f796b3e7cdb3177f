"""Parts of queries as new queries, by number."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.data import FeatureRows, FeatureValues
from tests.subjects import plain_rows, quiet, same, saved
from tests.workers import found_by_workers


def data(**more):
    X, y, qid = plain_rows()
    return rk.Dataset(X, y, qid=qid, **more)


def copied(grown):
    """The same rows with features of their own."""
    return rk.Dataset.of(grown, FeatureValues(grown.X, grown.feature_names))


def contents(grown):
    """The queries by id, each with its documents in any order."""
    rows = np.column_stack([grown.X, grown.y])
    return {
        qid: sorted(map(bytes, np.ascontiguousarray(rows[first:last]).view("V72").ravel()))
        for qid, first, last in zip(
            grown.qids.tolist(), grown.offsets[:-1], grown.offsets[1:], strict=True
        )
    }


def test_parts_are_drawn_without_replacement_and_added_to_the_whole():
    whole = data()
    grown = rk.augmented(whole, fraction=0.5, times=3, single_labels="keep")
    assert grown.n_queries == 4 * whole.n_queries
    assert grown.query_sizes.tolist() == [20] * 30 + [10] * 90
    assert same(grown.X[:600], whole.X) and same(grown.y[:600], whole.y)
    assert isinstance(grown.features, FeatureRows) and grown.features.features is whole.features
    rows = grown.features.rows
    assert same(whole.X[rows], grown.X) and same(whole.y[rows], grown.y)
    for query in range(30, 120):
        own = rows[grown.offsets[query] : grown.offsets[query + 1]]
        assert len(set(own.tolist())) == 10
        assert (own // 20 == query % 30).all()
        assert grown.qids[query] == f"{whole.qids[query % 30]} (part {query // 30})"
    parts = [tuple(rows[grown.offsets[q] : grown.offsets[q + 1]] % 20) for q in range(30, 120)]
    assert len(set(parts)) == 90
    # Every document as often as any other, but for chance: 300 ± 5 standard deviations of 300·½·½.
    by_place = np.bincount(rows[600:] % 20, minlength=20)
    assert (np.abs(by_place - 45) < 5 * np.sqrt(90 / 4)).all()


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.7, 1.0])
def test_sizes_of_parts(fraction):
    sizes = np.array([1, 2, 3, 5, 8])
    qid = np.repeat(np.arange(5), sizes)
    rng = np.random.default_rng(0)
    whole = rk.Dataset(rng.normal(size=(19, 2)), rng.integers(0, 5, 19), qid=qid)
    grown = rk.augmented(whole, fraction, times=1, single_labels="keep")
    assert grown.query_sizes[5:].tolist() == [max(1, round(fraction * n)) for n in sizes.tolist()]


def test_what_has_one_label_left_is_dropped():
    y = [0, 0, 0, 1] * 6 + [2] * 4
    qid = np.repeat(np.arange(7), 4)
    whole = rk.Dataset(np.arange(28.0)[:, None], y, qid=qid)
    kept = rk.augmented(whole, 0.5, 4, single_labels="keep")
    assert kept.n_queries == 35
    dropped = rk.augmented(whole, 0.5, 4)
    labels = [set(part.tolist()) for part in np.split(kept.y, kept.offsets[1:-1])]
    wanted = [number < 7 or len(own) == 2 for number, own in enumerate(labels)]
    assert 7 < sum(wanted) < 35
    assert dropped.qids.tolist() == kept.qids[wanted].tolist()
    expected = kept.select_queries(np.array(wanted))
    assert same(dropped.X, expected.X) and same(dropped.y, expected.y)
    # A part of one document has one label.
    alone = rk.augmented(whole, 0.25, 4)
    assert alone.n_queries == 7 and same(alone.X, whole.X)
    unlabelled = rk.Dataset(whole.X, qid=qid)
    assert rk.augmented(unlabelled, 0.25, 4).n_queries == 35


def test_neither_the_order_of_rows_nor_their_type_matters():
    X, y, qid = plain_rows()
    weight = np.random.default_rng(1).uniform(1, 2, len(y))
    expected = contents(rk.augmented(rk.Dataset(X, y, qid=qid, weight=weight)))
    order = np.random.default_rng(2).permutation(len(y))
    shuffled = quiet(X[order], y[order], qid=qid[order], weight=weight[order])
    assert contents(rk.augmented(shuffled)) == expected
    as_float32 = rk.Dataset(X.astype(np.float32), y, qid=qid, weight=weight)
    assert contents(rk.augmented(as_float32)) == expected
    as_text = rk.Dataset(X, y, qid=qid.astype(str), weight=weight)
    assert contents(rk.augmented(as_text)) == expected
    other = contents(rk.augmented(rk.Dataset(X, y, qid=qid, weight=weight), random_state=1))
    assert other.keys() == expected.keys() and other != expected


def test_another_query_changes_nothing_for_the_others():
    whole = data()
    few = whole.select_queries(np.arange(0, 30, 2))
    all_of_them = contents(rk.augmented(whole))
    for qid, documents in contents(rk.augmented(few)).items():
        assert all_of_them[qid] == documents


@pytest.mark.parametrize(
    "model",
    [
        rk.LambdaMART(n_estimators=5),
        rk.LambdaMART(n_estimators=4, query_fraction=1.0, split="least_squares"),
        rk.LambdaMART(n_estimators=4, row_fraction=0.6, query_fraction=1.0),
        rk.LambdaMART(n_estimators=4, row_fraction=0.6, importance_fraction=0.1),
        rk.LambdaMART(n_estimators=4, base_model=lambda X: X[:, 0], backfit=1),
        rk.MART(n_estimators=4, min_samples_leaf=3),
        rk.MART(n_estimators=4, loss="graded", feature_fraction=0.5),
        rk.McRank(n_estimators=2),
        rk.LambdaBoost(n_estimators=4),
        rk.LambdaRank(n_epochs=3),
        rk.LambdaRank(n_epochs=2, n_hidden=0, measure="err@10"),
        rk.RankNet(n_epochs=2),
        rk.RankNet(n_epochs=2, mode="pairwise"),
    ],
    ids=lambda model: repr(model).split(" at ")[0],
)
def test_models_are_those_of_copied_rows(model, tmp_path):
    rng = np.random.default_rng(3)
    X, y, qid = plain_rows()
    # More values than bins, so that edges depend on how often a document comes.
    whole = rk.Dataset(X + rng.normal(size=X.shape), y, qid=qid, weight=rng.uniform(1, 2, len(y)))
    grown = rk.augmented(whole, 0.6, 3)
    found, expected = (model.__sklearn_clone__().fit(rows) for rows in (grown, copied(grown)))
    if model.base_model is None:
        assert saved(found, tmp_path) == saved(expected, tmp_path)
    assert same(found.predict(grown), expected.predict(copied(grown)))
    assert same(found.predict(whole), expected.predict(whole))


def test_parts_of_grown_data_are_rows_by_number_too(tmp_path):
    grown = rk.augmented(data(), 0.6, 3)
    train, valid = next(iter(grown.folds(3)))
    assert isinstance(train.features, FeatureRows)
    # So few that trees look at a copy of those that come.
    few = grown.select_queries(np.array([2, 31, 40]))
    for rows in (train, few):
        models = [
            rk.LambdaMART(n_estimators=5, min_samples_leaf=2).fit(each, valid=watched)
            for each, watched in ((rows, valid), (copied(rows), copied(valid)))
        ]
        assert saved(models[0], tmp_path) == saved(models[1], tmp_path)
        assert same(models[0].predict(few), models[1].predict(copied(few)))
    twice = rk.augmented(grown, 0.5, 1)
    assert twice.features.features is grown.features.features
    assert twice.qids[-1].endswith(" (part 3) (another part 1)")


def test_resuming_on_grown_data(tmp_path):
    grown = rk.augmented(data(), 0.6, 2)
    rk.LambdaMART(n_estimators=3).fit(grown).save(tmp_path / "half.rk")
    model = rk.LambdaMART(n_estimators=6).fit(grown, resume=tmp_path / "half.rk")
    assert saved(model, tmp_path) == saved(rk.LambdaMART(n_estimators=6).fit(grown), tmp_path)


@pytest.mark.parametrize("distribute", ["rows", "features"])
def test_workers_that_grow_their_own_shares(distribute, tmp_path):
    whole = data()
    expected = saved(rk.LambdaMART(n_estimators=3).fit(rk.augmented(whole, 0.6, 2)), tmp_path)

    def work(communicator, queries):
        own = whole if distribute == "features" else whole.select_queries(queries)
        grown = rk.augmented(own, 0.6, 2)
        ranker = rk.LambdaMART(n_estimators=3)
        return ranker.fit(grown, communicator=communicator, distribute=distribute)

    for model in found_by_workers([np.arange(0, 30, 2), np.arange(1, 30, 2)], work):
        assert saved(model, tmp_path) == expected


def test_workers_that_grow_trees_alone(tmp_path):
    whole = data()

    def trained(shape):
        def work(communicator, queries):
            grown = shape(rk.augmented(whole.select_queries(queries), 0.6, 2))
            ranker = rk.LambdaMART(n_estimators=3)
            return ranker.fit(grown, communicator=communicator, distribute="trees", overlap=1)

        return found_by_workers([np.arange(0, 30, 2), np.arange(1, 30, 2)], work)

    files = {saved(model, tmp_path) for shape in (lambda rows: rows, copied)
             for model in trained(shape)}  # fmt: skip
    assert len(files) == 1


def test_bins_alone(tmp_path):
    data().save(tmp_path / "train.bins")
    bins = rk.read(tmp_path / "train.bins")
    grown = rk.augmented(bins, 0.6, 2)
    rows = grown.features.rows
    values = rk.Dataset.of(grown, FeatureRows(data().features, rows))
    # Few values, each with a bin of its own.
    models = [rk.LambdaMART(n_estimators=4).fit(each) for each in (grown, values)]
    assert same(models[0].predict(values), models[1].predict(values))
    assert same(models[0].predict(grown), models[1].predict(values))
    with pytest.raises(rk.DataError, match="holds only bins, and a RankNet needs feature values"):
        rk.RankNet(n_epochs=1).fit(grown)
    grown.save(tmp_path / "grown.bins")
    again = rk.LambdaMART(n_estimators=4).fit(rk.read(tmp_path / "grown.bins"))
    assert saved(again, tmp_path) == saved(models[0], tmp_path)


def test_what_weighs_nothing_is_absent():
    X, y, qid = plain_rows()
    rng = np.random.default_rng(4)
    weight = rng.uniform(1, 2, len(y)) * (rng.random(len(y)) < 0.8)
    query_weight = rng.uniform(1, 2, 30) * (np.arange(30) % 3 > 0)
    grown = rk.augmented(rk.Dataset(X, y, qid=qid, weight=weight, query_weight=query_weight))
    kept = (weight > 0) & (np.repeat(query_weight, 20) > 0)
    rest = rk.Dataset(
        X[kept],
        y[kept],
        qid=qid[kept],
        weight=weight[kept],
        query_weight=query_weight[query_weight > 0],
    )
    expected = rk.augmented(rest)
    assert contents(grown) == contents(expected)
    assert same(grown.weight, expected.weight) and same(grown.query_weight, expected.query_weight)
    ids = [qid.split(" (")[0] for qid in grown.qids.tolist()]
    own = dict(zip(expected.qids.tolist(), expected.query_weight.tolist(), strict=True))
    assert grown.query_weight.tolist() == [own[qid] for qid in ids]


def test_preferences_go_along(tmp_path):
    whole = data()
    pairs = rk.Preferences.from_labels(whole)
    of_pairs = rk.Dataset(whole.X, qid=np.repeat(whole.qids, whole.query_sizes))
    of_pairs.preferences = pairs
    grown = rk.augmented(of_pairs, 0.2, 4)
    n_pairs = np.diff(grown.preferences.offsets)
    assert (n_pairs[30:] > 0).all() and 30 < grown.n_queries < 150
    labels = whole.y[grown.features.rows]
    assert (labels[grown.preferences.first] > labels[grown.preferences.other]).all()
    for first, last, n in zip(grown.offsets[:-1], grown.offsets[1:], n_pairs, strict=True):
        assert n == (labels[first:last, None] > labels[first:last]).sum()
    models = [rk.LambdaMART(n_estimators=3).fit(rows) for rows in (grown, copied(grown))]
    assert saved(models[0], tmp_path) == saved(models[1], tmp_path)


def test_ids_are_new_and_texts():
    X = np.arange(6.0)[:, None]
    whole = rk.Dataset(X, [0, 1] * 3, qid=["a", "a", "a (part 1)", "a (part 1)", "b", "b"])
    assert rk.augmented(whole, 1.0, 1).qids.tolist() == [
        *whole.qids,
        "a (another part 1)",
        "a (part 1) (another part 1)",
        "b (another part 1)",
    ]
    mixed = rk.Dataset(X, [0, 1] * 3, qid=np.array([7, 7, "7", "7", "b", "b"], object))
    assert rk.augmented(mixed, 1.0, 1).qids.tolist()[:3] == ["7", "'7'", "'b'"]


def test_grown_data_in_other_hands(tmp_path):
    names = list("abcdefgh")
    grown = rk.augmented(data(feature_names=names), 0.6, 1)
    rk.write_svmlight(grown.select_queries(np.arange(3)), tmp_path / "few.txt")
    assert rk.read(tmp_path / "few.txt").n_rows == 60
    both = rk.concat([grown, copied(grown)], same_id="apart")
    assert same(both.X, np.concatenate([grown.X, grown.X]))
    model = rk.LambdaMART(n_estimators=2).fit(data(feature_names=names))
    turned = FeatureValues(np.ascontiguousarray(data().X[:, ::-1]), names[::-1])
    by_name = rk.Dataset.of(grown, FeatureRows(turned, grown.features.rows))
    assert same(model.predict(by_name), model.predict(grown))
    assert "rows of 600" in repr(grown)


def test_wrong_arguments():
    whole = data()
    for wrong, sentence in (
        ({"fraction": 0}, "fraction must be a number above 0 and at most 1, got 0"),
        ({"fraction": 1.5}, "fraction must be a number above 0 and at most 1"),
        ({"times": 0}, "times must be a whole number at least 1"),
        ({"single_labels": "no"}, "single_labels must be one of 'drop', 'keep', got 'no'"),
        ({"random_state": -1}, "random_state must be a whole number"),
    ):
        with pytest.raises(rk.ParameterError, match=sentence):
            rk.augmented(whole, **wrong)
    with pytest.raises(rk.DataError, match="augmented needs a Dataset, not a ndarray"):
        rk.augmented(whole.X)
