"""What an ensemble is: its members, what they are trained on, and how they are combined.

`read_declaration` makes it of a TOML file, after all checks that need no data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from rankinite._toml import Lines
from rankinite.errors import DeclarationError
from rankinite.models.storage import class_of
from rankinite.training import Learner

RANKERS = ("LambdaMART", "MART", "McRank", "LambdaBoost", "RankNet", "LambdaRank", "Perceptron")
"""The rankers that a member can be."""
BEST = "best"
"""What `choose` says to take the combination that is best on held-out queries."""


@dataclass(frozen=True)
class Augment:
    """How training data is augmented; see `rankinite.augmented`."""

    fraction: float = 0.7
    times: int = 5
    single_labels: str = "drop"


@dataclass(frozen=True)
class Member:
    """One ranker of an ensemble.

    Attributes
    ----------
    name, family : str
        Families are left out together, to see what they give.
    ranker : str
        Its class.
    parameters : dict
        Of the ranker, with those that all members of this ranker have.
    bag : bool
        Whether it is the mean of a model a fold.
    augment : Augment or None
    features : tuple of int or str, optional
        The features that it sees: numbers from 1, ranges of them, or names; None for all.
    extra : tuple of str
        Members whose scores become features of it.
    scores_of : str or None
        The member whose models these are.
    normalize : {"none", "query", "query_max"}
        What is done with its scores in each query.
    """

    name: str
    family: str
    ranker: str
    parameters: dict[str, Any] = field(default_factory=dict)
    bag: bool = False
    augment: Augment | None = None
    features: tuple[int | str, ...] | None = None
    extra: tuple[str, ...] = ()
    scores_of: str | None = None
    normalize: str = "none"

    def learner(self, seed: int, n_threads: int | None = None) -> Learner:
        """The untrained ranker."""
        own = {"random_state": seed, **self.parameters, "n_threads": n_threads}
        return class_of(self.ranker)(**own)

    @property
    def needs(self) -> tuple[str, ...]:
        """The members that must be there before this one."""
        return self.extra if self.scores_of is None else (self.scores_of,)

    @property
    def by_probability(self) -> bool:
        """Whether its score is the probability that a document is relevant."""
        return self.normalize == "query_max"


@dataclass(frozen=True)
class Combine:
    """How the members become one ranker.

    Attributes
    ----------
    ways : tuple of pairs (method, normalize)
        What is tried; see `Combination`.
    choose : str
        "best", or the method to take.
    subset : bool
        Whether to look for the members that are best without the others.
    """

    ways: tuple[tuple[str, str], ...]
    choose: str = BEST
    subset: bool = False


@dataclass(frozen=True)
class Declaration:
    """A whole ensemble, after all checks that need no data.

    Attributes
    ----------
    measure : str
        What members and combinations are compared by.
    report : tuple of str
        What the tables show, the measure first.
    n_folds, seed : int
    members : dict of str to Member
    combine : Combine
    paths : dict of str to list of Path
        The files of the sets "train", "valid" and "test" that it names.
    lines : Lines
        Where everything stands.
    """

    measure: str
    report: tuple[str, ...]
    n_folds: int
    seed: int
    members: dict[str, Member]
    combine: Combine
    paths: dict[str, list[Path]]
    lines: Lines

    def fail(self, what: str, *path: str) -> NoReturn:
        """Raise an error about what stands at a path of keys."""
        raise DeclarationError(f"{self.lines.at(*path)}: {what}")

    @contextmanager
    def about(self, *path: str) -> Iterator[None]:
        """Let errors say that they are about what stands at a path of keys."""
        with self.lines.around(*path):
            yield


def example() -> str:
    """The text of a whole declaration, with comments: the twelve models of Burges et al. 2011."""
    return files("rankinite.ensemble").joinpath("example.toml").read_text(encoding="utf-8")
