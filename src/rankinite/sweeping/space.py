"""The space of a sweep: which values each parameter may take.

A parameter has a list of choices, or a span: numbers from low to high, in steps, evenly spread, or
evenly spread by their logarithm. What is drawn has at most four digits, so that it can be typed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rankinite.errors import ParameterError
from rankinite.models.parameters import Whole
from rankinite.models.words_of_others import refuse_unknown
from rankinite.training import Learner

# More points than anybody tries.
_MOST_POINTS = 1_000_000
# Parameters that are no plain values, or that change nothing in a model.
_NOT_SWEPT = ("base_model", "n_threads", "verbose")
_PARTS = ("low", "high", "step", "log", "points")


@dataclass(frozen=True)
class Choices:
    """One of a few values: numbers, words, true or false, None."""

    values: tuple[Any, ...]

    def drawn(self, share: float) -> Any:
        """The value at a share of the whole, from 0 to below 1."""
        return self.values[int(share * len(self.values))]

    def grid(self) -> list[Any]:
        """All values."""
        return list(self.values)

    def extremes(self) -> list[Any]:
        """The values that must be allowed for all to be."""
        return list(self.values)

    def taken(self, value: Any) -> Any:
        """A value that a sampler chose, as it is tried."""
        return value

    def declared(self) -> Any:
        """As it is declared, in JSON."""
        return list(self.values)


@dataclass(frozen=True)
class Span:
    """Numbers from `low` to `high`, both included; whole ones if `low` and `high` are.

    Attributes
    ----------
    low, high : int or float
    step : int or float, optional
        Between two values; the last of them may lie below `high`.
    log : bool
        Spread evenly by the logarithm.
    points : int, optional
        How many values a grid has, if there is no step; others take any value.
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False
    points: int | None = None

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def n_steps(self) -> int:
        """Number of values in steps."""
        assert self.step is not None
        # A hair more, for 0.3 is not quite three times 0.1.
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def drawn(self, share: float) -> Any:
        """The value at a share of the whole, from 0 to below 1."""
        if self.step is not None:
            return self._at_step(int(share * self.n_steps))
        # Each whole number has as much of the span as its neighbours.
        half = 0.5 if self.whole else 0.0
        return self.taken(self._between(self.low - half, self.high + half, share))

    def grid(self) -> list[Any]:
        """The values of a grid, each once."""
        if self.step is not None:
            return [self._at_step(number) for number in range(self.n_steps)]
        if self.points is None:
            raise ParameterError(
                "a grid needs a list, a step or a number of points: add one, or use the sampler "
                "random or tpe"
            )
        shares = [number / max(1, self.points - 1) for number in range(self.points)]
        values = (self.taken(self._between(self.low, self.high, share)) for share in shares)
        return list(dict.fromkeys(values))

    def extremes(self) -> list[Any]:
        """The values that must be allowed for all to be."""
        return [self.low, self.high]

    def taken(self, value: Any) -> Any:
        """A value that a sampler chose, as it is tried."""
        if self.whole:
            return min(max(round(value), int(self.low)), int(self.high))
        if self.step is not None:
            return self._at_step(round((value - self.low) / self.step))
        return min(max(float(f"{value:.4g}"), self.low), self.high)

    def declared(self) -> Any:
        """As it is declared, in JSON."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}

    def _at_step(self, number: int) -> Any:
        assert self.step is not None
        value = self.low + number * self.step
        return value if isinstance(value, int) else float(f"{value:.10g}")

    def _between(self, low: float, high: float, share: float) -> float:
        if not self.log:
            return low + share * (high - low)
        return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))


Dimension = Choices | Span


class Space:
    """The parameters of a sweep, each with its values, in the order in which they were declared.

    Parameters
    ----------
    dimensions : dict of str to Choices or Span
    """

    def __init__(self, dimensions: Mapping[str, Dimension]) -> None:
        if not dimensions:
            raise ParameterError("the space has no parameter: name at least one with its values")
        self.dimensions = dict(dimensions)

    @classmethod
    def of(cls, declared: Any) -> Space:
        """The space that a caller declares as a dict; see `rankinite.sweep`."""
        if isinstance(declared, Space):
            return declared
        if not isinstance(declared, Mapping):
            raise ParameterError(
                f"space must be a dict of parameters with their values, not {declared!r}"
            )
        return cls({str(name): dimension(name, each) for name, each in declared.items()})

    @property
    def names(self) -> list[str]:
        """The parameters."""
        return list(self.dimensions)

    def without(self, names: Iterable[str]) -> Space:
        """The space without parameters that are fixed."""
        left = {n: each for n, each in self.dimensions.items() if n not in set(names)}
        if not left:
            raise ParameterError("every parameter of the space is fixed: leave one of them free")
        return Space(left)

    def check(self, ranker: Learner) -> None:
        """Refuse parameters that the ranker does not have, and values that it does not take."""
        for name in self.names:
            self.check_one(name, ranker)

    def check_one(self, name: str, ranker: Learner) -> None:
        """Refuse one of the parameters, or one of its values."""
        if name in _NOT_SWEPT:
            raise ParameterError(f"{name} cannot be swept: fix it, or leave it out")
        refuse_unknown(type(ranker).__name__, {name: None}, ranker.parameter_names())
        constraint = ranker.constraints.get(name)
        for value in self.dimensions[name].extremes():
            if constraint is not None:
                constraint.check(name, value)
            else:
                # What only the ranker knows, such as the names of measures.
                ranker.__sklearn_clone__().set_params(**{name: value}).check_params()

    def grid(self) -> list[list[Any]]:
        """The values of each parameter on a grid."""
        values = []
        for name, each in self.dimensions.items():
            try:
                values.append(each.grid())
            except ParameterError as error:
                raise ParameterError(f"{name} is a range: {error}") from None
        n_points = math.prod(map(len, values))
        if n_points > _MOST_POINTS:
            raise ParameterError(
                f"the grid has {n_points:,} points: use larger steps, or the sampler random or tpe"
            )
        return values

    def declared(self) -> dict[str, Any]:
        """As it is declared, in JSON."""
        return {name: each.declared() for name, each in self.dimensions.items()}


def dimension(name: str, declared: Any) -> Dimension:
    """The values of one parameter, from what a caller declares.

    Parameters
    ----------
    declared : list of values, or dict with low, high and perhaps step, log, points
    """
    if isinstance(declared, (Choices, Span)):
        return declared
    if isinstance(declared, Mapping):
        return _span(name, declared)
    if isinstance(declared, Iterable) and not isinstance(declared, str):
        return _choices(name, list(declared))
    raise ParameterError(
        f"the values of {name} must be a list of choices, or a range with low and high, not "
        f"{declared!r}"
    )


def _choices(name: str, values: list[Any]) -> Choices:
    plain = [each.item() if hasattr(each, "item") else each for each in values]
    for each in plain:
        if each is not None and not isinstance(each, (bool, int, float, str)):
            raise ParameterError(
                f"a choice of {name} must be a number, a word, true or false, not {each!r}"
            )
    if not plain or len({repr(each) for each in plain}) < len(plain):
        raise ParameterError(f"the choices of {name} must be one or more, each only once")
    return Choices(tuple(plain))


def _span(name: str, declared: Mapping[str, Any]) -> Span:
    refuse_unknown(f"the range of {name}", declared, _PARTS)
    for part in ("low", "high"):
        if part not in declared:
            raise ParameterError(f"the range of {name} has no {part}: say where it begins and ends")
    parts = {part: _number(name, part, declared[part]) for part in declared if part != "log"}
    log = declared.get("log", False)
    low, high, step, points = (parts.get(part) for part in ("low", "high", "step", "points"))
    assert low is not None and high is not None
    if not isinstance(log, bool):
        raise ParameterError(f"log of the range of {name} must be true or false, got {log!r}")
    if not low < high:
        raise ParameterError(f"the range of {name} goes from {low} to {high}: low must be below")
    if log and low <= 0:
        raise ParameterError(f"the range of {name} is by logarithm: low must be above 0, got {low}")
    if step is not None and (log or points is not None or step <= 0 or step > high - low):
        raise ParameterError(
            f"the step of the range of {name} must be above 0 and at most {high - low:g}, without "
            "log and points"
        )
    if points is not None:
        Whole(2).check(f"points of the range of {name}", points)
    if isinstance(step, float):
        low = float(low)
    return Span(low, high, step, log, None if points is None else int(points))


def _number(name: str, part: str, value: Any) -> float:
    plain = value.item() if hasattr(value, "item") else value
    number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    if not number or not math.isfinite(plain):
        raise ParameterError(f"{part} of the range of {name} must be a number, got {value!r}")
    return plain
