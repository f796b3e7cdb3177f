"""Small changes to the bytes of a file."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tests import damage

_NUMBERS = (
    b"", b"0", b"-0", b"1", b"-1", b"00", b"1e400", b"-1e400", b"1e-400", b"nan", b"-nan", b"inf",
    b"-inf", b"NaN", b"0x10", b"1_0", b"1.5", b"1e5", b"1e", b".", b"-", b"+1", b"255", b"256",
    b"65536", b"2147483648", b"4294967296", b"9223372036854775807", b"9223372036854775808",
    b"18446744073709551616", b"9" * 40, b"0." + b"3" * 400, b"9" * 400, b"\xc2\xb2",
)  # fmt: skip
_TOKENS = (
    b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"#", b":", b",", b";", b'"', b'""', b"'", b"\\",
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe4", b"\x1f\x8b", b"PAR1",
    b"qid", b"qid:", b"label", b"null", b"NA", b"true", b"\xf0\x9f\x98\x80", b"\xe2\x80\xa8",
)  # fmt: skip


def mutate_text(whole: bytes, rng: np.random.Generator) -> bytes:
    """A few changes to lines, cells, numbers and bytes."""
    ways = (_change_number, _change_line, _change_cell, _put_token, _change_bytes, _change_encoding)
    return _several(whole, rng, ways, (6, 3, 4, 3, 2, 0.3))


def mutate_bytes(whole: bytes, rng: np.random.Generator) -> bytes:
    """A few changes to bytes, of which the last ones are often the table of contents."""
    return _several(whole, rng, (_change_bytes, _change_tail, _cut), (4, 4, 1))


def mutate_array_file(whole: bytes, rng: np.random.Generator) -> bytes:
    """Values of arrays that are hostile, and whatever `damage` does to the rest."""
    return damage.one_damage(whole, rng)


def _several(
    whole: bytes,
    rng: np.random.Generator,
    ways: tuple[Callable[[bytes, np.random.Generator], bytes], ...],
    odds: tuple[float, ...],
) -> bytes:
    chosen = rng.choice(len(ways), size=rng.geometric(0.6), p=np.array(odds) / sum(odds))
    for way in chosen:
        whole = ways[way](whole, rng)
    return whole


def _place(whole: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(whole) + 1))


def _one(choices: tuple[bytes, ...], rng: np.random.Generator) -> bytes:
    return choices[rng.integers(len(choices))]


def _change_number(whole: bytes, rng: np.random.Generator) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", whole))
    if not numbers:
        return whole
    found = numbers[rng.integers(len(numbers))]
    return whole[: found.start()] + _one(_NUMBERS, rng) + whole[found.end() :]


def _change_line(whole: bytes, rng: np.random.Generator) -> bytes:
    """A line that is left out, doubled, moved, or emptied."""
    lines = whole.split(b"\n")
    at, to = (int(rng.integers(len(lines))) for _ in range(2))
    match rng.integers(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case 3:
            lines[at] = b""
    return b"\n".join(lines)


def _change_cell(whole: bytes, rng: np.random.Generator) -> bytes:
    """A cell or word that is left out, doubled, or put into the place of another."""
    cells = re.split(rb"([ ,:\t\n])", whole)
    at, to = (2 * int(rng.integers((len(cells) + 1) // 2)) for _ in range(2))
    match rng.integers(3):
        case 0:
            del cells[at : at + 2]
        case 1:
            cells[at:at] = cells[at : at + 2]
        case 2:
            cells[at] = cells[to]
    return b"".join(cells)


def _put_token(whole: bytes, rng: np.random.Generator) -> bytes:
    at = _place(whole, rng)
    return whole[:at] + _one(_TOKENS, rng) * int(rng.integers(1, 3)) + whole[at:]


def _change_bytes(whole: bytes, rng: np.random.Generator) -> bytes:
    """Bytes that are changed, cut out, put in or doubled."""
    return _changed_at(whole, _place(whole, rng), rng)


def _change_tail(whole: bytes, rng: np.random.Generator) -> bytes:
    first = max(0, len(whole) - 600)
    return _changed_at(whole, int(rng.integers(first, len(whole) + 1)), rng)


def _changed_at(whole: bytes, at: int, rng: np.random.Generator) -> bytes:
    changed, size = bytearray(whole), int(rng.integers(1, 20))
    match rng.integers(5):
        case 0:
            changed[at : at + 1] = rng.bytes(1)
        case 1:
            changed[at : at + 1] = bytes(
                [(b ^ 1 << int(rng.integers(8))) for b in whole[at : at + 1]]
            )
        case 2:
            del changed[at : at + size]
        case 3:
            changed[at:at] = rng.bytes(size)
        case 4:
            changed[at:at] = changed[at : at + size]
    return bytes(changed)


def _cut(whole: bytes, rng: np.random.Generator) -> bytes:
    return whole[: _place(whole, rng)]


def _change_encoding(whole: bytes, rng: np.random.Generator) -> bytes:
    encoding = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig")[rng.integers(4)]
    return whole.decode("latin-1").encode(encoding)
