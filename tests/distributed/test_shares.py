"""Files that workers read together: whole queries, each on one of them, and the bins of all."""

import gzip
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankinite as rk
from rankinite.binning import sampling
from rankinite.formats import shares
from tests.distributed.cases import SOME, data, file_of
from tests.distributed.test_rows import on_workers, refusal

pytestmark = pytest.mark.filterwarnings("ignore:worker . is to have")


def table(rows):
    columns = {f"f{j}": rows.X[:, j] for j in range(rows.n_features)}
    return pa.table({"qid": np.repeat(rows.qids, rows.query_sizes), "label": rows.y, **columns})


def written(kind, folder):
    """Files of the training data in one of many forms."""
    rows, _ = data()
    rows = rk.Dataset(np.nan_to_num(rows.X), rows.y, qid=np.repeat(rows.qids, rows.query_sizes))
    if kind == "parquet":
        pq.write_table(table(rows), folder / "train.parquet", row_group_size=50)
        return [folder / "train.parquet"]
    if kind == "one row group":
        pq.write_table(table(rows), folder / "train.parquet")
        return [folder / "train.parquet"]
    if kind == "csv":
        table(rows).to_pandas().to_csv(folder / "train.csv", index=False)
        return [folder / "train.csv"]
    if kind == "binned":
        rows.save(folder / "train.bin")
        return [folder / "train.bin"]
    cuts = {"files": [0, 1, 2, 12, 25], "parquet files": [0, 3, 25]}.get(kind, [0, 25])
    paths = []
    for first, last in pairwise(cuts):
        part = rows.select_queries(np.arange(first, last))
        if kind == "parquet files":
            paths.append(folder / f"{first}.parquet")
            pq.write_table(table(part), paths[-1], row_group_size=7)
            continue
        paths.append(folder / f"{first}.txt")
        rk.write_svmlight(part, paths[-1])
        if kind == "gz":
            text = paths[-1].read_bytes()
            paths[-1] = folder / "train.txt.gz"
            paths[-1].write_bytes(gzip.compress(text))
        if kind == "comments":
            lines = paths[-1].read_bytes().splitlines()
            text = b"\xef\xbb\xbf# a comment\n\n" + b"\r\n".join(lines) + b"\n# qid:9 the end"
            paths[-1].write_bytes(text)
    return paths


KINDS = [
    *("text", "files", "comments", "gz", "csv"),
    *("parquet", "one row group", "parquet files", "binned"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_query_is_on_one_worker_and_the_model_is_the_same(kind, tmp_path):
    paths = written(kind, tmp_path)
    max_bins = None if kind == "binned" else 31
    whole = rk.read(paths, max_bins=max_bins)
    model = rk.LambdaMART(max_bins=max_bins or 255, **SOME)
    expected = file_of(model.fit(whole), tmp_path)
    for size in (2, 3, 8):

        def work(communicator):
            share = rk.read(paths, max_bins=max_bins, communicator=communicator)
            fitted = rk.LambdaMART(max_bins=max_bins or 255, **SOME)
            return share, fitted.fit(share, communicator=communicator)

        found = on_workers(size, work)
        ids = np.concatenate([share.qids for share, _ in found])
        assert sorted(ids.tolist()) == sorted(whole.qids.tolist())
        assert sum(share.n_rows for share, _ in found) == whole.n_rows
        for share, fitted in found:
            assert (share.n_features, share.feature_names) == (20, whole.feature_names)
            assert file_of(fitted, tmp_path) == expected


@pytest.mark.parametrize("kind", ["text", "files", "gz", "csv", "parquet"])
def test_values_are_those_of_the_file(kind, tmp_path):
    paths = written(kind, tmp_path)
    whole = rk.read(paths)
    for share in on_workers(3, lambda c: rk.read(paths, communicator=c)):
        assert share.X.dtype == whole.X.dtype and share.n_rows
        for query, qid in enumerate(share.qids):
            there = int(np.flatnonzero(whole.qids == qid)[0])
            own = slice(*share.offsets[query : query + 2])
            rows = slice(*whole.offsets[there : there + 2])
            np.testing.assert_array_equal(share.X[own], whole.X[rows])
            np.testing.assert_array_equal(share.y[own], whole.y[rows])


def test_shares_are_even_and_no_more_is_read(tmp_path, monkeypatch):
    (path,) = written("text", tmp_path)
    read = []
    original = shares.queries_in_text

    def noting(path, span):
        read.append(original(path, span))
        return read[-1]

    monkeypatch.setattr(shares, "queries_in_text", noting)
    on_workers(4, lambda c: rk.read(path, max_bins=15, communicator=c))
    read.sort()
    size = path.stat().st_size
    assert read[0][0] == 0 and read[-1][1] == size
    assert all(one[1] == other[0] for one, other in pairwise(read))
    assert all(last - first < 0.4 * size for first, last in read)


def test_the_sample_of_edges_is_that_of_all_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 100)
    paths = written("files", tmp_path)
    expected = rk.read(paths, max_bins=31).mapper(31)
    for share in on_workers(3, lambda c: rk.read(paths, max_bins=31, communicator=c)):
        assert share.mapper(31).equals(expected)


def test_the_last_features_and_text_ids_may_be_in_one_share_only(tmp_path):
    path = tmp_path / "train.txt"
    lines = [f"{k % 3} qid:0{k // 4} 1:{k % 7} 2:{k % 5}" for k in range(40)]
    lines[-1] += " 6:1.5"
    lines[0:4] = [line.replace("qid:00", "qid:first") for line in lines[0:4]]
    path.write_text("\n".join(lines))
    whole = rk.read(path, max_bins=15)
    for read in ({"max_bins": 15}, {}):
        found = on_workers(4, lambda c, read=read: rk.read(path, communicator=c, **read))
        assert [share.n_features for share in found] == [6] * 4
        ids = [qid for share in found for qid in share.qids]
        assert ids == list(whole.qids) and ids[:2] == ["first", "01"]


def test_what_cannot_be_shared_is_refused(tmp_path):
    path = tmp_path / "train.txt"
    ids = [1, 2, 3, 4, 5, 6, 7, 1]
    path.write_text("".join(f"{k % 2} qid:{qid} 1:{k}\n" * 3 for k, qid in enumerate(ids)))
    message = refusal(2, lambda c: rk.read(path, communicator=c))
    assert "query 1 of" in message and "the rows of a query must lie together" in message
    assert "no file that every worker can read" in refusal(
        2, lambda c: rk.read("-", communicator=c)
    )
    message = refusal(2, lambda c: rk.read(tmp_path / "none.txt", communicator=c))
    assert "none.txt does not exist" in message
    path.write_text("# nothing\n")
    assert "has no data rows" in refusal(2, lambda c: rk.read(path, communicator=c))
    assert "has no data rows" in refusal(2, lambda c: rk.read(path, max_bins=9, communicator=c))


def test_an_error_tells_the_line_of_the_whole_file(tmp_path):
    (path,) = written("text", tmp_path)
    lines = path.read_text().splitlines()
    lines[-3] = lines[-3].replace(" 7:", " 7:x")
    path.write_text("\n".join(lines))
    for options in ({}, {"max_bins": 9}):
        message = refusal(3, lambda c, o=options: rk.read(path, communicator=c, **o))
        assert f"line {len(lines) - 2}:" in message
