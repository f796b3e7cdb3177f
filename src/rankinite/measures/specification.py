"""The built-in measures as small immutable values that print themselves.

>>> str(NDCG(k=10))
'ndcg@10'
>>> str(ERR(k=5, max_label=4))
'err@5:max_label=4'
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from rankinite.errors import DataError, ParameterError
from rankinite.measures import codes
from rankinite.measures import judged as j
from rankinite.measures._swap_kernels import swap_terms
from rankinite.measures.judged import Judged, LabelLayout
from rankinite.measures.protocol import Measure
from rankinite.measures.values import expected_values


class BuiltIn(Measure):
    """A measure that the kernels know: it says how it sees labels, the kernels do the rest."""

    keyword: ClassVar[str]

    @abstractmethod
    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """Check the labels of a dataset and turn them into what the kernels need.

        Parameters
        ----------
        y : ndarray of float64, shape (n_rows,)
            Labels, the rows of a query contiguous.
        offsets : ndarray of int64, shape (n_queries + 1,)
            Query q has the rows from ``offsets[q]`` to ``offsets[q + 1]``.
        """

    @property
    def cut_off(self) -> int | None:
        """The k of the measure, if it has one."""
        return getattr(self, "k", None)

    def deeper(self, rank: int) -> BuiltIn:
        """The same measure with its cut-off at `rank`; as it is if it has none, or a lower one."""
        cut = self.cut_off
        return self if cut is None or cut >= rank else replace(self, k=rank)  # type: ignore[type-var]

    @property
    def name(self) -> str:
        """The canonical text, which parses back to an equal measure."""
        values = {f: getattr(self, f) for f in defaults_of(type(self))}
        k = values.pop("k", None)
        cut = "" if k is None else f"@{k}"
        defaults = defaults_of(type(self))
        options = ",".join(f"{f}={v}" for f, v in values.items() if v != defaults[f])
        return self.keyword + cut + (f":{options}" if options else "")

    def value(self, labels: np.ndarray) -> float:
        """Value of one query whose labels are in rank order; 0 if it is blank."""
        return self.expected_value(-np.arange(len(labels), dtype=np.float64), labels)

    def is_blank(self, labels: np.ndarray) -> bool:
        """Say whether no order of these labels is better than another."""
        return bool(self._judge_one(labels).blank[0])

    def expected_value(self, scores: np.ndarray, labels: np.ndarray) -> float:
        """Mean value over all orders of tied documents, in closed form."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.shape != np.shape(labels):
            raise DataError(
                f"{self}: scores of shape {scores.shape} for labels of shape {np.shape(labels)}, "
                "but each document needs one of both"
            )
        if np.isnan(scores).any():
            raise DataError(f"{self}: score {np.argmax(np.isnan(scores))} of the query is NaN")
        seen = self._judge_one(labels)
        if seen.blank[0]:
            return 0.0
        return float(expected_values(seen, scores, np.array([0, len(scores)]))[0])

    def swap_deltas(self, labels: np.ndarray) -> np.ndarray:
        """Change of the value when two ranks trade places, shape (n_docs, n_docs)."""
        G, S, U, V = self._terms(labels)
        upper = np.triu((G[None, :] - G[:, None]) * S[:, None] * (U[:, None] - V[None, :]), k=1)
        return upper + upper.T

    def _judge_one(self, labels: np.ndarray) -> Judged:
        return self.judge(labels, np.array([0, len(labels)]))

    def _terms(self, labels: np.ndarray) -> np.ndarray:
        seen = self._judge_one(labels)
        terms = np.empty((4, len(seen.grades)))
        swap_terms(seen.code, seen.grades, seen.discounts, seen.norms[0], *terms)
        return terms


@dataclass(frozen=True)
class DCG(BuiltIn):
    """Discounted cumulative gain: Σ gain/log2(1 + rank) down to rank k.

    Parameters
    ----------
    k : int or None
        Cut-off; None counts the whole list.
    gain : {"exp2", "label"}
        2^label − 1, or the label itself.
    """

    keyword: ClassVar[str] = "dcg"
    k: int | None = None
    gain: str = "exp2"

    def __post_init__(self) -> None:
        _set_cut_off(self)
        _check_gain(self.gain)

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = j.gains(layout, self.name, self.gain)
        discounts = j.log_discounts(layout.longest, self.k)
        blank = layout.no_positive(grades)
        norms = self._norms(layout, grades, discounts, blank)
        return Judged(codes.LINEAR, grades, discounts, norms, blank, j.top_rank(layout, self.k))

    def _norms(
        self, layout: LabelLayout, grades: np.ndarray, discounts: np.ndarray, blank: np.ndarray
    ) -> np.ndarray:
        return _ones(blank)


