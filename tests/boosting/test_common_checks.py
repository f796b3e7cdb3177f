import pytest

import rankinite as rk
from tests.common_checks import CHECKS
from tests.subjects import Subject

QUICK = {"n_estimators": 4, "max_leaf_nodes": 6, "min_samples_leaf": 5}
NOTHING_DRAWN = {"query_fraction": 1.0, "importance_fraction": 1.0}


def lambdamart(name, random=True, **params):
    return Subject(f"LambdaMART {name}", rk.LambdaMART, {**QUICK, **params}, random=random)


def mart(loss, name="", **params):
    return Subject(
        f"MART {loss}{name}",
        rk.MART,
        {**QUICK, "loss": loss, **params},
        binary=loss in ("logistic", "balanced"),
        random=params.get("importance_fraction", 1.0) < 1.0,
    )


def mcrank(form, name="", **params):
    params = {**QUICK, "form": form, **params}
    random = any(params.get(name, 1.0) < 1.0 for name in NOTHING_DRAWN)
    return Subject(f"McRank {form}{name}", rk.McRank, params, random=random)


SUBJECTS = [
    lambdamart("ndcg@10"),
    lambdamart("err, newton", measure="err@5", split="newton"),
    lambdamart("map, papers' λ", measure="map", normalize=False, sigma=0.5),
    lambdamart("mrr, truncated", measure="mrr", truncation=4, min_samples_leaf=2),
    lambdamart("p@5, fractions", measure="p@5", row_fraction=0.7, feature_fraction=0.6),
    lambdamart("pairs", random=False, measure="pairs", noise=0, **NOTHING_DRAWN),
    lambdamart("noise", noise=1.0, n_draws=3, split="newton"),
    lambdamart(
        "regularised",
        split="newton",
        max_depth=3,
        min_curvature_leaf=0.01,
        l2_regularization=0.1,
        query_fraction=0.7,
    ),
    lambdamart("line search", step="line_search", learning_rate=1.0),
    lambdamart("by importance", importance_fraction=0.5, query_fraction=0.9, split="newton"),
    mart("least_squares"),
    mart("logistic", sigma=2.0),
    mart("balanced", split="newton"),
    mart("graded"),
    mart("least_squares", " by importance", importance_fraction=0.5),
    mcrank("multinomial", l2_regularization=1.0, query_fraction=0.8, max_depth=3),
    mcrank("ordinal", split="newton", class_values="gain"),
    mcrank("multinomial", " by importance", importance_fraction=0.5, split="newton"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)
