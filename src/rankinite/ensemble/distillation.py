"""One fast model out of many: a student that learns what a teacher says (Bucila et al. 2006).

Burges et al. 2011, section 5, ask why a single model does not come to what an ensemble does when it
is trained on the labels, though it can be taught to rank almost as the ensemble ranks. A teacher's
scores have less noise than labels, and any documents will do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite._text_table import aligned
from rankinite.boosting import MART, LambdaMART
from rankinite.combination.members import about
from rankinite.data import Dataset
from rankinite.ensemble.augmentation import augmented
from rankinite.ensemble.cost import BATCH, QUERY, Cost
from rankinite.ensemble.fitting import check_ranker, fresh
from rankinite.ensemble.targets import TARGETS
from rankinite.errors import DataError, ParameterError
from rankinite.measures import DCG, NDCG, Comparison, compare, measure
from rankinite.measures.evaluation import MeasureLike, measure_list
from rankinite.models.base_model import as_scorer, check_base
from rankinite.models.parameters import OneOf, Whole
from rankinite.models.scores import scores_of
from rankinite.models.storage import save
from rankinite.training.callbacks import show_line

DOCUMENTS = ("given", "augmented")
"""What a student learns from."""

FRACTION, TIMES = 0.5, 10
"""How documents are augmented: the Aug50 of the paper."""

LEARNED = NDCG(10, gain="label")
"""What a LambdaMART learns of a teacher, unless its measure is another one with gains."""

TEACHER, STUDENT, SINGLE = "teacher", "student", "on labels"
MEASURES = ("ndcg@10", "err@10")


@dataclass(frozen=True, eq=False)
class Distillation:
    """What came of a distillation; printing shows the table.

    Attributes
    ----------
    model : LambdaMART or MART
        The student.
    single : LambdaMART or MART, or None
        The same kind of ranker trained on labels, if there were some to train it on.
    n_documents, n_queries : int
        What the student has learned from.
    costs : dict of str to Cost
        Of the teacher, the student and the single model: times and sizes.
    comparison : Comparison or None
        All of them on the test data, by paired tests against the teacher.
    """

    model: LambdaMART | MART
    single: LambdaMART | MART | None = field(repr=False)
    n_documents: int
    n_queries: int
    costs: dict[str, Cost] = field(repr=False)
    comparison: Comparison | None = field(repr=False)

    @property
    def speedup(self) -> float:
        """How many times faster the student scores 1,000 documents than the teacher."""
        return self.costs[TEACHER].batch / self.costs[STUDENT].batch

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the student to one file; `rankinite.load` reads it."""
        save(self.model, path)

    def __str__(self) -> str:
        cells = [(name, *cost.in_cells()) for name, cost in self.costs.items()]
        header = ("", f"{BATCH:,} documents", f"a query of {QUERY}", "file")
        faster = f"the student is {self.speedup:.1f} times as fast as the teacher"
        parts = [f"{aligned(header, cells)}\n{faster}"]
        if self.comparison is not None:
            parts.insert(0, _kept(self.comparison))
        return "\n\n".join(parts)


def _kept(comparison: Comparison) -> str:
    """What the student keeps, a table a measure."""
    tables = []
    for name in comparison.evaluations[TEACHER].means:
        rows = [row for row in comparison.rows if row.measure == name]
        cells = [(TEACHER, f"{rows[0].baseline_mean:.4f}", *[""] * 3)]
        for row in rows:
            kept = row.mean / row.baseline_mean if row.baseline_mean else float("nan")
            change = f"{row.difference:+.4f} ± {(row.high - row.low) / 2:.4f}"
            cells.append(
                (row.scorer, f"{row.mean:.4f}", f"{100 * kept:.1f} %", change, f"{row.p_value:.2g}")
            )
        tables.append(aligned((name, "mean", "kept", "change (95 %)", "p"), cells))
    return "\n\n".join(tables)


