"""Several files read as one."""

import numpy as np
import pytest

import rankinite as rk
from rankinite.errors import DataError

ONE = "1 qid:1 1:0.5 2:1\n0 qid:1 1:2\n"
TWO = "2 qid:2 4:7\n0 qid:2 1:1\n1 qid:3 1:4 # the last\n"
CSV_ONE = "qid,label,a,b,d\n1,2,0.5,1,x\n1,0,1.5,2,y\n"
CSV_TWO = "b,d,a,qid,label\n5,x,6,2,1\n7,y,8,2,0\n"
WAYS = ({}, {"max_bins": 16})


@pytest.fixture
def folder(tmp_path):
    for name, text in (
        ("one.txt", ONE),
        ("two.txt", TWO),
        ("both.txt", ONE + TWO),
        ("again.txt", "1 qid:2 1:1\n0 qid:1 1:3\n"),
        ("words.txt", "1 qid:x 1:1\n"),
        ("one.csv", CSV_ONE),
        ("two.csv", CSV_TWO),
        ("more.csv", "qid,label,a,b,c,d\n7,1,1,1,1,z\n"),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def same(found, expected):
    assert repr(found) == repr(expected)
    assert found.qids.tolist() == expected.qids.tolist()
    for name in ("offsets", "y", "order"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.binned(16).blocks, expected.binned(16).blocks)


@pytest.mark.parametrize("options", WAYS)
def test_text_as_if_it_were_one_file(folder, options):
    both = rk.read([folder / "one.txt", str(folder / "two.txt")], **options)
    same(both, rk.read(folder / "both.txt", **options))
    turned = rk.read([folder / "two.txt", folder / "one.txt"], **options)
    assert turned.n_features == 4
    assert turned.qids.tolist() == [2, 3, 1]


@pytest.mark.parametrize("options", WAYS)
def test_columns_go_by_name(folder, options):
    files = [folder / "one.csv", folder / "two.csv"]
    both = rk.read(files, document="d", **options)
    assert both.feature_names == ["a", "b"]
    X = [[0.5, 1], [1.5, 2], [6, 5], [8, 7]]
    expected = rk.Dataset(np.float32(X), [2, 0, 1, 0], qid=[1, 1, 2, 2])
    np.testing.assert_array_equal(both.binned(16).blocks, expected.binned(16).blocks)
    assert both.documents.tolist() == ["x", "y", "x", "y"]
    with pytest.raises(DataError, match=r"more.csv has the feature 'c', which .*one.csv does not"):
        rk.read([folder / "one.csv", folder / "more.csv"], document="d", **options)
    chosen = rk.read([folder / "one.csv", folder / "more.csv"], features=["b"], **options)
    assert chosen.n_rows == 3


@pytest.mark.parametrize("options", WAYS)
def test_a_query_id_in_two_files(folder, options):
    files = [folder / "both.txt", folder / "again.txt"]
    message = r"the query id 2 is in .*both.txt and in .*again.txt: pass same_id='join'"
    with pytest.raises(DataError, match=message):
        rk.read(files, **options)
    joined = rk.read(files, same_id="join", **options)
    assert joined.query_sizes.tolist() == [3, 3, 1]
    assert joined.order.tolist() == [0, 1, 6, 2, 3, 5, 4]
    apart = rk.read(files, same_id="apart", **options)
    assert apart.qids.tolist() == ["0:1", "0:2", "0:3", "1:2", "1:1"]


@pytest.mark.parametrize("options", WAYS)
def test_ids_are_text_everywhere_if_they_are_in_one_file(folder, options):
    data = rk.read([folder / "one.txt", folder / "words.txt"], **options)
    assert data.qids.tolist() == ["1", "x"]


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_zeros_before_an_id_count_as_inside_of_a_file(tmp_path, kind, options):
    """01 is 1 if all ids are numbers, and another query if one of them is text."""

    def written(qid):
        path = tmp_path / f"{qid}.{kind}"
        head, line = ("", "{} qid:{} 1:{}\n") if kind == "txt" else ("label,qid,a\n", "{},{},{}\n")
        path.write_text(head + line.format(1, qid, 3) + line.format(0, qid, 4))
        return path

    files = [written(qid) for qid in ("1", "01", "x")]
    joined = rk.read(files[:2], same_id="join", **options)
    assert joined.qids.tolist() == [1]
    assert rk.read(files, same_id="join", **options).qids.tolist() == ["1", "01", "x"]
    assert rk.read(files, same_id="apart", **options).qids.tolist() == ["0:1", "1:01", "2:x"]


def test_files_that_do_not_go_together(folder):
    rk.read(folder / "one.txt").save(folder / "one.bins")
    for other, what in (("one.csv", "a CSV file"), ("one.bins", "a dataset in binned form")):
        with pytest.raises(DataError, match=f"one.txt is SVMlight text and .*{other} is {what}"):
            rk.read([folder / "one.txt", folder / other])
    with pytest.raises(rk.ParameterError, match="path is an empty list"):
        rk.read([])
