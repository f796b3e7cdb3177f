"""Base models from the files of other libraries, whole and damaged."""

import json
import pickle
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankinite as rk
from rankinite.exchange.faults import DamagedError
from rankinite.exchange.readers import read
from rankinite.exchange.ubjson import from_ubjson
from rankinite.models import LinearScorer, is_model_file, save
from rankinite.models.base_model import as_scorer
from tests.models.foreign_models import QUICK, booster, train_and_valid

FORMATS = ("lightgbm.txt", "xgboost.json", "xgboost.ubj", "catboost.cbm", "catboost.json")


def write(name, path):
    library, _, ending = name.partition(".")
    model = booster(library, "native")
    if library == "catboost":
        model.save_model(str(path), format=ending)
    elif library == "lightgbm":
        model.save_model(path)
    else:
        path.write_bytes(model.save_raw(ending))
    return model


@cache
def content(name):
    library, _, ending = name.partition(".")
    model = booster(library, "native")
    if library == "lightgbm":
        return model.model_to_string().encode()
    return bytes(model.save_raw(ending))


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_known_by_their_content(name, tmp_path):
    train, valid = train_and_valid()
    path = tmp_path / "model"
    model = write(name, path)
    assert is_model_file(path)
    scorer = rk.load(path)
    expected = as_scorer(model).predict(valid.X)
    # CatBoost's own JSON rounds.
    allowed = 1e-12 if name.startswith("catboost") else 0.0
    assert np.allclose(scorer.predict(valid.X), expected, rtol=allowed, atol=allowed)
    ranker = rk.LambdaMART(base_model=scorer, **QUICK).fit(train)
    ranker.save(tmp_path / "ranker.rk")
    copy = rk.load(tmp_path / "ranker.rk")
    assert np.array_equal(copy.predict(valid), ranker.predict(valid))


def test_models_and_data_are_told_apart(tmp_path):
    train, _ = train_and_valid()
    rk.write_svmlight(train, tmp_path / "data.txt")
    rk.write_svmlight(train, tmp_path / "data.txt.gz")
    rk.LambdaMART(n_estimators=1).fit(train).save(tmp_path / "own.rk")
    (tmp_path / "nothing").write_bytes(b"")
    for name in ("data.txt", "data.txt.gz", "nothing"):
        assert not is_model_file(tmp_path / name)
    assert is_model_file(tmp_path / "own.rk")


def test_a_file_of_our_own(tmp_path):
    save(LinearScorer([1.0, 2.0]), tmp_path / "linear.rk")
    assert rk.load(str(tmp_path / "linear.rk")).weights.tolist() == [1.0, 2.0]
    with pytest.raises(rk.ModelFileError, match=r"cannot read the model file .*: No such file"):
        rk.load(tmp_path / "none")
    with pytest.raises(rk.ModelFileError, match="Is a directory"):
        rk.load(tmp_path)


def test_files_that_are_not_read(tmp_path):
    path = tmp_path / "model"
    for written, message in (
        (pickle.dumps({}), "is a pickle or in XGBoost's old binary format, which are not read"),
        (b"binf\0\0", "is a pickle or in XGBoost's old binary format, which are not read"),
        (b"{}", "is JSON, but no whole model of LightGBM, XGBoost or CatBoost"),
        (b'{"learner": ', "."),
        (b"[" * 9 + b"{", "truncated or foreign"),
        (b"{" + b'"a":{' * 9000, "is JSON, but no whole model"),
        (b"PK\3\4", "truncated or foreign"),
        (b"", "truncated or foreign"),
    ):
        path.write_bytes(written)
        with pytest.raises(rk.ModelFileError, match=message):
            rk.load(path)


