"""What workers that train together must have in common, beside the data itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankinite.data import Dataset
from rankinite.data.shares import agreed_share
from rankinite.distributed import Communicator, everywhere, told_by_all
from rankinite.errors import DataError, ParameterError
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


def check_same_data_on_all(
    fingerprint: str, watched: Sequence[Dataset], communicator: Communicator
) -> None:
    """Refuse workers that were to have the same data, and have not.

    Parameters
    ----------
    fingerprint : str
        Of the training data.
    watched : sequence of Dataset
        The sets that are watched.
    """
    prints = [fingerprint, *map(_print_of, watched)]
    for rank, theirs in enumerate(told_by_all(prints, communicator)):
        if theirs != prints:
            raise everywhere(
                DataError(
                    f"worker {rank} has other data than worker {communicator.rank}: pass the same "
                    "on all workers, or distribute='rows'"
                )
            )


def _print_of(rows: Dataset) -> str:
    """A short text that tells a set that is watched from another."""
    features = rows.features.matrix
    matrix = features if isinstance(features, np.ndarray) else features.blocks
    parts = (rows.offsets, rows.y, rows.query_weight, matrix)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"" if part is None else np.ascontiguousarray(part).data)
    return digest.hexdigest()
