"""Rankers that were trained on a part of the features, for data that has them all."""

from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk
from rankinite.ensemble.narrowed import Narrowed, columns_of, narrowed
from rankinite.errors import DataError, ModelFileError, ParameterError
from rankinite.models.storage import from_state, to_state

TRAIN, TEST = rk.artificial(n_queries=(20, 10), n_docs=8, n_features=5, random_state=2)
FEW = {"n_estimators": 3, "max_leaf_nodes": 4, "min_samples_leaf": 2}


@pytest.fixture(scope="module")
def part():
    inside = rk.MART(**FEW).fit(narrowed(TRAIN, [3, 1]))
    return Narrowed.of(inside, [3, 1], TRAIN)


def test_a_part_of_the_features(part, tmp_path):
    expected = part.ranker.predict(TEST.X[:, [3, 1]])
    assert np.array_equal(part.predict(TEST), expected)
    assert np.array_equal(part.predict(TEST.X), expected)
    part.save(tmp_path / "part.rk")
    assert np.array_equal(rk.load(tmp_path / "part.rk").predict(TEST), expected)
    both = rk.Combination({"part": part, "all": rk.MART(**FEW).fit(TRAIN)}).fit(TEST)
    both.save(tmp_path / "both.rk")
    assert np.array_equal(rk.load(tmp_path / "both.rk").predict(TEST), both.predict(TEST))
    with pytest.raises(DataError, match="has 4 features, but the model was trained on 5"):
        part.predict(TEST.X[:, :4])


def test_names_of_features_are_kept():
    names = list("abcde")
    data = rk.Dataset(TRAIN.X, TRAIN.y, qid=np.repeat(TRAIN.qids, 8), feature_names=names)
    inside = rk.MART(**FEW).fit(narrowed(data, [3, 1]))
    part = Narrowed.of(inside, [3, 1], data)
    assert list(part.feature_names_in_) == names and list(inside.feature_names_in_) == ["d", "b"]
    mixed = rk.Dataset(
        TRAIN.X[:, ::-1], TRAIN.y, qid=np.repeat(TRAIN.qids, 8), feature_names=names[::-1]
    )
    assert np.array_equal(part.predict(mixed), part.predict(data))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {"columns": [3, 3]}}, "which features a ranker sees"),
        ({"params": {"columns": [3, 5]}}, "which features a ranker sees"),
        ({"params": {"columns": ["3", 1]}}, "which features a ranker sees"),
        ({"params": {"columns": [3]}}, "a ranker of 2 features that sees 1"),
        ({"params": {}}, "incomplete or damaged"),
        ({"n_features": 0}, "n_features=0"),
    ],
)
def test_damaged_files_are_refused(part, change, message):
    state, arrays = to_state(part)
    with pytest.raises(ModelFileError, match=message):
        from_state({**state, **change}, arrays)


def test_columns():
    assert columns_of([2, "4-5", "1"], 5, None) == [0, 1, 3, 4]
    assert columns_of(["b", "1-2", "2"], 3, ["a", "b", "1-2"]) == [1, 2]
    for wrong in (6, "0-2", "3-2", "x", "-1", "1-"):
        with pytest.raises(ParameterError, match="feature"):
            columns_of([wrong], 5, None)
