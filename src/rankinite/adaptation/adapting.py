"""Adapting a ranker: train all methods, compare them fairly, take the best."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite.adaptation.expansion import Expansion, expand
from rankinite.adaptation.methods import (
    ALL,
    BACKGROUND,
    METHODS,
    NEED_EXPANSION,
    Recipes,
    Workshop,
    altered,
    members_of,
)
from rankinite.adaptation.table import SIGNIFICANT, in_table
from rankinite.combination import Combination
from rankinite.combination.members import about
from rankinite.data import Dataset
from rankinite.errors import DataError, ParameterError, RankiniteWarning
from rankinite.measures import Comparison, Evaluator, Measure, compare, measure
from rankinite.measures.pair_measures import PairMeasure
from rankinite.models import Ranker
from rankinite.models.base_model import as_scorer, check_base
from rankinite.models.parameters import OneOf, Whole
from rankinite.models.scores import scores_of
from rankinite.models.storage import save
from rankinite.order.canonical import canonical
from rankinite.order.seeds import derive_seed
from rankinite.training.callbacks import show_line

MEASURES = ("ndcg@1", "ndcg@3", "ndcg@10", "avendcg")
"""What the papers' tables show."""

CHOICES = ("significant", "best")
"""How a method is chosen."""

HELD_OUT = 0.1
"""Share of the background's queries that decide how many rounds its ranker keeps."""


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What came of an adaptation; printing shows the tables.

    Attributes
    ----------
    method : str
        The one that was chosen, or asked for; "background" if none was better.
    reason : str
        Why it is that one, for people.
    model : ranker
        Its model; a background model of another library stands inside a `Combination`.
    models : dict of str to ranker
        Those of all methods, and the background ranker.
    validation : Comparison
        All methods against the background on the validation data, each query measured by models
        that were tuned on other queries.
    test : Comparison or None
        The models on the test data.
    expansion : Expansion or None
        How the training data has grown.
    """

    method: str
    reason: str
    model: Any
    models: dict[str, Any] = field(repr=False)
    validation: Comparison = field(repr=False)
    test: Comparison | None = field(repr=False)
    expansion: Expansion | None = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen model to one file; `rankinite.load` reads it."""
        save(self.model, path)

    def __str__(self) -> str:
        parts = [in_table("validation", self.validation)]
        if self.test is not None:
            parts.append(in_table("test", self.test))
        return "\n\n".join(parts)


