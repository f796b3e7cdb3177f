"""A damaged or foreign model file is always refused with a sentence; it never scores otherwise."""

import json
import os
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as library_load
from safetensors.numpy import save as library_save

import rankinite as rk
from rankinite.errors import ModelFileError
from rankinite.formats.array_file import DTYPES
from rankinite.models.file import read_model, write_model
from rankinite.models.storage import nested, to_state, unnested
from tests.damage import damaged_files, header_of, with_header

X = np.random.default_rng(0).normal(size=(100, 3))


@cache
def model():
    labels = (X[:, 0] > 0).astype(float) + (X[:, 1] > 0.5)
    rows = rk.Dataset(X, labels, qid=np.arange(100) // 10, feature_names=["a", "ü", "c"])
    return rk.LambdaMART(
        n_estimators=3, max_leaf_nodes=4, min_samples_leaf=5, base_model=[0.1, 0.2, 0.3]
    ).fit(rows, valid=rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "whole.rk"
    model().save(path)
    return path.read_bytes()


def refused(path):
    with pytest.raises(ModelFileError) as caught:
        rk.load(path)
    message = str(caught.value)
    assert str(path) in message or "model file" in message
    assert ": None" not in message and "\n" not in message
    return message


def test_truncated_anywhere(whole, tmp_path):
    path = tmp_path / "cut.rk"
    ends = {0, 1, 7, 8, 9, len(whole) - 1, *range(0, len(whole), 97)}
    for end in sorted(ends):
        path.write_bytes(whole[:end])
        assert "truncated or foreign" in refused(path)
    path.write_bytes(whole + b"\0")
    assert "truncated or foreign" in refused(path)


def test_every_byte_altered(whole, tmp_path):
    """Flip one byte at a time, all through the header's length, the header and the arrays."""
    path = tmp_path / "altered.rk"
    expected = model().predict(X).tobytes()
    for position in range(0, len(whole), 3):
        altered = bytearray(whole)
        altered[position] ^= 1 << (position % 8)
        path.write_bytes(altered)
        try:
            copy = rk.load(path)
        except ModelFileError:
            continue
        # Only what carries no meaning, such as padding, may differ unnoticed.
        assert copy.predict(X).tobytes() == expected
        assert to_state(copy)[0] == to_state(model())[0]
        assert position < struct.unpack("<Q", whole[:8])[0] + 8


@settings(deadline=None, max_examples=150, derandomize=True)
@given(data=st.data())
def test_random_damage(data, whole, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "random.rk"
    altered = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(altered) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                altered[position] = data.draw(st.integers(0, 255))
            case "cut":
                del altered[position : position + data.draw(st.integers(1, 20))]
            case "insert":
                altered[position:position] = data.draw(st.binary(max_size=9))
        altered = altered or bytearray(b"x")
    path.write_bytes(altered)
    try:
        copy = rk.load(path)
    except ModelFileError as error:
        assert str(error)
    else:
        assert copy.predict(X).tobytes() == model().predict(X).tobytes()


def test_damaged_headers_and_lengths(whole, tmp_path):
    path = tmp_path / "damaged.rk"
    expected = model().predict(X).tobytes()
    n_read = n_refused = 0
    for altered in damaged_files(whole):
        path.write_bytes(altered)
        try:
            copy = rk.load(path)
        except ModelFileError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            n_refused += 1
            continue
        n_read += 1
        assert copy.predict(X).tobytes() == expected
        assert to_state(copy)[0] == to_state(model())[0]
    assert n_read >= 1 and n_refused >= 500


def test_states_without_end(whole, tmp_path):
    """Lists in lists, or models in models, whose checksum is right."""
    path = tmp_path / "deep.rk"
    state, arrays = to_state(model())
    for depth in (100, 300, 900, 950, 980, 990, 1000, 100_000):
        for opening, end in (("[", "]"), ('{"kind": "LambdaMART", "base": ', "}")):
            deep = opening * depth + "1" + end * depth
            text = json.dumps({"format": "rankinite-model", "version": 1, "state": {"kind": "X"}})
            text = text.replace('"X"', deep)
            header = {"__metadata__": {"rankinite": text}}
            path.write_bytes(with_header(struct.pack("<Q", 0), json.dumps(header)))
            refused(path)
    for _ in range(600):
        state = {**to_state(model())[0], "base": state}
    write_model(path, state, arrays)
    assert "save the model again" in refused(path)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.binary(max_size=200))
def test_garbage(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "garbage.rk"
    path.write_bytes(content)
    # Hypothesis learns from the source how files of other libraries begin, so any error may come.
    with pytest.raises(ModelFileError, match=r"garbage\.rk") as refusal:
        rk.load(path)
    assert "\n" not in str(refusal.value)


def test_foreign_files(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "foreign"
    arrays = {"weight": np.ones((2, 3), np.float32)}
    for metadata in (
        None,
        {"format": "pt"},
        {"rankinite": "no JSON"},
        {"rankinite": "[1, 2]"},
        {"rankinite": "7"},
        {"rankinite": "{}"},
        {"rankinite": '{"format": "another"}'},
        {"rankinite": '{"format": ' + "9" * 5000 + "}"},
    ):
        save_file(arrays, path, metadata=metadata)
        assert "is not a model file of rankinite: pass one that save wrote" in refused(path)
    for text, told in (
        ("1 qid:1 1:0.5\n" * 20, "truncated or foreign"),
        ("tree\nversion=v4\n", "is no whole model of LightGBM"),
        ("{}", "is JSON, but no whole model of"),
    ):
        path.write_text(text)
        assert told in refused(path)
    rows = rk.artificial(n_queries=2, n_docs=5, n_features=3)
    rows.save(path)
    assert "is not a model file of rankinite" in refused(path)


def test_a_file_of_another_version(whole, tmp_path):
    path = tmp_path / "newer.rk"
    assert whole.count(b'\\"version\\": 1}') == 1
    path.write_bytes(whole.replace(b'\\"version\\": 1}', b'\\"version\\": 2}'))
    assert "has version 2 of the model format, and this release reads version 1" in refused(path)


def test_a_changed_parameter_is_noticed(whole, tmp_path):
    path = tmp_path / "changed.rk"
    changed = whole.replace(b'\\"learning_rate\\": 0.1', b'\\"learning_rate\\": 0.2')
    assert changed != whole
    path.write_bytes(changed)
    assert "was altered after it was saved (its checksum differs)" in refused(path)


def test_paths_that_cannot_be_read(tmp_path):
    assert "cannot read the model file" in refused(tmp_path / "missing.rk")
    assert "No such file" in refused(tmp_path / "missing.rk")
    assert "Is a directory" in refused(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    assert "truncated or foreign" in refused(tmp_path / "empty")
    if os.geteuid() != 0:
        (tmp_path / "empty").chmod(0)
        assert "Permission denied" in refused(tmp_path / "empty")


def test_paths_that_cannot_be_written(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for path, reason in (
        (tmp_path / "none" / "model.rk", "No such file"),
        (tmp_path / "file" / "model.rk", "Not a directory"),
        (tmp_path / "folder", "it is a folder"),
    ):
        with pytest.raises(ModelFileError, match=f"{path} cannot be written: {reason}"):
            model().save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


def test_saving_replaces_the_file_as_a_whole(whole, tmp_path, monkeypatch):
    path = tmp_path / "model.rk"
    path.write_bytes(b"old")
    rights = path.stat().st_mode & 0o777
    before = os.umask(0o027)
    try:
        model().save(path)
    finally:
        os.umask(before)
    assert path.read_bytes() == whole
    assert path.stat().st_mode & 0o777 == rights
    path.write_bytes(b"old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ModelFileError, match=r"model.rk cannot be written: No space left"):
        model().save(path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["model.rk"]


def test_the_header_is_json_that_others_can_read(whole):
    length = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + length])
    about = json.loads(header["__metadata__"]["rankinite"])
    assert about["format"] == "rankinite-model" and about["state"]["kind"] == "LambdaMART"
    assert about["state"]["base"] == {"kind": "LinearScorer"}
    assert "base/weights" in header and "forest/value" in header


def rewritten(path, change):
    """Save a model whose state or arrays were changed before the checksum was taken."""
    state, arrays = to_state(model())
    state = json.loads(json.dumps(state))
    arrays = dict(arrays)
    change(state, arrays)
    write_model(path, state, arrays)
    return refused(path)


def test_arrays_that_are_missing_or_wrong(tmp_path):
    path = tmp_path / "model.rk"
    _, arrays = to_state(model())
    for name in arrays:
        message = rewritten(path, lambda state, arrays, name=name: arrays.pop(name))
        assert name.partition("/")[2] in message
        shorter = arrays[name][:-1]
        other = arrays[name].astype(np.float32)
        for wrong in (shorter, other, arrays[name][np.newaxis], arrays[name][:0]):
            if name != "base/weights":
                rewritten(path, lambda state, arrays, n=name, w=wrong: arrays.update({n: w}))
    rewritten(path, lambda state, arrays: arrays.update({"base/weights": np.array([np.nan] * 3)}))


def test_trees_that_are_not_trees(tmp_path):
    path = tmp_path / "model.rk"
    _, good = to_state(model())
    for name, value in (
        ("left", 0),
        ("right", 0),
        ("left", 10**6),
        ("right", -(10**6)),
        ("feature", 3),
        ("feature", -1),
        ("threshold", np.nan),
        ("value", np.inf),
        ("node_offsets", 1),
        ("leaf_offsets", -1),
    ):
        array = good[f"forest/{name}"].copy()
        array[0] = value
        message = rewritten(
            path, lambda state, arrays, n=name, a=array: arrays.update({f"forest/{n}": a})
        )
        assert "the trees in the model file are damaged" in message


def test_states_that_are_incomplete_or_wrong(tmp_path):
    path = tmp_path / "model.rk"
    for key in to_state(model())[0].keys() - {"chosen"}:  # it is for people
        rewritten(path, lambda state, arrays, key=key: state.pop(key))
    for key, value in (
        ("kind", "Unknown"),
        ("kind", "LinearScorer"),
        ("kind", ["LambdaMART"]),
        ("n_features", 2),
        ("n_features", "many"),
        ("n_features", None),
        ("feature_names", ["a"]),
        ("feature_names", 3),
        ("start", "zero"),
        ("start", None),
        ("best_iteration", "last"),
        ("params", None),
        ("params", {"depth": 3}),
        ("params", {"learning_rate": -1}),
        ("backfit", "often"),
        ("backfit", 3),
        ("chosen", [1]),
        ("chosen", {"row_fraction": "half"}),
        ("base", "linear"),
        ("base", {}),
    ):
        rewritten(path, lambda state, arrays, k=key, v=value: state.update({k: v}))
    with pytest.raises(ModelFileError, match="holds a Unknown, which this release does not know"):
        write_model(path, {"kind": "Unknown"}, {})
        rk.load(path)


def test_only_models_of_this_library_are_kept():
    for other in (object(), print, 3, np.ones(3)):
        with pytest.raises(ModelFileError, match="cannot be kept in a model file: use a ranker of"):
            to_state(other)


def test_the_bytes_are_those_of_the_safetensors_library(whole):
    arrays, header = library_load(whole), header_of(whole)
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in to_state(model())[1].items()
    }
    assert library_save(arrays, metadata=header["__metadata__"]) == whole


def test_every_type_of_array(tmp_path):
    path = tmp_path / "x"
    arrays = {code: np.arange(6).astype(dtype).reshape(2, 3) for code, dtype in DTYPES.items()}
    arrays |= {f"no {code}": np.empty((0, 3), dtype) for code, dtype in DTYPES.items()}
    write_model(path, {}, arrays)
    _, read = read_model(path)
    assert library_load(path.read_bytes()).keys() == read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].tobytes() == array.tobytes()
    write_model(path, {}, {"x": np.array(2.5)})
    assert read_model(path)[1]["x"].tolist() == [2.5], "an array without a dimension gets one"
    for other in (np.ones(2, np.complex128), np.array(["a"]), np.array([None]), np.ones(2, ">f8")):
        with pytest.raises(ModelFileError, match=r"the array 'x' is of type .* use another type"):
            write_model(path, {}, {"x": other})


def test_round_trip_of_arrays(tmp_path):
    arrays = {
        "empty": np.empty(0),
        "strided": np.arange(10)[::2],
        "flags": np.array([True, False]),
        "odd": np.array([np.nan, -0.0, np.inf, 5e-324]),
    }
    write_model(tmp_path / "x", {"a": [1, None, "ü"], "b": 0.1 + 0.2}, arrays)
    state, read = read_model(tmp_path / "x")
    assert state == {"a": [1, None, "ü"], "b": 0.1 + 0.2}
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype and read[name].tobytes() == array.tobytes()
        assert read[name].flags.writeable, "kernels are compiled for arrays that can be written"
    inner = nested("base", nested("base", arrays))
    assert unnested("base", unnested("base", inner)).keys() == arrays.keys()
