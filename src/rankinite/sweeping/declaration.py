"""A sweep that is declared in TOML: the ranker, what is fixed, the space, and how it is tried.

::

    ranker = "lambdamart"
    measure = "ndcg@10"
    trials = 40

    [fixed]
    n_estimators = 500
    early_stopping = 50

    [space]
    learning_rate = { low = 0.02, high = 0.3, log = true }
    max_leaf_nodes = { low = 15, high = 127, step = 16 }
    min_samples_leaf = [5, 20, 50]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankinite._toml import Lines, parse_toml
from rankinite.errors import DataError, DeclarationError, ParameterError
from rankinite.models.parameters import Constraint, OneOf, Whole
from rankinite.models.storage import class_of
from rankinite.models.words_of_others import refuse_unknown
from rankinite.sweeping.pruning import SHARES
from rankinite.sweeping.sampling import SAMPLERS
from rankinite.sweeping.space import Space, dimension
from rankinite.training import Learner

# The rankers by their names in small letters.
RANKERS = (
    *("LambdaMART", "MART", "McRank", "LambdaBoost", "RankNet", "LambdaRank"),
    "Perceptron",
)
# What a declaration may say beside the tables of what is fixed and of the space.
_CHECKS: Mapping[str, Constraint] = {
    "ranker": OneOf([name.lower() for name in RANKERS]),
    "trials": Whole(1),
    "folds": Whole(2),
    "sampler": OneOf(SAMPLERS),
    "seed": Whole(0, 2**63 - 1),
    "prune": OneOf(tuple(SHARES)),
}


@dataclass(frozen=True)
class Declaration:
    """A sweep as it is declared; what is None is not.

    Attributes
    ----------
    space : Space
    ranker : str
        In small letters, as on the command line.
    fixed : dict
        Parameters of the ranker.
    measure : str, optional
        What trials are judged by, and what is learned unless `fixed` or the space say otherwise.
    trials, folds : int
    sampler, prune : str
    seed : int
    """

    space: Space
    ranker: str = "lambdamart"
    fixed: dict[str, Any] = field(default_factory=dict)
    measure: str | None = None
    trials: int | None = None
    folds: int = 5
    sampler: str = "tpe"
    seed: int = 0
    prune: str = "quarter"

    def with_fixed(self, fixed: Mapping[str, Any]) -> Declaration:
        """The same with more fixed parameters; those of the space are no longer swept."""
        return replace(self, fixed={**self.fixed, **fixed}, space=self.space.without(set(fixed)))

    def make_ranker(self) -> Learner:
        """The ranker with what is fixed; it learns the measure, unless it is told otherwise."""
        learner = ranker_class(self.ranker)
        fixed = dict(self.fixed)
        if self.measure is not None and "measure" not in self.space.names:
            fixed.setdefault("measure", self.measure)
        return learner(**fixed)


def ranker_class(name: str) -> type[Learner]:
    """The ranker of a name in small letters."""
    return class_of(next(each for each in RANKERS if each.lower() == name))


def read_declaration(path: Path) -> Declaration:
    """The declaration in a TOML file; errors name the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8: pass a TOML file") from None
    except OSError as error:
        raise DataError(f"cannot read the space in {path}: {error.strerror}") from error
    return parse_declaration(text, str(path))


def parse_declaration(text: str, source: str) -> Declaration:
    """The declaration in TOML text, which errors call `source`."""
    told, lines = parse_toml(text, source)
    _check_words(told, lines)
    kind = ranker_class(told.get("ranker", "lambdamart"))
    fixed = told.get("fixed", {})
    for name in fixed:
        with lines.around("fixed", name):
            refuse_unknown(kind.__name__, {name: None}, kind.parameter_names())
            fixed[name] = _or_none(kind, name, fixed[name])
            if name in told["space"]:
                raise ParameterError(f"{name} is both fixed and in the space: leave out one")
    ranker = kind(**fixed)
    _check_fixed(ranker, fixed, lines)
    dimensions = {}
    for name, declared in told["space"].items():
        with lines.around("space", name):
            if isinstance(declared, list):
                declared = [_or_none(kind, name, each) for each in declared]
            dimensions[name] = dimension(name, declared)
            Space(dimensions).check_one(name, ranker)
    with lines.around("space"):
        space = Space(dimensions)
    told = {name: value for name, value in told.items() if name in (*_CHECKS, "measure")}
    return Declaration(space, fixed=fixed, **told)


def _check_words(told: dict[str, Any], lines: Lines) -> None:
    known = [*_CHECKS, "measure", "fixed", "space"]
    for name, value in told.items():
        with lines.around(name):
            if name not in known:
                raise ParameterError(f"{name!r} is not known here; there are {', '.join(known)}")
            if name in ("fixed", "space") and not isinstance(value, dict):
                raise ParameterError(f"{name} must be a table: write [{name}] above its parameters")
            if name in _CHECKS:
                _CHECKS[name].check(name, value)
            if name == "measure":
                _check_measure(value)
    if "space" not in told:
        raise DeclarationError(f"{lines.name} has no table [space]: name the parameters to sweep")


def _check_measure(value: Any) -> None:
    from rankinite.measures import measure

    if not isinstance(value, str):
        raise ParameterError(f"measure must be a name such as 'ndcg@10', got {value!r}")
    measure(value)


def _check_fixed(ranker: Learner, fixed: dict[str, Any], lines: Lines) -> None:
    for name, value in fixed.items():
        with lines.around("fixed", name):
            if name in ranker.constraints:
                ranker.constraints[name].check(name, value)
    with lines.around("fixed"):
        ranker.check_params()


def _or_none(kind: type[Learner], name: str, value: Any) -> Any:
    """TOML has no None: the word "none" stands for it where a parameter takes it."""
    takes_none = getattr(kind.constraints.get(name), "optional", False)
    return None if value == "none" and takes_none else value
