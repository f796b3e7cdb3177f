"""What workers that train together share out: rows, features, or whole trees."""

from __future__ import annotations

from dataclasses import dataclass

from rankinite.errors import ParameterError
from rankinite.models.parameters import OneOf, Whole

WAYS = ("rows", "features", "trees")
SELECTIONS = ("sample", "full")


@dataclass(frozen=True)
class Distribution:
    """How the work of a training is shared out, as `fit` is told.

    Attributes
    ----------
    distribute : {"rows", "features", "trees"}
    select : {"sample", "full"}
        Whose tree joins the model, if each worker grows trees of its own.
    overlap : int
        The shares of so many other workers that each then has beside its own.
    """

    distribute: str = "rows"
    select: str = "sample"
    overlap: int = 0

    def check(self, n_workers: int) -> None:
        """Refuse what is none of these, or cannot be with so many workers."""
        OneOf(WAYS).check("distribute", self.distribute)
        OneOf(SELECTIONS).check("select", self.select)
        Whole(0).check("overlap", self.overlap)
        if self.distribute != "trees":
            for name, usual in (("select", "sample"), ("overlap", 0)):
                value = getattr(self, name)
                if value != usual:
                    raise ParameterError(
                        f"{name}={value!r} is about trees that workers grow by themselves: add "
                        "distribute='trees', or leave it out"
                    )
        elif self.overlap >= n_workers:
            raise ParameterError(
                f"overlap={self.overlap} asks for the shares of so many other workers, and the "
                f"number of all is {n_workers}: lower it, or start more workers"
            )
        elif self.select == "full" and 0 < self.overlap == n_workers - 1:
            raise ParameterError(
                f"overlap={self.overlap} gives each of {n_workers} workers all queries, and "
                "select='full' tries a tree on those that its worker does not have: lower it, or "
                "use select='sample'"
            )
