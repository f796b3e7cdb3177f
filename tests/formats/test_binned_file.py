import itertools
import json
import struct

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import rankinite as rk
from rankinite.data import FeatureBins
from rankinite.errors import DataError, RankiniteWarning
from rankinite.formats import binned_file
from rankinite.formats.binned_file import load_binned
from tests.damage import damaged_files, header_length, header_of


def make(qid=(4, 4, 4, -2, -2, 9), **options):
    X = np.random.default_rng(0).normal(size=(6, 20))
    X[2, 3] = np.nan
    return rk.Dataset(X, [0, 1, 2, 0, 1, 0], qid=list(qid), **options)


def assert_same(loaded, data, max_bins=255):
    assert isinstance(loaded.features, FeatureBins)
    bins, expected = loaded.binned(max_bins), data.binned(max_bins)
    assert np.array_equal(bins.blocks, expected.blocks)
    assert bins.mapper.equals(expected.mapper)
    assert (bins.n_features, bins.mapper.max_bins) == (expected.n_features, max_bins)
    for name in ("y", "offsets", "weight", "query_weight", "order"):
        mine, theirs = getattr(loaded, name), getattr(data, name)
        assert (mine is None) == (theirs is None), name
        assert mine is None or (np.array_equal(mine, theirs) and mine.dtype == theirs.dtype), name
    assert list(loaded.qids) == list(data.qids)
    assert loaded.feature_names == data.feature_names
    assert (loaded.n_rows, loaded.n_features) == (data.n_rows, data.n_features)


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "a.bins"
    data = make()
    data.save(path)
    assert_same(rk.read(path), data)
    assert rk.read(path).qids.dtype == np.int64


def test_everything_a_dataset_can_hold(tmp_path):
    path = tmp_path / "a.bins"
    with pytest.warns(RankiniteWarning):
        data = make(
            ["a", "b", "a", "", "b", "wörld"],
            weight=range(6),
            query_weight=[1, 2, 3, 4],
            feature_names=[f"f{i}\n" for i in range(20)],
        )
    data.save(path, max_bins=16)
    loaded = rk.read(path)
    assert_same(loaded, data, 16)
    assert loaded.in_caller_order(loaded.y).tolist() == [0, 1, 2, 0, 1, 0]
    again = tmp_path / "again"
    loaded.save(again, max_bins=16)
    assert again.read_bytes() == path.read_bytes()


def test_data_without_labels(tmp_path):
    data = rk.Dataset(np.eye(3), qid=[1, 1, 1])
    data.save(tmp_path / "a")
    assert rk.read(tmp_path / "a").y is None


def test_bins_stay_in_the_file(tmp_path):
    path = tmp_path / "a.bins"
    make().save(path)
    before = path.read_bytes()
    blocks = rk.read(path).binned().blocks
    assert isinstance(blocks.base, np.memmap)
    assert type(blocks) is np.ndarray
    blocks[0, 0, 0] += 1
    assert path.read_bytes() == before


def test_the_file_is_one_that_safetensors_reads(tmp_path):
    path = tmp_path / "a.bins"
    data = make(weight=range(6))
    data = data.with_preferences(preferred=[0, 1, 3], other=[1, 2, 4])
    data.save(path)
    with safe_open(path, "numpy") as file:
        assert file.metadata()["format"] == "rankinite-dataset"
        assert file.metadata()["version"] == "1"
        assert np.array_equal(file.get_tensor("blocks"), data.binned().blocks)
        for name in ("y", "weight", "offsets", "qids"):
            assert file.get_tensor(name).tobytes() == getattr(data, name).tobytes()
        assert np.array_equal(file.get_tensor("pair_first"), data.preferences.first)


def test_a_file_that_safetensors_wrote_is_loaded(tmp_path):
    path = tmp_path / "a.bins"
    data = make(weight=range(6), feature_names=[f"f{i}" for i in range(20)])
    data.save(path)
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        save_file(arrays, tmp_path / "b", metadata=file.metadata())
    assert_same(rk.read(tmp_path / "b"), data)


