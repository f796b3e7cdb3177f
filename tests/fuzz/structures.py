"""Small changes to what a file says: values of JSON and UBJSON, elements of XML."""

from __future__ import annotations

import copy
import json
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rankinite.exchange.ubjson import from_ubjson
from tests.fuzz.mutations import mutate_bytes, mutate_text

_VALUES = (
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**400, 0.0,
    -0.0, 0.5, -1.5, 1e-320, 1e300, -1e300, float("nan"), float("inf"), float("-inf"), "", "x",
    "ndcg@10", "7", "\ud800", "a" * 1000, [], [0], [1, 2], ["a"], [[]], [None], {}, {"a": 1},
    {"valid": [1]}, {"valid": {"ndcg@10": [0.5]}}, {"train": {"cost": ["x"]}}, "Combination",
    "LinearScorer",
)  # fmt: skip


def change_value(state: Any, rng: np.random.Generator) -> None:
    """Change one value inside lists and objects: leave it out, nest it, put another there."""
    places = list(_places(state))
    if not places:
        return
    holder, key = one_of(places, rng)
    match rng.integers(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder[key], (list, dict)):
            _nest(holder, key, int(rng.integers(1, 300)))
        case 2:
            other, name = one_of(list(_places(state)), rng)
            holder[key] = copy.deepcopy(other[name])
        case 3 if isinstance(holder[key], (int, float)):
            holder[key] = holder[key] + one_of((-1, 1, 0.5, 1e9), rng)
        case 4 if isinstance(holder[key], list):
            holder[key] = holder[key][:-1] if rng.random() < 0.5 else holder[key] * 2
        case _:
            holder[key] = copy.deepcopy(one_of(_VALUES, rng))


def _nest(holder: Any, key: Any, depth: int) -> None:
    for _ in range(depth):
        holder[key] = [holder[key]]


def _places(state: Any) -> Iterator[tuple[Any, Any]]:
    keys = range(len(state)) if isinstance(state, list) else list(state)
    for key in keys:
        yield state, key
        if isinstance(state[key], (list, dict)):
            yield from _places(state[key])


def one_of(choices: Any, rng: np.random.Generator) -> Any:
    """One of some things."""
    return choices[rng.integers(len(choices))]


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.lstrip("-").replace(".", "", 1).isdigit()
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_OTHER_NUMBERS = (0, 1, -1, -2, 2, 5, 2**31 - 1, 2**31, -(2**31), 2**62, 1e39, 1e300)


def change_number(state: Any, rng: np.random.Generator) -> None:
    """Put another number where one is, as text where it is text: what only its meaning forbids."""
    places = [place for place in _places(state) if _is_number(place[0][place[1]])]
    if not places:
        return
    holder, key = one_of(places, rng)
    before = holder[key]
    other, name = one_of(places, rng)
    match rng.integers(4):
        case 0 if len(str(before)) < 20 and np.isfinite(float(before)):
            after = int(float(before)) + one_of((-1, 1), rng)
        case 1:
            after = one_of(_OTHER_NUMBERS, rng)
        case _:
            after = other[name]
    if isinstance(before, int) and isinstance(after, str):
        after = float(after) if "." in after else int(after)
    holder[key] = str(after) if isinstance(before, str) else after


def _change_some(state: Any, rng: np.random.Generator) -> None:
    for _ in range(rng.geometric(0.7)):
        (change_value if rng.random() < 0.5 else change_number)(state, rng)


def mutate_json(whole: bytes, rng: np.random.Generator) -> bytes:
    """Other values, members that come twice; or text that is changed as such."""
    if rng.random() < 0.2:
        return mutate_text(whole, rng)
    found = json.loads(whole)
    with _deep():
        _change_some(found, rng)
        content = json.dumps(found).encode()
    return _doubled_member(content, rng) if rng.random() < 0.05 else content


def _doubled_member(content: bytes, rng: np.random.Generator) -> bytes:
    """An object with a member more, whose name one of the file has as well."""
    starts = [k for k, byte in enumerate(content) if byte == ord("{")]
    names = [part for part in content.split(b'"')[1::2] if part]
    if not starts or not names:
        return content
    at = one_of(starts, rng) + 1
    value = json.dumps(one_of(_VALUES, rng)).encode()
    comma = b"" if content[at : at + 1] == b"}" else b","
    return content[:at] + b'"' + one_of(names, rng) + b'":' + value + comma + content[at:]


def mutate_ubjson(whole: bytes, rng: np.random.Generator) -> bytes:
    """Other values, and containers whose heads say something else than what they hold."""
    if rng.random() < 0.2:
        return mutate_bytes(whole, rng)
    found = _as_lists(from_ubjson(whole))
    with _deep():
        if rng.random() < 0.7:
            _change_some(found, rng)
        # One or two of about two hundred containers, numbers and texts.
        return _encoded(found, rng, rng.choice((0.0, 0.005, 0.02)))


