"""From a TOML file, or a dict of the same form, to a declaration.

It is checked whole before anything is trained, and what is wrong is told with the line where it
stands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rankinite._toml import Lines, parse_toml
from rankinite.combination.choosing import ways_to_combine
from rankinite.combination.combiner import METHODS
from rankinite.ensemble.declaration import (
    BEST,
    RANKERS,
    Augment,
    Combine,
    Declaration,
    Member,
)
from rankinite.ensemble.rescaled import NORMALIZATIONS, PROBABILISTIC
from rankinite.errors import DeclarationError, RankiniteError
from rankinite.formats.files import check_readable
from rankinite.measures import Measure, PairMeasure, measure
from rankinite.models.parameters import Constraint, OneOf, Real, Whole
from rankinite.models.storage import class_of

SETS = ("train", "valid", "test")
# Parameters that are no part of what a member is, or no value that a file can hold.
_NOT_DECLARED = ("base_model", "n_threads", "verbose")
_ALL = "all"


def read_declaration(source: str | os.PathLike[str] | Mapping[str, Any]) -> Declaration:
    """A declaration from its file, or from a dict of the same form.

    Raises
    ------
    DeclarationError
        In one sentence, with the line.
    """
    if isinstance(source, Mapping):
        return _Reader(Lines("the declaration"), Path()).declaration(source)
    try:
        path = Path(source)
    except TypeError:
        kind = type(source).__name__
        raise DeclarationError(
            f"a declaration must be the path of a TOML file, or a dict, not a {kind}"
        ) from None
    check_readable(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DeclarationError(f"{path} is no text in UTF-8: pass a TOML file") from None
    tables, lines = parse_toml(text, str(path))
    return _Reader(lines, path.parent).declaration(tables)


class _Reader:
    """Turns tables into a `Declaration`, and says where one is wrong."""

    def __init__(self, lines: Lines, folder: Path) -> None:
        self._lines, self._folder = lines, folder
        # What stands with the members themselves, not with their rankers.
        self._own_parameters: dict[str, set[str]] = {}

    def declaration(self, tables: Mapping[str, Any]) -> Declaration:
        self._known(tables, ("data", "defaults", "member", "combine"))
        data = self._table(tables, "data")
        allowed = ("measure", "report", "folds", "seed", *SETS)
        self._known(data, allowed, "data")
        by = self._measure(data.get("measure", "ndcg@10"), "data", "measure")
        listed = self._texts(data.get("report", ["err@10", "ndcg@10"]), "data", "report")
        shown = [self._measure(each, "data", "report") for each in listed]
        seed = self._value(data, "seed", 0, Whole(0, 2**63 - 1), "data")
        members = self._members(tables, seed)
        return Declaration(
            measure=by,
            report=tuple(dict.fromkeys([by, *shown])),
            n_folds=self._value(data, "folds", 10, Whole(3, 1000), "data"),
            seed=seed,
            members=members,
            combine=self._combine(self._table(tables, "combine")),
            paths={name: self._paths(data[name], name) for name in SETS if name in data},
            lines=self._lines,
        )

    def _members(self, tables: Mapping[str, Any], seed: int) -> dict[str, Member]:
        defaults = self._table(tables, "defaults")
        for ranker in defaults:
            self._ranker(ranker, "defaults", ranker)
        named = self._table(tables, "member")
        if not named:
            self._fail("there is no [member.NAME]: declare at least one", "member")
        members = {}
        for name in named:
            if not name or any(letter in name for letter in "/\\\0") or name.startswith("."):
                self._fail(
                    f"a member cannot be called {name!r}, as its files are: use letters and digits",
                    "member",
                    name,
                )
            members[name] = self._member(name, self._table(named, name, "member"), defaults)
        for member in members.values():
            self._check_needs(member, members)
        members = {name: self._inherited(each, members) for name, each in members.items()}
        self._check_cycles(members)
        for member in members.values():
            self._check_learner(member, seed)
        return members

    def _member(self, name: str, table: Mapping[str, Any], defaults: Mapping[str, Any]) -> Member:
        at = ("member", name)
        shared = ("family", "normalize")
        own = ("ranker", "parameters", "bag", "augment", "features", "extra")
        self._known(table, (*own, *shared, "scores_of"), *at)
        other = table.get("scores_of")
        for key in own if other is not None else ():
            if key in table:
                self._fail(
                    f"scores_of takes the models of {other!r} as they are: leave out {key}",
                    *at,
                    key,
                )
        if other is None and "ranker" not in table:
            self._fail(f"the member {name!r} has no ranker: add one, or scores_of", *at)
        ranker = "" if other is not None else self._ranker(table["ranker"], *at, "ranker")
        given = self._table(table, "parameters", *at)
        self._own_parameters[name] = set(given)
        parameters = {**self._table(defaults, ranker, "defaults"), **given}
        return Member(
            name=name,
            family=self._text(table.get("family", ranker or name), *at, "family"),
            ranker=ranker,
            parameters=parameters,
            bag=self._value(table, "bag", False, OneOf((True, False)), *at),
            augment=self._augment(table, *at),
            features=self._features(table.get("features"), *at, "features"),
            extra=tuple(self._texts(table.get("extra", []), *at, "extra")),
            scores_of=None if other is None else self._text(other, *at, "scores_of"),
            normalize=self._value(table, "normalize", "none", OneOf(NORMALIZATIONS), *at),
        )

    def _augment(self, table: Mapping[str, Any], *at: str) -> Augment | None:
        if "augment" not in table:
            return None
        given = self._table(table, "augment", *at)
        self._known(given, ("fraction", "times", "single_labels"), *at, "augment")
        return Augment(
            self._value(given, "fraction", 0.7, Real(0.0, 1.0), *at, "augment"),
            self._value(given, "times", 5, Whole(1), *at, "augment"),
            self._value(given, "single_labels", "drop", OneOf(("drop", "keep")), *at, "augment"),
        )

    def _check_needs(self, member: Member, members: Mapping[str, Member]) -> None:
        """Refuse members that there are not, and models of models."""
        key = "extra" if member.scores_of is None else "scores_of"
        at = ("member", member.name, key)
        for other in member.needs:
            if other not in members:
                known = ", ".join(members)
                self._fail(f"there is no member {other!r}: there are {known}", *at)
        of_these = member.scores_of and members[member.scores_of].scores_of
        if of_these:
            self._fail(f"{member.scores_of!r} has no models of its own: name {of_these!r}", *at)

    def _inherited(self, member: Member, members: Mapping[str, Member]) -> Member:
        """The member with the ranker of the one whose scores it takes."""
        if member.scores_of is None:
            return member
        other = members[member.scores_of]
        return Member(
            member.name,
            member.family,
            other.ranker,
            other.parameters,
            scores_of=other.name,
            normalize=member.normalize,
        )

    def _check_cycles(self, members: Mapping[str, Member]) -> None:
        done: set[str] = set()

        def visit(name: str, above: tuple[str, ...]) -> None:
            if name in above:
                key = "extra" if members[above[-1]].scores_of is None else "scores_of"
                ring = " needs ".join((*above[above.index(name) :], name))
                self._fail(
                    f"members need each other in a ring, {ring}: leave one out",
                    "member",
                    above[-1],
                    key,
                )
            if name not in done:
                for other in members[name].needs:
                    visit(other, (*above, name))
                done.add(name)

        for name in members:
            visit(name, ())

    def _check_learner(self, member: Member, seed: int) -> None:
        """Refuse parameters that there are not or that the ranker refuses, with their line."""
        if member.scores_of is None:
            for name in member.parameters:
                if name in _NOT_DECLARED:
                    place = self._place_of(member, name)
                    self._fail(f"{name} is not for a declaration: leave it out", *place)
            try:
                _check_parameters(member, member.parameters, seed)
            except RankiniteError as error:
                self._fail(str(error), *self._place_of(member, _culprit(member, seed)))
        if member.by_probability and member.parameters.get("loss") not in PROBABILISTIC:
            self._fail(
                'normalize = "query_max" is for probabilities, which a MART of the losses '
                f'{", ".join(PROBABILISTIC)} gives: use "query"',
                "member",
                member.name,
                "normalize",
            )

    def _place_of(self, member: Member, parameter: str | None) -> tuple[str, ...]:
        """Where a parameter stands: with the member, or with all of its ranker."""
        own = ("member", member.name, "parameters")
        if parameter is None:
            return own
        if parameter in self._own_parameters[member.name]:
            return (*own, parameter)
        return ("defaults", member.ranker, parameter)

    def _combine(self, table: Mapping[str, Any]) -> Combine:
        self._known(table, ("methods", "choose", "subset"), "combine")
        given = table.get("methods", _ALL)
        ways = ways_to_combine()
        if given != _ALL:
            names = self._texts(given, "combine", "methods")
            for name in names:
                if name not in METHODS:
                    self._fail(
                        f"methods must be {_ALL!r} or a list of {', '.join(METHODS)}, got {name!r}",
                        "combine",
                        "methods",
                    )
            if not names:
                self._fail("methods is empty: name at least one", "combine", "methods")
            ways = [(name, "data") for name in dict.fromkeys(names)]
        choose = table.get("choose", BEST)
        known = [BEST, *dict.fromkeys(method for method, _ in ways)]
        with self._lines.around("combine", "choose"):
            OneOf(known).check("choose", choose)
        subset = self._value(table, "subset", False, OneOf((True, False)), "combine")
        return Combine(tuple(ways), choose, subset)

    def _features(self, given: Any, *at: str) -> tuple[int | str, ...] | None:
        if given is None:
            return None
        if not isinstance(given, list) or not given:
            self._fail('features must be a list such as ["bm25", 7, "1-40"]', *at)
        for each in given:
            if isinstance(each, bool) or not isinstance(each, (int, str)) or each in ("", 0):
                self._fail(f"features must be names, or numbers from 1, got {each!r}", *at)
        return tuple(given)

    def _paths(self, given: Any, name: str) -> list[Path]:
        texts = [given] if isinstance(given, str) else self._texts(given, "data", name)
        paths = [self._folder / text for text in texts]
        with self._lines.around("data", name):
            for path in paths:
                check_readable(path)
        return paths

    def _measure(self, given: Any, *at: str) -> str:
        text = self._text(given, *at)
        with self._lines.around(*at):
            found: Measure = measure(text)
        if isinstance(found, PairMeasure):
            self._fail(f"{found} is a measure of pairs, and ensembles learn from labels", *at)
        return str(found)

    def _ranker(self, given: Any, *at: str) -> str:
        if not isinstance(given, str) or given not in RANKERS:
            self._fail(f"there is no ranker {given!r}: use {', '.join(RANKERS)}", *at)
        with self._lines.around(*at):
            class_of(given)  # whose library may not be installed
        return given

    def _table(self, tables: Mapping[str, Any], key: str, *at: str) -> Mapping[str, Any]:
        found = tables.get(key, {})
        if not isinstance(found, Mapping):
            self._fail(f"{key} must be a table, got {found!r}", *at, key)
        return found

    def _known(self, table: Mapping[str, Any], known: Sequence[str], *at: str) -> None:
        for key in table:
            if key not in known:
                where = f"[{'.'.join(at)}]" if at else "a declaration"
                self._fail(f"{where} has no {key}: it takes {', '.join(known)}", *at, key)

    def _value(
        self, table: Mapping[str, Any], key: str, default: Any, allowed: Constraint, *at: str
    ) -> Any:
        value = table.get(key, default)
        with self._lines.around(*at, key):
            allowed.check(key, value)
        return value

    def _texts(self, given: Any, *at: str) -> list[str]:
        if not isinstance(given, (list, tuple)):
            self._fail(f"{at[-1]} must be a list of texts, got {given!r}", *at)
        return [self._text(each, *at) for each in given]

    def _text(self, given: Any, *at: str) -> str:
        if not isinstance(given, str) or not given:
            self._fail(f"{at[-1]} must be a text, got {given!r}", *at)
        return given

    def _fail(self, what: str, *path: str) -> NoReturn:
        raise DeclarationError(f"{self._lines.at(*path)}: {what}")


def _check_parameters(member: Member, parameters: dict[str, Any], seed: int) -> None:
    Member(member.name, member.family, member.ranker, parameters).learner(seed).check_params()


def _culprit(member: Member, seed: int) -> str | None:
    """The parameter without which the ranker takes the others."""
    for name in member.parameters:
        others = {key: value for key, value in member.parameters.items() if key != name}
        try:
            _check_parameters(member, others, seed)
        except RankiniteError:
            continue
        return name
    return None