def test_another_number_of_bins_needs_the_values(tmp_path):
    path = tmp_path / "a.bins"
    make().save(path, max_bins=8)
    loaded = rk.read(path)
    with pytest.raises(DataError, match=r"was binned with max_bins=8 .* binned with max_bins=255"):
        loaded.binned()
    with pytest.raises(DataError, match="binned with max_bins=8"):
        loaded.save(tmp_path / "b", max_bins=255)
    loaded.save(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == path.read_bytes()
    assert repr(loaded).endswith("labels 0: 3, 1: 2, 2: 1, binned with max_bins=8)")


def test_bins_like_those_of_another_dataset(tmp_path):
    train, test = rk.artificial(n_queries=(20, 10), n_docs=5, n_features=7)
    test.save(tmp_path / "own", max_bins=8)
    test.save(tmp_path / "like", max_bins=8, like=train)
    own, like = (rk.read(tmp_path / name).binned(8) for name in ("own", "like"))
    edges = train.binned(8).mapper
    assert like.mapper.equals(edges) and not own.mapper.equals(edges)
    for feature in range(7):
        expected = np.searchsorted(edges.feature_edges(feature), test.X[:, feature])
        assert np.array_equal(like.column(feature), expected)
    with pytest.raises(DataError, match="holds only bins, so it cannot be binned like another"):
        rk.read(tmp_path / "own").save(tmp_path / "b", max_bins=8, like=train)
    rk.read(tmp_path / "like").save(tmp_path / "again", max_bins=8, like=train)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "like").read_bytes()
    saved_train = tmp_path / "train"
    train.save(saved_train, max_bins=8)
    test.save(tmp_path / "like2", max_bins=8, like=rk.read(saved_train))
    assert (tmp_path / "like2").read_bytes() == (tmp_path / "like").read_bytes()


def test_queries_of_a_loaded_dataset_can_be_selected(tmp_path):
    data = make()
    data.save(tmp_path / "a")
    part = rk.read(tmp_path / "a").select_queries([2, 0])
    assert part.qids.tolist() == [9, 4]
    assert np.array_equal(part.binned().blocks, data.binned().blocks[:, [5, 0, 1, 2]])


@pytest.mark.parametrize(
    ("qid", "kind"),
    [
        ([0.5] * 6, "float"),
        ([b"a"] * 6, "bytes"),
        ([1, 1, 1, "a", "a", "a"], "int, str"),
        ([2**63] * 6, "int"),
    ],
)
def test_ids_that_cannot_be_saved(tmp_path, qid, kind):
    with pytest.raises(DataError, match=f"integers of 64 bits to be saved, .* of type {kind}:"):
        make(qid).save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    make().save(path)
    before = path.read_bytes()

    def fail(file, *_):
        file.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(binned_file, "write_arrays", fail)
    with pytest.raises(DataError, match="a cannot be written: No space left on device"):
        make().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match=r"nowhere/a cannot be written: No such file"):
        make().save(tmp_path / "nowhere" / "a")


