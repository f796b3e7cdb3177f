"""What an ensemble came to, in the form of the tables of Burges et al. 2011.

All values are of held-out scores: no document is scored by a model that has learned from its query,
nor combined by weights that have, nor by a subset that was chosen on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankinite.adaptation.table import in_table
from rankinite.combination.choosing import held_out_scores
from rankinite.data import Queries
from rankinite.ensemble.declaration import BEST
from rankinite.ensemble.plan import SUBSET, WAY, Step, title
from rankinite.ensemble.work import Workshop
from rankinite.measures import Comparison, compare, evaluate, measure

ALL = "all"
BEST_SUBSET = "best subset"


@dataclass(frozen=True, eq=False)
class Report:
    """The tables of an ensemble; printing shows them.

    Attributes
    ----------
    members : Comparison or None
        Each member with the best one; None if there is a single one.
    ways : Comparison
        The ways to combine all members, and if it was asked for the average of the best subset,
        with the best member.
    families : Comparison or None
        Averages without each family, of each family alone, with that of all members; None if there
        are not several families.
    best_member, chosen : str
        The best single member, and what was taken in the end.
    reason : str
        Why it was taken.
    subset : list of str
        The members that are best without the others; empty if none were looked for.
    failures : dict of str to str
        Members that are missing, and why.
    test : Comparison or None
        The members and the ensemble on test data.
    """

    members: Comparison | None
    ways: Comparison
    families: Comparison | None
    best_member: str
    chosen: str
    reason: str
    subset: list[str]
    failures: dict[str, str]
    test: Comparison | None = None

    def __str__(self) -> str:
        tables = [in_table("member", self.members)] if self.members else []
        tables.append(in_table("combination of all members", self.ways))
        if self.families:
            tables.append(in_table("average of", self.families))
        if self.subset:
            tables.append(
                f"{BEST_SUBSET}: {', '.join(self.subset)}; its values are those of subsets chosen "
                "on other queries"
            )
        if self.test:
            tables.append(in_table("on test data", self.test))
        tables += [f"without {name}: {why}" for name, why in self.failures.items()]
        return "\n\n".join([*tables, self.reason])


def make_report(workshop: Workshop, steps: list[Step], failures: dict[str, str]) -> Report:
    """Measure members, combinations and families by the scores that the steps have kept."""
    queries, by = workshop.held_out.judged(), measure(workshop.declaration.measure)
    shown = list(workshop.declaration.report)
    scores = {name: workshop.member_scores(name) for name in workshop.combined}
    sign = -1.0 if by.lower_is_better else 1.0
    values = {name: sign * evaluate(s, queries, by)[by] for name, s in scores.items()}
    best = max(values, key=lambda name: values[name])
    n_rows = queries.n_rows
    ways = {
        step.owner if step.kind == WAY else BEST_SUBSET: workshop.folder.read_scores(step, n_rows)
        for step in steps
    }
    compared = compare({best: scores[best], **_apart(ways, best)}, queries, shown, baseline=best)
    chosen, reason = _choose(workshop, compared, sign)
    several = len(scores) > 1
    return Report(
        members=compare(scores, queries, shown, baseline=best) if several else None,
        ways=compared,
        families=_families(workshop, queries, ways.get(BEST_SUBSET)),
        best_member=best,
        chosen=chosen,
        reason=reason,
        subset=workshop.subset() if any(step.kind == SUBSET for step in steps) else [],
        failures=failures,
    )


def _apart(ways: Mapping[str, np.ndarray], best: str) -> dict[str, np.ndarray]:
    """The ways under names that are not the best member's."""
    return {f"{name} of all" if name == best else name: each for name, each in ways.items()}


def _choose(workshop: Workshop, compared: Comparison, sign: float) -> tuple[str, str]:
    """The way to take, and why; of equals the first, so the average before what is learned."""
    combine, by = workshop.declaration.combine, workshop.declaration.measure
    names = [title(way) for way in combine.ways]
    if combine.choose != BEST:
        chosen = next(title(way) for way in combine.ways if way[0] == combine.choose)
        return chosen, f"{chosen} is the combination asked for"
    names += [BEST_SUBSET] if combine.subset else []
    values = {name: sign * compared.evaluations[name][by] for name in names}
    chosen = max(names, key=lambda name: values[name])
    return chosen, f"{chosen} is the best combination by {by} on queries it was not learned from"


def _families(
    workshop: Workshop, queries: Queries, of_subset: np.ndarray | None
) -> Comparison | None:
    """Averages of all members but a family, and of a family alone."""
    members = workshop.declaration.members
    families = list(dict.fromkeys(members[name].family for name in workshop.combined))
    if len(families) < 2:
        return None
    groups: dict[str, list[str]] = {ALL: list(workshop.combined)}
    for family in families:
        inside = [name for name in workshop.combined if members[name].family == family]
        groups[f"{ALL} minus {family}"] = [n for n in workshop.combined if n not in inside]
        groups[f"only {family}"] = inside
    scores = {}
    for name, group in groups.items():
        model = workshop.combination(("average", "data"), workshop.as_columns(group))
        scores[name] = held_out_scores(model, workshop.table(group), workshop.parts)
    if of_subset is not None:
        scores[BEST_SUBSET] = of_subset
    return compare(scores, queries, list(workshop.declaration.report), baseline=ALL)
