"""The common checks of LambdaBoost."""

import pytest

import rankinite as rk
from tests.common_checks import CHECKS
from tests.subjects import Subject


def lambdaboost(name, random=True, **params):
    settings = {"n_estimators": 12, **params}
    return Subject(
        f"LambdaBoost {name}",
        rk.LambdaBoost,
        settings,
        random=random,
        trees=False,
        features=True,
    )


SUBJECTS = [
    lambdaboost("ndcg@10"),
    lambdaboost("papers' step", measure="err@5", step="least_squares", normalize=True),
    lambdaboost("map, truncated", measure="map", truncation=5, sigma=0.5),
    lambdaboost("pairs", random=False, measure="pairs"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)
