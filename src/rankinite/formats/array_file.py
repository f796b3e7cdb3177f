"""Named arrays and text in one file, in the safetensors format.

The length of a header (8 bytes, little-endian), the header in JSON, then the bytes of the arrays,
one after the other without a gap. ``__metadata__`` in the header is text by name; every other entry
says the type, the shape and the place of an array. Nothing that a file says is used before it has
been checked: files come from elsewhere.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rankinite.errors import RankiniteError

# The types of arrays by their names in files, in the order in which the safetensors library
# writes arrays: wide ones first.
DTYPES: dict[str, np.dtype] = {
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F64": np.dtype(np.float64),
    "C64": np.dtype(np.complex64),
    "F32": np.dtype(np.float32),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "F16": np.dtype(np.float16),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_CODES = {dtype: code for code, dtype in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # bytes, the limit of the safetensors library
_MOST_DIMENSIONS = 64  # of an array of numpy

Arrays = dict[str, np.ndarray]
Metadata = dict[str, str]
# From the reason why a file is not what it should be to the error that says so.
Damaged = Callable[[str], RankiniteError]


class _Place(NamedTuple):
    """What a header says of an array; its bytes are those from start to end after the header."""

    start: int
    end: int
    code: str
    shape: tuple[int, ...]


def write_arrays(file: BinaryIO, arrays: Mapping[str, np.ndarray], metadata: Metadata) -> None:
    """Write arrays of the types in `DTYPES` without a copy, and always the same bytes.

    The safetensors library writes the entries of the metadata in a random order.

    Parameters
    ----------
    file : file that is open for writing
    arrays : arrays by name
        Those of one item size are written in this order, wide ones first, so that every array
        begins at a multiple of its item size.
    metadata : text by name
    """
    names = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        code = _CODES[array.dtype]
        header[name] = {"dtype": code, "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in names:
        file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)


def is_array_file(path: Path) -> bool:
    """Whether the first bytes are those of a safetensors file; text cannot begin like one."""
    with path.open("rb") as file:
        start = file.read(9)
    return len(start) == 9 and start[8:] == b"{" and _header_length(start) <= _LARGEST_HEADER


def map_arrays(path: Path, damaged: Damaged) -> tuple[Arrays, Metadata]:
    """The arrays of a file, whose bytes stay there until they are used, and its metadata.

    They are mapped copy-on-write: the file is never changed, and kernels see plain writable
    arrays, so that they are not compiled a second time for read-only ones. An array that does not
    begin at a multiple of its item size is copied into memory.

    Raises
    ------
    OSError
        The file cannot be read.
    RankiniteError
        What `damaged` makes of the reason why the file is not a whole safetensors file.
    """
    with path.open("rb") as file:
        try:
            content = np.memmap(file, np.uint8, "c")
        except ValueError as error:
            raise damaged("it is empty") from error
    length = _header_length(content[:8].tobytes()) if len(content) >= 8 else 0
    if length > len(content) - 8:
        raise damaged("it ends inside its header")
    places, metadata = _parsed(content[8 : 8 + length].tobytes(), damaged)
    data = content[8 + length :]
    _check(places, len(data), damaged)
    return {name: _view(data, place) for name, place in places.items()}, metadata


def read_arrays(path: Path, damaged: Damaged) -> tuple[Arrays, Metadata]:
    """As `map_arrays`, but the arrays are in memory: what becomes of the file does not matter."""
    arrays, metadata = map_arrays(path, damaged)
    return {name: np.array(array) for name, array in arrays.items()}, metadata


def _header_length(start: bytes) -> int:
    return struct.unpack("<Q", start[:8])[0]


def _parsed(header: bytes, damaged: Damaged) -> tuple[dict[str, _Place], Metadata]:
    try:
        if len(header) > _LARGEST_HEADER or not header.startswith(b"{"):
            raise ValueError
        entries = json.loads(header.decode(), object_pairs_hook=_distinct)
        metadata = entries.pop("__metadata__", {})
        # What is no text fails here, and so does half a character, which JSON can spell.
        "".join([*entries, *metadata, *metadata.values()]).encode()
        places = {name: _place(entry) for name, entry in entries.items()}
    # UTF-8 and JSON that are wrong are ValueErrors; lists in lists in lists a RecursionError.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged("its header is not that of a safetensors file") from error
    return places, metadata


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    distinct = dict(pairs)
    if len(distinct) != len(pairs):
        raise ValueError
    return distinct


def _place(entry: Any) -> _Place:
    start, end = _integers(entry["data_offsets"])
    return _Place(start, end, str(entry["dtype"]), _integers(entry["shape"]))


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise TypeError
    return tuple(values)


def _check(places: dict[str, _Place], n_bytes: int, damaged: Damaged) -> None:
    """Let every array have the size of its shape, and all of them together be the data."""
    for name, place in places.items():
        if place.code not in DTYPES:
            raise damaged(f"the array {name!r} is of the unknown type {place.code!r}")
        if not _is_a_shape(place.shape, DTYPES[place.code].itemsize, place.end - place.start):
            raise damaged(f"the array {name!r} has the wrong type or size")
    end = 0
    for place in sorted(places.values()):
        if place.start != end:
            raise damaged("its arrays do not lie one after the other")
        end = place.end
    if end != n_bytes:
        raise damaged("its size is not what its header says")


def _is_a_shape(shape: tuple[int, ...], itemsize: int, n_bytes: int) -> bool:
    """Whether numpy can have such an array, and it is of so many bytes."""
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=0) < 0 or max(shape, default=0) >= 2**63:
        return False
    # The other lengths must not overflow even if one is 0.
    possible = itemsize * math.prod(max(1, length) for length in shape) < 2**63
    return possible and itemsize * math.prod(shape) == n_bytes


def _view(data: np.ndarray, place: _Place) -> np.ndarray:
    view = data[place.start : place.end].view(DTYPES[place.code]).reshape(place.shape)
    return view.view(np.ndarray) if view.flags.aligned else np.array(view)
