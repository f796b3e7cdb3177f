"""Seeds that are drawn: told, saved, and taken up again."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.order.seeds import seed_of
from rankinite.training import Checkpoint
from tests.boosting.small import QUICK, train_and_valid


def test_seed_of():
    assert seed_of(0) == 0 and seed_of(np.int64(7)) == 7
    drawn = {seed_of(None) for _ in range(20)}
    assert len(drawn) == 20 and all(0 <= seed < 2**63 for seed in drawn)


@pytest.mark.parametrize(
    ("kind", "most", "settings"),
    [
        (rk.LambdaMART, "n_estimators", {**QUICK, "row_fraction": 0.5}),
        (rk.RankNet, "n_epochs", {}),
    ],
)
def test_a_drawn_seed_is_kept(kind, most, settings, tmp_path):
    train, valid = train_and_valid()
    settings = {**settings, "random_state": None}
    path = tmp_path / "part.rk"
    part = kind(**{**settings, most: 3})
    part.fit(train, valid=valid, callbacks=[Checkpoint(path)])
    assert rk.load(path).seed_ == part.seed_ and rk.load(path).random_state is None
    whole = kind(**{**settings, most: 6}).fit(train, valid=valid, resume=path)
    assert whole.seed_ == part.seed_ and whole.random_state is None
    known = kind(**{**settings, most: 6, "random_state": part.seed_}).fit(train, valid=valid)
    assert known.seed_ == part.seed_
    assert np.array_equal(whole.predict(valid), known.predict(valid))
    other = kind(**{**settings, most: 6}).fit(train, valid=valid)
    assert other.seed_ != part.seed_
    assert not np.array_equal(other.predict(valid), known.predict(valid))
