"""The readers of text, of tables, and of the binned file."""

from __future__ import annotations

import gzip
import io
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import rankinite as rk
from tests.fuzz.engine import in_file, target
from tests.fuzz.mutations import mutate_array_file, mutate_bytes, mutate_text

TEXT = b"""\
2 qid:1 1:0.5 2:3 4:-1e-3 # one
0 qid:1 2:1 3:nan
1 qid:2 1:7 3:0.25
0 qid:2 4:16777217
0 qid:x1 1:1 # doc = a:b
"""
CSV = b"""\
qid,label,clicks,score,w,doc
1,2,5,0.5,1,a
1,0,,0.25,0.5,b
2,1,3,nan,2,a
2,0,16777217,1e-3,1,b
"""
PAIRS = b"""\
preferred,other,probability,weight,query
a,b,0.75,1,1
b,a,1,2,2
a,b,0,1,2
"""


def read_both_ways(content: bytes, suffix: str, **options) -> None:
    """As values and in pieces; what the second takes, the first must have taken."""
    path = in_file(content, suffix)
    try:
        values = rk.read(path, **options)
    except rk.DataError:
        values = None
    bins = rk.read(path, max_bins=16, **options)
    if values is None:
        raise AssertionError("in pieces it is read, as a whole it is refused")
    assert bins.qids.tolist() == values.qids.tolist()
    assert bins.n_features == values.n_features
    np.testing.assert_array_equal(bins.y, values.y)
    np.testing.assert_array_equal(bins.offsets, values.offsets)


@target("svmlight", lambda: [TEXT, TEXT.replace(b"qid:x1", b"qid:3")], mutate_text)
def svmlight(content: bytes) -> None:
    read_both_ways(content, ".txt")


@target("svmlight.gz", lambda: [gzip.compress(TEXT, mtime=0)], mutate_bytes)
def svmlight_gz(content: bytes) -> None:
    read_both_ways(content, ".txt.gz")


@target("csv", lambda: [CSV, CSV.replace(b"\n1,", b"\nx,")], mutate_text)
def csv(content: bytes) -> None:
    read_both_ways(content, ".csv", weight="w", document="doc")


@cache
def parquet_files() -> list[bytes]:
    table = pa.table(
        {
            "qid": ["1", "1", "y", "y"],
            "label": pa.array([2, 0, 1, 0], pa.int8()),
            "clicks": [1, None, 3, 2**24 + 1],
            "score": [0.1, 0.25, float("nan"), 1e300],
            "flag": [True, None, False, True],
        }
    )
    files = []
    for compression in ("none", "snappy", "zstd"):
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression=compression, row_group_size=3)
        files.append(buffer.getvalue())
    return files


@target("parquet", parquet_files, mutate_bytes)
def parquet(content: bytes) -> None:
    read_both_ways(content, ".parquet")


@target("pairs.csv", lambda: [PAIRS], mutate_text)
def pairs_csv(content: bytes) -> None:
    data = rk.Queries.from_rows([2, 0, 1, 0], qid=[1, 1, 2, 2])
    data.with_preferences(in_file(content, ".csv"), documents=["a", "b", "a", "b"])


@cache
def parquet_pairs() -> list[bytes]:
    table = pa.table({"preferred": [0, 3], "other": [1, 2], "probability": [0.5, 1.0]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="none")
    return [buffer.getvalue()]


@target("pairs.parquet", parquet_pairs, mutate_bytes)
def pairs_parquet(content: bytes) -> None:
    data = rk.Queries.from_rows([2, 0, 1, 0], qid=[1, 1, 2, 2])
    data.with_preferences(in_file(content, ".parquet"))


@cache
def binned_files() -> list[bytes]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (12, 3)).astype(np.float32)
    names = np.repeat(["a", "b", "c"], 4)
    plain = rk.Dataset(X, X[:, 0], qid=np.repeat([5, 6, 7], 4))
    full = rk.Dataset(
        X, X[:, 0], qid=names, weight=np.ones(12), query_weight=[1, 2, 3], feature_names=list("xyz")
    ).with_preferences(preferred=[0, 5], other=[1, 4])
    files = []
    for data in (plain, full):
        path = in_file(b"", ".rkd")
        data.save(path)
        files.append(path.read_bytes())
    return files


@target("binned", binned_files, mutate_array_file)
def binned(content: bytes) -> None:
    """A dataset that loads can be trained on."""
    data = rk.read(in_file(content, ".rkd"))
    rk.LambdaMART(n_estimators=1, min_samples_leaf=1, max_bins=data.mapper(255).max_bins).fit(data)
