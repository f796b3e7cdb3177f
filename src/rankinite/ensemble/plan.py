"""The plan of an ensemble: its steps, what each needs, and a key of all that decides its result.

A step whose key is the one that its result was made with need not be done again. A key is made of
the part of the declaration that the step looks at, of the data, and of the keys of the steps that
it needs: so whatever depends on a change has another key, and nothing else has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import rankinite
from rankinite.ensemble.declaration import Declaration, Member

TRAIN, MEMBER, WAY, SUBSET = "train", "member", "way", "subset"
# How long the ways to combine take for a document, in rounds of training: measured with 12 members.
_COSTS = {
    "linear": 2000.0,
    "net": 500.0,
    "powell": 2000.0,
    "exact_powell": 1200.0,
    "pair_tree": 700.0,
    SUBSET: 50.0,
}
# Raised when a step comes to another result from the same declaration and data.
_EDITION = 1


@dataclass(frozen=True)
class Prints:
    """What tells one set of data from another, in any order of the rows; valid may be absent."""

    train: str
    valid: str | None = None


@dataclass(frozen=True)
class Step:
    """Something to be done.

    Attributes
    ----------
    kind : str
        TRAIN trains one model of a member, MEMBER makes the member of its models; WAY tries a way
        to combine the members, and SUBSET looks for the best of them.
    owner : str
        The member, or the way.
    part : int or None
        The fold that a model is not trained on, from 0; None for a model of all queries.
    needs : tuple of str
        The names of the steps that must be done before.
    key : str
    cost : float
        How long it takes, beside other steps.
    """

    kind: str
    owner: str
    part: int | None
    needs: tuple[str, ...]
    key: str
    cost: float

    @property
    def name(self) -> str:
        """What people read."""
        if self.kind == TRAIN:
            return f"{self.owner}, {'all' if self.part is None else f'fold {self.part + 1}'}"
        return {WAY: f"combination by {self.owner}", SUBSET: "best subset"}.get(
            self.kind, self.owner
        )


def key_of(content: Any) -> str:
    """A short text that stands for anything that JSON can hold."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def steps_of_members(declaration: Declaration, prints: Prints, n_rows: int) -> list[Step]:
    """The steps that make all members, each after those that it needs."""
    scored = scored_out_of_fold(declaration, prints.valid is not None)
    # What a member's scores of the training data depend on: all but the validation data.
    origins: dict[str, str] = {}
    steps: list[Step] = []
    for member in _in_order(declaration.members):
        trained = list(_training(member, declaration, prints, n_rows, scored, origins))
        origin = {
            "trained": [step.key for step in trained],
            "needs": [[other, origins[other]] for other in member.needs],
            "normalize": member.normalize,
        }
        origins[member.name] = key_of(origin)
        key = key_of([origin, prints.valid, member.name in scored])
        needs = tuple(step.name for step in trained) or member.needs
        steps += [*trained, Step(MEMBER, member.name, None, needs, key, 0.02 * n_rows)]
    return steps


def steps_of_combination(
    declaration: Declaration, members: Mapping[str, str], n_rows: int
) -> list[Step]:
    """The steps that try the ways to combine the members that there are, given by their keys."""
    common = {"members": dict(members), "measure": declaration.measure, "seed": declaration.seed}

    def step(kind: str, owner: str, what: Any) -> Step:
        cost = _COSTS.get(owner, _COSTS[SUBSET]) * n_rows
        return Step(kind, owner, None, (), key_of([kind, what, common]), cost)

    steps = [step(WAY, title(way), way) for way in declaration.combine.ways]
    return steps + ([step(SUBSET, SUBSET, None)] if declaration.combine.subset else [])


def title(way: Sequence[str]) -> str:
    """A way to combine in words: the method, and the normalisation if it is not the usual one."""
    method, normalize = way
    return method if normalize == "data" else f"{method} ({normalize})"


def scored_out_of_fold(declaration: Declaration, has_valid: bool) -> set[str]:
    """The members whose scores of the training data are asked for, by models that did not see it.

    Without validation data these are what all members are combined by; else only those that are
    features of others.
    """
    members = declaration.members
    if not has_valid:
        return set(members)
    asked = {other for member in members.values() for other in member.extra}
    return asked | {members[name].needs[0] for name in asked if members[name].scores_of}


def _in_order(members: Mapping[str, Member]) -> Iterator[Member]:
    """The members, each after those that it needs; a declaration has no rings."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[Member]:
        if name not in done:
            done.add(name)
            for other in members[name].needs:
                yield from visit(other)
            yield members[name]

    for name in members:
        yield from visit(name)


def _training(
    member: Member,
    declaration: Declaration,
    prints: Prints,
    n_rows: int,
    scored: set[str],
    origins: Mapping[str, str],
) -> Iterator[Step]:
    """The models of a member, but for one that takes those of another."""
    if member.scores_of is not None:
        return
    parts: list[int | None] = [None] if not member.bag else []
    if member.bag or member.name in scored:
        parts += range(declaration.n_folds)
    content = {
        "edition": [_EDITION, rankinite.__version__],
        "data": prints.train,
        "folds": [declaration.n_folds, declaration.seed],
        "ranker": member.ranker,
        "parameters": member.parameters,
        "bag": member.bag,
        "augment": None if member.augment is None else asdict(member.augment),
        "features": member.features,
        "extra": [[other, origins[other]] for other in member.extra],
    }
    for part in parts:
        yield Step(
            TRAIN,
            member.name,
            part,
            member.extra,
            key_of({**content, "part": part}),
            _cost(member, n_rows),
        )


def _cost(member: Member, n_rows: int) -> float:
    """Rounds times documents, which is what most of the time goes by."""
    learner = member.learner(0)
    rounds = getattr(learner, learner._rounds)
    grown = 1.0 if member.augment is None else 1 + member.augment.fraction * member.augment.times
    return float(rounds) * grown * n_rows
