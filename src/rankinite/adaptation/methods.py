"""The ways to adapt a ranker (Gao et al. 2009), each from what it needs to a trained model.

A method is trained with *tuning data*: the queries that decide how many rounds of boosting are
kept, and the weights of an interpolation. Trained models are kept by their tuning data, so that
what several methods need is trained once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rankinite.boosting import LambdaBoost, LambdaMART
from rankinite.combination import Combination
from rankinite.data import Dataset
from rankinite.errors import ParameterError
from rankinite.training import Learner

METHODS = {
    "in_domain": "trained on the target's data alone",
    "expanded": "trained on the target's data and what is near to it in the background data",
    "interpolation": "background and in_domain, by the best weight between them",
    "interpolation3": "background, in_domain and expanded, by the best weights",
    "interpolation_all": "background, other rankers, in_domain and expanded, by the best weights",
    "lambdaboost": "background plus weighted features",
    "lambdasmart": "background plus trees",
    "lambdasmart_random": "the same, with 70 % of the rows and features drawn at every node",
}
"""The methods by name, with what they are; "background" is what all are compared with."""

BACKGROUND = "background"
MEMBERS = {
    "interpolation": (BACKGROUND, "in_domain"),
    "interpolation3": (BACKGROUND, "in_domain", "expanded"),
}
ALL = "interpolation_all"
NEED_EXPANSION = ("expanded", "interpolation3")
DRAWN = 0.7
"""The share that `lambdasmart_random` draws, that of Gao et al. 2009, section 5.3."""


@dataclass(frozen=True)
class Recipes:
    """Untrained rankers to start from.

    Attributes
    ----------
    ranker : Learner
        For the background, in_domain and expanded.
    boost : LambdaBoost
    smart : LambdaMART
    """

    ranker: Learner = field(
        default_factory=lambda: LambdaMART(max_leaf_nodes=20, early_stopping=50)
    )
    boost: LambdaBoost = field(default_factory=lambda: LambdaBoost(early_stopping=50))
    smart: LambdaMART = field(
        default_factory=lambda: LambdaMART(max_leaf_nodes=20, early_stopping=50)
    )

    @classmethod
    def of(cls, common: dict[str, Any], **given: Any) -> Recipes:
        """The given recipes and the defaults for the others, all with the common parameters."""
        kinds = {"ranker": Learner, "boost": LambdaBoost, "smart": LambdaMART}
        recipes: dict[str, Any] = {}
        for name, kind in kinds.items():
            recipe = given[name]
            if recipe is not None:
                if not isinstance(recipe, kind):
                    raise ParameterError(
                        f"{name} must be an untrained {kind.__name__}, got a "
                        f"{type(recipe).__name__}"
                    )
                if getattr(recipe, "base_model", None) is not None:
                    raise ParameterError(
                        f"{name} has a base_model, which the adaptation sets itself: leave it out"
                    )
                recipes[name] = recipe
        for_all = cls(**recipes)
        return cls(**{name: altered(getattr(for_all, name), **common) for name in kinds})


def altered(learner: Any, **parameters: Any) -> Any:
    """An untrained copy of a learner with some other parameters."""
    return type(learner)(**{**learner.get_params(deep=False), **parameters})


def members_of(method: str, others: Iterable[str], has_grown: bool) -> tuple[str, ...]:
    """The rankers between which a method interpolates; none if it is another kind of method."""
    if method == ALL:
        return (BACKGROUND, *others, "in_domain", *(["expanded"] if has_grown else []))
    return MEMBERS.get(method, ())


class Workshop:
    """Trains methods, and remembers what it has trained.

    Parameters
    ----------
    background : scorer
        Trained.
    others : dict of str to scorer
        Rankers of other domains, trained, which take part in the interpolation of all.
    train : Dataset
        The target's training data.
    grown : Dataset or None
        The same with what is near to it.
    recipes : Recipes
    measure : str or Measure
        What interpolation weights are to do well.
    tell : function
        Called with a line of text after each training.
    """

    def __init__(
        self,
        background: Any,
        others: dict[str, Any],
        train: Dataset,
        grown: Dataset | None,
        recipes: Recipes,
        measure: Any,
        tell: Callable[[str], None],
    ) -> None:
        self.background, self.others = background, others
        self.train, self.grown = train, grown
        self.recipes, self.measure, self.tell = recipes, measure, tell
        self._made: dict[tuple[str, str], Any] = {}

    def make(self, method: str, tuning: Dataset, occasion: str) -> Any:
        """The model of a method.

        Parameters
        ----------
        tuning : Dataset
        occasion : str
            What the tuning data is called; the same name means the same data.
        """
        if method == BACKGROUND:
            return self.background
        if method in self.others:
            return self.others[method]
        key = method, occasion
        if key not in self._made:
            names = members_of(method, self.others, self.grown is not None)
            members = {name: self.make(name, tuning, occasion) for name in names}
            started = time.perf_counter()
            model = self._trained(method, members, tuning)
            seconds = time.perf_counter() - started
            self.tell(f"{method}, tuned on {occasion}: {model.in_words()} ({seconds:.1f} s)")
            self._made[key] = model
        return self._made[key]

    def _trained(self, method: str, members: dict[str, Any], tuning: Dataset) -> Any:
        recipes, base = self.recipes, self.background
        if members:
            # Between two the line search is exact, and the weights are convex.
            way = "pair_tree" if len(members) == 2 else "exact_powell"
            threads = recipes.ranker.n_threads
            combination = Combination(members, method=way, measure=self.measure, n_threads=threads)
            return combination.fit(tuning)
        data = self.grown if method == "expanded" else self.train
        drawn = {"row_fraction": DRAWN, "feature_fraction": DRAWN}
        learner = {
            "in_domain": lambda: altered(recipes.ranker),
            "expanded": lambda: altered(recipes.ranker),
            "lambdaboost": lambda: altered(recipes.boost, base_model=base),
            "lambdasmart": lambda: altered(recipes.smart, base_model=base),
            "lambdasmart_random": lambda: altered(recipes.smart, base_model=base, **drawn),
        }[method]()
        return learner.fit(data, valid=tuning)
