"""The common checks, but for those of things that a combination does not have.

It takes no validation data, runs in no rounds, cannot be made without rankers, and refuses data on
which nothing can be learned. `test_combination` has checks of its own for what is left out.
"""

from functools import cache

import pytest

import rankinite as rk
from tests.common_checks import CHECKS
from tests.subjects import Subject, plain_rows

LEFT_OUT = {
    "parameters_and_clone",
    "order_of_the_validation_rows_does_not_matter",
    "threads_do_not_matter",
    "nothing_but_zero_weights",
    "other_features",
    "first_rounds",
    "saving_and_loading",
    "early_stopping",
    "early_stopping_needs_data",
    "parameters_out_of_range",
    "binned_files",
    "nothing_to_learn",
    "threads_are_restored",
}


@cache
def rankers():
    X, y, qid = plain_rows()
    data = rk.Dataset(X, y, qid=qid)
    return {
        "trees": rk.LambdaMART(n_estimators=3).fit(data),
        "net": rk.RankNet(n_epochs=2).fit(data),
    }


class WithRankers(Subject):
    def make(self, **params):
        return super().make(rankers=rankers(), **params)


def combination(method, random):
    params = {"method": method}
    return WithRankers(method, rk.Combination, params, random=random, trees=False)


SUBJECTS = [
    combination("linear", random=True),
    combination("exact_powell", random=False),
    combination("pair_tree", random=False),
]


def test_what_is_left_out_is_there():
    assert {check.__name__ for check in CHECKS} > LEFT_OUT


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if check.__name__ not in LEFT_OUT],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)