@dataclass(frozen=True)
class NDCG(DCG):
    """DCG@k divided by the largest DCG@k that the query's labels allow.

    Parameters
    ----------
    k : int or None
        Cut-off; None counts the whole list.
    gain : {"exp2", "label"}
        2^label − 1, or the label itself.
    """

    keyword: ClassVar[str] = "ndcg"

    def _norms(
        self, layout: LabelLayout, grades: np.ndarray, discounts: np.ndarray, blank: np.ndarray
    ) -> np.ndarray:
        return j.ideal_norms(layout, grades, discounts)


@dataclass(frozen=True)
class AveNDCG(BuiltIn):
    """Mean of NDCG@1, NDCG@2, … NDCG@depth (Gao et al. 2009, section 5.1).

    Parameters
    ----------
    depth : int
        The largest cut-off.
    gain : {"exp2", "label"}
        2^label − 1, or the label itself.
    """

    keyword: ClassVar[str] = "avendcg"
    depth: int = 10
    gain: str = "exp2"

    def __post_init__(self) -> None:
        _set_positive_integer(self, "depth")
        _check_gain(self.gain)

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = j.gains(layout, self.name, self.gain)
        discounts = j.log_discounts(layout.longest, self.depth)
        norms = j.layered_norms(layout, grades, discounts, self.depth)
        blank = layout.no_positive(grades)
        top = j.top_rank(layout, self.depth)
        return Judged(codes.LAYERED, grades, discounts, norms, blank, top)


@dataclass(frozen=True)
class ERR(BuiltIn):
    """Expected reciprocal rank of the document that satisfies the user (Chapelle et al. 2009).

    Parameters
    ----------
    k : int or None
        Cut-off; None counts the whole list.
    max_label : int or None
        Top of the label scale, at most 50: a document satisfies with probability
        (2^label − 1)/2^max_label. None takes the largest label of the data, at least 1; fix it
        where values of different data are compared.
    """

    keyword: ClassVar[str] = "err"
    k: int | None = None
    max_label: int | None = None

    def __post_init__(self) -> None:
        _set_cut_off(self)
        if self.max_label is not None:
            _set_positive_integer(self, "max_label")
            if self.max_label > j.LARGEST_ERR_GRADE:
                raise ParameterError(
                    f"max_label must be at most {j.LARGEST_ERR_GRADE}, got {self.max_label}"
                )

    def resolve(self, y: np.ndarray) -> ERR:
        """Take the largest label of `y` as the top of the scale, if none was given."""
        return ERR(self.k, self._top_label(y))

    def _top_label(self, y: np.ndarray) -> int:
        if self.max_label is not None:
            return self.max_label
        largest = np.max(y, initial=1.0)
        # Data that no scale fits keeps the widest one, and `judge` says what is wrong with it.
        fits = np.isfinite(largest) and largest <= j.LARGEST_ERR_GRADE
        return math.ceil(largest) if fits else j.LARGEST_ERR_GRADE

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = j.stop_probabilities(layout, self.name, self._top_label(layout.y))
        discounts = j.reciprocal_discounts(layout.longest, self.k)
        blank = layout.no_positive(grades)
        top = j.top_rank(layout, self.k)
        return Judged(codes.CASCADE, grades, discounts, _ones(blank), blank, top)


@dataclass(frozen=True)
class Precision(BuiltIn):
    """Fraction of the first k ranks that hold a relevant document.

    Parameters
    ----------
    k : int
        Cut-off; also the divisor when the query has fewer documents.
    relevant : float
        The lowest label that counts as relevant.
    """

    keyword: ClassVar[str] = "p"
    cut_off: ClassVar[None] = None  # it is about its k and no other
    k: int
    relevant: float = 1

    def __post_init__(self) -> None:
        _set_positive_integer(self, "k")
        _set_relevant(self)

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = (layout.y >= self.relevant).astype(np.float64)
        discounts = j.constant_discounts(layout.longest, self.k)
        blank = layout.no_positive(grades)
        top = j.top_rank(layout, self.k)
        return Judged(codes.LINEAR, grades, discounts, _ones(blank), blank, top)