def test_any_truncation_is_noticed(tmp_path):
    path = tmp_path / "a"
    make().save(path)
    whole = path.read_bytes()
    for length in [0, 5, 8, 9, 20, 200, *range(300, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            rk.read(path)
    path.write_bytes(whole[:200])
    with pytest.raises(DataError, match="truncated or damaged: it ends inside its header"):
        rk.read(path)
    for other in (whole[:-1], whole + b"x"):
        path.write_bytes(other)
        with pytest.raises(DataError, match="its size is not what its header says"):
            rk.read(path)


def rewritten(path, change):
    """The file with its header, and its arrays, as `change` leaves them."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


def set_shape(name, shape):
    return lambda header: header[name].update(shape=shape)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["__metadata__"].update(format="other"), "safetensors file, but not a dataset"),
        (lambda h: h.pop("__metadata__"), "safetensors file, but not a dataset"),
        (lambda h: h["__metadata__"].update(version="9"), "is a dataset of version 9, and this"),
        (lambda h: h["__metadata__"].update(max_bins="x"), "lacks n_features or max_bins"),
        (lambda h: h["__metadata__"].update(n_features="99"), "do not fit 99 features"),
        (lambda h: h["__metadata__"].update(feature_names="["), "feature names"),
        (lambda h: h["__metadata__"].update(feature_names='["a"]'), "feature names"),
        (lambda h: h["__metadata__"].update(feature_names="[" * 10**5), "feature names"),
        (lambda h: h["__metadata__"].update(feature_names="[1" + ",1" * 19 + "]"), "feature names"),
        (lambda h: h.pop("offsets"), "its arrays do not lie one after the other"),
        (lambda h: h["y"].update(dtype="I64"), "the array 'y' has the wrong type or size"),
        (set_shape("y", [5]), "the array 'y' has the wrong type or size"),
        (set_shape("y", [-6]), "the array 'y' has the wrong type or size"),
        (set_shape("y", [3, 2]), r"the array 'y' has the wrong shape \(3, 2\)"),
        (set_shape("blocks", [1, 12, 16]), r"bins of shape \(1, 12, 16\) do not fit 20 features"),
        (lambda h: h.update(y=5), "its header is not that of a safetensors file"),
        (lambda h: h["y"].update(data_offsets=["a", "b"]), "header is not that of a safetensors"),
        (lambda h: h["__metadata__"].update(max_bins="256"), "20 features and max_bins=256"),
    ],
)
def test_damaged_headers(tmp_path, change, message):
    path = tmp_path / "a"
    make().save(path)
    rewritten(path, change)
    with pytest.raises(DataError, match=message):
        rk.read(path)


def held(path):
    """All arrays of a saved dataset by name."""
    dataset = rk.read(path)
    bins = dataset.binned(int(header_of(path.read_bytes())["__metadata__"]["max_bins"]))
    arrays = {name: getattr(dataset, name) for name in ("y", "offsets", "weight", "order", "qids")}
    if dataset.preferences is not None:
        pairs = dataset.preferences
        arrays |= {name: getattr(pairs, name) for name in ("first", "other", "probability")}
    arrays |= {"blocks": bins.blocks, "edges": bins.mapper.edges}
    return {name: array.tolist() for name, array in arrays.items() if array is not None}


def places_of(content):
    entries = header_of(content).items()
    return {(name, *entry["data_offsets"]) for name, entry in entries if name != "__metadata__"}


def test_no_damage_escapes_as_another_error(tmp_path):
    """What is read has the arrays that were saved, unless they or their places were changed."""
    path = tmp_path / "a"
    data = make(["a"] * 3 + ["b"] * 3, feature_names=list("abcdefghijklmnopqrst"), weight=range(6))
    data = data.with_preferences(preferred=[0, 1, 3], other=[1, 2, 4])
    data.save(path)
    whole = path.read_bytes()
    expected = held(path)
    optional = {"y", "weight", "first", "other", "probability"}
    data_start = 8 + header_length(whole)
    n_read = n_refused = 0
    for changed in damaged_files(whole):
        path.write_bytes(changed)
        try:
            loaded = rk.read(path)
        except DataError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            n_refused += 1
            continue
        n_read += 1
        assert (loaded.n_rows, loaded.n_features, loaded.n_queries) == (6, 20, 2)
        if changed.endswith(whole[data_start:]) and places_of(changed) <= places_of(whole):
            found = held(path)
            assert all(expected[name] == array for name, array in found.items())
            assert expected.keys() - found.keys() <= optional
    assert n_read >= 10 and n_refused >= 500


def test_a_file_that_vanishes_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="a cannot be read: No such file"):
        load_binned(tmp_path / "a")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        load_binned(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="truncated or damaged: it is empty; save the dataset"):
        load_binned(tmp_path / "empty")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("offsets", None, "the array 'offsets' is not in it"),
        ("offsets", [0, 3, 3, 6], "the offsets of the queries do not fit the rows"),
        ("offsets", [0, 3, 5, 7], "the offsets of the queries do not fit the rows"),
        ("qids", [4, 5], "it has 2 query ids for 3 queries"),
        ("order", [0, 1, 2, 3, 4, 4], "the order of the rows is not a permutation"),
        ("weight", [1.0, 2.0], "the array 'weight' has 2 values, not 6"),
        ("edge_offsets", [0, 1], "the edges of the bins do not fit the features"),
        ("qids", [4, 4, 9], "two of its queries have the same id"),
        ("y", [0.0, 1, 2, np.nan, 0, 0], "the array 'y' has a value that is NaN or infinite"),
        ("weight", [1.0, 1, 1, 1, 1, np.inf], "'weight' has a value that is NaN or infinite"),
        ("weight", [1.0, 1, 1, 1, 1, -1], "the array 'weight' has a negative weight"),
        ("query_weight", [1.0, np.nan, 1], "'query_weight' has a value that is NaN or infinite"),
        ("query_weight", [1.0, -1e-9, 1], "the array 'query_weight' has a negative weight"),
        ("qid_offsets", [0, 9, 1, 6], "the places of its query ids do not fit their text"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, name, values, message):
    path = tmp_path / "a"
    make().save(path)
    with safe_open(path, "numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    if values is None:
        del arrays[name]
    else:
        arrays[name] = np.array(values)
    if name == "qid_offsets":
        arrays["qid_bytes"] = np.frombuffer(b"abcdef", np.uint8)
        del arrays["qids"]
    save_file(arrays, path, metadata=metadata)
    with pytest.raises(DataError, match=message):
        rk.read(path)


def changed(path, max_bins, **arrays):
    """A saved dataset of 20 features, with other arrays; `max_bins` is what the file tells."""
    with safe_open(path, "numpy") as file:
        held = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    save_file(held | arrays, path, metadata=metadata | {"max_bins": str(max_bins)})


def edges_right(edges, offsets, max_bins):
    """The twin of the check of edges."""
    for first, last in itertools.pairwise(offsets):
        own = edges[first:last]
        ascending = all(a < b for a, b in itertools.pairwise(own))
        if len(own) >= max_bins or not ascending or any(edge != edge for edge in own):
            return False
    return True


@pytest.mark.parametrize("seed", range(30))
def test_edges_against_their_twin(tmp_path, seed):
    path = tmp_path / "a"
    make().save(path)
    rng = np.random.default_rng(seed)
    max_bins = int(rng.choice([4, 255]))
    counts = rng.integers(0, 4, 20)
    if seed % 5 == 0:
        counts[rng.integers(20)] = rng.choice([4, 255, 300])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    edges = np.concatenate([np.sort(rng.normal(size=count)) for count in counts])
    for _ in range(seed % 3):
        edges[rng.integers(len(edges))] = rng.choice([np.nan, np.inf, -np.inf, 0.0])
    blocks = np.zeros((2, 6, 16), np.uint8)
    changed(path, max_bins, edges=edges, edge_offsets=offsets, blocks=blocks)
    if edges_right(edges.tolist(), offsets.tolist(), max_bins):
        assert rk.read(path).binned(max_bins).mapper.n_bins.tolist() == (counts + 1).tolist()
    else:
        with pytest.raises(DataError, match=r"edges of a feature do not ascend|too many for max_"):
            rk.read(path)


@pytest.mark.parametrize("seed", range(20))
def test_bins_against_their_twin(tmp_path, seed):
    """Each bin is one that its feature has, or that of missing values; unused places hold 0."""
    path = tmp_path / "a"
    make().save(path)
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(1, 6, 20)
    edges = np.concatenate([np.arange(n - 1.0) for n in n_bins])
    limits = np.append(n_bins, np.ones(12, np.int64)).reshape(2, 1, 16)
    blocks = (rng.integers(0, 255, (2, 6, 16)) % limits).astype(np.uint8)
    place = tuple(rng.integers(0, (2, 6, 16)))
    if seed % 2:
        blocks[place] = rng.integers(0, 8) if seed % 4 == 1 else 255
    offsets = np.concatenate([[0], np.cumsum(n_bins - 1)])
    changed(path, 255, edges=edges, edge_offsets=offsets, blocks=blocks)
    loaded = rk.read(path)  # The bins stay in the file until they are used.
    if all(b < n or b == 255 for b, n in np.broadcast(blocks, limits)):
        assert np.array_equal(loaded.binned().blocks, blocks)
        return
    first = 16 * place[0]
    message = f"a feature from {first} to {min(first + 15, 19)} has a bin above its last edge"
    for use in (
        loaded.binned,
        lambda: loaded.select_queries([0]),
        lambda: rk.LambdaMART(n_estimators=1, min_samples_leaf=1).fit(loaded),
        lambda: rk.LambdaMART(n_estimators=1, min_samples_leaf=1).fit(make()).predict(loaded),
    ):
        with pytest.raises(DataError, match=message):
            use()


def test_a_query_twice_cannot_be_saved(tmp_path):
    with pytest.raises(DataError, match="two queries have the same id, as in a sample with rep"):
        make().select_queries([0, 1, 0]).save(tmp_path / "a")
