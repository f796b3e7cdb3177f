import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankinite as rk
from rankinite.data import Preferences

QID = ["a", "b", "a", "b", "a", "b"]
IDS = ["x", "x", "y", "y", "z", "z"]
X = np.arange(12.0).reshape(6, 2)


def data(**more):
    with pytest.warns(rk.RankiniteWarning):
        return rk.Dataset(X, qid=QID, **more)


def table(**columns):
    plain = {"query": ["a", "b", "a"], "preferred": ["x", "z", "y"], "other": ["z", "x", "x"]}
    return pd.DataFrame(plain | columns)


def named(preferences):
    """The pairs by ids, in a fixed order: the stored rows are xyz of a and xyz of b."""
    ids = [query + name for query in "ab" for name in "xyz"]
    columns = (preferences.first, preferences.other, preferences.probability, preferences.weight)
    return sorted(
        (ids[i], ids[j], p, w) for i, j, p, w in zip(*map(np.ndarray.tolist, columns), strict=True)
    )


EXPECTED = [("ax", "az", 0.9, 1.0), ("ay", "ax", 1.0, 0.5), ("bz", "bx", 0.25, 2.0)]
SURE = {"probability": [0.9, 0.25, 1.0], "weight": [1.0, 2.0, 0.5]}


def test_rows_in_the_callers_order():
    found = data().with_preferences(preferred=[0, 5, 2], other=[4, 1, 0], **SURE)
    assert named(found.preferences) == EXPECTED
    assert found.preferences.offsets.tolist() == [0, 2, 3]
    assert found.preferences.first.dtype == np.int64
    with_query = data().with_preferences(
        preferred=[0, 5, 2], other=[4, 1, 0], query=["a", "b", "a"], **SURE
    )
    assert named(with_query.preferences) == EXPECTED
    floats = data().with_preferences(preferred=[0.0, 5.0, 2.0], other=["4", "1", "0"], **SURE)
    assert named(floats.preferences) == EXPECTED


@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()]
)
def test_frames(convert):
    frame = convert(table(**SURE))
    assert named(data().with_preferences(frame, documents=IDS).preferences) == EXPECTED
    renamed = convert(table(**SURE).rename(columns={"preferred": "up", "weight": "w"}))
    found = data().with_preferences(renamed, preferred="up", weight="w", documents=IDS)
    assert named(found.preferences) == EXPECTED
    # A column that is not asked for by its own name does not count.
    found = data().with_preferences(renamed, preferred="up", documents=IDS)
    assert [pair[3] for pair in named(found.preferences)] == [1, 1, 1]
    # Values may stand in for a column.
    own = data().with_preferences(renamed, preferred="up", weight=[1.0, 2.0, 0.5], documents=IDS)
    assert named(own.preferences) == EXPECTED


def test_files(tmp_path):
    frame = table(**SURE)
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    frame.to_parquet(tmp_path / "pairs.parquet")
    (tmp_path / "pairs.csv.gz").write_bytes(gzip.compress((tmp_path / "pairs.csv").read_bytes()))
    for name in ("pairs.csv", "pairs.parquet", "pairs.csv.gz"):
        for path in (tmp_path / name, str(tmp_path / name)):
            found = data().with_preferences(path, documents=IDS)
            assert named(found.preferences) == EXPECTED
    # Values may stand in for a column.
    light = data().with_preferences(path, weight=[0.0, 0.0, 0.0], documents=IDS)
    assert [pair[3] for pair in named(light.preferences)] == [0, 0, 0]


def test_ids_of_csv_are_numbers_if_those_of_the_data_are(tmp_path):
    (tmp_path / "pairs.csv").write_text("query,preferred,other\n7,10,11\n8,-3,12\n")
    rows = rk.Dataset(X[:4], qid=[7, 7, 8, 8])
    found = rows.with_preferences(tmp_path / "pairs.csv", documents=[10, 11, 12, -3]).preferences
    assert found.first.tolist() == [0, 3] and found.other.tolist() == [1, 2]
    texts = rows.with_preferences(tmp_path / "pairs.csv", documents=["10", "11", "12", "-3"])
    assert texts.preferences.first.tolist() == [0, 3]


def test_ids_that_are_unique_need_no_query():
    ids = list("pqrstu")
    found = data().with_preferences(preferred=["p", "s"], other=["r", "q"], documents=ids)
    assert named(found.preferences) == [("ax", "ay", 1, 1), ("by", "bx", 1, 1)]


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_the_data_names_the_documents(tmp_path, kind, binned):
    frame = pd.DataFrame(X, columns=["f", "g"]).assign(qid=QID, doc=IDS)
    path = tmp_path / f"data.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    with pytest.warns(rk.RankiniteWarning):
        rows = rk.read(path, label=None, document="doc", max_bins=255 if binned else None)
    assert rows.feature_names == ["f", "g"]
    assert rows.documents.tolist() == list("xyzxyz")
    assert named(rows.with_preferences(table(**SURE)).preferences) == EXPECTED
    part = rows.select_queries([1])
    assert part.documents.tolist() == list("xyz")
    with pytest.raises(rk.DataError, match=r"has no column 'id'.*pass document="):
        rk.read(path, label=None, document="id")


