"""What the library is for: LambdaMART ranks better than regression of the same size."""

import numpy as np
import pytest

import rankinite as rk


@pytest.mark.slow
def test_lambdamart_learns_to_rank():
    train, _, test = rk.artificial(n_queries=(2000, 500, 1000))
    size = {"max_leaf_nodes": 10, "n_estimators": 200, "learning_rate": 0.2}
    ranker = rk.LambdaMART(split="newton", **size).fit(train)
    regression = rk.MART(**size).fit(train)
    design = np.column_stack([train.X, np.ones(train.n_rows)])
    weights = np.linalg.lstsq(design, train.y, rcond=None)[0][:-1]
    values = {
        name: rk.evaluate(scorer, test)["ndcg@10"]
        for name, scorer in (
            ("ranker", ranker),
            ("regression", regression),
            ("linear", lambda X: X @ weights),
        )
    }
    assert values["ranker"] > values["regression"] + 0.015
    assert values["ranker"] > values["linear"] + 0.1
