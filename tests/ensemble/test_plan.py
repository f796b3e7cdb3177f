"""The plan: what needs what, and what has to be done anew after a change."""

from __future__ import annotations

import tomllib

import pytest

from rankinite.ensemble.plan import (
    MEMBER,
    TRAIN,
    Prints,
    scored_out_of_fold,
    steps_of_combination,
    steps_of_members,
)
from rankinite.ensemble.reading import read_declaration

TEXT = """
[data]
folds = 3

[member.top]
ranker = "LambdaMART"
extra = ["mart"]
bag = true

[member.mart]
ranker = "MART"
parameters = { loss = "graded" }

[member.same]
scores_of = "mart"
normalize = "query_max"

[member.net]
ranker = "LambdaRank"

[combine]
methods = ["average", "linear"]
subset = true
"""
PRINTS = Prints("data")


def plan(text=TEXT, prints=PRINTS):
    return steps_of_members(read_declaration(tomllib.loads(text)), prints, 100)


def changed(text=TEXT, prints=PRINTS):
    """The owners of steps that a change gives another key, by kind."""
    before = {step.name: step.key for step in plan()}
    anew = [step for step in plan(text, prints) if before.get(step.name) != step.key]
    return [sorted({s.owner for s in anew if s.kind == kind}) for kind in (TRAIN, MEMBER)]


def test_steps_come_after_what_they_need():
    steps = plan()
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    for place, step in enumerate(steps):
        assert set(step.needs) <= set(names[:place]), step
    of = {name: [s for s in steps if s.owner == name] for name in ("top", "mart", "same", "net")}
    # A bag is its models; a single one needs others for its scores; one takes another's.
    assert [s.part for s in of["top"]] == [0, 1, 2, None]
    assert [s.part for s in of["mart"]] == [None, 0, 1, 2, None]
    assert [s.kind for s in of["same"]] == [MEMBER] and of["same"][0].needs == ("mart",)
    assert all(s.needs == ("mart",) for s in of["top"] if s.kind == TRAIN)


def test_validation_data_saves_models():
    declared = read_declaration(tomllib.loads(TEXT))
    assert scored_out_of_fold(declared, has_valid=False) == {"top", "mart", "same", "net"}
    assert scored_out_of_fold(declared, has_valid=True) == {"mart"}
    steps = plan(prints=Prints("data", "valid"))
    assert [s.part for s in steps if s.owner == "net"] == [None, None]
    through_same = TEXT.replace('extra = ["mart"]', 'extra = ["same"]')
    declared = read_declaration(tomllib.loads(through_same))
    assert scored_out_of_fold(declared, has_valid=True) == {"mart", "same"}


def test_nothing_changes_by_itself():
    assert changed() == [[], []]
    # How members are called in the tables, and in which order they stand, is no change.
    assert changed(TEXT.replace("bag = true", 'bag = true\nfamily = "x"')) == [[], []]


@pytest.mark.parametrize(
    ("before", "after", "trained", "made"),
    [
        ('ranker = "LambdaRank"', 'ranker = "RankNet"', ["net"], ["net"]),
        ('loss = "graded"', 'loss = "logistic"', ["mart", "top"], ["mart", "same", "top"]),
        ("query_max", "query", [], ["same"]),
        ("bag = true", "bag = true\nfeatures = [1]", ["top"], ["top"]),
        ("folds = 3", "folds = 4", ["mart", "net", "top"], ["mart", "net", "same", "top"]),
        ("[data]", "[data]\nseed = 1", ["mart", "net", "top"], ["mart", "net", "same", "top"]),
    ],
)  # fmt: skip
def test_what_depends_on_a_change(before, after, trained, made):
    assert before in TEXT
    assert changed(TEXT.replace(before, after)) == [trained, made]


def test_other_data():
    everything = ["mart", "net", "same", "top"]
    assert changed(prints=Prints("other")) == [["mart", "net", "top"], everything]
    # Other validation data changes what is scored, and nothing that was trained.
    names = {s.name: s.key for s in plan(prints=Prints("data", "a"))}
    anew = [s for s in plan(prints=Prints("data", "b")) if names[s.name] != s.key]
    assert sorted(s.owner for s in anew) == everything and {s.kind for s in anew} == {MEMBER}


def test_combinations_depend_on_all_members_that_there_are():
    declared = read_declaration(tomllib.loads(TEXT))
    keys = {"a": "1", "b": "2"}
    steps = steps_of_combination(declared, keys, 100)
    assert [step.owner for step in steps] == ["average", "linear", "subset"]
    for other in ({"a": "1"}, {"a": "1", "b": "3"}):
        fresh = steps_of_combination(declared, other, 100)
        assert not {step.key for step in steps} & {step.key for step in fresh}