def test_text_has_no_column_of_documents(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(rk.ParameterError, match="document='doc' names a column"):
        rk.read(tmp_path / "data.txt", document="doc")


def test_select_split_and_folds():
    whole = data().with_preferences(table(**SURE), documents=IDS)
    twice = whole.select_queries([1, 0, 1]).preferences
    assert twice.first.tolist() == [2, 3, 4, 8] and twice.other.tolist() == [0, 5, 3, 6]
    assert twice.weight.tolist() == [2.0, 1.0, 0.5, 2.0]
    assert twice.offsets.tolist() == [0, 1, 3, 4]
    parts = whole.split((0.5, 0.5))
    assert sorted(part.preferences.n_pairs for part in parts) == [1, 2]
    for train, test in whole.folds(2):
        assert train.preferences.n_pairs + test.preferences.n_pairs == 3
    only = data().with_preferences(preferred=[0], other=[2])
    assert only.select_queries([1]).preferences is None
    assert data().preferences is None


def test_from_labels():
    rows = rk.Dataset(X, [2, 0, 1, 1, 1, 5], qid=[1, 1, 1, 2, 2, 3])
    pairs = Preferences.from_labels(rows)
    found = sorted(zip(pairs.first.tolist(), pairs.other.tolist(), strict=True))
    assert found == [(0, 1), (0, 2), (2, 1)]
    assert pairs.probability.tolist() == pairs.weight.tolist() == [1, 1, 1]
    assert pairs.offsets.tolist() == [0, 3, 3, 3]
    assert "3 pairs in 1 queries" in repr(pairs)
    assert rows.with_preferences(pairs).preferences is pairs
    assert "3 pairs" in repr(rows.with_preferences(pairs))
    with pytest.raises(rk.DataError, match="belong to a dataset with other queries"):
        rk.Dataset(X, qid=[1, 1, 2, 2, 2, 3]).with_preferences(pairs)
    with pytest.raises(rk.DataError, match="the labels give no pairs"):
        Preferences.from_labels(rk.Dataset(X, np.ones(6), qid=np.ones(6)))


def test_binned_form_keeps_the_pairs(tmp_path):
    whole = data().with_preferences(table(**SURE), documents=IDS)
    whole.save(tmp_path / "bins")
    again = rk.read(tmp_path / "bins")
    assert named(again.preferences) == EXPECTED
    more = again.with_preferences(preferred=[0], other=[2]).preferences
    assert named(more) == [("ax", "ay", 1, 1)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("other", [3, 4, 5]),
        ("first", [0, 0, 99]),
        ("first", [0, 0, -1]),
        ("probability", [0, 1, np.nan]),
        ("weight", [0, 1, -1.0]),
        ("weight", [1.0]),
    ],
)
def test_damaged_pairs_are_refused(tmp_path, name, values):
    whole = data().with_preferences(table(**SURE), documents=IDS)
    setattr(whole.preferences, name, np.array(values, getattr(whole.preferences, name).dtype))
    whole.save(tmp_path / "bins")
    with pytest.raises(rk.DataError, match="truncated or damaged: its pairs"):
        rk.read(tmp_path / "bins")


WRONG_ROWS = [
    ({"preferred": [0, 0], "other": [2, 6]}, "^pair 1: there is no document 6: .* 0 to 5; pass"),
    ({"preferred": [-1], "other": [0]}, "^pair 0: there is no document -1"),
    ({"preferred": ["x"], "other": ["y"]}, "^pair 0: there is no document 'x'"),
    ({"preferred": [0.5], "other": [0]}, "^pair 0: there is no document 0.5"),
    ({"preferred": [None], "other": [0]}, "^pair 0: there is no document None"),
    ({"preferred": [10**30], "other": [0]}, "^pair 0: there is no document 10000"),
    ({"preferred": [0], "other": [1]}, "0 is in query 'a' and document 1 in query 'b': .* in one"),
    ({"preferred": [0], "other": [0]}, "^pair 0: document 0 is compared with itself"),
    ({"preferred": [0], "other": [2], "query": ["b"]}, "0 is in query 'a', not in query 'b'"),
    ({"preferred": [0], "other": [2], "query": ["c"]}, "^pair 0: the data has no query 'c'"),
    ({"preferred": [0], "other": [2], "probability": [1.5]}, "the probability is 1.5, and must"),
    ({"preferred": [0], "other": [2], "probability": [-0.1]}, "the probability is -0.1"),
    ({"preferred": [0], "other": [2], "probability": [np.nan]}, "the probability is nan"),
    ({"preferred": [0], "other": [2], "weight": [-1]}, "the weight is -1.0, and must be finite"),
    ({"preferred": [0], "other": [2], "weight": [np.inf]}, "the weight is inf"),
    ({"preferred": [0], "other": [2], "weight": [None]}, "the weight is nan"),
    ({"preferred": [0], "other": [2], "weight": ["one"]}, "weight has the type"),
    ({"preferred": [0, 2], "other": [2]}, "other has 1 values, but there are 2 pairs"),
    ({"preferred": [], "other": []}, "there are no pairs"),
    ({"preferred": [0]}, "other is missing: pass a table of pairs, or arrays"),
    ({}, "preferred is missing"),
    ({"pairs": [(0, 1)]}, "pairs must be a path, a pandas, polars or pyarrow table"),
]


