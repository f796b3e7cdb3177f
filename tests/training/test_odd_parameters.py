"""Untrained rankers, and parameters that are arrays or tuples."""

from __future__ import annotations

import numpy as np
import pytest

import rankinite as rk


@pytest.fixture(scope="module")
def data() -> rk.Dataset:
    return rk.artificial(n_queries=10, n_docs=8, n_features=3)


@pytest.mark.parametrize("kind", [rk.RankNet, rk.McRank, rk.LambdaBoost, rk.LambdaMART, rk.MART])
def test_untrained_rankers_have_no_words(kind):
    with pytest.raises(rk.RankiniteError, match="not trained"):
        kind().in_words()


@pytest.mark.parametrize("kind", [np.array, tuple, list])
def test_class_values_of_any_kind_are_saved_and_resumed(data, tmp_path, kind):
    values = kind([float(k) for k in range(len(np.unique(data.y)))])
    model = rk.McRank(n_estimators=2, class_values=values).fit(data)
    model.save(tmp_path / "model.rk")
    loaded = rk.load(tmp_path / "model.rk")
    assert np.array_equal(loaded.predict(data), model.predict(data))
    longer = rk.McRank(n_estimators=3, class_values=values).fit(data, resume=tmp_path / "model.rk")
    assert longer.n_rounds_ == 3
