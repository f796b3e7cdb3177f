from __future__ import annotations

import inspect
import re
from importlib.util import find_spec

import pytest

import rankinite as rk
from rankinite.cli.ranker_options import RANKER_OPTIONS, RANKERS, flag_of, make_ranker
from rankinite.errors import ModelFileError, ParameterError
from rankinite.models.storage import class_of

# What only a ranker of PyTorch has, which may not be there.
OF_PYTORCH = {"hidden", "activation", "dropout", "layer_norm", "queries_per_step", "standardize"}
KINDS = [kind for kind in RANKERS if kind != "perceptron" or find_spec("torch")]


def defaults(kind: str) -> dict[str, object]:
    parameters = inspect.signature(class_of(RANKERS[kind]).__init__).parameters
    return {name: p.default for name, p in parameters.items() if name not in ("self", "verbose")}


def test_every_parameter_of_the_rankers_is_an_option():
    known = {name for kind in KINDS for name in defaults(kind)}
    assert set(RANKER_OPTIONS) == known | OF_PYTORCH
    assert known >= OF_PYTORCH or "perceptron" not in KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_help_tells_the_true_defaults(kind):
    exceptions = {"n_threads": "all cores", "valid_measure": "that of --measure"}
    for name, value in defaults(kind).items():
        in_words = "none" if value is None else str(value)
        if isinstance(value, bool):
            in_words = ("" if value else "no-") + flag_of(name).removeprefix("--")
        if isinstance(value, tuple):
            in_words = ",".join(map(str, value))
        expected = exceptions.get(name, in_words)
        assert RANKER_OPTIONS[name].default_of(kind) == expected, name


def test_every_option_is_in_the_help_of_train(run):
    text = run("train", "--help").out
    assert all(re.search(rf"{flag_of(name)}\b", text) for name in RANKER_OPTIONS)
    assert flag_of("random_state") == "--seed"
    assert flag_of("n_threads") == "--threads"
    assert flag_of("max_leaf_nodes") == "--max-leaf-nodes"


def test_what_is_not_given_stays_at_the_rankers_default():
    ranker = make_ranker("lambdamart", {"sigma": 2.0})
    assert ranker.get_params() == rk.LambdaMART(sigma=2.0).get_params()


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("forest", {}, "ranker must be one of lambdamart, mart,"),
        ("mart", {"truncation": 3}, "--truncation is not an option of --ranker mart"),
        ("lambdamart", {"loss": "graded"}, "--loss is not an option of --ranker lambdamart"),
        ("lambdamart", {"max_bins": 256}, "max_bins must be a whole number from 2 to 255, got 256"),
        ("lambdamart", {"step": "least_squares"}, "step must be one of 'newton', 'line_search'"),
        ("lambdaboost", {"step": "line_search"}, "step must be one of 'newton', 'least_squares'"),
        ("lambdaboost", {"backfit": 1}, "--backfit is not an option of --ranker lambdaboost"),
        ("mart", {"measure": "fdcg"}, "unknown measure 'fdcg'"),
        ("mart", {"loss": "hinge"}, "loss must be one of"),
        ("mcrank", {"class_values": "0,1,x"}, "class_values must be one of 'label', 'gain'"),
    ],
)
def test_wrong_parameters(kind, parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        make_ranker(kind, parameters)


def test_class_values_are_a_word_or_numbers():
    assert make_ranker("mcrank", {"class_values": "gain"}).class_values == "gain"
    assert make_ranker("mcrank", {"class_values": "0,1,2.5"}).class_values == [0.0, 1.0, 2.5]


def test_a_base_model_is_loaded(files, tmp_path):
    ranker = make_ranker("mart", {"base_model": files / "ranker.rk"})
    assert isinstance(ranker.base_model, rk.LambdaMART)
    with pytest.raises(ModelFileError, match="cannot read the model file"):
        make_ranker("mart", {"base_model": tmp_path / "none.rk"})
