"""Arrays in files: held against the safetensors library, both ways, and against hostile files."""

import io
import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load as library_load
from safetensors.numpy import save as library_save

from rankinite.errors import DataError
from rankinite.formats.array_file import (
    DTYPES,
    is_array_file,
    map_arrays,
    read_arrays,
    write_arrays,
)
from tests.damage import damaged_files, header_of, with_header

SHAPES = [(), (0,), (1,), (7,), (3, 0, 2), (2, 3), (1, 2, 1, 3)]


def every_array():
    rng = np.random.default_rng(0)
    arrays = {}
    for code, dtype in DTYPES.items():
        for shape in SHAPES:
            raw = rng.integers(0, 2, size=(*shape, dtype.itemsize), dtype=np.uint8)
            arrays[f"{code} ü\n {shape}"] = raw.view(dtype).reshape(shape)
    return arrays


def in_order_of_the_library(arrays):
    codes = list(DTYPES.values())
    names = sorted(arrays, key=lambda name: (codes.index(arrays[name].dtype), name))
    return {name: arrays[name] for name in names}


def written(arrays, metadata):
    file = io.BytesIO()
    write_arrays(file, arrays, metadata)
    return file.getvalue()


def damaged(reason):
    return DataError(f"damaged: {reason}")


def assert_same(found, arrays):
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name


def test_the_library_reads_what_we_write_and_would_write_the_same_bytes():
    arrays = every_array()
    metadata = {"a key": 'text, "ü" \\ \x01\x7f\n\U0001f600'}
    content = written(in_order_of_the_library(arrays), metadata)
    assert_same(library_load(content), arrays)
    assert content == library_save(arrays, metadata=metadata)
    assert content == written(in_order_of_the_library(arrays), metadata)
    assert written({}, {"a": "b"}) == library_save({}, metadata={"a": "b"})


@pytest.mark.parametrize("way", [map_arrays, read_arrays])
def test_we_read_what_the_library_writes(tmp_path, way):
    path = tmp_path / "a"
    arrays = every_array()
    metadata = {"one": "ü\n", "two": "", "": "{}"}
    path.write_bytes(library_save(arrays, metadata=metadata))
    assert is_array_file(path)
    found, text = way(path, damaged)
    assert_same(found, arrays)
    assert text == metadata
    for array in found.values():
        assert type(array) is np.ndarray
        assert array.flags.writeable and array.flags.aligned and array.flags.c_contiguous
    for others in ({}, {"x": np.array(2.0)}, {"x": np.empty((0, 5), np.int8)}):
        path.write_bytes(library_save(others))
        found, text = way(path, damaged)
        assert_same(found, others)
        assert text == {}


def test_arrays_of_one_width_keep_their_order():
    arrays = {"b": np.ones(1), "z": np.ones(2, np.int8), "a": np.ones(1, np.int64)}
    content = written(arrays, {})
    assert list(header_of(content)) == ["__metadata__", "b", "a", "z"]


def test_arrays_that_are_not_contiguous():
    grid = np.arange(12.0).reshape(3, 4)
    arrays = {"fortran": np.asfortranarray(grid), "strided": grid[::2, ::-1], "turned": grid.T}
    assert_same(library_load(written(arrays, {})), arrays)


