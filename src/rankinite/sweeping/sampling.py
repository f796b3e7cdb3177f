"""Which parameters a trial has: a function of the seed and the trial's number.

No generator is carried along, so a trial has the same parameters whoever runs it, and when. TPE
also looks at what came out of earlier trials: of all but the last few, which may still be running
when there are several at a time, and are left out when there are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rankinite._hash_kernels import keys_from_seed
from rankinite.order.seeds import derive_seed
from rankinite.sweeping.space import Space
from rankinite.sweeping.study import Codec, distribution_of, import_optuna, in_silence
from rankinite.sweeping.trial import COMPLETE, PRUNED, Trial

SAMPLERS = ("grid", "random", "tpe")
# A trial knows what came out of all trials before it but so many.
LAG = 4
# Trials that TPE draws at random, before it models what came out.
_AT_RANDOM = 10


class Sampler:
    """Parameters of trials by their numbers.

    Parameters
    ----------
    space : Space
    kind : {"grid", "random", "tpe"}
    seed : int
    codec : Codec
        Of the trials that TPE looks back at.
    lower_is_better : bool
    """

    def __init__(
        self, space: Space, kind: str, seed: int, codec: Codec, lower_is_better: bool
    ) -> None:
        self.space, self.kind, self.seed = space, kind, seed
        self._codec, self._lower_is_better = codec, lower_is_better

    @property
    def looks_back(self) -> bool:
        """Whether parameters depend on what came out before."""
        return self.kind == "tpe"

    @cached_property
    def n_points(self) -> int | None:
        """Number of trials that there can be; None if there is no end of them."""
        if self.kind != "grid":
            return None
        return int(np.prod([len(values) for values in self._grid]))

    @cached_property
    def _grid(self) -> list[list[Any]]:
        return self.space.grid()

    @cached_property
    def _order(self) -> np.ndarray:
        """The points of the grid shuffled, so that a part of them is spread over the whole."""
        assert self.n_points is not None
        keys = keys_from_seed(self.n_points, derive_seed(self.seed, "sweep"))
        return np.argsort(keys, kind="stable")

    def params(self, number: int, past: Sequence[Trial] = ()) -> dict[str, Any]:
        """The parameters of a trial.

        Parameters
        ----------
        past : sequence of Trial
            Those that it may look back at, by their numbers.
        """
        if self.kind == "grid":
            point = np.unravel_index(int(self._order[number]), [len(v) for v in self._grid])
            values = [v[int(i)] for v, i in zip(self._grid, point, strict=True)]
            return dict(zip(self.space.names, values, strict=True))
        seen = [each for each in past if each.state in (COMPLETE, PRUNED)]
        if self.looks_back and len(seen) >= _AT_RANDOM:
            return self._by_tpe(number, seen)
        return {
            name: each.drawn(self._share(number, place))
            for place, (name, each) in enumerate(self.space.dimensions.items())
        }

    def _share(self, number: int, place: int) -> float:
        """A random number from 0 to below 1, of 53 bits."""
        return float(int(derive_seed(self.seed, "sweep", number, place)) >> 11) / 2.0**53

    def _by_tpe(self, number: int, past: list[Trial]) -> dict[str, Any]:
        optuna = import_optuna()
        with in_silence(optuna):
            seed = int(derive_seed(self.seed, "sweep", number)) % 2**32
            model = optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=1, multivariate=True, constant_liar=False
            )
            direction = "minimize" if self._lower_is_better else "maximize"
            known = optuna.create_study(sampler=model, direction=direction)
            known.add_trials([self._codec.encoded(each) for each in past])
            asked = known.ask(
                {name: distribution_of(each) for name, each in self.space.dimensions.items()}
            )
            return {
                name: each.taken(asked.params[name]) for name, each in self.space.dimensions.items()
            }
