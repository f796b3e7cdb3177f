"""Values from files that anybody may have written: of the right kind, or the file is damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rankinite.exchange.faults import DamagedError

_MOST = 2**31 - 1


def json_object(content: bytes, *, extended: bool = True) -> dict[str, Any]:
    """The object that a JSON text holds."""
    return mapping(json_value(content, extended=extended), "the file")


def json_value(content: bytes, *, extended: bool = True) -> Any:
    """Whatever a JSON text holds; the members of its objects have different names.

    Parameters
    ----------
    extended : bool
        Whether it may have NaN and Infinity, which are no JSON.
    """
    try:
        return json.loads(
            content,
            object_pairs_hook=members_of,
            parse_constant=None if extended else _no_constant,
        )
    except RecursionError:
        raise DamagedError("it has things in things, too deep to be read") from None
    except ValueError as error:
        raise DamagedError(f"it is not whole JSON, {error}") from None


def _no_constant(name: str) -> Any:
    raise DamagedError(f"it is not whole JSON, which has no {name}")


def members_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its members; of one that comes twice, engines take the first or the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DamagedError("an object has two members of one name")
    return found


def mapping(value: Any, what: str) -> dict[str, Any]:
    """A value that must be an object."""
    if not isinstance(value, dict):
        raise DamagedError(f"{what} is no object")
    return value


def sequence(value: Any, what: str) -> list[Any]:
    """A value that must be a list."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, list):
        raise DamagedError(f"{what} is no list")
    return value


def whole(value: Any, what: str, low: int = 0, high: int = _MOST) -> int:
    """A whole number in [low, high], also one that is written as text."""
    if isinstance(value, str) and len(value) <= 20:
        digits = value.strip().removeprefix("-")
        value = int(value) if digits.isascii() and digits.isdigit() else value
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise DamagedError(f"{what} cannot be {_shown(value)}")
    return value


def real(value: Any, what: str) -> float:
    """A finite number."""
    found = float(reals([value], what)[0])
    if not math.isfinite(found):
        raise DamagedError(f"{what} is not finite")
    return found


def real_text(text: Any, what: str) -> float:
    """A number that is written as text; NaN and infinity are some."""
    if not isinstance(text, str):
        raise DamagedError(f"{what} is not written as text")
    # Python also takes underscores, and the digits of all scripts.
    if "_" in text or not text.isascii():
        raise DamagedError(f"{what} cannot be {_shown(text)}")
    try:
        return float(text)
    except ValueError:
        raise DamagedError(f"{what} cannot be {_shown(text)}") from None


def reals(values: Any, what: str, count: int | None = None) -> np.ndarray:
    """Numbers as float64; NaN and infinity are some."""
    found = _numbers(values, what, np.float64, (int, float), "iuf", count)
    # Engines write such numbers with an exponent, and some read them as something else without.
    if isinstance(values, list) and any(type(v) is int and abs(v) > 2**53 for v in values):
        raise DamagedError(f"{what} has a whole number that is too large")
    return found


def wholes(values: Any, what: str, count: int | None = None) -> np.ndarray:
    """Whole numbers as int64."""
    return _numbers(values, what, np.int64, (int,), "iu", count)


def flags(values: Any, what: str, count: int | None = None) -> np.ndarray:
    """Numbers 0 and 1, or truth values, as bool."""
    found = _numbers(values, what, np.int64, (int, bool), "iub", count)
    if ((found != 0) & (found != 1)).any():
        raise DamagedError(f"{what} has something else than 0 and 1")
    return found.astype(bool)


def _numbers(
    values: Any, what: str, dtype: type, kinds: tuple[type, ...], codes: str, count: int | None
) -> np.ndarray:
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in codes:
            raise DamagedError(f"{what} has numbers of the wrong kind")
        found: np.ndarray = values.astype(dtype)
    else:
        values = sequence(values, what)
        if not {type(value) for value in values} <= set(kinds):
            raise DamagedError(f"{what} has something that is no such number")
        try:
            found = np.array(values, dtype)
        except OverflowError:
            raise DamagedError(f"{what} has a number that is too large") from None
    if count is not None and len(found) != count:
        raise DamagedError(f"{what} has {len(found)} values, not {count}")
    return found


def texts(values: Any, what: str) -> list[str]:
    """A list of texts that are all different."""
    found = sequence(values, what)
    if not all(_is_text(value) for value in found):
        raise DamagedError(f"{what} has something that is no text")
    if len(set(found)) < len(found):
        raise DamagedError(f"{what} has something twice")
    return found


def singles(values: np.ndarray, what: str) -> np.ndarray:
    """Numbers rounded to float32, as float64; one beyond the largest is damage."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    if not np.array_equal(np.isinf(rounded), np.isinf(values)):
        raise DamagedError(f"{what} has a number beyond single precision")
    return rounded


def names_of(names: Iterable[Any], stand_in: str, n_features: int) -> list[str] | None:
    """Names of features; None if there are none, or only what a library calls features without.

    Parameters
    ----------
    names : iterable of str
    stand_in : str
        What comes before the number of the feature, such as ``"Column_"``.
    """
    found = list(names)
    if not found:
        return None
    if not all(_is_text(name) for name in found):
        raise DamagedError("a name of a feature is no text")
    if len(found) != n_features:
        raise DamagedError(f"it has {len(found)} names for {n_features} features")
    if len(set(found)) < len(found) or all(
        name == f"{stand_in}{j}" for j, name in enumerate(found)
    ):
        return None
    return found


def _is_text(value: Any) -> bool:
    """Whether a value is text that can be written: JSON may have halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _shown(value: Any) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."
