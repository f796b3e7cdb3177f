"""Whether a measure has a maximum at the weights that a model has learned (Burges 2010, section 4).

A measure is flat or jumps everywhere as a function of the weights, so there is no gradient to look
at. Instead the weights are moved by a little along random directions: if the measure rises along
none of n of them, then with confidence 1 − (1 − p)^n less than a share p of all directions lead
up. And the measure is traced while one weight moves and the others stay.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite._text_table import aligned
from rankinite.data import Dataset, Queries
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Measure
from rankinite.measures import measure as as_measure
from rankinite.models.parameters import Whole
from rankinite.models.weight_space import WeightSpace
from rankinite.training.watching import means_of

# Smaller changes of a mean are rounding: where ranks trade places, a measure moves by far more.
_ROUNDING = 1e-12
# Places at which a curve is traced, beside the learned weight in the middle.
_POINTS_A_SIDE = 20
RADII = (0.01, 0.1)
# More would not fit into memory, nor end in a day.
_MOST_DIRECTIONS = 1_000_000


@dataclass(frozen=True, eq=False)
class Moves:
    """What became of the measure along random directions of one length.

    Attributes
    ----------
    radius : float
        Length of a move, as a share of the length of the weights.
    changes : ndarray of float64, shape (n_directions,)
        The measure there, less the measure at the learned weights.
    share : float
        With the confidence asked for, at most this share of all directions leads up.
    confidence : float
        With this confidence at most the fraction asked for leads up.
    """

    radius: float
    changes: np.ndarray
    share: float
    confidence: float

    @property
    def rising(self) -> np.ndarray:
        """Whether the measure rises along each direction, shape (n_directions,)."""
        return self.changes > _ROUNDING

    @property
    def falling(self) -> np.ndarray:
        """Whether it falls; along directions with neither it stays."""
        return self.changes < -_ROUNDING

    @property
    def n_rising(self) -> int:
        """Number of directions along which the measure rises."""
        return int(self.rising.sum())

    @property
    def n_falling(self) -> int:
        """Number of directions along which it falls."""
        return int(self.falling.sum())

    @property
    def largest_rise(self) -> float:
        """The most that it rises; 0 if it never does."""
        return max(0.0, float(self.changes.max()))


@dataclass(frozen=True, eq=False)
class WeightCurve:
    """The measure as a function of one weight, the others as learned.

    Attributes
    ----------
    name : str
    weight : float
        The learned one.
    weights : ndarray of float64, shape (n_points,)
        Where the measure was taken, ascending; the learned weight in the middle.
    values : ndarray of float64, shape (n_points,)
    """

    name: str
    weight: float
    weights: np.ndarray
    values: np.ndarray

    @property
    def rise(self) -> float:
        """How much higher than at the learned weight the measure is at its highest."""
        return max(0.0, float(self.values.max() - self.values[len(self.values) // 2]))


@dataclass(frozen=True, eq=False)
class LocalOptimality:
    """The outcome of `local_optimality`; printing shows it as tables.

    Attributes
    ----------
    measure : str
    value : float
        Its mean at the learned weights.
    n_weights : int
    confidence, fraction : float
        As asked for.
    moves : list of Moves
        One for each radius.
    curves : list of WeightCurve
    """

    measure: str
    value: float
    n_weights: int
    confidence: float
    fraction: float
    moves: list[Moves]
    curves: list[WeightCurve]

    def __str__(self) -> str:
        n_directions = len(self.moves[0].changes)
        head = (
            f"{self.measure} {self.value:.4f} at the {self.n_weights} learned weights, moved along "
            f"{n_directions} random directions"
        )
        parts = [head, self._table_of_moves()]
        if self.curves:
            parts += ["One weight at a time, the others as learned:", self._table_of_curves()]
        return "\n\n".join(parts)

    def _table_of_moves(self) -> str:
        header = (
            "radius",
            "rises",
            "stays",
            "falls",
            "largest rise",
            "mean change",
            f"rising at most ({100 * self.confidence:g} %)",
            f"confidence in {100 * self.fraction:g} %",
        )
        rows = [
            (
                f"{each.radius:g}",
                str(each.n_rising),
                str(len(each.changes) - each.n_rising - each.n_falling),
                str(each.n_falling),
                f"{each.largest_rise:.6f}",
                f"{each.changes.mean():+.6f}",
                _percent(each.share),
                _percent(each.confidence),
            )
            for each in self.moves
        ]
        return aligned(header, rows)

    def _table_of_curves(self) -> str:
        rows = [
            (
                curve.name,
                f"{curve.weight:.6g}",
                f"{curve.weights[int(np.argmax(curve.values))]:.6g}" if curve.rise > 0 else "here",
                f"{curve.rise:.6f}",
            )
            for curve in self.curves
        ]
        return aligned(("weight", "learned", "highest at", "higher by"), rows)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the changes along directions, and the curves, to a .png or .svg file."""
        from rankinite.optimality.plot import draw

        draw(self, path)


