"""What `local_optimality` says to wrong arguments, and what it takes by default."""

from __future__ import annotations

import pytest

import rankinite as rk


@pytest.fixture(scope="module")
def data() -> rk.Dataset:
    return rk.artificial(n_queries=10, n_docs=8, n_features=3)


@pytest.mark.parametrize("curves", [None, 2.0])
def test_optimality_names_wrong_arguments(data, curves):
    model = rk.LambdaBoost(n_estimators=2).fit(data)
    with pytest.raises(rk.ParameterError, match="curves"):
        rk.local_optimality(model, data, curves=curves, n_directions=2)
    with pytest.raises(rk.DataError, match="must be a Dataset"):
        rk.local_optimality(model, data.X)


def test_too_many_directions_are_refused(data):
    model = rk.LambdaBoost(n_estimators=2).fit(data)
    with pytest.raises(rk.ParameterError, match="directions"):
        rk.local_optimality(model, data, fraction=1e-12)


def test_pairs_are_what_a_ranknet_has_learned_from_preferences(data):
    pairs = data.with_preferences(rk.Preferences.from_labels(data))
    model = rk.RankNet(n_epochs=2).fit(pairs)
    assert rk.local_optimality(model, pairs, n_directions=2).measure == "pair_accuracy"
    assert rk.local_optimality(model, data, n_directions=2).measure == "ndcg@10"
