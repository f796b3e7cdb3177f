"""Nets of PyTorch as members of an ensemble: with all that a member can have, in any process."""

import os
import tomllib

import numpy as np
import pytest

pytest.importorskip("torch")

import rankinite as rk
from rankinite.distributed.threads import on_threads
from rankinite.torch import Perceptron
from tests.ensemble.test_assembling import files_of

TEXT = """\
[data]
measure = "err@10"
folds = 3

[defaults.Perceptron]
hidden = [8, 4]
n_epochs = 3
learning_rate = 0.01

[member.trees]
ranker = "MART"
parameters = { n_estimators = 3, max_leaf_nodes = 4, loss = "graded" }

[member.bag]
ranker = "Perceptron"
bag = true
augment = { fraction = 0.5, times = 2 }
parameters = { measure = "err@10", early_stopping = 1, dropout = 0.2 }

[member.part]
ranker = "Perceptron"
features = ["1-2", 4]
extra = ["trees"]
parameters = { measure = "ndcg@10", layer_norm = true, activation = "tanh", early_stopping = 2 }

[member.same]
scores_of = "bag"
normalize = "query"

[combine]
methods = ["average", "linear"]
"""
DECLARED = tomllib.loads(TEXT)
TRAIN, TEST = rk.artificial(n_queries=(36, 12), n_docs=8, n_features=5, random_state=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    found = rk.assemble(DECLARED, TRAIN, test=TEST, run=folder)
    found.save(folder.parent / "model.rk")
    return folder, found


def test_members_are_what_is_declared(whole):
    folder, found = whole
    bag = rk.load(folder / "members" / "bag" / "member.rk")
    assert [type(model) for model in bag.models_] == [Perceptron] * 3
    assert bag.models_[0].hidden == (8, 4) and bag.models_[0].dropout == 0.2
    settings = DECLARED["defaults"]["Perceptron"] | DECLARED["member"]["bag"]["parameters"]
    expected = rk.Bagging(Perceptron(**settings), 3, {"fraction": 0.5, "times": 2}).fit(TRAIN)
    assert np.array_equal(bag.predict(TEST), expected.predict(TEST))
    top = rk.load(folder / "members" / "part" / "member.rk").ranker_
    assert type(top.ranker) is Perceptron and list(top.columns) == [0, 1, 3, 5, 6, 7, 8]
    assert set(found.report.test.evaluations) > {"trees", "bag", "part", "same"}


def test_the_model_is_loaded_without_more(whole):
    folder, found = whole
    loaded = rk.load(folder.parent / "model.rk")
    assert np.array_equal(loaded.predict(TEST), found.model.predict(TEST))
    loaded.save(folder.parent / "again.rk")
    again, first = (folder.parent / name for name in ("again.rk", "model.rk"))
    assert again.read_bytes() == first.read_bytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_jobs_do_not_matter(whole, tmp_path):
    folder, _ = whole
    # This process has trained nets, with all that PyTorch keeps from then on.
    found = rk.assemble(DECLARED, TRAIN, run=tmp_path / "run", jobs=2, n_threads=2)
    assert files_of(tmp_path / "run") == files_of(folder)
    found.save(tmp_path / "model.rk")
    assert (tmp_path / "model.rk").read_bytes() == (folder.parent / "model.rk").read_bytes()


def test_workers_do_not_matter(whole, tmp_path):
    """Nets are dealt out, and trained at the same time, by workers that are threads here."""
    folder, _ = whole

    def work(communicator):
        run = tmp_path / "run" if communicator.rank == 0 else None
        return rk.assemble(DECLARED, TRAIN, run=run, communicator=communicator)

    found = on_threads(2, work)
    assert files_of(tmp_path / "run") == files_of(folder)
    found[1].save(tmp_path / "model.rk")
    assert (tmp_path / "model.rk").read_bytes() == (folder.parent / "model.rk").read_bytes()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[8, 4]", "[8, 0]", r"line 6: hidden must be a list of at most 16 sizes"),
        ("n_epochs = 3", "module = 3", r"line 7: Perceptron has no parameter 'module'"),
        ("dropout = 0.2", "dropout = 1.2", r"line 18: dropout must be a number from 0 on"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path, before, after, message):
    path = tmp_path / "e.toml"
    path.write_text(TEXT.replace(before, after, 1))
    with pytest.raises(rk.DeclarationError, match=message):
        rk.assemble(path, TRAIN)


def test_on_the_command_line(tmp_path):
    from rankinite.cli.ranker_options import make_ranker

    given = {"hidden": "8,4", "dropout": 0.1, "layer_norm": True, "truncation": "5"}
    model = make_ranker("perceptron", given)
    expected = Perceptron((8, 4), dropout=0.1, layer_norm=True, truncation=5)
    assert model.get_params() == expected.get_params()
    assert make_ranker("perceptron", {"hidden": "none"}).hidden == ()
    with pytest.raises(rk.ParameterError, match="hidden must be a list"):
        make_ranker("perceptron", {"hidden": "8;4"})
