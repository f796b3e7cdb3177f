"""Ways to damage a safetensors file, always the same ones."""

import json
import re
import struct
from collections.abc import Iterator

import numpy as np

from rankinite.formats.array_file import DTYPES

_SYMBOLS = list(b'0123456789"{}[],:-.aFU8\\ \x00\xff')
_NUMBERS = ("0", "-1", "1", "2", "256", "1e400", "NaN", "Infinity", "9" * 30, "9" * 5000, "", "x")
_FLOATS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-320, 1e38, 1e308, -1e308)
_INTEGERS = (0, 1, -1, 2, 255, 256, 2**31, 2**62, 2**63 - 1, -(2**63))
HOSTILE = (
    None, True, -1, 0, 1, 2**63, 2**64, 1e300, "", "x", "F64", "BF16", "I64", "[" * 99_999,
    "\ud800", [], [0], [-1], [2**62, 4], [0, 2**63], [1] * 70, [0, 0], [8, 0], {}, {"a": 1},
)  # fmt: skip


def damaged_files(whole: bytes, seed: int = 0) -> Iterator[bytes]:
    """Several hundred damaged forms of a file."""
    rng = np.random.default_rng(seed)
    yield from _other_lengths(whole)
    yield from _other_bytes(whole, rng)
    yield from _other_headers(whole, rng)


def with_header(whole: bytes, header: str | bytes) -> bytes:
    """The file with other bytes in the place of its header."""
    content = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    return struct.pack("<Q", len(content)) + content + whole[8 + header_length(whole) :]


def header_length(whole: bytes) -> int:
    return struct.unpack("<Q", whole[:8])[0]


def header_of(whole: bytes) -> dict:
    return json.loads(whole[8 : 8 + header_length(whole)])


def _other_lengths(whole: bytes) -> Iterator[bytes]:
    length = header_length(whole)
    for other in (0, 1, 2, length - 8, length - 1, length + 1, length + 8, len(whole) - 8):
        yield struct.pack("<Q", other) + whole[8:]
    for other in (len(whole), 10**8, 10**8 + 1, 2**31, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1):
        yield struct.pack("<Q", other) + whole[8:]


def _other_bytes(whole: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Bytes set, cut out, put in or doubled, mostly in the header."""
    length = header_length(whole)
    for k in range(300):
        yield _with_changes(whole, rng, 1 + k % 3, 8 + length if k % 4 else len(whole))
    for at in rng.integers(8, 8 + length, 300).tolist():
        changed = bytearray(whole)
        changed[at] = rng.choice(_SYMBOLS)
        yield bytes(changed)
    for end in rng.integers(0, len(whole), 50).tolist():
        yield whole[:end]
    yield whole + b"\0"


def _with_changes(whole: bytes, rng: np.random.Generator, n_changes: int, end: int) -> bytes:
    """Bytes before `end` set, cut out, put in or doubled."""
    changed = bytearray(whole)
    for _ in range(n_changes):
        at = int(rng.integers(0, min(end, len(changed))))
        size = int(rng.integers(1, 20))
        match rng.integers(4):
            case 0:
                changed[at] = rng.choice(_SYMBOLS)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = rng.bytes(size)
            case 3:
                changed[at:at] = changed[at : at + size]
    return bytes(changed)


def _other_headers(whole: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Headers that are JSON, but not what they should be."""
    length = header_length(whole)
    text = whole[8 : 8 + length].decode()
    for other in ("", "[]", "{}", "null", " " + text, "{" + text, text[:-9] + "}" * 9):
        yield with_header(whole, other)
    yield with_header(whole, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    yield with_header(whole, '{"a":' * 100_000 + "1" + "}" * 100_000)
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        yield with_header(whole, text.encode(encoding))
    names = [name for name in header_of(whole) if name != "__metadata__"]
    for name in [*names, "__metadata__"]:
        twice = json.dumps({name: header_of(whole)[name]})[1:-1]
        yield with_header(whole, text.rstrip()[:-1] + "," + twice + "}")
        for hostile in (*HOSTILE, ...):
            header = header_of(whole)
            if hostile is ...:
                del header[name]
            else:
                header[name] = hostile
            yield with_header(whole, json.dumps(header))
    for key in header_of(whole)["__metadata__"]:
        for hostile in HOSTILE:
            header = header_of(whole)
            header["__metadata__"][key] = hostile
            yield with_header(whole, json.dumps(header))
    for _ in range(250):
        yield _with_hostile_entry(whole, rng)
    for _ in range(30):  # two arrays in each other's place, or in the same one
        header = header_of(whole)
        one, other = (header[name] for name in rng.choice(names, 2, replace=False))
        mine, yours = one["data_offsets"], other["data_offsets"]
        one["data_offsets"], other["data_offsets"] = yours, mine if rng.integers(2) else yours
        yield with_header(whole, json.dumps(header))


def _with_hostile_entry(whole: bytes, rng: np.random.Generator) -> bytes:
    """A header that says something absurd of one array."""
    header = header_of(whole)
    names = [name for name in header if name != "__metadata__"]
    entry = header[names[rng.integers(len(names))]]
    key = ("dtype", "shape", "data_offsets")[rng.integers(3)]
    entry[key] = HOSTILE[rng.integers(len(HOSTILE))]
    return with_header(whole, json.dumps(header))


def _with_hostile_text(whole: bytes, rng: np.random.Generator) -> bytes:
    """Metadata of which one entry is something else; numbers in it become other numbers."""
    header = header_of(whole)
    metadata = header.get("__metadata__")
    if not metadata:
        return whole
    key = list(metadata)[rng.integers(len(metadata))]
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", metadata[key]))
    if numbers and rng.integers(3):
        found = numbers[rng.integers(len(numbers))]
        other = _NUMBERS[rng.integers(len(_NUMBERS))]
        metadata[key] = metadata[key][: found.start()] + other + metadata[key][found.end() :]
    else:
        metadata[key] = HOSTILE[rng.integers(len(HOSTILE))]
    return with_header(whole, json.dumps(header))


def _with_hostile_values(whole: bytes, rng: np.random.Generator) -> bytes:
    """One to three values of an array replaced by others of their type, or of the same array."""
    header, first = header_of(whole), 8 + header_length(whole)
    names = [name for name in header if name != "__metadata__"]
    entry = header[names[rng.integers(len(names))]]
    start, end = (first + offset for offset in entry["data_offsets"])
    values = np.frombuffer(whole[start:end], DTYPES[entry["dtype"]]).copy()
    for _ in range(rng.integers(1, 4) if len(values) else 0):
        at = rng.integers(len(values))
        if rng.integers(3) == 0:
            values[at] = values[rng.integers(len(values))]
        elif values.dtype.kind == "f":
            values[at] = _FLOATS[rng.integers(len(_FLOATS))]
        else:
            values[at] = np.array(_INTEGERS[rng.integers(len(_INTEGERS))]).astype(values.dtype)
    return whole[:start] + values.tobytes() + whole[end:]


def one_damage(whole: bytes, rng: np.random.Generator) -> bytes:
    """One damaged form of a file, chosen by the generator."""
    match rng.integers(8):
        case 0:
            return _with_changes(whole, rng, int(rng.integers(1, 4)), len(whole))
        case 1:
            return _with_changes(whole, rng, int(rng.integers(1, 4)), 8 + header_length(whole))
        case 2:
            return _with_hostile_entry(whole, rng)
        case 3:
            return _with_hostile_text(whole, rng)
        case _:
            return _with_hostile_values(whole, rng)
