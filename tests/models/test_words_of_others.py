"""A word of another library is answered with ours."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rankinite as rk
from rankinite.models.words_of_others import _NEAR, _WORDS

X, y, qid = np.eye(4), np.array([0.0, 1.0, 0.0, 1.0]), np.array([1, 1, 2, 2])


@pytest.mark.parametrize(
    ("kind", "word", "ours"),
    [
        (rk.LambdaMART, "num_leaves", "here it is called max_leaf_nodes"),
        (rk.LambdaMART, "n_iter", "here it is called n_estimators"),
        (rk.LambdaMART, "depth", "here it is called max_depth"),
        (rk.LambdaMART, "reg_lambda", "here it is called l2_regularization"),
        (rk.LambdaMART, "subsample", "what comes near to it here is query_fraction"),
        (rk.RankNet, "n_iter", "here it is called n_epochs"),
        (rk.RankNet, "n_estimators", "here it is called n_epochs"),
        (rk.MART, "eta", "here it is called learning_rate"),
        (rk.McRank, "n_jobs", "here it is called n_threads"),
        (rk.LambdaBoost, "seed", "here it is called random_state"),
        (rk.LambdaRank, "eval_metric", "here it is called valid_measure"),
        (rk.Combination, "metric", "here it is called measure"),
    ],
)
def test_parameters(kind, word, ours):
    with pytest.raises(rk.ParameterError, match=f"^{kind.__name__} has no parameter '{word}': "):
        kind(**{word: 1})
    with pytest.raises(rk.ParameterError, match=f"{ours}$"):
        kind([], **{word: 1})
    with pytest.raises(rk.ParameterError, match=f"{ours}$"):
        kind([]).set_params(**{word: 1})


def test_words_that_nobody_has():
    with pytest.raises(rk.ParameterError, match=r"MART has no parameter 'lambda_'; it has loss, "):
        rk.MART(lambda_=1)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("group", "qid, which is the id of its query for each row, not the sizes of the queries"),
        ("eval_set", "here it is called valid, a Dataset or a dict of them by name"),
        ("weight", "here it is called sample_weight"),
        ("early_stopping_rounds", "here it is called early_stopping, a parameter of the ranker"),
        ("early_stopping", "it is one of the ranker, early_stopping=..."),
        ("nonsense", None),
    ],
)
def test_fit(word, ours):
    with pytest.raises(rk.ParameterError, match=f"^fit has no parameter '{word}'") as caught:
        rk.LambdaMART(n_estimators=2).fit(X, y, **{word: 1})
    assert "it has X, y, qid, sample_weight, " in str(caught.value) or str(caught.value).endswith(
        ours
    )
    if word in ("group", "weight", "nonsense"):
        with pytest.raises(rk.ParameterError, match=f"^fit has no parameter '{word}'"):
            rk.Combination([[1.0] * 4]).fit(X, y, **{word: 1})


def test_predict():
    model = rk.MART(n_estimators=2, min_samples_leaf=1).fit(X, y, qid=qid)
    with pytest.raises(rk.ParameterError, match="predict has no parameter 'num_iteration': here"):
        model.predict(X, num_iteration=1)
    with pytest.raises(rk.ParameterError, match="predict has no parameter 'raw'; it has X, n_roun"):
        model.predict(X, raw=True)


def test_own_rankers_may_take_anything():
    class Own(rk.MART):
        def __init__(self, **settings):
            super().__init__(**settings)

    assert Own(n_estimators=3).n_estimators == 3


def test_our_words_are_words_of_ours():
    known = {name for kind in (rk.LambdaMART, rk.RankNet) for name in kind.parameter_names()}
    known |= {"qid", "sample_weight", "query_weight", "valid", "n_rounds"}
    assert set(_WORDS) <= known and {w for words in _WORDS.values() for w in words.split()} >= _NEAR


@pytest.mark.parametrize("number", ["0", "-2"])
def test_no_threads_in_the_environment(number):
    for code in ("import rankinite as rk; rk.LambdaMART", "from rankinite.cli import main; main()"):
        done = subprocess.run(
            [sys.executable, "-c", code, "score", "x", "--model", "y"],
            env={**os.environ, "NUMBA_NUM_THREADS": number},
            capture_output=True,
            text=True,
        )
        last = done.stderr.splitlines()[-1]
        assert "NUMBA_NUM_THREADS must be a whole number at least 1" in last
        if "main" in code:
            assert done.returncode == 2 and done.stderr.count("\n") == 1