@dataclass(frozen=True)
class AP(BuiltIn):
    """Average precision: the mean of precision@rank over the ranks of the relevant documents.

    Parameters
    ----------
    k : int or None
        Cut-off. Relevant documents below it count as never found: the divisor is the number
        of all relevant documents, as in TREC's ``map_cut``.
    relevant : float
        The lowest label that counts as relevant.
    """

    keyword: ClassVar[str] = "map"
    k: int | None = None
    relevant: float = 1

    def __post_init__(self) -> None:
        _set_cut_off(self)
        _set_relevant(self)

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = (layout.y >= self.relevant).astype(np.float64)
        discounts = j.reciprocal_discounts(layout.longest, self.k)
        norms = j.inverse(layout.per_query(grades))[:, None]
        blank = layout.no_positive(grades)
        top = j.top_rank(layout, self.k)
        return Judged(codes.PRECISIONS, grades, discounts, norms, blank, top)


@dataclass(frozen=True)
class RR(BuiltIn):
    """Reciprocal rank of the first relevant document, 0 if it is below k.

    Parameters
    ----------
    k : int or None
        Cut-off; None counts the whole list.
    relevant : float
        The lowest label that counts as relevant.
    """

    keyword: ClassVar[str] = "mrr"
    k: int | None = None
    relevant: float = 1

    def __post_init__(self) -> None:
        _set_cut_off(self)
        _set_relevant(self)

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        grades = (layout.y >= self.relevant).astype(np.float64)
        discounts = j.reciprocal_discounts(layout.longest, self.k)
        blank = layout.no_positive(grades)
        top = j.top_rank(layout, self.k)
        return Judged(codes.FIRST, grades, discounts, _ones(blank), blank, top)


@dataclass(frozen=True)
class Pairs(BuiltIn):
    """Fraction of the pairs of different labels that are in the right order, ties count 1/2."""

    keyword: ClassVar[str] = "pairs"

    def judge(self, y: np.ndarray, offsets: np.ndarray) -> Judged:
        """See ``BuiltIn.judge``."""
        layout = LabelLayout.of(self.name, y, offsets)
        pairs = j.different_pairs(layout)
        discounts = np.ones(layout.longest)
        norms = j.inverse(pairs)[:, None]
        return Judged(codes.PAIRS, layout.y, discounts, norms, pairs == 0, layout.longest)

    def swap_deltas(self, labels: np.ndarray) -> np.ndarray:
        """Change of the value when two ranks trade places, shape (n_docs, n_docs).

        The pair itself turns round, and so does the order of both documents against each one
        between them: counted for all pairs at once from running counts for each label.
        """
        seen = self._judge_one(labels)
        distinct, level = np.unique(seen.grades, return_inverse=True)
        # ahead[v, p]: labels below distinct[v] minus labels above it, among the first p ranks.
        ahead = np.zeros((len(distinct), len(level) + 1))
        np.cumsum(np.sign(distinct[:, None] - seen.grades), axis=1, out=ahead[:, 1:])
        ranks = np.arange(len(level))
        here, after = ahead[:, ranks], ahead[:, ranks + 1]
        # For i < j, rows i and columns j: the documents strictly between, against each label.
        lower = here[level, ranks][None, :] - after[level].T
        upper = here[level] - after[level, ranks][:, None]
        itself = np.sign(seen.grades[None, :] - seen.grades[:, None])
        deltas = np.triu(lower - upper + itself, k=1) * seen.norms[0, 0]
        return deltas + deltas.T


def defaults_of(kind: type[Measure]) -> dict[str, Any]:
    """Return the parameters of a built-in measure with their defaults, in order."""
    return {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type]


def _ones(blank: np.ndarray) -> np.ndarray:
    return np.where(blank, 0.0, 1.0)[:, None]


def _set_cut_off(built_in: Any) -> None:
    if built_in.k is not None:
        _set_positive_integer(built_in, "k")


def _set_positive_integer(built_in: Any, name: str) -> None:
    given = getattr(built_in, name)
    try:
        value = operator.index(given)
    except TypeError:
        value = 0
    if value < 1 or isinstance(given, bool):
        raise ParameterError(f"{name} must be a positive integer, got {given!r}")
    # A frozen dataclass may set its own fields only so; numpy integers become plain ones.
    object.__setattr__(built_in, name, value)


def _set_relevant(built_in: Any) -> None:
    try:
        value = float(built_in.relevant)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < math.inf:
        raise ParameterError(
            f"relevant must be a positive number, the lowest relevant label; "
            f"got {built_in.relevant!r}"
        )
    object.__setattr__(built_in, "relevant", int(value) if value.is_integer() else value)


def _check_gain(gain: str) -> None:
    if gain not in ("exp2", "label"):
        raise ParameterError(f"gain must be 'exp2' or 'label', got {gain!r}")
