"""Files whose checksum is right and whose content is not: refused when they are loaded."""

import json

import numpy as np
import pytest

import rankinite as rk
from rankinite.models.file import write_model
from rankinite.models.storage import to_state
from tests.boosting.small import QUICK, train_and_valid


def refused(model, path, change):
    state, arrays = to_state(model)
    state, arrays = json.loads(json.dumps(state)), dict(arrays)
    change(state, arrays)
    write_model(path, state, arrays)
    with pytest.raises(rk.ModelFileError) as caught:
        rk.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def models():
    train, valid = train_and_valid()
    trees = rk.LambdaMART(**QUICK, random_state=None).fit(train, valid=valid)
    classes = rk.McRank(**QUICK).fit(train)
    net = rk.LambdaRank(n_hidden=2, n_epochs=3).fit(train, valid=valid)
    both = rk.Combination({"trees": trees, "net": net}, method="pair_tree").fit(valid)
    return {"trees": trees, "classes": classes, "net": net, "both": both}


@pytest.mark.parametrize(
    ("name", "key", "values"),
    [
        ("trees", "start", ([], None, ["x"], [float("nan")], [10**400], 5, {})),
        ("trees", "n_features", (-1, 3, 1e300, "8", None, True, 10**400, 2**63)),
        ("trees", "best_iteration", (-1, 7, 1e300, float("inf"), None, "1")),
        ("trees", "seed", (-1, 2**63, 0.5, None)),
        ("trees", "data", (None, 5, [])),
        ("trees", "feature_names", (5, "abcdefgh", [1] * 8, ["a"] * 7, {})),
        ("trees", "history", (None, [], {"valid": []}, {"valid": {"m": 3}}, {"a": {"m": ["x"]}})),
        ("trees", "history", ({"valid": {"m": [0.5], "n": [0.5, 0.5]}}, {"v": {"m": [None]}})),
        ("classes", "start", ([0.0], [0.0] * 7)),
        ("net", "watching", (None, 5)),
        ("net", "history", ({"valid": {"ndcg@10": [0.5, 0.5, 0.5]}},)),
        ("both", "n_features", (3, None, "8")),
        ("both", "feature_names", (["a"], 5)),
    ],
)
def test_state(models, tmp_path, name, key, values):
    assert key in to_state(models[name])[0]
    for value in values:
        refused(models[name], tmp_path / "m.rk", lambda state, _, v=value: state.update({key: v}))


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "x", None, 10**400])
def test_the_rate_of_a_net(models, tmp_path, value):
    def change(state, arrays):
        state["training"]["rate"] = value

    refused(models["net"], tmp_path / "m.rk", change)


def test_classes(models, tmp_path):
    classes = models["classes"].classes_
    for wrong in (classes[:0], classes[:-1], classes.astype(np.float32), classes[np.newaxis]):
        for name in ("classes", "class_values"):
            change = {name: wrong}
            refused(models["classes"], tmp_path / "m.rk", lambda _, a, c=change: a.update(c))
    both = {"classes": classes[:-1], "class_values": classes[:-1]}
    refused(models["classes"], tmp_path / "m.rk", lambda _, arrays: arrays.update(both))


def test_the_rankers_that_count(models, tmp_path):
    for wrong in ([-1, 0], [0, 2], [1, 0], [0, 0], [], [[0, 1]]):
        used = {"used": np.array(wrong, np.int64)}
        message = refused(models["both"], tmp_path / "m.rk", lambda _, a, u=used: a.update(u))
        assert "does not say which rankers count" in message


def test_a_checkpoint_with_the_history_of_other_sets(models, tmp_path):
    train, valid = train_and_valid()
    state, arrays = to_state(models["net"])
    for history in (
        {"train": {"cost": [0.5] * 3}},
        {"train": {"cost": [0.5] * 3}, "valid": {"mrr": [0.5] * 3}},
    ):
        write_model(tmp_path / "m.rk", {**state, "history": history}, arrays)
        with pytest.raises(rk.DataError, match="history of the checkpoint is not one of these"):
            rk.LambdaRank(n_hidden=2, n_epochs=5).fit(train, valid=valid, resume=tmp_path / "m.rk")