def adapt(
    background: Any,
    train: Dataset,
    valid: Dataset,
    test: Dataset | None = None,
    *,
    others: Mapping[str, Any] | None = None,
    method: str | None = None,
    choose: str = "significant",
    measure: str | Measure = "ndcg@10",
    ranker: Any = None,
    boost: Any = None,
    smart: Any = None,
    expansion: Mapping[str, Any] | None = None,
    random_state: int = 0,
    n_threads: int | None = None,
    verbose: int = 0,
) -> Adaptation:
    """Make a ranker for a domain with little data out of one with much (Gao et al. 2009).

    Parameters
    ----------
    background : Dataset, ranker, model, function or weights
        The large domain: its data, or a ranker for it, which may be anything that can be a
        `base_model`. Of data a tenth of the queries decides how many rounds its ranker keeps.
    train, valid : Dataset
        The target's training and validation data.
    test : Dataset, optional
        To compare the models on at the end; it takes no part in the choice.
    others : mapping from str, optional
        More backgrounds by name, such as other markets, each like `background`. They take part in
        "interpolation_all" and in the comparison.
    method : str, optional
        One of `rankinite.adaptation.METHODS`; by default all are trained, and `choose` says how
        one of them is chosen by validation.

        - "in_domain": trained on the target's data alone.
        - "expanded": trained on what `rankinite.expand` makes of it; needs background data.
        - "interpolation": background and in_domain with the best weight between them.
        - "interpolation3": background, in_domain and expanded.
        - "interpolation_all": these and all `others`, as far as they are there.
        - "lambdaboost": features added to the background ranker.
        - "lambdasmart": trees added to the background ranker.
        - "lambdasmart_random": the same with 70 % of the rows and features drawn at every node.
    choose : {"significant", "best"}
        "significant": the best of those that are better than the background ranker by a paired
        t-test at 5 %, and the background ranker itself if there is none: what validation cannot
        tell from noise is no reason to leave a ranker that is known. "best": the highest mean.
    measure : str or Measure
        What is learned, tuned, and chosen by.
    ranker : Learner, optional
        Untrained, for background, in_domain and expanded: a `LambdaMART` of 20 leaves by default.
    boost, smart : LambdaBoost, LambdaMART, optional
        Untrained, for the methods called after them. These and `ranker` learn `measure`, from
        `random_state`, on `n_threads`; all else is taken as it is.
    expansion : dict, optional
        Parameters of `rankinite.expand`.
    random_state : int
    n_threads : int, optional
        All cores by default. Nothing depends on it.
    verbose : int
        1 prints a line for everything that is trained.

    Returns
    -------
    Adaptation

    Notes
    -----
    Validation data decides how many rounds are kept and what an interpolation weighs, and a
    measure on the data that decided would flatter the methods with the most to decide. So the
    validation queries are cut into halves, and every method is trained twice more: tuned on one
    half, measured on the other. The choice is made by these values. The models that are given back
    are tuned on all of them.

    Examples
    --------
    >>> import rankinite as rk
    >>> options = {"n_docs": 20, "n_features": 8, "shared": 0.7}
    >>> general = rk.LambdaMART(n_estimators=20).fit(rk.artificial(200, **options))
    >>> train, valid = rk.artificial((30, 20), market=1, **options)
    >>> adapted = rk.adapt(general, train, valid, method="lambdaboost")
    >>> adapted.model.predict(valid).shape
    (400,)
    """
    say = show_line if verbose else _silent
    by = _checked_measure(measure)
    others = _checked_others(others)
    _check_method(method, background, others)
    OneOf(CHOICES).check("choose", choose)
    options = _expansion_options(expansion, background)
    Whole(0, 2**63 - 1).check("random_state", random_state)
    for_all = {"measure": measure, "random_state": random_state, "n_threads": n_threads}
    recipes = Recipes.of(for_all, ranker=ranker, boost=boost, smart=smart)
    for what, rows in (("train", train), ("valid", valid), ("test", test)):
        if rows is not None or what != "test":
            _check_data(what, rows, train)
    if not Evaluator(by, train).can_tell():
        raise DataError(
            f"the training data teaches nothing about {by}: no query has documents of which some "
            "are better than others"
        )
    shown = _measures_to_show(by, valid, test)
    halves = _halves(valid, by, random_state)
    methods = _wanted(method, others, isinstance(background, Dataset))
    grown = None
    if any(each in NEED_EXPANSION for each in methods):
        grown = expand(train, background, random_state=random_state, n_threads=n_threads, **options)
        say(str(grown))
        methods = _without_expansion(methods, method) if grown.n_rows == 0 else methods
    base, *more = (
        _background_ranker(each, name, train, recipes, random_state, say)
        for name, each in {BACKGROUND: background, **others}.items()
    )
    data = None if grown is None or grown.n_rows == 0 else grown.dataset
    rankers = dict(zip(others, more, strict=True))
    workshop = Workshop(base, rankers, train, data, recipes, measure, say)
    names = [BACKGROUND, *others, *methods]
    with threads(n_threads):
        measured = {name: _cross_fitted(workshop, name, valid, halves) for name in names}
        validation = compare(measured, valid, shown, baseline=BACKGROUND)
        chosen, reason = _chosen(validation, by, method, choose)
        models = {name: workshop.make(name, valid, "all validation data") for name in names}
        tested = None if test is None else compare(models, test, shown, baseline=BACKGROUND)
    model = models[chosen]
    if not isinstance(model, Ranker):
        # The background's own kind may lack what all rankers have, such as scoring a Dataset.
        model = Combination({chosen: model}, n_threads=n_threads).fit(valid)
    return Adaptation(chosen, reason, model, models, validation, tested, grown)


def _silent(line: str) -> None:
    pass


