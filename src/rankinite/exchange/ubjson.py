"""UBJSON, the binary form of JSON (draft 12), as XGBoost has it: numbers are big-endian."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from rankinite.exchange.checked import members_of
from rankinite.exchange.faults import DamagedError

# Numbers by their markers: how `struct` calls them, and how numpy does.
_NUMBERS = {
    b"i": (">b", ">i1"),
    b"U": (">B", ">u1"),
    b"I": (">h", ">i2"),
    b"l": (">i", ">i4"),
    b"L": (">q", ">i8"),
    b"d": (">f", ">f4"),
    b"D": (">d", ">f8"),
}
_WHOLE = b"iUIlL"
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}
# Deeper than any model; each level takes two calls.
_DEEPEST = 200


def is_ubjson(content: bytes) -> bool:
    """Whether an object in UBJSON follows, where JSON would have a name in quotation marks."""
    return content[:1] == b"{" and content[1:2] in {b"L", b"l", b"I", b"U", b"i", b"#", b"$"}


def from_ubjson(content: bytes) -> Any:
    """The value of some bytes; arrays of numbers of one kind are ndarrays in native order.

    No more is allocated than the bytes can hold, whatever counts they name.
    """
    decoder = _Decoder(content)
    value = decoder.value(decoder.marker(), 0)
    if decoder.at != len(content):
        raise DamagedError("something follows its end")
    return value


class _Decoder:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def marker(self) -> bytes:
        """The next marker; no-operations before it are passed over."""
        while True:
            found = self.take(1)
            if found != b"N":
                return found

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.content):
            raise DamagedError("it is cut off")
        found, self.at = self.content[self.at : end], end
        return found

    def value(self, marker: bytes, depth: int) -> Any:
        if marker in _NUMBERS:
            return self.number(marker)
        if marker == b"S":
            return self.text()
        if marker == b"C":
            return self.take(1).decode("latin-1")
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker not in (b"[", b"{"):
            raise DamagedError(f"{marker!r} does not begin a value")
        if depth == _DEEPEST:
            raise DamagedError("it has things in things, too deep to be read")
        return self.items(depth + 1) if marker == b"[" else self.members(depth + 1)

    def number(self, marker: bytes) -> Any:
        form, _ = _NUMBERS[marker]
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def length(self) -> int:
        marker = self.take(1)
        if marker not in _NUMBERS or marker not in _WHOLE:
            raise DamagedError("a length is missing")
        found: int = self.number(marker)
        if not 0 <= found <= len(self.content) - self.at:
            raise DamagedError(f"a length of {found} cannot be")
        return found

    def text(self) -> str:
        return self.take(self.length()).decode()

    def head(self) -> tuple[bytes, int | None]:
        """The kind and the number of what a container holds, where it names them."""
        kind = b""
        if self.content[self.at : self.at + 1] == b"$":
            self.take(1)
            kind = self.take(1)
            if self.content[self.at : self.at + 1] != b"#":
                raise DamagedError("a list of one kind has no length")
        if self.content[self.at : self.at + 1] != b"#":
            return kind, None
        self.take(1)
        if kind in _CONSTANTS:
            # They take no bytes, so that a few bytes would make a list of any length.
            raise DamagedError("a list holds nothing but constants")
        return kind, self.length()

    def items(self, depth: int) -> Any:
        kind, count = self.head()
        if kind in _NUMBERS and count is not None:
            dtype = np.dtype(_NUMBERS[kind][1])
            raw = self.take(count * dtype.itemsize)
            return np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
        found: list[Any] = []
        while count is None or len(found) < count:
            marker = kind or self.marker()
            if count is None and marker == b"]":
                break
            found.append(self.value(marker, depth))
        return found

    def members(self, depth: int) -> dict[str, Any]:
        kind, count = self.head()
        found: list[tuple[str, Any]] = []
        while count is None or len(found) < count:
            if count is None and self.content[self.at : self.at + 1] == b"}":
                self.take(1)
                break
            name = self.text()
            found.append((name, self.value(kind or self.marker(), depth)))
        return members_of(found)


# Markers of what arrays hold, by numpy's names.
_ARRAYS = {"float32": b"d", "float64": b"D", "int32": b"l", "int64": b"L", "uint8": b"U"}


def to_ubjson(value: Any) -> bytes:
    """The bytes of objects, lists, texts, numbers and arrays of one dimension.

    Lengths have 64 bits, which is all that XGBoost reads.
    """
    pieces: list[bytes] = []
    _encode(value, pieces)
    return b"".join(pieces)


def _encode(value: Any, pieces: list[bytes]) -> None:
    if isinstance(value, dict):
        pieces.append(b"{")
        for name, member in value.items():
            pieces.append(_counted(name.encode()))
            _encode(member, pieces)
        pieces.append(b"}")
    elif isinstance(value, np.ndarray):
        marker = _ARRAYS[value.dtype.name]
        big_endian = value.astype(_NUMBERS[marker][1])
        pieces.append(b"[$" + marker + b"#L" + struct.pack(">q", len(value)))
        pieces.append(big_endian.tobytes())
    elif isinstance(value, list):
        pieces.append(b"[#L" + struct.pack(">q", len(value)))
        for item in value:
            _encode(item, pieces)
    elif isinstance(value, str):
        pieces.append(b"S" + _counted(value.encode()))
    elif isinstance(value, int):
        pieces.append(b"L" + struct.pack(">q", value))
    else:
        raise TypeError(f"{type(value).__name__} has no form in UBJSON here")


def _counted(text: bytes) -> bytes:
    return b"L" + struct.pack(">q", len(text)) + text