def distil(
    teacher: Any,
    data: Dataset,
    student: LambdaMART | MART | None = None,
    *,
    targets: str = "scores",
    documents: str = "given",
    valid: Dataset | None = None,
    labelled: Dataset | None = None,
    test: Dataset | None = None,
    measures: MeasureLike | Sequence[MeasureLike] = MEASURES,
    random_state: int = 0,
    n_threads: int | None = None,
    verbose: int = 0,
) -> Distillation:
    """Train one ranker on the scores of another, such as an ensemble.

    Parameters
    ----------
    teacher : ranker, model, function or weights
        Anything that can be a `base_model`, trained.
    data : Dataset
        Documents for the teacher to score. Labels play no part; the more documents, the better.
    student : LambdaMART or MART, optional
        Untrained; a `MART` by default. It is copied. A LambdaMART learns targets as gains: those
        of its own measure if it has gains, else of NDCG@10.
    targets : {"scores", "quantiles", "ranks"}
        What the student takes for labels, and a LambdaMART for the gains of NDCG.

        - "scores": the teacher's, with mean 0 and variance 1.
        - "quantiles": which share of all documents the teacher puts below, from 0 to 1. It kept
          more where queries have up to about 40 documents, and much less where they have 120.
        - "ranks": which share of the query's documents it puts below.
    documents : {"given", "augmented"}
        "augmented" adds ten parts of each query with half of its documents
        (`rankinite.augmented`).
    valid : Dataset, optional
        What the student watches, for `early_stopping`: by its labels, or by the teacher's scores
        if it has none.
    labelled : Dataset, optional
        Train a ranker like the student on these labels too, and compare.
    test : Dataset, optional
        Labelled, to compare the student with the teacher on.
    measures : str, Measure or sequence of them
        What to compare by.
    random_state : int
        Of the augmentation; the student has its own.
    n_threads : int, optional
        All cores, or what the student says, by default. Nothing depends on it.
    verbose : int
        1 says what is done.

    Returns
    -------
    Distillation

    Examples
    --------
    >>> import rankinite as rk
    >>> train, more, test = rk.artificial(n_queries=(60, 100, 30), n_docs=20, n_features=6)
    >>> members = [rk.LambdaMART(n_estimators=20, random_state=k).fit(train) for k in range(3)]
    >>> teacher = rk.Combination(members).fit(train)
    >>> small = rk.distil(teacher, more, rk.MART(n_estimators=20), test=test)
    >>> small.model.predict(test).shape
    (600,)
    """
    say = show_line if verbose else _silent
    ranker = MART() if student is None else student
    _check_student(ranker)
    OneOf(tuple(TARGETS)).check("targets", targets)
    OneOf(DOCUMENTS).check("documents", documents)
    Whole(0, 2**63 - 1).check("random_state", random_state)
    Whole(1, optional=True).check("n_threads", n_threads)
    with about(TEACHER):
        scorer = as_scorer(teacher)
    for what, rows in (("data", data), ("valid", valid), ("labelled", labelled), ("test", test)):
        if rows is not None or what == "data":
            _check_data(what, rows, scorer)
    wanted = measure_list(measures)
    learned = _with_targets(data, None).that_count()
    if documents == "augmented":
        learned = augmented(learned, FRACTION, TIMES, random_state=random_state)
    with threads(n_threads):
        say(f"the teacher scores {learned.n_rows:,} documents")
        taught = _taught(scorer, learned, targets)
        watched = valid if valid is None or valid.y is not None else _taught(scorer, valid, targets)
        say(f"a {type(ranker).__name__} learns them")
        model = _student(ranker, n_threads, watched is valid).fit(taught, valid=watched)
        single = None
        if labelled is not None:
            say("and the labels")
            by_labels = valid if valid is not None and valid.y is not None else None
            single = fresh(ranker, n_threads).fit(labelled, valid=by_labels)
    models = {TEACHER: scorer, STUDENT: model, SINGLE: single}
    models = {name: each for name, each in models.items() if each is not None}
    comparison = None if test is None else compare(models, test, wanted, baseline=TEACHER)
    costs = {name: Cost.of(each, data) for name, each in models.items()}
    return Distillation(model, single, taught.n_rows, taught.n_queries, costs, comparison)


def _silent(line: str) -> None:
    pass


def _check_student(student: Any) -> None:
    """Refuse anything but trees that can be taught numbers."""
    check_ranker(student, "student")
    if not isinstance(student, (LambdaMART, MART)):
        raise ParameterError(
            f"student must be a LambdaMART or a MART, but it is a {type(student).__name__}"
        )
    if isinstance(student, MART) and student.loss != "least_squares":
        raise ParameterError(
            f"student has loss={student.loss!r}, which asks for labels, and a teacher gives "
            "numbers: leave it out"
        )


def _check_data(what: str, rows: Any, teacher: Any) -> None:
    """Refuse data that the teacher cannot score, or that lacks the labels it is there for."""
    if not isinstance(rows, Dataset):
        raise DataError(f"{what} must be a Dataset, got a {type(rows).__name__}")
    with about(TEACHER):
        check_base(teacher, rows)
    if what in ("labelled", "test") and rows.y is None:
        raise DataError(f"the {what} data has no labels: pass queries that have some")


def _with_targets(data: Dataset, targets: np.ndarray | None) -> Dataset:
    """The documents with other labels, or none."""
    made = copy(data)
    made.y, made.preferences = targets, None
    return made


def _taught(teacher: Any, data: Dataset, targets: str) -> Dataset:
    """Documents with labels made of the teacher's scores."""
    with about(TEACHER):
        scores = scores_of(teacher, data, "the output of base_model")
    labels = TARGETS[targets](scores, data)
    labels -= min(0.0, labels.min())  # gains are not below 0
    if labels.min() == labels.max():
        raise DataError(
            "the teacher gives all documents the same score, or no query has two documents: there "
            "is nothing to learn from it"
        )
    return _with_targets(data, labels)


def _student(student: LambdaMART | MART, n_threads: int | None, judged: bool) -> LambdaMART | MART:
    """A copy that can be taught numbers; `judged` says whether it watches labels of judges."""
    made: LambdaMART | MART = fresh(student, n_threads)
    if made.valid_measure is None:
        made.valid_measure = made.measure if judged else "pairs"
    if isinstance(made, LambdaMART):
        own = measure(made.measure)
        made.measure = str(replace(own, gain="label") if isinstance(own, DCG) else LEARNED)
    return made