@contextmanager
def _deep() -> Iterator[None]:
    """Let things in things be followed that a reader may find too deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_lists(member) for name, member in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_as_lists(item) for item in value] if isinstance(value, list) else value


# Markers of numbers, and how `struct` packs them.
_FORMS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_MARKERS = (*_FORMS, b"Z", b"T", b"F", b"N", b"S", b"C", b"H", b"[", b"{", b"]", b"}", b"$", b"#")
_LENGTHS = (-1, 0, 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))


def _encoded(value: Any, rng: np.random.Generator, wrong: float) -> bytes:
    """The bytes of a value in UBJSON; what is said of it is wrong with this chance."""
    if isinstance(value, dict):
        return _object(value, rng, wrong)
    if isinstance(value, list):
        return _list(value, rng, wrong)
    if isinstance(value, str):
        return b"S" + _text(value, rng, wrong)
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    marker = one_of(list(_FORMS), rng) if rng.random() < wrong else _marker([value])
    return marker + _packed(marker, value)


def _object(value: dict[str, Any], rng: np.random.Generator, wrong: float) -> bytes:
    members = [_text(name, rng, wrong) + _encoded(each, rng, wrong) for name, each in value.items()]
    if members and rng.random() < wrong:
        members.append(one_of(members, rng))
    body = b"".join(members)
    if rng.random() < wrong:  # with a number of members, which is right or not
        number = one_of((len(members), *_LENGTHS), rng)
        kind = b"$" + one_of(_MARKERS, rng) if rng.random() < 0.3 else b""
        return b"{" + kind + b"#" + _length(number, rng, wrong) + body
    return b"{" + body + (b"" if rng.random() < wrong else b"}")


def _list(value: list[Any], rng: np.random.Generator, wrong: float) -> bytes:
    number = one_of(_LENGTHS, rng) if rng.random() < wrong else len(value)
    plain = bool(value) and {type(each) for each in value} <= {int, float}
    if plain and rng.random() < 0.9:
        marker = _marker(value)
        said = one_of(_MARKERS, rng) if rng.random() < wrong else marker
        body = b"".join(_packed(marker, each) for each in value)
        return b"[$" + said + b"#" + _length(number, rng, wrong) + body
    body = b"".join(_encoded(each, rng, wrong) for each in value)
    if rng.random() < 0.5:
        return b"[#" + _length(number, rng, wrong) + body
    return b"[" + b"N" * int(rng.random() < wrong) + body + b"]"


def _marker(values: list[Any]) -> bytes:
    """As XGBoost writes them: single precision, and whole numbers of 32 or 64 bits."""
    if not all(isinstance(value, int) for value in values):
        return b"d"
    return b"l" if all(-(2**31) <= value < 2**31 for value in values) else b"L"


def _packed(marker: bytes, value: float) -> bytes:
    form = _FORMS[marker]
    try:
        return struct.pack(form, value if marker in b"dD" else int(value))
    except (OverflowError, ValueError, struct.error):
        return b"\xff" * struct.calcsize(form)


def _text(text: str, rng: np.random.Generator, wrong: float) -> bytes:
    content = text.encode(errors="surrogatepass")
    number = one_of(_LENGTHS, rng) if rng.random() < wrong else len(content)
    return _length(number, rng, wrong) + content


def _length(number: int, rng: np.random.Generator, wrong: float) -> bytes:
    marker = one_of(_MARKERS, rng) if rng.random() < wrong else b"L"
    return marker + (_packed(marker, number) if marker in _FORMS else b"")


_ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "1"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>',
    '<!DOCTYPE x [<!ENTITY c SYSTEM "file:///etc/hostname">]>',
    '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>',
    '<!DOCTYPE x SYSTEM "http://localhost:9/none.dtd">',
    "<!DOCTYPE x [" + "".join(
        f'<!ENTITY {chr(99 + k)} "{f"&{chr(98 + k)};" * 10 if k else "7" * 10}">' for k in range(9)
    ) + "]>",
    '<?xml version="1.0" encoding="utf-16"?>', '<?xml version="1.1"?>', "<?php x ?>", "<!-- -- -->",
)  # fmt: skip
_WORDS = (
    "", "0", "-1", "nan", "inf", "1e400", "1_0", "0x10", "٣", "2147483648", "9" * 30, "x", " 1 ",
    "&c;", "<![CDATA[1]]>", "1<!-- -->2", "<x/>", "&#0;", "&#x33;", "&lt;", "1,5", "1 2", "NaN",
    "1f",
    '<split pos="left">' * 20_000 + "</split>" * 20_000, "<split>" * 20_000,
)  # fmt: skip


def mutate_xml(whole: bytes, rng: np.random.Generator) -> bytes:
    """Elements that are left out, doubled, moved or filled with other things; a prologue."""
    start = whole.index(b"<")
    header, content = whole[:start].decode(), whole[start:]
    if rng.random() < 0.25:
        return mutate_text(whole, rng)
    root = ElementTree.fromstring(content)
    for _ in range(rng.geometric(0.7)):
        _change_element(root, rng)
    text = ElementTree.tostring(root, encoding="unicode")
    # What must not be escaped is put in afterwards.
    for k, word in enumerate(_WORDS):
        text = text.replace(f"({k})", word)
    if rng.random() < 0.15:
        text = one_of(_ENTITIES, rng) + text
    return (header + text).encode(one_of(("utf-8",) * 19 + ("utf-16",), rng))


def _change_element(root: ElementTree.Element, rng: np.random.Generator) -> None:
    parents = {child: parent for parent in root.iter() for child in parent}
    if not parents:
        return
    chosen, other = (one_of(list(parents), rng) for _ in range(2))
    parent = parents[chosen]
    match rng.integers(8):
        case 0:
            parent.remove(chosen)
        case 1:
            parents[other].append(copy.deepcopy(chosen))
        case 2:
            parent.insert(int(rng.integers(len(parent) + 1)), copy.deepcopy(other))
        case 3:
            for _ in range(rng.choice((1, 5, 300))):
                wrapped = ElementTree.Element(chosen.tag, chosen.attrib)
                parent[list(parent).index(chosen)] = wrapped
                wrapped.append(chosen)
                chosen = wrapped
        case 4:
            chosen.tag = one_of(list(parents), rng).tag
        case 5:
            name = one_of(("pos", "weight", "id", "x"), rng)
            chosen.set(name, one_of(("", "left", "right", "nan", "-1", "1e400", "0.5", "x"), rng))
        case _:
            chosen.text = f"({rng.integers(len(_WORDS))})"
