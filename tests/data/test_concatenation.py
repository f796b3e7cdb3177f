import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import DataError, ParameterError


def part(ids, seed=0, **options):
    rng = np.random.default_rng(seed)
    n = len(ids)
    return rk.Dataset(rng.integers(0, 9, (n, 3)), rng.integers(0, 3, n), qid=ids, **options)


def test_rows_follow_one_another():
    one, two = part([1, 1, 2], 0, weight=[1, 2, 3]), part([4, 3, 3], 1, weight=[4, 5, 6])
    both = rk.concat([one, two])
    assert both.qids.tolist() == [1, 2, 4, 3]
    assert both.offsets.tolist() == [0, 2, 3, 4, 6]
    assert both.order is None
    np.testing.assert_array_equal(both.X, np.concatenate([one.X, two.X]))
    np.testing.assert_array_equal(both.y, np.concatenate([one.y, two.y]))
    assert both.weight.tolist() == [1, 2, 3, 4, 5, 6]
    assert rk.concat([one]) is one


@pytest.mark.filterwarnings("ignore:the rows of")
def test_rows_come_back_in_the_callers_order():
    one, two = part([1, 2, 1], 0), part([3, 4, 3], 1)
    both = rk.concat([one, two])
    first = [part.in_caller_order(part.X[:, 0]) for part in (one, two)]
    np.testing.assert_array_equal(both.in_caller_order(both.X[:, 0]), np.concatenate(first))


@pytest.mark.filterwarnings("ignore:the rows of")
def test_a_query_id_in_two_parts():
    one, two = part([1, 1, 2], 0), part([3, 2, 2, 1], 1)
    with pytest.raises(
        DataError, match=r"the query id 2 is in part 0 and in part 1: pass same_id="
    ):
        rk.concat([one, two])
    apart = rk.concat([one, two], same_id="apart")
    assert apart.qids.tolist() == ["0:1", "0:2", "1:3", "1:2", "1:1"]
    joined = rk.concat([one, two], same_id="join")
    assert joined.qids.tolist() == [1, 2, 3]
    assert joined.query_sizes.tolist() == [3, 3, 1]
    expected = rk.Dataset(
        np.concatenate([one.X, two.X]), np.concatenate([one.y, two.y]), qid=[1, 1, 2, 3, 2, 2, 1]
    )
    for name in ("X", "y", "offsets", "order"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(expected, name))
    with pytest.raises(ParameterError, match="same_id must be one of error, join, apart, got 'no'"):
        rk.concat([one, two], same_id="no")


def test_preferences_and_documents_are_kept():
    one = part([1, 1, 2, 2], 0).with_preferences(
        preferred=["a"], other=["b"], documents=["a", "b", "c", "d"], query=[1]
    )
    two = part([2, 1], 1)
    with pytest.raises(DataError, match="part 1 has no documents, and others have"):
        rk.concat([one, two], same_id="join")
    two = part([3, 2, 2], 1).with_preferences(
        preferred=["g"], other=["f"], documents=["e", "f", "g"], probability=[0.75]
    )
    both = rk.concat([one, two], same_id="join")
    pairs = both.preferences
    named = zip(both.documents[pairs.first], both.documents[pairs.other], strict=True)
    assert list(named) == [("a", "b"), ("g", "f")]
    assert pairs.probability.tolist() == [1, 0.75]


def test_bins_go_together_if_they_are_the_same(tmp_path):
    one, two = part([1, 1, 2], 0), part([4, 3, 3], 1)
    one.save(tmp_path / "one", max_bins=16)
    two.save(tmp_path / "two", max_bins=16, like=one)
    two.save(tmp_path / "other", max_bins=16)
    first, second = rk.read(tmp_path / "one"), rk.read(tmp_path / "two")
    both = rk.concat([first, second])
    expected = np.concatenate([first.binned(16).blocks, second.binned(16).blocks], axis=1)
    np.testing.assert_array_equal(both.binned(16).blocks, expected)
    assert rk.read([tmp_path / "one", tmp_path / "two"]).n_rows == 6
    with pytest.raises(DataError, match="part 0 and part 1 hold bins that are not the same"):
        rk.concat([first, rk.read(tmp_path / "other")])
    with pytest.raises(DataError, match="one holds values and the other only bins"):
        rk.concat([one, second])


def test_parts_that_do_not_fit():
    one = part([1, 1], feature_names=["a", "b", "c"])
    for other, message in (
        (part([2, 2]), "part 0 has names of features and part 1 has none"),
        (part([2], feature_names=["a", "b", "d"]), "part 0 has the feature 'c', which part 1 does"),
        (part([2], feature_names=["b", "a", "c"]), "are not in the same order"),
        (rk.Dataset([[1.0]], [1], qid=[2]), "part 0 has 3 features and part 1 has 1"),
        (rk.Dataset(one.X[:1], qid=[2], feature_names=["a", "b", "c"]), "part 1 has no y"),
        (part(["x"], feature_names=["a", "b", "c"]), "of part 0 are integers and those .* text"),
    ):
        with pytest.raises(DataError, match=message):
            rk.concat([one, other])
    for wrong in ([], one, [one, 3]):
        with pytest.raises(ParameterError, match="parts"):
            rk.concat(wrong)
