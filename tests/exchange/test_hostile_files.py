"""Files of other engines that are nearly right: refused in a sentence, or what their engine says.

Most were found by ``python -m tests.fuzz`` or by `tests.fuzz.origins`; these are the smallest of
their kind.
"""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import rankinite as rk
from rankinite.exchange.nodes import MOST_FEATURES
from rankinite.exchange.readers import read
from rankinite.exchange.writers import FORMATS
from rankinite.models.imported import Imported
from tests.fuzz.originals import wholes


def whole(name):
    (found,) = wholes(name)
    return found


def refused(content, match, read=read):
    with pytest.raises(rk.ModelFileError, match=match) as caught:
        read(content, "model")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def changed(name, *path, to):
    """The JSON of a file with another value at a place."""
    model = holder = json.loads(whole(name))
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ("\nleaf_count=", "\n\nleaf_count=", "after an empty line"),
        ("\nshrinkage=0.1\n", "\nshrinkage=0.1\nnum_leaves=4\n", "said twice"),
        ("internal_value=", "internal_value=1e ", "internal_value does not have 3"),
        ("leaf_weight=", "leaf_weight=1 ", "leaf_weight does not have 4"),
        ("\nshrinkage=0.1\n", "\nshrinkage\n", "no name with a value"),
        ("\ninternal_weight=", "\ninte rnal_weight=", "no name with a value"),
        ("\nversion=v4", "\nversion=v4\nmax_feature_idx=2", "said twice"),
        ("num_leaves=4", "num_leaves=٤", "num_leaves"),
        ("left_child=1 2 -1", "left_child=1 ٢ -1", "no number"),
        ("left_child=1 2 -1", "left_child=1 2_0 -1", "no number"),
        ("max_feature_idx=2", "max_feature_idx=--2", "max_feature_idx"),
    ],
)
def test_lightgbm_text(before, after, match):
    text = whole("rank.lightgbm.txt").decode()
    assert before in text
    refused(text.replace(before, after, 1).encode(), match)


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("tree_info", 0, "tree_index"), 1, "stands elsewhere"),
        (("tree_info", 0, "num_leaves"), 3, "as many leaves as it says"),
        (("tree_info", 0, "tree_structure"), {"leaf_value": 1.0}, "as many leaves as it says"),
        (("max_feature_idx",), 2**30, "names for"),
        (("feature_names", 1), "\ud800", "no text"),
    ],
)
def test_lightgbm_json(path, value, match):
    refused(changed("rank.lightgbm.json", *path, to=value), match)


def test_lightgbm_json_that_is_for_lightgbm_alone(tmp_path):
    """LightGBM does not read its JSON, so it is not asked to."""
    content = changed("rank.lightgbm.json", "num_class", to=3)
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(rk.ModelFileError, match=r"3 scores a row.* or save it as text"):
        rk.load(tmp_path / "model.json")


TREE = ("learner", "gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("learner", "gradient_booster", "model", "iteration_indptr"), [0, 1, 1, 1], "rounds"),
        (("learner", "gradient_booster", "model", "iteration_indptr"), [], "rounds"),
        (("learner", "gradient_booster", "model", "iteration_indptr"), [0, 2, 1, 3], "rounds"),
        ((*TREE, "left_children", 3), -2, "out of range"),
        ((*TREE, "right_children", 3), -(2**31), "out of range"),
        (("learner", "learner_model_param", "num_feature"), "0", "num_feature"),
        (("learner", "learner_model_param", "base_score"), "1_0", "base score"),
        (("learner", "learner_model_param", "base_score"), "٣", "base score"),
        (("learner", "learner_model_param", "base_score"), 0.5, "base score"),
        (("learner", "learner_model_param", "num_feature"), "2147483647", "2,147,483,647 features"),
    ],
)
def test_xgboost(path, value, match):
    refused(changed("rank.xgboost.json", *path, to=value), match)


SPLIT = ("oblivious_trees", 0, "splits", 0)


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ((*SPLIT, "split_index"), 2, "another feature or border"),
        ((*SPLIT, "split_index"), 10**6, "split_index"),
        ((*SPLIT, "split_index"), -1, "split_index"),
        ((*SPLIT, "border"), 0.25, "another feature or border"),
        ((*SPLIT, "float_feature_index"), 1, "another feature or border"),
        (("features_info", "float_features", 0, "borders", 3), 0.25, "another feature or border"),
        (("features_info", "float_features", 0, "borders", 3), -9.0, "do not rise"),
        (("oblivious_trees", 0, "leaf_weights", 0), float("inf"), "no Infinity"),
        (("oblivious_trees", 0, "leaf_values", 0), float("nan"), "no NaN"),
        (("oblivious_trees", 0, "splits"), 0, "splits is no list"),
        (("scale_and_bias", 1), 0.5, "bias is no list"),
        (("oblivious_trees", 0, "leaf_values", 0), 2**62, "too large"),
    ],
)
def test_catboost(path, value, match):
    refused(changed("rank.catboost.json", *path, to=value), match)


def test_catboost_leaves_of_several_scores():
    """CatBoost takes what lies beyond the end for the values that are not there."""
    model = json.loads(whole("classes.catboost.json"))
    refused(json.dumps(model).encode(), "4 scores a row")
    del model["oblivious_trees"][1]["leaf_values"][3]
    refused(json.dumps(model).encode(), "15 values of leaves")