def _checked_measure(spec: str | Measure) -> Measure:
    by = measure(spec)
    if isinstance(by, PairMeasure):
        raise ParameterError(
            f"measure {by} is one of preference pairs, and adaptation learns from labels: name "
            "another, for instance 'ndcg@10'"
        )
    return by


def _checked_others(others: Mapping[str, Any] | None) -> dict[str, Any]:
    if others is not None and not isinstance(others, Mapping):
        raise ParameterError(
            f"others must be a dict of backgrounds by name, got a {type(others).__name__}"
        )
    for name in others or {}:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"the names of others must be texts, got {name!r}")
        if name == BACKGROUND or name in METHODS:
            raise ParameterError(f"others has a background called {name!r}, as a method: rename it")
    return dict(others or {})


def _check_method(method: str | None, background: Any, others: Mapping[str, Any]) -> None:
    if method is None:
        return
    if method == ALL and not others:
        raise ParameterError(
            f"method {ALL!r} interpolates between several backgrounds, and there is one: pass "
            "others, or choose another method"
        )
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if method in NEED_EXPANSION and not isinstance(background, Dataset):
        raise ParameterError(
            f"method {method!r} looks for near documents in background data, and the background "
            "is a model: pass the data, or choose another method"
        )


def _check_data(what: str, rows: Any, train: Dataset) -> None:
    if not isinstance(rows, Dataset):
        raise DataError(f"{what} must be a Dataset, got a {type(rows).__name__}")
    if rows.y is None:
        raise DataError(f"the {what} data has no labels: adaptation needs both")
    # An error if there are only bins.
    rows.features.values(f"the {what} data has no feature values, only bins: adaptation needs both")
    if rows.n_features != train.n_features:
        raise DataError(
            f"the {what} data has {rows.n_features} features, but the training data has "
            f"{train.n_features}: pass data with the same features"
        )


def _by_name(by: Measure) -> dict[str, str | Measure]:
    """The measures of the papers, and the one to choose by, which may be the user's own."""
    return {**{name: name for name in MEASURES}, str(by): by}


def _measures_to_show(by: Measure, valid: Dataset, test: Dataset | None) -> list[str | Measure]:
    """The measure itself, and those of the papers as far as they can measure these labels."""
    shown: list[str | Measure] = []
    for each in _by_name(by).values():
        try:
            for rows in (valid, test):
                if rows is not None:
                    Evaluator(each, rows)
        except DataError:
            if each is by:
                raise
        else:
            shown.append(each)
    return shown


def _wanted(method: str | None, others: Mapping[str, Any], has_data: bool) -> list[str]:
    """The methods to train: the one asked for with what it is made of, or all that are possible."""
    if method is not None:
        members = members_of(method, others, has_data)
        return [*(each for each in members if each in METHODS), method]
    return [
        each
        for each in METHODS
        if (has_data or each not in NEED_EXPANSION) and (others or each != ALL)
    ]


def _expansion_options(given: Mapping[str, Any] | None, background: Any) -> dict[str, Any]:
    known = [
        name
        for name, parameter in inspect.signature(expand).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in ("random_state", "n_threads")
    ]
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(
            f"expansion must be a dict of parameters of expand, got a {type(given).__name__}"
        )
    for name in given or {}:
        if name not in known:
            raise ParameterError(f"expansion takes {', '.join(known)}, not {name!r}")
    if given and not isinstance(background, Dataset):
        raise ParameterError(
            "expansion looks for near documents in background data, and the background is a "
            "model: leave it out, or pass the data"
        )
    return dict(given or {})


def _without_expansion(methods: Sequence[str], method: str | None) -> list[str]:
    if method in NEED_EXPANSION:
        raise DataError(
            f"no background document is near enough to the target's for method {method!r}: raise "
            "max_distance of the expansion, or choose another method"
        )
    warnings.warn(
        "no background document is near enough to the target's, so the methods that expand the "
        "training data are left out: raise max_distance of the expansion to have them",
        RankiniteWarning,
        stacklevel=3,
    )
    return [each for each in methods if each not in NEED_EXPANSION]