def test_mapped_arrays_stay_in_the_file_and_read_ones_do_not(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(written({"x": np.arange(3.0)}, {}))
    before = path.read_bytes()
    mapped = map_arrays(path, damaged)[0]["x"]
    assert isinstance(mapped.base, np.memmap)
    mapped[0] = 7
    assert path.read_bytes() == before
    assert read_arrays(path, damaged)[0]["x"].base is None


@pytest.mark.parametrize("way", [map_arrays, read_arrays])
def test_arrays_that_begin_at_any_byte_come_out_aligned(tmp_path, way):
    path = tmp_path / "a"
    arrays = {"flag": np.array([True]), "x": np.array([1.5, np.nan]), "y": np.array(3, np.int32)}
    content = written(arrays, {})
    data = arrays["flag"].tobytes() + arrays["x"].tobytes() + arrays["y"].tobytes()
    header = header_of(content)
    header["flag"]["data_offsets"] = [0, 1]
    header["x"]["data_offsets"] = [1, 17]
    header["y"]["data_offsets"] = [17, 21]
    text = json.dumps(header).encode()
    for padding in range(8):
        padded = text + b" " * padding
        path.write_bytes(struct.pack("<Q", len(padded)) + padded + data)
        found, _ = way(path, damaged)
        assert_same(found, arrays)
        assert all(array.flags.aligned and array.flags.writeable for array in found.values())


def entry(dtype="F64", shape=(2,), data_offsets=(0, 16)):
    return {"dtype": dtype, "shape": shape, "data_offsets": data_offsets}


NOT_ONE = "its header is not that of a safetensors file"
SIZE = "the array 'x' has the wrong type or size"
APART = "its arrays do not lie one after the other"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("", NOT_ONE),
        ("[]", NOT_ONE),
        (" {}", NOT_ONE),
        ('{"x"', NOT_ONE),
        ('{"x": NaN}', NOT_ONE),
        (b'{"\xff": 1}', NOT_ONE),
        ('{"x":' + "[" * 10**6 + "]" * 10**6 + "}", NOT_ONE),
        ('{"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, ' + "9" * 5000 + "]}}", NOT_ONE),
        (f'{{"x": {json.dumps(entry())}, "x": {json.dumps(entry())}}}', NOT_ONE),
        ('{"x": {"dtype": "I8", "dtype": "I8", "shape": [16], "data_offsets": [0, 16]}}', NOT_ONE),
        ('{"__metadata__": {"a": "b", "a": "b"}}', NOT_ONE),
        ({"__metadata__": {"a": 1}, "x": entry()}, NOT_ONE),
        ({"__metadata__": ["a"], "x": entry()}, NOT_ONE),
        ({"__metadata__": None, "x": entry()}, NOT_ONE),
        ({"__metadata__": {"a": "\ud800"}, "x": entry()}, NOT_ONE),
        ({"\udc00": entry()}, NOT_ONE),
        ({"x": [1, 2]}, NOT_ONE),
        ({"x": {"dtype": "F64", "shape": [2]}}, NOT_ONE),
        ({"x": entry(shape=2)}, NOT_ONE),
        ({"x": entry(shape="2")}, NOT_ONE),
        ({"x": entry(shape=[2.0])}, NOT_ONE),
        ({"x": entry(shape=[True, 2])}, NOT_ONE),
        ({"x": entry(data_offsets=[0])}, NOT_ONE),
        ({"x": entry(data_offsets=[0, 16, 16])}, NOT_ONE),
        ({"x": entry(data_offsets=["0", "16"])}, NOT_ONE),
        ({"x": entry(data_offsets={"0": 0, "16": 16})}, NOT_ONE),
        ({"x": entry("BF16", [8])}, "the array 'x' is of the unknown type 'BF16'"),
        ({"x": entry(["F64"])}, r"the array 'x' is of the unknown type \"\['F64'\]\""),
        ({"x": entry("f64")}, "the array 'x' is of the unknown type 'f64'"),
        ({"x": entry(shape=[3])}, SIZE),
        ({"x": entry(shape=[])}, SIZE),
        ({"x": entry(shape=[-2])}, SIZE),
        ({"x": entry(shape=[-1, -2])}, SIZE),
        ({"x": entry("F32")}, SIZE),
        ({"x": entry(shape=[2**61 + 2])}, SIZE),
        ({"x": entry(shape=[2**32, 2**32, 2])}, SIZE),
        ({"x": entry(shape=[2] + [1] * 64)}, SIZE),
        ({"x": entry(shape=[0, 2**63], data_offsets=[0, 0]), "y": entry()}, SIZE),
        ({"x": entry(shape=[2**40, 2**40, 0], data_offsets=[0, 0]), "y": entry()}, SIZE),
        ({"x": entry(data_offsets=[16, 0])}, SIZE),
        ({"x": entry(data_offsets=[-16, 0])}, APART),
        ({"x": entry(data_offsets=[8, 24])}, APART),
        ({"x": entry(), "y": entry()}, APART),
        ({"x": entry(shape=[1], data_offsets=[0, 8]), "y": entry(data_offsets=[0, 16])}, APART),
        ({"x": entry("I8", [7], [0, 7]), "y": entry("I8", [8], [8, 16])}, APART),
        ({"x": entry(shape=[0], data_offsets=[99, 99]), "y": entry()}, APART),
        ({"x": entry(), "y": entry(data_offsets=[16, 32])}, "its size is not what its header says"),
        ({"x": entry(shape=[1], data_offsets=[0, 8])}, "its size is not what its header says"),
        ({}, "its size is not what its header says"),
    ],
)
def test_hostile_headers(tmp_path, header, reason):
    path = tmp_path / "a"
    text = json.dumps(header) if isinstance(header, dict) else header
    path.write_bytes(with_header(written({"x": np.arange(2.0)}, {}), text))
    for way in (map_arrays, read_arrays):
        with pytest.raises(DataError, match=f"^damaged: {reason}$"):
            way(path, damaged)


def test_lengths_that_are_wrong(tmp_path):
    path = tmp_path / "a"
    content = written({"x": np.arange(2.0)}, {})
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"empty|inside its header|its size is not what"):
            map_arrays(path, damaged)
    for length in (len(content) - 7, 2**63 - 1, 2**64 - 8, 2**64 - 1):
        path.write_bytes(struct.pack("<Q", length) + content[8:])
        with pytest.raises(DataError, match="it ends inside its header"):
            map_arrays(path, damaged)
    for size in (0, 1, 8, 9):
        path.write_bytes(content[:size])
        assert is_array_file(path) == (size == 9)
    path.write_bytes(struct.pack("<Q", 100_000_001) + content[8:])
    assert not is_array_file(path)


def test_paths_that_cannot_be_read_are_told_by_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        map_arrays(tmp_path / "missing", damaged)
    with pytest.raises(IsADirectoryError):
        map_arrays(tmp_path, damaged)


def test_whatever_is_read_of_a_damaged_file_the_library_reads_too(tmp_path):
    """We may refuse what it takes, such as an array named twice; never the other way round."""
    path = tmp_path / "a"
    arrays = {"a": np.arange(3.0), "b": np.ones((2, 2), np.int8), "c": np.arange(4, dtype="i8")}
    n_read = n_refused = 0
    for content in damaged_files(written(arrays, {"format": "x"})):
        path.write_bytes(content)
        try:
            found, _ = read_arrays(path, damaged)
        except DataError:
            n_refused += 1
            continue
        n_read += 1
        assert_same(found, library_load(content))
    assert n_read >= 10 and n_refused >= 500
