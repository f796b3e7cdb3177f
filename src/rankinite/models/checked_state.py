"""What a model file says, after a check: the file may have been written by anybody."""

from __future__ import annotations

import math
from typing import Any

from rankinite.errors import ModelFileError
from rankinite.models.file import State

_MOST = 2**31 - 1


def saved_whole(state: State, name: str, low: int = 0, high: int = _MOST) -> int:
    """A whole number in [low, high]."""
    value = state[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _wrong(name, value)
    return value


def saved_number(state: State, name: str) -> float:
    """A number that is finite."""
    value = _as_float(state[name])
    if value is None or not math.isfinite(value):
        raise _wrong(name, state[name])
    return value


def saved_extended(state: State, name: str) -> float:
    """A number, or infinity."""
    value = _as_float(state[name])
    if value is None or math.isnan(value):
        raise _wrong(name, state[name])
    return value


def saved_text(state: State, name: str) -> str:
    """Some text that can be written again."""
    value = state[name]
    if not isinstance(value, str):
        raise _wrong(name, value)
    return value


def saved_numbers(state: State, name: str) -> list[float]:
    """A list of numbers; NaN and infinity are some."""
    values = state[name]
    if not isinstance(values, list):
        raise _wrong(name, values)
    numbers = [_as_float(value) for value in values]
    if None in numbers:
        raise _wrong(name, values)
    return [number for number in numbers if number is not None]


def saved_named_numbers(state: State, name: str) -> dict[str, float]:
    """Finite numbers by their names."""
    values = state[name]
    if not isinstance(values, dict):
        raise _wrong(name, values)
    for each in values:
        saved_number(values, each)
    return values


def saved_names(state: State, n_features: int) -> list[str] | None:
    """The names of the features, if there are some."""
    names = state["feature_names"]
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _wrong("feature_names", names)
    if len(names) != n_features:
        raise ModelFileError(
            f"the model file has {len(names)} feature names for {n_features} features: save the "
            "model again"
        )
    return names


def saved_history(state: State) -> dict[str, dict[str, list[float]]]:
    """The measures of the rounds, by set and measure, as many of each."""
    history = state["history"]
    if not isinstance(history, dict) or not all(isinstance(s, dict) for s in history.values()):
        raise _wrong("history", history)
    found = {
        name: {measure: saved_numbers(values, measure) for measure in values}
        for name, values in history.items()
    }
    if len({len(values) for each in found.values() for values in each.values()}) > 1:
        raise ModelFileError(
            "the history in the model file has measures of different numbers of rounds: save the "
            "model again"
        )
    return found


def _as_float(value: Any) -> float | None:
    """The number that a value is; None if it is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _wrong(name: str, value: Any) -> ModelFileError:
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
    return ModelFileError(f"the model file says {name}={shown}, which cannot be: save it again")
