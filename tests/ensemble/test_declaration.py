"""Declarations: what they come to, and every mistake in a sentence with its line."""

from __future__ import annotations

import tomllib

import pytest

from rankinite._toml import Lines
from rankinite.ensemble.declaration import Augment, example
from rankinite.ensemble.reading import read_declaration
from rankinite.errors import DeclarationError

GOOD = """\
[data]
measure = "err@10"
folds = 4

[defaults.LambdaMART]
n_estimators = 5
max_leaf_nodes = 7

[member.trees]
ranker = "LambdaMART"
parameters = { measure = "err@10", n_estimators = 3 }
augment = { fraction = 0.5, times = 2 }

[member.mart]
ranker = "MART"
family = "plain"
bag = true

[member.mart.parameters]
loss = "graded"
learning_rate = 0.2

[member.top]
ranker = "LambdaMART"
extra = ["mart"]
features = [1, "3-4"]

[member.other]
scores_of = "mart"
normalize = "query_max"

[combine]
methods = ["average", "linear"]
choose = "linear"
"""


def read(text, folder):
    path = folder / "ensemble.toml"
    path.write_text(text)
    return read_declaration(path)


def test_what_a_declaration_says(tmp_path):
    found = read(GOOD, tmp_path)
    assert (found.measure, found.report) == ("err@10", ("err@10", "ndcg@10"))
    assert (found.n_folds, found.seed) == (4, 0)
    trees, mart, top, other = found.members.values()
    assert trees.parameters == {"n_estimators": 3, "max_leaf_nodes": 7, "measure": "err@10"}
    assert trees.augment == Augment(0.5, 2) and not trees.bag and trees.family == "LambdaMART"
    assert mart.bag and mart.family == "plain"
    assert top.extra == ("mart",) == top.needs and top.features == (1, "3-4")
    assert other.needs == ("mart",) and other.by_probability and other.ranker == "MART"
    assert found.combine.ways == (("average", "data"), ("linear", "data"))
    learner = trees.learner(seed=7)
    assert (learner.n_estimators, learner.random_state, learner.measure) == (3, 7, "err@10")


def test_a_dict_is_as_good_as_a_file(tmp_path):
    from_file = read(GOOD, tmp_path)
    from_dict = read_declaration(tomllib.loads(GOOD))
    assert from_dict.members == from_file.members and from_dict.combine == from_file.combine
    with pytest.raises(DeclarationError, match=r"^the declaration, member\.a\.ranker: there is no"):
        read_declaration({"member": {"a": {"ranker": "Trees"}}})
    with pytest.raises(DeclarationError, match="the path of a TOML file, or a dict, not a int"):
        read_declaration(3)


def test_the_example_is_that_of_the_paper(tmp_path):
    found = read(example(), tmp_path)
    assert list(found.members) == [f"M{number}" for number in range(1, 13)]
    kinds = [member.ranker for member in found.members.values()]
    assert kinds == ["LambdaMART"] * 8 + ["LambdaRank"] * 2 + ["MART"] * 2
    measures = [member.parameters["measure"] for member in found.members.values()]
    assert measures[:10] == ["err@10"] * 4 + ["ndcg@10"] * 4 + ["err@10", "ndcg@10"]
    shares = [m.augment and (m.augment.fraction, m.augment.times) for m in found.members.values()]
    assert shares[:8] == [None, (0.5, 10), (0.7, 5), None] * 2
    assert [n for n, m in found.members.items() if m.extra == ("M11",)] == ["M4", "M8"]
    assert found.members["M12"].normalize == "query_max"


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("folds = 4", "folds = 1", 3, "folds must be a whole number from 3"),
        ("folds = 4", "fold = 4", 3, "[data] has no fold: it takes measure"),
        ('measure = "err@10"\nfolds', 'measure = "x"\nfolds', 2, "unknown measure 'x'"),
        ("max_leaf_nodes = 7", "max_leaf_nodes = 1", 7, "max_leaf_nodes must be"),
        ("n_estimators = 3 }", "n_estimators = 0 }", 11, "n_estimators must be"),
        ("n_estimators = 3 }", "num_leaves = 9 }", 11, "max_leaf_nodes"),
        ("learning_rate = 0.2", "learning_rate = -1", 21, "learning_rate must be"),
        ("learning_rate = 0.2", "n_threads = 2", 21, "n_threads is not for a declaration"),
        ('[member.trees]\nranker = "LambdaMART"', '[member.trees]\nranker = "Trees"', 10,
         "there is no ranker 'Trees': use LambdaMART"),
        ("fraction = 0.5", "fraction = 1.5", 12, "fraction must be a number above 0"),
        ("fraction = 0.5", "share = 0.5", 12, "[member.trees.augment] has no share"),
        ("bag = true", "bag = 10", 17, "bag must be one of True, False"),
        ('extra = ["mart"]', 'extra = ["marts"]', 25, "there is no member 'marts'"),
        ('extra = ["mart"]', 'extra = "mart"', 25, "extra must be a list of texts"),
        ('extra = ["mart"]', 'extra = ["top"]', 25, "in a ring, top needs top"),
        ("bag = true", 'extra = ["top"]', 25, "in a ring, mart needs top needs mart"),
        ('features = [1, "3-4"]', "features = []", 26, "features must be a list"),
        ('scores_of = "mart"', 'scores_of = "mart"\nbag = true', 30, "leave out bag"),
        ('scores_of = "mart"', 'scores_of = "trees"', 30, "query_max"),
        ('loss = "graded"', 'loss = "least_squares"', 30, 'use "query"'),
        ('scores_of = "mart"\n', "", 28, "the member 'other' has no ranker"),
        ('"average", "linear"]', '"mean"]', 33, "methods must be 'all' or a list of average"),
        ('choose = "linear"', 'choose = "net"', 34, "choose must be one of 'best', 'average'"),
        ("[combine]", "[combination]", 32, "a declaration has no combination"),
        ("folds = 4", 'train = "absent.txt"', 3, "absent.txt does not exist"),
        ("folds = 4", "folds = = 4", 3, "this is no TOML (invalid value"),
    ],
)  # fmt: skip
def test_mistakes_have_a_line(before, after, line, message, tmp_path):
    assert before in GOOD
    with pytest.raises(DeclarationError) as caught:
        read(GOOD.replace(before, after, 1), tmp_path)
    told = str(caught.value)
    assert message in told and "\n" not in told
    assert f"line {line}" in told, told
    assert told.startswith(str(tmp_path / "ensemble.toml"))


def test_no_members_and_no_text(tmp_path):
    with pytest.raises(DeclarationError, match=r"ensemble.toml: there is no \[member.NAME\]"):
        read("", tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b'[data]\nmeasure = "\xe9"\n')
    with pytest.raises(DeclarationError, match="no text in UTF-8"):
        read_declaration(path)
    with pytest.raises(DeclarationError, match="cannot be called"):
        read('[member."../x"]\nranker = "MART"\n', tmp_path)


def test_lines_of_odd_texts():
    lines = Lines("a", 'x = """\n[no.table]\ny = 1\n"""\n["a.b".c] # so\n  "d" = 1\nd.e = 2\n')
    assert lines.at("x") == "a, line 1"
    assert lines.at("no", "table") == "a"
    assert lines.at("a.b", "c", "d") == "a, line 6"
    assert lines.at("a.b", "c", "d", "e") == "a, line 7"
    assert lines.at("a.b", "z") == "a, line 5"