def local_optimality(
    model: Any,
    data: Dataset,
    measure: str | Measure | None = None,
    *,
    confidence: float = 0.99,
    fraction: float = 0.01,
    n_directions: int | None = None,
    radius: float | Sequence[float] = RADII,
    curves: int | Sequence[int] = 10,
    random_state: int = 0,
) -> LocalOptimality:
    """Test whether a measure has a local maximum at the weights of a model.

    Parameters
    ----------
    model : RankNet, LambdaRank, LambdaBoost or LinearScorer
        Trained; anything with ``weight_space`` (`rankinite.models.weight_space`).
    data : Dataset
        With labels or preferences. On the training data learning ought to have found a maximum;
        on other data the table says how far from one the weights are.
    measure : str or Measure, optional
        The one that the model has learned by default; "ndcg@10" if it does not say, and
        "pair_accuracy" for a `RankNet` on data with preferences.
    confidence, fraction : float
        How sure to be that at most which share of all directions leads up.
    n_directions : int, optional
        As many as it takes by default, if none of them leads up: log(1 − confidence) /
        log(1 − fraction), which is 459 for 99 % and 1 %.
    radius : float or sequence of them
        Length of a move, as a share of the length of the vector of weights. Small moves change
        few ranks, and a measure is a flight of steps: look at several.
    curves : int or sequence of int
        Of how many weights to trace a curve, the largest ones; or which ones, by their numbers.
        Each is moved by up to the largest radius.
    random_state : int

    Returns
    -------
    LocalOptimality

    Examples
    --------
    >>> import rankinite as rk
    >>> train = rk.artificial(n_queries=60, n_docs=20, n_features=5)
    >>> model = rk.LambdaBoost(n_estimators=60).fit(train)
    >>> found = rk.local_optimality(model, train, radius=0.3)
    >>> len(found.moves[0].changes), found.moves[0].n_rising < 230
    (459, True)
    """
    check_movable(model)
    if not isinstance(data, Dataset):
        raise DataError(f"data must be a Dataset, not a {type(data).__name__}")
    needed = directions_needed(confidence, fraction)
    n_wanted = needed if n_directions is None else n_directions
    Whole(1).check("n_directions", n_wanted)
    if n_wanted > _MOST_DIRECTIONS:
        raise ParameterError(
            f"confidence={confidence} in fraction={fraction} takes {n_wanted} directions: ask for "
            f"less, or pass an n_directions of at most {_MOST_DIRECTIONS}"
        )
    Whole(0, 2**63 - 1).check("random_state", random_state)
    radii = _checked_radii(radius)
    spec = as_measure(_learned_measure(model, data) if measure is None else measure)
    if spec.lower_is_better:
        raise ParameterError(f"less of {spec} is better, and this is about maxima: name another")
    space: WeightSpace = model.weight_space(data)
    length = float(np.linalg.norm(space.weights))
    if not length > 0:
        raise ParameterError("the weights of the model are all 0: train it first, or on other data")
    chosen = _chosen_weights(curves, space.weights)
    with threads(getattr(model, "n_threads", None)):
        value_at = _values(space, spec, data)
        here = value_at(space.weights)
        changes = np.empty((len(radii), n_wanted))
        for d, direction in enumerate(_directions(len(space.weights), n_wanted, random_state)):
            for r, own in enumerate(radii):
                changes[r, d] = value_at(space.weights + own * length * direction) - here
        traced = [_trace(space, i, max(radii) * length, value_at) for i in chosen]
    return LocalOptimality(
        measure=str(spec),
        value=here,
        n_weights=len(space.weights),
        confidence=confidence,
        fraction=fraction,
        moves=[_moves(own, changes[r], confidence, fraction) for r, own in enumerate(radii)],
        curves=traced,
    )


