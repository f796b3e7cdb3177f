"""Going on from a checkpoint: only if it is one of this very run."""

from __future__ import annotations

import tempfile
from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.distributed import Communicator, everywhere
from rankinite.errors import DataError, ParameterError
from rankinite.measures import Measure
from rankinite.models.ranker import Ranker
from rankinite.models.storage import load

# What the fingerprint of data begins with whose shares matter, not only the whole.
OF_SHARES = "shares "


def checkpoint_of(learner: Any, resume: Any, free: Set[str], communicator: Communicator) -> Any:
    """The model of an interrupted run; refused if it would not have come to the learner's model.

    Parameters
    ----------
    learner : Learner
        With the parameters of the run that is to go on.
    resume : path or model
        Of a path, worker 0 reads the file for all: it may be on the disk of its machine only.
    free : set of str
        Parameters that may differ.
    communicator : Communicator
    """
    other: Any = resume if isinstance(resume, Ranker) else load_on_all(resume, communicator)
    if type(other) is not type(learner):
        raise ParameterError(
            f"the checkpoint is a {type(other).__name__}, not a {type(learner).__name__}: "
            "resume with what the interrupted run saved"
        )
    other.check_fitted()
    theirs, ours = comparable(other.get_params(False)), comparable(learner.get_params(False))
    for name in sorted(set(ours) - free):
        if theirs[name] != ours[name]:
            raise ParameterError(
                f"the checkpoint was trained with {name}={theirs[name]!r}, not "
                f"{ours[name]!r}: resume with the parameters of the interrupted run"
            )
    return other


def load_on_all(path: Any, communicator: Communicator) -> Any:
    """The model in a file of worker 0's."""
    if communicator.rank == 0:
        model = load(path)
        if communicator.size > 1:
            communicator.broadcast(np.fromfile(path, np.uint8))
        return model
    with tempfile.TemporaryDirectory(prefix="rankinite-") as folder:
        copy = Path(folder, "checkpoint.rk")
        communicator.broadcast(None).tofile(copy)
        return load(copy)


def check_same_data(other: Any, fingerprint: str) -> None:
    """Refuse a checkpoint of other training data.

    Parameters
    ----------
    other : Learner
        What `checkpoint_of` gave.
    fingerprint : str
        Of the data at hand.
    """
    if other._data_fingerprint != fingerprint:
        what = (
            "the checkpoint was trained on other data, with other weights or on another base "
            "model: resume with those of the interrupted run"
        )
        if any(each.startswith(OF_SHARES) for each in (other._data_fingerprint, fingerprint)):
            what = (
                "the checkpoint was trained on other data, or on other shares of it: with "
                "distribute='trees' a run goes on with the data, the number of workers, their "
                "shares, select and overlap of the interrupted one"
            )
        raise everywhere(DataError(what))


def comparable(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: measures by name, numpy's numbers as Python's."""

    def plain(value: Any) -> Any:
        if isinstance(value, Measure):
            return str(value)
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value

    return {name: plain(value) for name, value in params.items()}
