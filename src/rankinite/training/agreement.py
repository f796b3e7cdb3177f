"""What workers that train together must have in common, beside the data itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankinite.data import Dataset
from rankinite.data.shares import agreed_share
from rankinite.distributed import Communicator, everywhere, told_by_all
from rankinite.errors import ParameterError
from rankinite.training.resuming import comparable

# Parameters that workers need not have in common: they belong to a machine, or are no plain value.
_OF_A_WORKER = ("n_threads", "verbose", "base_model")


def agreed_sets(sets: Mapping[str, Dataset], communicator: Communicator) -> dict[str, Dataset]:
    """This worker's shares of the sets that are watched, by name.

    A worker that names none has no rows of them.
    """
    told = told_by_all(list(sets), communicator)
    first = next((rank for rank, names in enumerate(told) if names), 0)
    for rank, names in enumerate(told):
        if names and names != told[first]:
            raise everywhere(
                ParameterError(
                    f"worker {first} has the validation sets {told[first]} and worker {rank} "
                    f"{names}: name the same on all, in the same order"
                )
            )
    return {
        name: agreed_share(sets.get(name), communicator, f"the validation set {name!r}")
        for name in told[first]
    }


def check_same_parameters(params: dict[str, Any], communicator: Communicator) -> None:
    """Refuse workers that would train different models."""
    own = {name: value for name, value in params.items() if name not in _OF_A_WORKER}
    told = told_by_all(comparable(own), communicator)
    for rank, theirs in enumerate(told):
        for name, value in theirs.items():
            if value != told[0][name]:
                raise everywhere(
                    ParameterError(
                        f"worker 0 trains with {name}={told[0][name]!r} and worker {rank} with "
                        f"{name}={value!r}: give all workers the same parameters"
                    )
                )
