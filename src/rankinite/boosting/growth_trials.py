"""Which way trees grow, if other queries are to say: symmetric, or best leaf first.

Symmetric trees fit less of the noise in labels and of what few queries have in common; trees that
grow best leaf first find more at once, above all where each of many features tells a little about
a few documents. Which of the two is better depends on the data, and on how much is learned already.
So both are grown on the same λs and documents, and the queries that were not drawn for them say
which of them lowers their cost more (`newton_steps.Verdict`). These taught other trees, for which
they were drawn, and so their verdict flatters trees that fit more: those must be ahead by far, and
are not tried where hardly any of a symmetric tree is confirmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankinite.boosting.newton_steps import CONFIRMED, Stepped
from rankinite.trees import Tree

# So many times the gain of a symmetric tree is asked of one grown best leaf first.
AHEAD = 2.0


@dataclass(frozen=True)
class GrowthTrials:
    """Grows trees in the way that other queries say.

    Attributes
    ----------
    every : int
        Both ways are tried in every round of so many; in between trees grow as the latest did.
    """

    every: int

    def better(
        self, grow: Callable[[str], Stepped], round_number: int, latest: Tree | None
    ) -> Stepped:
        """The tree of a round.

        Parameters
        ----------
        grow : function
            Grows it in the way of a name, and asks the other queries.
        latest : Tree or None
            That of the round before, of whose way nothing else is known: so training that is
            resumed goes on as it would have.
        """
        if round_number % self.every and latest is not None:
            return grow("symmetric" if latest.is_symmetric else "best_first")
        symmetric = grow("symmetric")
        assert symmetric.verdict is not None
        if symmetric.verdict.c < CONFIRMED:
            return symmetric
        best_first = grow("best_first")
        assert best_first.verdict is not None
        is_ahead = best_first.verdict.gain > AHEAD * symmetric.verdict.gain
        return best_first if is_ahead else symmetric