def test_catboost_features_that_have_no_missing_values():
    model = json.loads(changed("max.catboost.json", "scale_and_bias", to=[1, [0.5]]))
    feature = model["features_info"]["float_features"][0]
    assert feature["nan_value_treatment"] == "AsTrue" and feature["has_nans"] is True
    feature["has_nans"] = False
    refused(json.dumps(model).encode(), "without missing values")


@pytest.mark.parametrize("name", ["rank.lightgbm.json", "rank.xgboost.json", "rank.catboost.json"])
def test_members_that_come_twice(name):
    """One engine takes the first, another the last."""
    content = whole(name)
    again = content.replace(b"{", b'{"version": 1, "version": 2, ', 1)
    refused(again, "two members of one name")


def test_members_of_ubjson_that_come_twice():
    content = whole("rank.xgboost.ubj")
    version = b"L" + struct.pack(">q", 7) + b"version"
    assert version in content
    refused(b"{" + version + b"Z" + content[1:], "two members of one name")


QUICKRANK = "trees.quickrank.xml"
RANKLIB = "trees.ranklib.txt"


@pytest.mark.parametrize("name", [QUICKRANK, RANKLIB])
@pytest.mark.parametrize(
    ("before", "after", "match"),
    [
        ("</feature>", "</feature><feature>2</feature>", "a <split> is not"),
        ("<output>", "<feature>1</feature><output>", "a <split> is not"),
        ("</tree>", "<split/></tree>", "<split>"),
        ("<feature>", "<feature>٣", "feature|ascii"),
        ("<output>", "<output>&x;", "not whole XML"),
        ("<output>", "<output>1_0<!--", "not whole XML"),
        ("<feature>1<", "<feature>2147483647<", "features"),
    ],
)
def test_xml(name, before, after, match):
    text = whole(name).decode()
    # RankLib has spaces around what its elements hold.
    text = text.replace("<feature> 1 <", "<feature>1<")
    assert before in text
    refused(text.replace(before, after, 1).encode(), match)


@pytest.mark.parametrize("name", [QUICKRANK, RANKLIB])
def test_nothing_is_looked_up_or_expanded(name, tmp_path):
    """No file is opened for a document type, and no entity grows."""
    (tmp_path / "secret").write_text("1.5")
    laughs = "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9))
    text = whole(name).decode()
    start = text.index("<")
    for entities in (
        f'<!ENTITY j SYSTEM "file://{tmp_path}/secret">',
        f'<!ENTITY % p SYSTEM "file://{tmp_path}/secret"> %p;',
        '<!ENTITY a "7">' + laughs,
    ):
        doctype = f"<!DOCTYPE x [{entities}]>"
        body = text[start:].replace("<output>", "<output>&j;", 1)
        refused(f"{text[:start]}{doctype}{body}".encode(), "document type")


def test_deep_files():
    nested = b'{"learner": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    refused(nested, "too deep")
    split = b'<split pos="left">' * 50_000
    refused(whole(QUICKRANK).replace(b"<split>", b"<split>" + split, 1), "XML|split")


def test_one_far_feature_takes_no_memory():
    """A frame and an export of a model with very many features, of which it uses three."""
    content = changed("rank.xgboost.json", "learner", "feature_names", to=[])
    model = json.loads(content)
    model["learner"]["learner_model_param"]["num_feature"] = str(MOST_FEATURES)
    model = Imported(read(json.dumps(model).encode(), "model"), "model of XGBoost")
    assert set(model.to_frame()["feature"].dropna()) == {"feature 1", "feature 2", "feature 3"}
    X = np.zeros((2, MOST_FEATURES), np.float32)
    assert model.predict(X)[0] == model.predict(X[:1])[0]


def test_covers_that_cannot_be():
    """Counts are added up, and stay numbers of rows."""
    path = ("learner", "gradient_booster", "model", "trees", 0, "sum_hessian")
    for covers in ([1e18] * 7, [1e300] * 7, [float("nan")] * 7, [-1.0] * 7):
        plain = read(changed("rank.xgboost.json", *path, to=covers), "model")
        frame = Imported(plain, "model of XGBoost").to_frame()
        assert (frame["count"] >= 0).all() and np.isfinite(frame["cover"]).all()


@pytest.mark.parametrize(
    ("engine", "before", "after", "match"),
    [
        ("linear.solr.json", '"a":', '"a":1e300,"x":', "single precision"),
        ("linear.solr.json", '"a":', '"a":Infinity,"x":', "not finite"),
        ("linear.solr.json", '{"name":"b"}', '{"name":"a"}', "twice"),
        ("trees.solr.json", '{"name":"b"}', '{"name":7}', "no text"),
        ("trees.solr.json", '{"name":"b"}', '{"name":"\\ud800"}', "no text"),
        ("trees.solr.json", '"value":"', '"value":"1_0', "cannot be"),
        ("dump.elasticsearch.json", '"leaf":', '"leaf":1e300,"x":', "fields"),
        ("dump.elasticsearch.json", '"split":"a"', '"split":7', "no text"),
        ("xgboost.vespa.json", '"split":"a"', '"split":null', "no text"),
    ],
)
def test_engines(engine, before, after, match):
    text = whole(engine).decode()
    assert before in text
    reader = FORMATS[engine.split(".")[1]].read
    refused(text.replace(before, after, 1).encode(), match, reader)


def test_leaves_beyond_single_precision():
    dump = json.loads(whole("dump.elasticsearch.json"))
    node = dump[0]
    while "leaf" not in node:
        node = node["children"][0]
    node["leaf"] = 1e300
    refused(json.dumps(dump).encode(), "single precision", FORMATS["elasticsearch"].read)
