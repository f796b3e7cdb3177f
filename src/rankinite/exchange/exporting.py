"""Writing a model for another engine, and making sure that the engine will score as it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.errors import ExportError, ParameterError
from rankinite.exchange.plain import (
    Plain,
    PlainClasses,
    PlainForest,
    PlainLinear,
    PlainNet,
    Scored,
)
from rankinite.exchange.probing import probing_rows
from rankinite.exchange.sums import linear_of
from rankinite.exchange.writers import FORMATS, Format, columns_of
from rankinite.exchange.writers.bounds import double_bound, single_bound
from rankinite.formats.files import replacing

_KINDS = {
    PlainForest: "forests",
    PlainLinear: "linear models",
    PlainNet: "nets",
    PlainClasses: "classifications into grades (McRank)",
}
_MISSING_IN_LINEAR = (
    "a missing value counts as 0 in the file, and as the feature's mean in the ranker"
)
_ROUNDED_FEATURES = (
    "the format keeps features in single precision, and {n} of the rows have another score "
    "because a value is rounded across a threshold (largest difference {largest:.2g})"
)


@dataclass(frozen=True)
class Exported:
    """What an export has written, and how near its scores are.

    Attributes
    ----------
    path : Path
    format : str
    n_bytes : int
        Of all files.
    largest_difference : float
        Between the scores of the file, as its engine takes them, and those of the ranker.
    n_rows : int
        Rows that were compared.
    notes : tuple of str
        What to know before the file is used.
    """

    path: Path
    format: str
    n_bytes: int
    largest_difference: float
    n_rows: int
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What was found, in sentences for people."""
        if self.largest_difference == 0:
            found = f"the scores of {self.n_rows:,} rows are the ranker's own, bit for bit"
        else:
            found = (
                f"the scores of {self.n_rows:,} rows differ from the ranker's by "
                f"{self.largest_difference:.2g} at most"
            )
        return "; ".join([found, *self.notes])


def export(
    plain: Plain,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    sample: np.ndarray | None = None,
    scores: Callable[[np.ndarray], np.ndarray] | None = None,
    **options: Any,
) -> Exported:
    """Write a plain model in another engine's format, if the engine scores as it does.

    Nothing is written unless the file, read again as the engine reads it, gives the scores of the
    model, up to what the engine's own arithmetic allows.

    Parameters
    ----------
    plain : Plain
    path : path
    format : str, optional
        One of `FORMATS`; by default the one whose files have the suffix of `path`.
    sample : ndarray, shape (n_rows, n_features), optional
        Rows to compare on; by default they are made of the model's thresholds.
    scores : callable, optional
        Scores of a matrix by the ranker that `plain` comes from; by default its own.
    **options
        Those of the format; None stands for its default.
    """
    place = Path(path)
    form = format_of(place, format)
    variant = _variant(form, place)
    given = _checked_options(form, options)
    plain, notes = _fitting(form, plain)
    scores = scores or plain.scores
    if given.pop("constant", None) == "drop" and isinstance(plain, PlainLinear):
        plain, scores = _without_constant(plain, scores)
        notes.append("the constant of the scores is left out, which changes no ranking")
    if form.takes_stem:
        given["stem"] = place.stem
    content = form.write(plain, variant=variant, **given)
    beside = {} if form.beside is None else form.beside(plain, **given)
    back = form.read(content, place.name)
    comparison = Comparison(form, plain, back, scores)
    same_missing = given.get("missing") is None and _MISSING_IN_LINEAR not in notes
    rows = comparison.rows(same_missing) if sample is None else np.asarray(sample)
    largest = comparison.check(rows, place)
    notes += comparison.notes(rows)
    notes += [] if form.notes is None else form.notes(plain)
    for suffix, more in beside.items():
        _write(place.with_suffix(suffix), more)
    _write(place, content)
    n_bytes = len(content) + sum(map(len, beside.values()))
    return Exported(place, form.name, n_bytes, largest, len(rows), tuple(notes))


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was written beside what was read back."""

    form: Format
    plain: Plain
    back: Scored
    scores: Callable[[np.ndarray], np.ndarray]

    def rows(self, same_missing: bool) -> np.ndarray:
        """Rows to compare on, with missing values if both sides mean the same by them."""
        keeps = all(getattr(part, "takes_missing", True) for part in _parts(self.plain, self.back))
        return probing_rows(self.plain, keeps and same_missing)

    def check(self, rows: np.ndarray, path: Path) -> float:
        """The largest difference to the ranker's scores; an `ExportError` if it is too large."""
        if self._rounds:
            rows = _in_single(rows)
        found, expected, own = (
            self._scores_of_file(rows),
            self.plain.scores(rows),
            self.scores(rows),
        )
        # The ranker may add up parts that the plain model has as one, some in single precision.
        more = single_bound(self.plain, rows)
        bound = self._bound(self.plain, rows)
        for scores, allowed in ((expected, bound), (own, bound + more)):
            wrong = ~(np.abs(found - scores) <= allowed)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ExportError(
                    f"{path} is not written: as {self.form.name} the model would give row "
                    f"{row + 1} of the check the score {found[row]:.9g}, and its own is "
                    f"{scores[row]:.9g}"
                )
        return float(np.abs(found - own).max(initial=0.0))

    def notes(self, rows: np.ndarray) -> list[str]:
        """What rounding the rows themselves does, if they are not in single precision."""
        if not self._rounds or np.array_equal(rows, _in_single(rows), equal_nan=True):
            return []
        apart = np.abs(self._scores_of_file(rows) - self.scores(rows))
        n = int((apart > (self._bound(self.plain, rows) + single_bound(self.plain, rows))).sum())
        return [_ROUNDED_FEATURES.format(n=n, largest=apart.max())] if n else []

    @property
    def _bound(self) -> Callable[[Plain, np.ndarray], np.ndarray]:
        """The format's bound; a format may do without single precision if it is asked to."""
        # What does not say how it adds is held to the format.
        exact = all(not getattr(part, "single_sums", True) for part in _parts(self.back))
        return double_bound if exact else self.form.bound

    @property
    def _rounds(self) -> bool:
        """Whether the file's engine keeps features in single precision."""
        return any(getattr(part, "single_features", False) for part in _parts(self.back))

    def _scores_of_file(self, rows: np.ndarray) -> np.ndarray:
        return self.back.scores(np.ascontiguousarray(rows[:, columns_of(self.back, self.plain)]))


