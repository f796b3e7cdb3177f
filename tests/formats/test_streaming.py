"""Data in pieces gives what the same data gives at once: bins, labels, order, keys, models."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankinite as rk
from rankinite.binning import sampling
from rankinite.data import FeatureBins
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.formats.streaming import bin_in_pieces
from rankinite.formats.svmlight_stream import SvmlightSource
from rankinite.order.row_keys import fingerprint, row_keys

MAX_BINS = 6


def assert_same(found, whole, max_bins=MAX_BINS):
    """`found` holds only bins, those of the dataset `whole`, and equals it in all else."""
    assert isinstance(found.features, FeatureBins)
    ours, theirs = found.binned(max_bins), whole.binned(max_bins)
    assert ours.mapper.edges.tobytes() == theirs.mapper.edges.tobytes()
    assert ours.mapper.edge_offsets.tolist() == theirs.mapper.edge_offsets.tolist()
    assert np.array_equal(ours.blocks, theirs.blocks)
    assert ours.blocks.flags.c_contiguous
    assert ours.n_features == theirs.n_features
    for name in ("y", "weight", "query_weight", "offsets", "order", "qids"):
        a, b = getattr(found, name), getattr(whole, name)
        assert (a is None) == (b is None), name
        assert a is None or (a.dtype == b.dtype and a.tolist() == b.tolist()), name
    assert found.feature_names == whole.feature_names
    if whole.y is not None:
        prints = []
        for bins, rows in ((ours, found), (theirs, whole)):
            keys = row_keys(bins, rows.y, rows.weight, rows.offsets)
            prints.append(fingerprint(bins, keys, rows.offsets, rows.y))
        assert prints[0] == prints[1]


@pytest.fixture
def small_sample(monkeypatch):
    """A sample of a few rows, so that small data has more."""
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 8)


def binned_text(path, chunk_bytes, n_features=None, mapper=None):
    source = SvmlightSource(path, n_features, np.dtype(np.float64), chunk_bytes)
    return bin_in_pieces(source, MAX_BINS, mapper)


def lines_of(n_queries=6, n_docs=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(n_queries):
        for _ in range(n_docs):
            pairs = [f"{i}:{rng.normal():.3g}" for i in range(1, 20) if rng.random() < 0.4]
            rows.append(f"{rng.integers(3)} qid:{query} {' '.join(pairs)}")
    return rows


SHUFFLED = [lines_of()[i] for i in np.random.default_rng(1).permutation(18)]
TEXTS = {
    "plain": "\n".join(lines_of()) + "\n",
    "no newline at the end": "\n".join(lines_of()),
    "CRLF": "\r\n".join(lines_of()) + "\r\n",
    "comments and blanks": "# head\n\n" + " # note 3:4\n\n#x\n \t\n".join(lines_of()) + "\n# end",
    "byte order mark": "\ufeff" + "\n".join(lines_of()),
    "queries in any order": "\n".join(SHUFFLED),
    "ids that are text": "\n".join(SHUFFLED).replace("qid:", "qid:q"),
    "one id is text, in the last row": "\n".join([*lines_of(), "1 qid:07 1:1", "1 qid:x 2:1"]),
    "ids that are equal as numbers": "\n".join([*lines_of(), "1 qid:05 1:1", "1 qid:+5 2:1"]),
    "a feature in the last row only": "\n".join([*lines_of(), "1 qid:99 40:2.5"]),
    "a missing value of a late feature": "\n".join([*lines_of(), "1 qid:99 3:nan 33:nan"]),
    "no features at first": "\n".join([*["0 qid:1"] * 9, *["0 qid:2"] * 9, *lines_of()]),
    "one query": "\n".join(lines_of(1, 25)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_in_chunks_that_end_anywhere(name, tmp_path, small_sample):
    path = tmp_path / "data.txt"
    path.write_bytes(TEXTS[name].encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        whole = rk.read(path)
        n_bytes = path.stat().st_size
        for chunk_bytes in [*range(1, 70), 200, n_bytes - 1, n_bytes, n_bytes + 1]:
            assert_same(binned_text(path, chunk_bytes), whole)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(
    st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 9), st.integers(1, 600), st.booleans()
)
def test_random_text_with_samples_of_any_size(
    tmp_path_factory, seed, n_queries, n_docs, size, shuffle
):
    rows = lines_of(n_queries, n_docs, seed)
    if shuffle:
        rows = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    path = tmp_path_factory.mktemp("text") / "data.txt"
    path.write_text("\n".join([*rows, "0 qid:1 1:1"]))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", RankiniteWarning)
        patch.setattr(sampling, "SAMPLE_ROWS", 1 + seed % 60)
        assert_same(binned_text(path, size), rk.read(path))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed_text_through_the_public_name(suffix, tmp_path, small_sample):
    text = "\n".join(lines_of(40)).encode()
    path = tmp_path / f"data.txt{suffix}"
    if suffix == ".gz":  # two members, as from `cat a.gz b.gz`
        path.write_bytes(gzip.compress(text[:300]) + gzip.compress(text[300:]))
    else:
        with pa.output_stream(str(path), compression="zstd" if suffix else None) as stream:
            stream.write(text)
    assert_same(rk.read(path, max_bins=MAX_BINS), rk.read(path))
    if suffix:
        assert_same(binned_text(path, 100), rk.read(path))
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(DataError, match="cannot be decompressed"):
            rk.read(path, max_bins=MAX_BINS)


def test_models_are_equal_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 300)
    train, valid = rk.artificial(n_queries=(60, 20), n_docs=15, n_features=18, random_state=1)
    files = []
    for name, rows in (("train", train), ("valid", valid)):
        rk.write_svmlight(rows, tmp_path / name)
        files.append(tmp_path / name)
    read = rk.read(files[0], max_bins=63)
    model = rk.LambdaMART(n_estimators=5, max_leaf_nodes=7, max_bins=63, row_fraction=0.7)
    model.fit(read, valid=rk.read(files[1], like=read)).save(tmp_path / "pieces.rk")
    model.fit(train, valid=valid).save(tmp_path / "whole.rk")
    assert (tmp_path / "pieces.rk").read_bytes() == (tmp_path / "whole.rk").read_bytes()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "the label 'x' is not a number"),
        ("1 1:1", "expected qid:ID after the label, found '1:1'"),
        ("1 qid:1 1:1 2:z", "the value of '2:z' is not a number"),
        ("1 qid:1 1:1 1:2", "'1:2' gives a feature a second value"),
        ("1 qid:1 0:1", "'0:1' has the feature index 0"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1, 40, 1000])
def test_faults_are_named_by_their_line(line, message, chunk_bytes, tmp_path, small_sample):
    path = tmp_path / "data.txt"
    path.write_text("# one\n" + "1 qid:1 1:1 2:2\n" * 30 + f"\n{line}\n1 qid:1 3:1\nbad line\n")
    with pytest.raises(DataError) as caught:
        binned_text(path, chunk_bytes)
    # A label is looked at in the first pass, so the last line may be found before the other.
    assert str(caught.value).startswith(
        (f"{path}, line 33: {message}", f"{path}, line 35: the label 'bad' is not a number")
    )
    path.write_text("# one\n" + "1 qid:1 1:1 2:2\n" * 30 + f"\n{line}\n1 qid:1 3:1\n")
    with pytest.raises(DataError) as caught:
        binned_text(path, chunk_bytes)
    assert str(caught.value).startswith(f"{path}, line 33: {message}")


def test_text_without_rows_or_features(tmp_path):
    path = tmp_path / "data.txt"
    for text in ("", "\n\n", "# only\n# comments"):
        path.write_text(text)
        with pytest.raises(DataError, match=r"data.txt has no data rows"):
            rk.read(path, max_bins=MAX_BINS)
    path.write_text("1 qid:1\n0 qid:2\n")
    with pytest.raises(DataError, match=r"data.txt has no features"):
        rk.read(path, max_bins=MAX_BINS)


def test_an_absurd_index_is_refused(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 qid:1 1:1\n" * 10_000 + "1 qid:1 2000000000:1\n")
    with pytest.raises(DataError, match="line 10001: the feature index 2000000000 is far above"):
        rk.read(path, max_bins=MAX_BINS)
    with pytest.raises(DataError, match="line 10001: the feature index of '2000000000:1'"):
        rk.read(path, max_bins=MAX_BINS, n_features=3)


def test_bins_like_those_of_other_data(tmp_path, small_sample):
    train, other = tmp_path / "train.txt", tmp_path / "other.txt"
    train.write_text("\n".join(lines_of(9)))
    other.write_text("\n".join(lines_of(5, seed=7)))
    for like in (rk.read(train), rk.read(train, max_bins=MAX_BINS)):
        found = rk.read(other, like=like, max_bins=MAX_BINS)
        assert found.binned(MAX_BINS).mapper.equals(like.binned(MAX_BINS).mapper)
        rk.read(other, n_features=19).save(tmp_path / "saved", MAX_BINS, like)
        saved = rk.read(tmp_path / "saved").binned(MAX_BINS)
        assert np.array_equal(found.binned(MAX_BINS).blocks, saved.blocks)
    other.write_text("1 qid:1 1:1 4:2\n")
    with pytest.warns(RankiniteWarning, match="other.txt has values for the features 1 to 4 only"):
        assert rk.read(other, like=like).n_features == 19
    other.write_text("1 qid:1 1:1\n1 qid:1 20:1\n")
    with pytest.raises(DataError, match="line 2: the feature index of '20:1' is above n_features"):
        rk.read(other, like=like)


def test_the_number_of_bins_is_checked(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(ParameterError, match="max_bins must be a whole number between 2 and 255"):
        rk.read(tmp_path / "data.txt", max_bins=1)
    for wrong in (0, True, "16", 16.0, 10**400):
        with pytest.raises(
            ParameterError, match="max_bins must be a whole number between 2 and 255"
        ):
            rk.read(tmp_path / "data.txt", max_bins=wrong)
        with pytest.raises(
            ParameterError, match="max_bins must be a whole number between 2 and 255"
        ):
            rk.Dataset.from_chunks(lambda: iter([]), max_bins=wrong)
        with pytest.raises(
            ParameterError, match="max_bins must be a whole number between 2 and 255"
        ):
            rk.read(tmp_path / "data.txt").save(tmp_path / "a.bins", max_bins=wrong)


def test_like_is_a_dataset_with_as_many_bins(tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    binned = rk.read(tmp_path / "data.txt", max_bins=8)
    same = rk.read(tmp_path / "data.txt", max_bins=8, like=binned)
    assert same.mapper(255).equals(binned.mapper(255))
    with pytest.raises(DataError, match="binned with max_bins=8"):
        rk.read(tmp_path / "data.txt", max_bins=16, like=binned)
    with pytest.raises(DataError, match="binned with max_bins=8"):
        rk.Dataset.from_chunks(lambda: iter([]), max_bins=16, like=binned)
    with pytest.raises(ParameterError, match="like must be a Dataset, not a str"):
        rk.read(tmp_path / "data.txt", like="train.txt")
    with pytest.raises(ParameterError, match="make_chunks must be a function"):
        rk.Dataset.from_chunks([])


def arrays(n_queries=30, n_docs=4, dtype=np.float32, shuffle=False):
    rng = np.random.default_rng(5)
    n_rows = n_queries * n_docs
    X = rng.normal(size=(n_rows, 17)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = np.repeat(np.arange(n_queries), n_docs)
    if shuffle:
        qid = rng.permutation(qid)
    return X, rng.integers(0, 4, n_rows), qid, rng.random(n_rows)


def chunks(columns, size):
    def make_chunks():
        for first in range(0, len(columns[0]), size):
            yield tuple(column[first : first + size] for column in columns)

    return make_chunks


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_chunks_of_arrays(dtype, shuffle, size, small_sample):
    X, y, qid, weight = arrays(shuffle=shuffle)
    X = np.nan_to_num(4 * X).astype(dtype) if dtype == np.int16 else X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        found = rk.Dataset.from_chunks(chunks((X, y, qid), size), max_bins=MAX_BINS)
        assert_same(found, rk.Dataset(X, y, qid=qid))
        found = rk.Dataset.from_chunks(
            chunks((X, y, qid, weight), size), max_bins=MAX_BINS, query_weight=np.arange(30)
        )
        whole = rk.Dataset(X, y, qid=qid, weight=weight, query_weight=np.arange(30))
        assert_same(found, whole)
        # Many rows that weigh nothing, which no edge must see.
        weight = np.where(weight < 0.5, 0, weight)
        by_id = {q: q % 3 for q in range(30)}
        found = rk.Dataset.from_chunks(
            chunks((X, y, qid, weight), size), max_bins=MAX_BINS, query_weight=by_id
        )
        assert_same(found, rk.Dataset(X, y, qid=qid, weight=weight, query_weight=by_id))


def test_chunks_with_ids_of_other_types_and_without_labels(small_sample):
    X, _, qid, _ = arrays()
    for ids in (qid.astype(np.uint8), qid.astype("U9"), np.array([f"q{q}" for q in qid], object)):

        def make_chunks(ids=ids):
            for first in range(0, len(X), 13):
                yield X[first : first + 13], None, ids[first : first + 13]

        found = rk.Dataset.from_chunks(make_chunks, max_bins=MAX_BINS)
        assert_same(found, rk.Dataset(X, qid=ids))


def test_chunks_of_frames_keep_their_names(small_sample):
    X, y, qid, _ = arrays()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(17)]).assign(y=y, q=qid)

    def make_chunks():
        for first in range(0, len(frame), 50):
            yield frame[first : first + 50], "y", "q"

    found = rk.Dataset.from_chunks(make_chunks, max_bins=MAX_BINS)
    assert_same(found, rk.Dataset(frame, "y", qid="q"))
    assert found.feature_names[0] == "f0"


def test_a_wider_type_in_one_chunk_is_that_of_all(small_sample):
    X, y, qid, _ = arrays(dtype=np.float64)
    narrow = X.astype(np.float32)

    def make_chunks():
        yield narrow[:60], y[:60], qid[:60]
        yield X[60:], y[60:], qid[60:]

    whole = np.concatenate([narrow[:60].astype(np.float64), X[60:]])
    found = rk.Dataset.from_chunks(make_chunks, max_bins=MAX_BINS)
    assert_same(found, rk.Dataset(whole, y, qid=qid))


@pytest.mark.filterwarnings("ignore:the rows of")
def test_mistakes_in_chunks():
    X, y, qid, weight = arrays()

    def fails(message, *given):
        with pytest.raises(DataError, match=message):
            rk.Dataset.from_chunks(lambda: iter(given))

    fails(r"must yield tuples \(X, y, qid\).* it yielded a ndarray", X)
    fails("what make_chunks yields has no data rows")
    fails("qid has 9 values, but the data has 120 rows", (X, y, qid[:9]))
    fails("has 17 features at first and 3 later", (X, y, qid), (X[:, :3], y, qid))
    fails("query ids of type int64 and of type <U4", (X, y, qid), (X, y, np.full(120, "blue")))
    fails("has y for a part of the rows only", (X, y, qid), (X, None, qid))
    fails("has weight for a part of the rows only", (X, y, qid), (X, y, qid, weight))
    fails("y is nan in row 240", (X, y, qid), (X, y, qid), (X, np.full(120, np.nan), qid))
    frame = pd.DataFrame(X)
    fails("the same feature names everywhere", (frame, y, qid), (frame.add_prefix("x"), y, qid))


@pytest.mark.filterwarnings("ignore:the rows of")
@pytest.mark.parametrize("first_time", [1, 3])
def test_chunks_that_change_between_the_passes(first_time):
    X, y, qid, _ = arrays()
    times = iter([first_time, 2])
    with pytest.raises(DataError, match="it must not change in between"):
        rk.Dataset.from_chunks(lambda: iter([(X, y, qid)] * next(times)))


@pytest.mark.parametrize("ids", ["integers", "text", "text at the end"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_tables(ids, suffix, tmp_path, small_sample, monkeypatch):
    from rankinite.formats import tables

    monkeypatch.setattr(tables, "_VALUES_AT_ONCE", 200)
    monkeypatch.setattr(tables, "_BYTES_AT_ONCE", 3000)
    X, y, qid, weight = arrays(shuffle=True)
    if ids != "integers":
        qid = np.array([f"q{q}" if ids == "text" or q == 29 else str(q) for q in np.sort(qid)])
    table = pa.table({f"f{i}": X[:, i] for i in range(17)} | {"label": y, "qid": qid, "w": weight})
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=31)
    else:
        with pa.output_stream(str(path), compression="gzip" if "gz" in suffix else None) as stream:
            pa.csv.write_csv(table, stream)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankiniteWarning)
        for options in ({"weight": "w"}, {"features": ["f3", "f1"]}):
            found = rk.read(path, max_bins=MAX_BINS, **options)
            assert_same(found, rk.read(path, **options))


def test_mistakes_in_tables(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("label,qid,f\n")
    with pytest.raises(DataError, match=r"data.csv has no data rows"):
        rk.read(path, max_bins=MAX_BINS)
    path.write_text("label,qid,f\n1,3,4\nnan,3,5\n")
    with pytest.raises(DataError, match=r"data.csv, line 3: a document of query 3 has no label"):
        rk.read(path, max_bins=MAX_BINS)
    path.write_text("label,qid,f\n1,3,4\n2,,5\n")
    with pytest.raises(DataError, match=r"data.csv, line 3: there is no query id"):
        rk.read(path, max_bins=MAX_BINS)
    path.write_text("label,qid,f\n1,3,x\n")
    with pytest.raises(
        DataError, match=r"data.csv, line 2: the value 'x' of column 'f' is not a number"
    ):
        rk.read(path, max_bins=MAX_BINS)
