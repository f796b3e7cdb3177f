"""The common checks, but for those of things that rankers around others do not have.

They take no validation data (a bag), cannot be made without a ranker, have no rounds of their own,
and a bag refuses data with fewer queries than folds. Their own tests cover what is left out.
"""

import pytest

import rankinite as rk
from tests.common_checks import CHECKS
from tests.subjects import Subject

LEFT_OUT = {
    "parameters_and_clone",
    "unknown_parameter",
    "order_of_the_validation_rows_does_not_matter",
    "threads_do_not_matter",
    "other_features",
    "saving_and_loading",
    "early_stopping",
    "early_stopping_needs_data",
    "parameters_out_of_range",
    "binned_files",
    "nothing_to_learn",
    "seeds",
    "a_seed_that_is_drawn",
    "threads_are_restored",
}
OF_SEEDS = {"seeds", "a_seed_that_is_drawn"}


class AroundRanker(Subject):
    def make(self, **params):
        ranker = rk.MART(loss="graded", n_estimators=3, min_samples_leaf=5)
        return super().make(ranker=ranker, **params)


BAG = AroundRanker("bag", rk.Bagging, {"n_folds": 3}, trees=False)
CHANCES = AroundRanker(
    "probabilities", rk.Rescaled, {"probabilities": True}, random=False, trees=False
)


def test_what_is_left_out_is_there():
    assert {check.__name__ for check in CHECKS} > LEFT_OUT


@pytest.mark.parametrize(
    ("subject", "check"),
    [
        pytest.param(subject, check, id=f"{subject}-{check.__name__}")
        for subject, left_out in ((BAG, LEFT_OUT - OF_SEEDS), (CHANCES, LEFT_OUT))
        for check in CHECKS
        if check.__name__ not in left_out
    ],
)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)