@pytest.mark.parametrize(("pairs", "message"), WRONG_ROWS)
def test_wrong_arrays(pairs, message):
    with pytest.raises(rk.DataError, match=message):
        data().with_preferences(**pairs)


WRONG_LINES = [
    ("a,x,w", "the data has no document 'w'"),
    ("c,x,y", "the data has no query 'c'"),
    (",x,y", "the data has no query"),
    ("a,x,x", "document 'x' is compared with itself"),
    ("a,x,y,2", "the probability is 2.0"),
    ("a,x,y,often", "the probability 'often' is not a number"),
    ("a,x,y,nan", "the probability is nan"),
]


@pytest.mark.parametrize(("line", "message"), WRONG_LINES)
def test_wrong_lines_are_named(tmp_path, line, message):
    path = tmp_path / "pairs.csv"
    cells = line if line.count(",") == 3 else f"{line},1"
    path.write_text(f"query,preferred,other,probability\na,x,y,1\n\n{cells}\n")
    with pytest.raises(rk.DataError, match=rf"pairs\.csv, line 4: {message}"):
        data().with_preferences(path, documents=IDS)
    frame = pd.read_csv(path, dtype={"query": str})
    if message.count("number") == 0:
        frame.to_parquet(tmp_path / "pairs.parquet")
        with pytest.raises(rk.DataError, match=rf"pairs\.parquet, row 1: {message}"):
            data().with_preferences(tmp_path / "pairs.parquet", documents=IDS)


def test_wrong_files(tmp_path):
    with pytest.raises(rk.DataError, match=r"pairs\.csv does not exist"):
        data().with_preferences(tmp_path / "pairs.csv")
    (tmp_path / "pairs.txt").write_text("preferred other\n0 2\n")
    with pytest.raises(rk.DataError, match=r"pairs.txt is no table of pairs, but SVMlight text"):
        data().with_preferences(tmp_path / "pairs.txt")
    (tmp_path / "pairs.csv").write_text("better,other\n0,2\n")
    with pytest.raises(
        rk.DataError, match=r"no column 'preferred': its columns are 'better'.*pass"
    ):
        data().with_preferences(tmp_path / "pairs.csv")
    with pytest.raises(rk.DataError, match=r"no column 'sure'.*pass probability="):
        data().with_preferences(tmp_path / "pairs.csv", preferred="better", probability="sure")
    (tmp_path / "pairs.csv").write_text("preferred,other\n")
    with pytest.raises(rk.DataError, match="there are no pairs"):
        data().with_preferences(tmp_path / "pairs.csv")
    (tmp_path / "pairs.parquet").write_text("preferred,other\n")
    with pytest.raises(rk.DataError, match="is not a Parquet file that can be read"):
        data().with_preferences(tmp_path / "pairs.parquet")


def test_wrong_ids():
    with pytest.raises(rk.DataError, match="two documents of query 'a' have the id 'x'"):
        data().with_preferences(preferred=["x"], other=["y"], documents=list("xxxyzz"))
    with pytest.raises(rk.DataError, match="document 'x' is in several queries: add the column"):
        data().with_preferences(preferred=["x"], other=["y"], documents=IDS)
    with pytest.raises(rk.DataError, match="document 'p' is not in query 'b'"):
        data().with_preferences(preferred=["p"], other=["q"], query=["b"], documents=list("pqrstu"))
    with pytest.raises(rk.DataError, match="documents has 2 values, but the data has 6 rows"):
        data().with_preferences(preferred=["x"], other=["y"], documents=["x", "y"])
    with pytest.raises(rk.DataError, match="documents is missing in row 1"):
        data().with_preferences(preferred=["x"], other=["y"], documents=["x", None, *"abcd"])


def test_the_data_stays_as_it_was():
    plain = data()
    again = plain.with_preferences(preferred=[0], other=[2])
    assert plain.preferences is None and plain.documents is None
    assert again.X is plain.X and again.binned() is plain.binned()
