"""Parameter constraints as a table: what a value must be, checked in one place."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite.errors import ParameterError


@dataclass(frozen=True)
class Whole:
    """A whole number in [low, high], or one of some words."""

    low: int
    high: int | None = None
    optional: bool = False
    words: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise a ParameterError unless `value` is allowed."""
        if (value is None and self.optional) or (isinstance(value, str) and value in self.words):
            return
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if whole and self.low <= value and (self.high is None or value <= self.high):
            return
        span = f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
        others = "".join(f" or {word!r}" for word in self.words) + " or None" * self.optional
        raise ParameterError(f"{name} must be a whole number {span}{others}, got {value!r}")


@dataclass(frozen=True)
class Real:
    """A number above `low`, or also `low` itself, and at most `high`; or one of some words."""

    low: float
    high: float = math.inf
    or_low: bool = False
    words: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise a ParameterError unless `value` is allowed."""
        if isinstance(value, str) and value in self.words:
            return
        number = isinstance(value, (int, float, np.integer, np.floating))
        number = number and not isinstance(value, bool)
        enough = number and (value > self.low or (self.or_low and value == self.low))
        if enough and float(value) <= self.high and math.isfinite(value):
            return
        start = f"from {self.low:g} on" if self.or_low else f"above {self.low:g}"
        end = "" if math.isinf(self.high) else f" and at most {self.high:g}"
        words = "".join(f" or {word!r}" for word in self.words)
        raise ParameterError(f"{name} must be a number {start}{end}{words}, got {value!r}")


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    words: Collection[str | bool]

    def check(self, name: str, value: Any) -> None:
        """Raise a ParameterError unless `value` is allowed."""
        if not isinstance(value, (str, bool)) or value not in self.words:
            words = ", ".join(map(repr, self.words))
            raise ParameterError(f"{name} must be one of {words}, got {value!r}")


Constraint = Whole | Real | OneOf
