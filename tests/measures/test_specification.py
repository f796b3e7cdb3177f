import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import ParameterError
from rankinite.measures import AP, DCG, ERR, NDCG, RR, AveNDCG, Pairs, Precision, measure
from tests.measures.cases import TWINS


@pytest.mark.parametrize(
    ("text", "built", "canonical"),
    [
        ("ndcg@10", NDCG(10), "ndcg@10"),
        (" NDCG@10:Gain=EXP2 ", NDCG(k=10), "ndcg@10"),
        ("ndcg@10:gain=label", NDCG(10, "label"), "ndcg@10:gain=label"),
        ("dcg", DCG(), "dcg"),
        ("err@10:max_label=4", ERR(10, 4), "err@10:max_label=4"),
        ("map:relevant=2", AP(relevant=2), "map:relevant=2"),
        ("map@100:relevant=0.5", AP(100, 0.5), "map@100:relevant=0.5"),
        ("mrr:relevant=1.0", RR(), "mrr"),
        ("p@5", Precision(5), "p@5"),
        ("pairs", Pairs(), "pairs"),
        ("avendcg", AveNDCG(10), "avendcg"),
        ("avendcg:gain=label, depth=5", AveNDCG(5, "label"), "avendcg:depth=5,gain=label"),
    ],
)
def test_text_becomes_a_specification_and_prints_canonically(text, built, canonical):
    assert measure(text) == built
    assert hash(measure(text)) == hash(built)
    assert str(built) == built.name == canonical
    assert measure(canonical) == built


@pytest.mark.parametrize("spec", TWINS)
def test_every_specification_under_test_is_canonical(spec):
    assert str(measure(spec)) == spec


def test_measures_pass_through():
    own = ERR(3)
    assert measure(own) is own
    assert rk.measure is measure


def test_kinds_and_parameters_make_measures_different():
    assert len({NDCG(), DCG(), NDCG(10), NDCG(10, "label"), AP(), RR(), AP(10), RR(10)}) == 8
    assert NDCG(10) != DCG(10)


def test_numpy_integers_are_taken_as_numbers():
    assert NDCG(np.int64(10)) == NDCG(10)
    assert repr(NDCG(np.int64(10))) == "NDCG(k=10, gain='exp2')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ndgc@10",
            "unknown measure 'ndgc@10': "
            "the known ones are avendcg, dcg, err, map, mrr, ndcg, p, pair_accuracy, "
            "pair_log_loss, pairs",
        ),
        ("", "unknown measure ''"),
        ("ndcg 10", "unknown measure 'ndcg 10'"),
        ("ndcg@0", "measure 'ndcg@0': k must be a positive integer, got 0"),
        ("ndcg@-3", "k must be a positive integer, got -3"),
        ("ndcg@2.5", "k must be a positive integer, got 2.5"),
        ("ndcg@x", "measure 'ndcg@x': the cut-off after @ must be a number, got 'x'"),
        ("ndcg@", "the cut-off after @ must be a number, got ''"),
        ("p", "measure 'p' needs a cut-off: write p@10, for instance"),
        ("p:relevant=2", "needs a cut-off"),
        ("pairs@3", "measure 'pairs@3': pairs has no cut-off @k"),
        ("avendcg@5", "avendcg has no cut-off @k"),
        (
            "ndcg:depth=3",
            "cannot read 'depth=3' as key=value once a key; the keys of ndcg are: gain",
        ),
        ("ndcg:k=3", "the keys of ndcg are: gain"),
        ("ndcg:", "cannot read '' as key=value"),
        ("ndcg:gain", "cannot read 'gain' as key=value"),
        ("pairs:gain=label", "the keys of pairs are: none"),
        ("ndcg:gain=label,gain=exp2", "cannot read 'gain=exp2' as key=value once a key"),
        ("ndcg:gain=linear", "gain must be 'exp2' or 'label', got 'linear'"),
        ("err:max_label=0", "max_label must be a positive integer, got 0"),
        ("err:max_label=51", "max_label must be at most 50, got 51"),
        ("map:relevant=0", "relevant must be a positive number, the lowest relevant label; got 0"),
        ("map:relevant=nan", "relevant must be a positive number"),
        ("map:relevant=high", "relevant must be a number, got 'high'"),
        ("avendcg:depth=0", "depth must be a positive integer, got 0"),
    ],
)
def test_a_wrong_text_is_refused_with_the_reason(text, message):
    with pytest.raises(ParameterError) as caught:
        measure(text)
    assert message in str(caught.value)


def test_wrong_arguments_are_refused_with_the_reason():
    with pytest.raises(ParameterError, match="a measure is a text like 'ndcg@10' or a Measure"):
        measure(10)
    with pytest.raises(ParameterError, match="k must be a positive integer, got True"):
        NDCG(True)
    with pytest.raises(ParameterError, match="k must be a positive integer, got None"):
        Precision(None)
    with pytest.raises(ParameterError, match="got 'two'"):
        AP(relevant="two")


def test_err_takes_the_top_of_its_scale_from_the_data():
    y = np.array([0.0, 3.0, 1.0])
    assert ERR(10).resolve(y) == ERR(10, 3)
    assert ERR(10, 4).resolve(y) == ERR(10, 4)
    assert ERR().resolve(np.zeros(3)) == ERR(max_label=1)
    assert NDCG(10).resolve(y) == NDCG(10)
