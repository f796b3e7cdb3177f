import pytest

import rankinite as rk
from tests.common_checks import CHECKS
from tests.subjects import Subject

QUICK = {"n_epochs": 4, "n_hidden": 5}
# Steps so wide that the net is soon no better.
HASTY = {"n_epochs": 40, "learning_rate": 1.0, "decay": 1.0}


def net(kind, name, **params):
    return Subject(f"{kind.__name__} {name}", kind, {**QUICK, **params}, trees=False, hasty=HASTY)


SUBJECTS = [
    net(rk.RankNet, "5 units"),
    net(rk.RankNet, "linear", n_hidden=0, sigma=0.5),
    net(rk.RankNet, "pairwise", mode="pairwise"),
    net(rk.LambdaRank, "ndcg@10"),
    net(rk.LambdaRank, "linear, err", n_hidden=0, measure="err@5"),
    net(rk.LambdaRank, "map, normalized", measure="map", normalize=True),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_common(subject, check, tmp_path):
    check(subject, tmp_path)