def format_of(path: Path, name: str | None = None) -> Format:
    """The format of that name, or the one whose files have the suffix of `path`."""
    known = ", ".join(FORMATS)
    if name is not None:
        if name not in FORMATS:
            raise ParameterError(f"there is no format {name!r}: export to one of {known}")
        return FORMATS[name]
    fitting = [form for form in FORMATS.values() if path.suffix.lower() in form.suffixes]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(form.name for form in fitting)
    why = f"may be any of {names}" if fitting else "says nothing about the format"
    raise ParameterError(
        f"the name {path.name} {why}: say which by format=, one of {names or known}"
    )


def _variant(form: Format, path: Path) -> str:
    """The suffix that picks a form of the format."""
    suffix = path.suffix.lower()
    if suffix in form.beside_suffixes:
        raise ParameterError(
            f"{path.name} will be written beside the file itself: call that "
            f"{path.stem}{form.suffixes[0]}"
        )
    if suffix in form.suffixes:
        return suffix
    if len(form.suffixes) == 1:
        return form.suffixes[0]
    raise ParameterError(
        f"the format {form.name} has files that end in {' or '.join(form.suffixes)}, and "
        f"{path.name} does not: choose one of the two"
    )


def _checked_options(form: Format, options: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in form.options:
            has = f"it has {', '.join(form.options)}" if form.options else "it has none"
            raise ParameterError(f"the format {form.name} has no option {name!r}: {has}")
    return given


def _fitting(form: Format, plain: Plain) -> tuple[Plain, list[str]]:
    """The model as the format can hold it, and what changes by that."""
    if isinstance(plain, form.kinds):
        return plain, []
    if isinstance(plain, PlainNet) and plain.hidden is None and PlainLinear in form.kinds:
        return linear_of(plain), [_MISSING_IN_LINEAR]
    holds = " and ".join(_KINDS[kind] for kind in form.kinds)
    others = [other.name for other in FORMATS.values() if isinstance(plain, other.kinds)]
    raise ExportError(
        f"the format {form.name} holds {holds}, and this model is one of the "
        f"{_KINDS[type(plain)]}: export it to {' or '.join(others) or 'none of the formats'}"
    )


def _without_constant(
    plain: PlainLinear, scores: Callable[[np.ndarray], np.ndarray]
) -> tuple[PlainLinear, Callable[[np.ndarray], np.ndarray]]:
    """A linear model that begins with 0, and the scores that it is compared with."""
    constant = plain.intercept
    return replace(plain, intercept=0.0), lambda X: scores(X) - constant


def _parts(*models: Scored) -> list[Any]:
    """The models themselves, and the forests of classifications."""
    return [p for m in models for p in (m.outputs if isinstance(m, PlainClasses) else [m])]


def _in_single(rows: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return rows.astype(np.float32)


def _write(path: Path, content: bytes) -> None:
    with replacing(path, ExportError) as temporary:
        temporary.write_bytes(content)
