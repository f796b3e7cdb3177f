"""Parameters of a measure that depend on the data, fixed by the labels of all workers."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from rankinite.distributed import Communicator, Serial
from rankinite.measures.protocol import Measure

M = TypeVar("M", bound=Measure)


def resolved(spec: M, labels: np.ndarray, communicator: Communicator | None = None) -> M:
    """The measure as it is on this data.

    Parameters
    ----------
    spec : Measure
    labels : ndarray of float64, shape (n_rows,)
    communicator : Communicator, optional
        Of the workers that have other rows.
    """
    if type(spec).resolve is Measure.resolve:
        return spec
    return spec.resolve(different_labels(labels, communicator))


def different_labels(labels: np.ndarray, communicator: Communicator | None = None) -> np.ndarray:
    """Every label of the data of all workers once, ascending: float64 array."""
    communicator = Serial() if communicator is None else communicator
    own = np.unique(np.asarray(labels, np.float64))
    return np.unique(np.concatenate(communicator.gather(own)))