def directions_needed(confidence: float, fraction: float) -> int:
    """Fewest n with (1 − fraction)^n ≤ 1 − confidence (Burges 2010, Eq. 9)."""
    for name, value in (("confidence", confidence), ("fraction", fraction)):
        if not (isinstance(value, (int, float, np.floating)) and 0 < value < 1):
            raise ParameterError(f"{name} must be a number above 0 and below 1, got {value!r}")
    return max(1, math.ceil(math.log1p(-confidence) / math.log1p(-fraction)))


def rising_share(n_rising: int, n: int, confidence: float) -> float:
    """Upper end of the one-sided Clopper–Pearson interval for the share of rising directions."""
    from scipy.special import betaincinv

    if n_rising == n:
        return 1.0
    return float(betaincinv(n_rising + 1, n - n_rising, confidence))


def confidence_in(fraction: float, n_rising: int, n: int) -> float:
    """1 − P(at most `n_rising` of `n` directions rise), were `fraction` the share of all."""
    from scipy.special import bdtrc

    return float(bdtrc(n_rising, n, fraction)) if n_rising < n else 0.0


def _moves(radius: float, changes: np.ndarray, confidence: float, fraction: float) -> Moves:
    n_rising, n = int((changes > _ROUNDING).sum()), len(changes)
    return Moves(
        radius,
        changes,
        rising_share(n_rising, n, confidence),
        confidence_in(fraction, n_rising, n),
    )


def _learned_measure(model: Any, data: Queries) -> str | Measure:
    """What the model has learned if this is its data: the order of pairs, or its measure."""
    if data.preferences is not None and getattr(model, "learns_preferences", False):
        return "pair_accuracy"
    return getattr(model, "measure", "ndcg@10")


def check_movable(model: Any) -> None:
    """Refuse a model without a vector of weights."""
    if not hasattr(model, "weight_space"):
        kind = getattr(model, "origin", type(model).__name__)
        raise ParameterError(
            f"a {kind} has no vector of weights that could be moved: pass a "
            "RankNet, LambdaRank, LambdaBoost or LinearScorer"
        )


def _values(space: WeightSpace, spec: Measure, data: Queries) -> Callable[[np.ndarray], float]:
    """The mean of the measure as a function of the weights."""
    means = means_of([spec], data)

    def value_at(weights: np.ndarray) -> float:
        value = means(space.scores(weights))[str(spec)]
        if math.isnan(value):
            raise DataError(
                f"{spec} has no value on this data (every query is blank or weighs 0): "
                "pass other data"
            )
        return value

    return value_at


def _directions(n_weights: int, n: int, seed: int) -> np.ndarray:
    """Unit vectors, uniform over the sphere: those of Gaussian numbers."""
    drawn = np.random.default_rng(seed).standard_normal((n, n_weights))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _trace(
    space: WeightSpace, index: int, span: float, value_at: Callable[[np.ndarray], float]
) -> WeightCurve:
    offsets = np.arange(-_POINTS_A_SIDE, _POINTS_A_SIDE + 1) / _POINTS_A_SIDE * span
    values = np.empty(len(offsets))
    weights = space.weights.copy()
    for i, offset in enumerate(offsets):
        weights[index] = space.weights[index] + offset
        values[i] = value_at(weights)
    learned = float(space.weights[index])
    return WeightCurve(space.names[index], learned, learned + offsets, values)


def _checked_radii(radius: float | Sequence[float]) -> list[float]:
    try:
        radii = np.atleast_1d(np.asarray(radius, dtype=np.float64))
    except (TypeError, ValueError):
        radii = np.empty(0)
    if radii.ndim != 1 or len(radii) == 0 or not (np.isfinite(radii) & (radii > 0)).all():
        raise ParameterError(f"radius must be a number above 0, or several, got {radius!r}")
    return radii.tolist()


def _chosen_weights(curves: int | Sequence[int], weights: np.ndarray) -> list[int]:
    """Numbers of the weights to trace."""
    if isinstance(curves, (int, np.integer)):
        Whole(0).check("curves", curves)
        return np.argsort(-np.abs(weights), kind="stable")[:curves].tolist()
    if not isinstance(curves, (Sequence, np.ndarray)):
        raise ParameterError(f"curves must be a whole number or a list of them, got {curves!r}")
    for index in curves:
        Whole(0, len(weights) - 1).check("a weight in curves", index)
    return [int(index) for index in curves]


def _percent(share: float) -> str:
    return f"{100 * share:.3f} %"
