import pytest

import rankinite as rk
from rankinite.sweeping.declaration import parse_declaration, read_declaration
from rankinite.sweeping.presets import PRESETS, preset
from rankinite.sweeping.sampling import Sampler
from rankinite.sweeping.space import Choices, Span
from rankinite.sweeping.study import Codec
from rankinite.sweeping.sweep import Plan

TEXT = """ranker = "lambdamart"
measure = "err@10"
trials = 12
folds = 4
sampler = "random"
seed = 7
prune = "none"

[fixed]
n_estimators = 50
max_depth = "none"

[space]
learning_rate = { low = 0.02, high = 0.3, log = true }
max_leaf_nodes = [7, 15]
truncation = [10, "auto", "none"]

[space.min_samples_leaf]
low = 5
high = 50
step = 5
"""


def test_a_whole_declaration(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TEXT)
    found = read_declaration(path)
    assert (found.ranker, found.measure, found.trials, found.folds) == (
        *("lambdamart", "err@10"),
        *(12, 4),
    )
    assert (found.sampler, found.seed, found.prune) == ("random", 7, "none")
    assert found.fixed == {"n_estimators": 50, "max_depth": None}
    assert found.space.dimensions == {
        "learning_rate": Span(0.02, 0.3, log=True),
        "max_leaf_nodes": Choices((7, 15)),
        "truncation": Choices((10, "auto", None)),
        "min_samples_leaf": Span(5, 50, step=5),
    }
    ranker = found.make_ranker()
    assert isinstance(ranker, rk.LambdaMART) and ranker.measure == "err@10"
    fewer = found.with_fixed({"max_leaf_nodes": 4})
    assert "max_leaf_nodes" not in fewer.space.names and fewer.make_ranker().max_leaf_nodes == 4


def test_rankers_are_called_as_on_the_command_line():
    from rankinite.cli.ranker_options import RANKERS as OPTIONS
    from rankinite.sweeping.declaration import RANKERS

    assert {name.lower(): name for name in RANKERS} == OPTIONS


def test_a_measure_that_is_swept_is_judged_by_another():
    text = 'measure = "map"\n[space]\nmeasure = ["ndcg@10", "err@10"]\n'
    found = parse_declaration(text, "s.toml")
    assert found.measure == "map" and found.make_ranker().measure == "ndcg@10"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"lambdamart"', '"lambdasmart"'), "line 1: ranker must be one of 'lambdamart', 'mart'"),
        (("err@10", "quality"), "line 2: unknown measure 'quality'"),
        (("trials = 12", "trials = 0"), "line 3: trials must be a whole number at least 1"),
        (("folds", "n_folds"), "line 4: 'n_folds' is not known here; there are ranker, trials"),
        (("random", "best"), "line 5: sampler must be one of"),
        (('"none"\n\n', "3\n\n"), "line 7: prune must be one of"),
        (("n_estimators = 50", "num_trees = 50"), "line 10: .* here it is called n_estimators"),
        (("n_estimators = 50", "n_estimators = 0"), "line 10: n_estimators must be a whole number"),
        (("n_estimators = 50", "max_leaf_nodes = 5"), "line 10: max_leaf_nodes is both fixed and"),
        (("0.02", "-0.02"), "line 14: the range of learning_rate is by logarithm"),
        (("0.02", "0.5"), "line 14: the range of learning_rate goes from 0.5 to 0.3"),
        (("[7, 15]", "[1, 15]"), "line 15: max_leaf_nodes must be a whole number at least 2"),
        (("[7, 15]", "7"), "line 15: the values of max_leaf_nodes must be a list"),
        (("max_leaf_nodes", "num_leaves"), "line 15: LambdaMART has no parameter 'num_leaves'"),
        (('"auto"', '"all"'), "line 16: truncation must be a whole number"),
        (("high = 50", "height = 50"), "line 18: the range of min_samples_leaf has no"),
        (("[7, 15]", "[7, 15"), "line 16: this is no TOML"),
        (("[fixed]", "[fixing]"), "line 9: 'fixing' is not known here"),
    ],
)
def test_mistakes_are_told_with_their_line(change, message):
    with pytest.raises(rk.ParameterError, match=rf"^s\.toml, {message}"):
        parse_declaration(TEXT.replace(*change), "s.toml")


def test_without_a_space():
    with pytest.raises(rk.ParameterError, match=r"s.toml has no table \[space\]"):
        parse_declaration("trials = 3\n", "s.toml")
    with pytest.raises(rk.ParameterError, match=r"s.toml, line 1: the space has no parameter"):
        parse_declaration("[space]\n", "s.toml")
    with pytest.raises(rk.ParameterError, match=r"s.toml, line 1: space must be a table"):
        parse_declaration("space = 3\n", "s.toml")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(rk.DataError, match="cannot read the space in"):
        read_declaration(tmp_path / "none.toml")
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(rk.DataError, match="is not text in UTF-8"):
        read_declaration(tmp_path / "s.toml")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name):
    found = preset(name)
    plan = Plan.of(
        *(found.make_ranker(), found.space, found.measure, found.trials),
        *(found.sampler, found.folds, found.prune, found.seed),
    )
    assert plan.n_trials >= 5 and plan.longest >= 100


def points(name):
    found = preset(name)
    grid = Sampler(found.space, "grid", 0, Codec(found.space, 100), lower_is_better=False)
    return [tuple(grid.params(number).values()) for number in range(grid.n_points)]


def test_the_grids_of_burges_2011():
    leaves = range(50, 401, 30)
    expected = {(rate, n) for rate in (0.01, 0.05, 0.1, 0.3, 0.5) for n in leaves}
    assert set(points("lambdamart-004")) == expected and len(expected) == 60
    nets = points("lambdarank-004")
    assert {n for n, _ in nets} == {10, 15, 20, 25, 30}
    # The best were 25 hidden nodes and a learning rate of 1e-3.
    assert (25, 1e-3) in nets and len(nets) == 25
