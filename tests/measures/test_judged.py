"""The labels as each measure sees them, with the expected arrays spelled out."""

import numpy as np
import pytest

from rankinite.errors import DataError
from rankinite.measures import codes, measure

Y = np.array([0.0, 2.0, 1.0, 0.0, 0.0, 3.0])
OFFSETS = np.array([0, 3, 5, 6])
LOG = 1.0 / np.log2([2.0, 3.0, 4.0])


def judge(spec, y=Y, offsets=OFFSETS):
    return measure(spec).judge(np.asarray(y, dtype=np.float64), np.asarray(offsets))


def test_ndcg():
    seen = judge("ndcg@2")
    assert seen.code == codes.LINEAR
    np.testing.assert_array_equal(seen.grades, [0, 3, 1, 0, 0, 7])
    np.testing.assert_allclose(seen.discounts, [LOG[0], LOG[1], 0])
    np.testing.assert_allclose(seen.norms[:, 0], [1 / (3 * LOG[0] + 1 * LOG[1]), 0, 1 / 7])
    np.testing.assert_array_equal(seen.blank, [False, True, False])
    assert seen.top == 2
    assert judge("ndcg").top == judge("ndcg@50").top == 3
    np.testing.assert_array_equal(judge("ndcg:gain=label").grades, Y)


def test_dcg_and_precision():
    seen = judge("dcg")
    np.testing.assert_array_equal(seen.norms[:, 0], [1, 0, 1])
    np.testing.assert_allclose(seen.discounts, LOG)
    seen = judge("p@2:relevant=2")
    assert seen.code == codes.LINEAR
    np.testing.assert_array_equal(seen.grades, [0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(seen.discounts, [1 / 2, 1 / 2, 0])


def test_avendcg():
    seen = judge("avendcg:depth=4")
    assert seen.code == codes.LAYERED
    inverse_1, inverse_more = 1 / 3, 1 / (3 * LOG[0] + LOG[1])
    first = np.array([inverse_1 + 3 * inverse_more, 3 * inverse_more, 2 * inverse_more])
    np.testing.assert_allclose(seen.norms[0], [*(first / 4), inverse_more / 4])
    np.testing.assert_array_equal(seen.norms[1], 0.0)
    np.testing.assert_allclose(seen.norms[2], np.array([4, 3, 2, 1]) / 7 / 4)
    assert seen.norms.flags.c_contiguous
    assert judge("avendcg:depth=2").top == 2


def test_err():
    seen = judge("err@2")
    assert seen.code == codes.CASCADE
    np.testing.assert_array_equal(seen.grades, np.array([0, 3, 1, 0, 0, 7]) / 8)
    np.testing.assert_array_equal(seen.discounts, [1, 1 / 2, 0])
    np.testing.assert_array_equal(
        judge("err:max_label=4").grades, np.array([0, 3, 1, 0, 0, 7]) / 16
    )
    # No relevant document at all: the scale has one step, and nothing is divided by zero.
    np.testing.assert_array_equal(judge("err", np.zeros(6)).grades, 0.0)


def test_ap_and_rr():
    seen = judge("map@2")
    assert seen.code == codes.PRECISIONS
    np.testing.assert_array_equal(seen.grades, [0, 1, 1, 0, 0, 1])
    np.testing.assert_array_equal(seen.discounts, [1, 1 / 2, 0])
    np.testing.assert_array_equal(seen.norms[:, 0], [1 / 2, 0, 1])
    seen = judge("mrr:relevant=2")
    assert seen.code == codes.FIRST
    np.testing.assert_array_equal(seen.grades, [0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(seen.discounts, [1, 1 / 2, 1 / 3])
    np.testing.assert_array_equal(seen.norms[:, 0], [1, 0, 1])


def test_pairs():
    seen = judge("pairs", [0, 2, 1, 0, 4, 4], [0, 4, 6])
    assert seen.code == codes.PAIRS
    np.testing.assert_array_equal(seen.grades, [0, 2, 1, 0, 4, 4])
    np.testing.assert_array_equal(seen.discounts, 1.0)
    np.testing.assert_array_equal(seen.norms[:, 0], [1 / 5, 0])
    np.testing.assert_array_equal(seen.blank, [False, True])
    # Any finite labels will do, since only their order counts.
    assert not judge("pairs", [-1.5, 2e9], [0, 2]).blank[0]


@pytest.mark.parametrize("spec", ["ndcg", "dcg@3", "avendcg", "err", "err:max_label=4"])
@pytest.mark.parametrize(
    ("label", "message"),
    [
        (-1.0, "has the label -1, but its gain 2^label - 1 needs labels of 0 or more"),
        (1.5, "has the label 1.5, but its gain needs whole numbers: use "),
        (1001.0, "has the label 1001, but its gain allows labels up to "),
        (np.nan, "has the label nan, which is not a finite number"),
        (np.inf, "has the label inf, which is not a finite number"),
    ],
)
def test_labels_without_a_gain_are_refused(spec, label, message):
    with pytest.raises(DataError) as caught:
        judge(spec, [0, 1, 2, 0, label, 1])
    where = f"{spec}: query number 1 (counted from 0 in order of appearance) "
    assert str(caught.value).startswith(where + message)


def test_other_labels_that_are_refused():
    with pytest.raises(DataError, match="use gain=label or the measure pairs"):
        judge("ndcg@10", Y + 0.5)
    with pytest.raises(DataError, match="the label -1, but gain=label needs labels of 0 or more"):
        judge("ndcg:gain=label", Y - 1)
    with pytest.raises(DataError, match="the label 3, but max_label is 2: raise max_label"):
        judge("err:max_label=2")
    with pytest.raises(DataError, match="the label 51, but its gain allows labels up to 50"):
        judge("err", [51, 0, 0, 0, 0, 0])


def test_fractional_labels_have_themselves_as_gain():
    seen = judge("ndcg:gain=label", Y + 0.5)
    np.testing.assert_array_equal(seen.grades, Y + 0.5)
    assert not seen.blank.any()


def test_integer_labels_are_taken():
    seen = measure("ndcg").judge(np.array([1, 0, 2], dtype=np.int32), np.array([0, 3]))
    assert seen.grades.dtype == np.float64