@pytest.mark.parametrize("name", FORMATS)
def test_files_that_were_cut_short(name, tmp_path):
    path = tmp_path / "model"
    write(name, path)
    whole = path.read_bytes()
    # What follows the trees in LightGBM's text is not needed.
    end = whole.index(b"end of trees") if name == "lightgbm.txt" else len(whole)
    # CatBoost itself reads its binary format, and does without the last bytes.
    for length in {4, 30, end // 3, end // 2, end - (500 if name == "catboost.cbm" else 5)}:
        path.write_bytes(whole[:length])
        with pytest.raises(rk.ModelFileError) as caught:
            rk.load(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def lightgbm_text():
    return content("lightgbm.txt").decode()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left_child", "0 0 0 0 0", "child|parent"),
        ("left_child", "1 1 2 3 4", "child|parent"),
        ("right_child", "9 -2 -3 -4 -5", "child"),
        ("right_child", "-9 -2 -3 -4 -5", "leaf|child"),
        ("right_child", "-1 -2", "right_child"),
        ("split_feature", "0 1 6 0 0", "feature"),
        ("split_feature", "0 -1 0 0 0", "feature"),
        ("threshold", "0 x 1 1 1", "could not convert"),
        ("threshold", "0 nan 1 1 1", "threshold"),
        ("decision_type", "1 2 2 2 2", "categor"),
        ("leaf_value", "1 2 3 inf 4 5", "leaf"),
        ("num_leaves", "5", "num_leaves|leaf_value|values"),
    ],
)
def test_damaged_trees_of_lightgbm(field, value, message):
    pytest.importorskip("lightgbm")
    head, first, rest = lightgbm_text().split("\nTree=", 2)
    lines = [
        f"{field}={value}" if line.startswith(f"{field}=") else line for line in first.split("\n")
    ]
    head = "\n".join(line for line in head.split("\n") if not line.startswith("tree_sizes"))
    with pytest.raises(rk.ModelFileError, match=message) as caught:
        read("\nTree=".join([head, "\n".join(lines), rest]).encode(), "model.txt")
    assert "model.txt" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "place", "value"),
    [
        ("left_children", 0, 0),
        ("left_children", 0, 10**6),
        ("left_children", 0, -2),
        ("right_children", 0, 1),
        ("split_indices", 0, 6),
        ("split_indices", 0, -1),
        ("split_indices", slice(1), []),
        ("split_conditions", 0, "x"),
        ("default_left", 0, None),
    ],
)
def test_damaged_trees_of_xgboost(field, place, value):
    pytest.importorskip("xgboost")
    model = json.loads(content("xgboost.json"))
    model["learner"]["gradient_booster"]["model"]["trees"][0][field][place] = value
    with pytest.raises(rk.ModelFileError, match=r"model\.json") as caught:
        read(json.dumps(model).encode(), "model.json")
    assert "\n" not in str(caught.value)


def test_ubjson_is_followed_to_its_end():
    def text(word):
        return b"L" + struct.pack(">q", len(word)) + word

    pair = text(b"a") + b"S" + text(b"bc")
    for whole in (
        b"{" + pair + b"}",
        b"{" + text(b"x") + b"[i\1U\2I\0\3l\0\0\0\4d" + b"\0" * 4 + b"D" + b"\0" * 8 + b"TFZ]}",
        b"{" + text(b"x") + b"[$d#L" + struct.pack(">q", 3) + b"\0" * 12 + b"}",
        b"{" + text(b"x") + b"[#i\2{}{" + pair + b"}}",
    ):
        assert isinstance(from_ubjson(whole), dict)
        for end in range(2, len(whole)):
            with pytest.raises(DamagedError, match=r"."):
                from_ubjson(whole[:end])
    for endless in (b"{" + text(b"x") + b"[$Z#L" + struct.pack(">q", 2**62) + b"}", b"{i\xff"):
        with pytest.raises(DamagedError, match=r"."):
            from_ubjson(endless)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.data())
@pytest.mark.parametrize("name", ["lightgbm.txt", "xgboost.json", "xgboost.ubj"])
def test_random_damage_is_read_or_told_in_a_sentence(name, data):
    pytest.importorskip(name.partition(".")[0])
    altered = bytearray(content(name))
    place = data.draw(st.integers(0, len(altered) - 1))
    altered[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    try:
        model = read(bytes(altered), "model")
    except rk.ModelFileError as error:
        assert str(error) and "\n" not in str(error)
    else:
        if model is not None:
            with np.errstate(all="ignore"):
                assert model.scores(np.zeros((3, model.n_features))).shape == (3,)


def test_our_own_files_are_known_whatever_they_begin_with(tmp_path):
    """The first byte is a part of a length, and may be that of a pickle or of anything."""
    train, _ = train_and_valid()
    model = rk.LambdaMART(**QUICK).fit(train)
    first_bytes = set()
    for length in range(0, 256, 4):
        model._feature_names = ["x" * length] + [f"f{i}" for i in range(1, train.n_features)]
        model.save(tmp_path / "model.rk")
        first_bytes.add((tmp_path / "model.rk").read_bytes()[0])
        assert is_model_file(tmp_path / "model.rk")
        again = rk.load(tmp_path / "model.rk")
        assert np.array_equal(again.predict(train.X), model.predict(train.X))
    assert 0x80 in first_bytes and len(first_bytes) == 32