def _background_ranker(
    background: Any,
    name: str,
    train: Dataset,
    recipes: Recipes,
    random_state: int,
    say: Callable[[str], None],
) -> Any:
    """The ranker of a background, trained if the background is data."""
    if not isinstance(background, Dataset):
        with about(name):
            base = as_scorer(background)
            check_base(base, train)
        return base
    _check_data(name, background, train)
    started = time.perf_counter()
    learner = altered(recipes.ranker)
    if getattr(learner, "early_stopping", None) is None:
        learner.fit(background)
    else:
        most, rest = _cut(background, 1.0 - HELD_OUT, random_state)
        learner.fit(most, valid=rest)
    seconds = time.perf_counter() - started
    say(f"{name}: {learner.in_words()} ({seconds:.1f} s)")
    return learner


def _cut(data: Dataset, share: float, random_state: int) -> tuple[Dataset, Dataset]:
    """Two parts of the queries, in whatever order they come."""
    data = data.that_count()
    queries = _in_random_order(data, random_state)
    n_first = round(share * len(queries))
    if not 0 < n_first < len(queries):
        raise DataError(
            f"the background data has {len(queries)} queries, too few to hold some out: pass more "
            "data, or a ranker without early_stopping"
        )
    return data.select_queries(queries[:n_first]), data.select_queries(queries[n_first:])


def _in_random_order(data: Dataset, random_state: int) -> np.ndarray:
    """The queries with a weight, in an order that depends on their content alone."""
    order = canonical(data)
    weighed = np.flatnonzero(order.query_weight > 0)
    places = order.shuffled(weighed, derive_seed(int(random_state), "queries"))
    return order.queries[places]


def _halves(valid: Dataset, by: Measure, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """The queries of the two halves, with equally many that are not blank."""
    blank = Evaluator(by, valid).blank
    queries = _in_random_order(valid, random_state)
    told, silent = queries[~blank[queries]], queries[blank[queries]]
    if len(told) < 4:
        raise DataError(
            f"the validation data has {len(told)} queries in which some documents are better than "
            "others, and at least 4 are needed, two for each half: pass more"
        )
    first, second = (np.concatenate([told[k::2], silent[k::2]]) for k in range(2))
    return first, second


def _cross_fitted(
    workshop: Workshop, method: str, valid: Dataset, halves: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Scores of the validation data in the caller's order, by models tuned on the other half."""
    scores = np.zeros(valid.n_rows)
    for k, (tuned_on, measured_on) in enumerate((halves, halves[::-1])):
        tuning = valid.select_queries(np.sort(tuned_on))
        model = workshop.make(method, tuning, f"half {k + 1} of the validation data")
        here = np.zeros(valid.n_queries, bool)
        here[measured_on] = True
        rows = np.repeat(here, valid.query_sizes)
        scores[rows] = scores_of(model, valid.select_queries(here))
    return valid.in_caller_order(scores)


def _chosen(
    validation: Comparison, by: Measure, method: str | None, choose: str
) -> tuple[str, str]:
    """The method to keep, and why; of equals the first, so the background before others."""
    if method is not None:
        return method, f"{method} is the one asked for"
    sign = -1.0 if by.lower_is_better else 1.0
    values = {name: sign * each[by] for name, each in validation.evaluations.items()}
    best = max(values, key=lambda name: values[name])
    if choose == "best":
        return best, f"{best} is the best by {by} on validation"
    better = [
        row.scorer
        for row in validation.rows
        if row.measure == str(by) and row.is_better and row.p_value < SIGNIFICANT
    ]
    if not better:
        if best == BACKGROUND:
            return best, f"{best} is the best by {by} on validation"
        return BACKGROUND, (
            f"{BACKGROUND} is kept: {best} is better by {by} on validation, but that may be noise "
            f"(paired t-test, p ≥ {SIGNIFICANT})"
        )
    best = max(better, key=lambda name: values[name])
    return best, (
        f"{best} is the best by {by} on validation of those that are better than {BACKGROUND} by a "
        f"paired t-test (p < {SIGNIFICANT})"
    )
