"""What went wrong on a worker, as it is told to the client: a sentence, and no pickled error."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from rankinite.distributed import LostWorkersError, is_everywhere
from rankinite.errors import (
    DataError,
    ModelFileError,
    ParameterError,
    RankiniteError,
    WorkerError,
)

_KINDS: tuple[type[RankiniteError], ...] = (DataError, ParameterError, ModelFileError)


@dataclass(frozen=True)
class Failure:
    """An error of a worker.

    Attributes
    ----------
    kind : type
        The error that the client raises for it.
    text : str
        Its sentence.
    is_everywhere : bool
        Whether all workers have met it, so that it is no worker's own.
    is_lost : bool
        Whether the worker has only noticed that another one is no longer there.
    traceback : str
        For those who look for more.
    """

    kind: type[RankiniteError]
    text: str
    is_everywhere: bool
    is_lost: bool
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What there is to tell about an error."""
        own = isinstance(error, RankiniteError)
        return cls(
            kind=next((kind for kind in _KINDS if isinstance(error, kind)), WorkerError),
            text=str(error) if own else f"{type(error).__name__}: {error}",
            is_everywhere=is_everywhere(error),
            is_lost=isinstance(error, LostWorkersError),
            traceback="".join(traceback.format_exception(error)),
        )

    def error(self, place: str) -> RankiniteError:
        """The error to raise in the client; `place` is where it was met.

        Its attribute ``remote_traceback`` is the traceback of the worker, as text.
        """
        error = self.kind(self.text if self.is_everywhere else f"{place}: {self.text}")
        error.remote_traceback = self.traceback  # type: ignore[attr-defined]
        return error


class LostError(WorkerError):
    """Workers are gone, or do not answer; the job may be tried again on the others.

    Attributes
    ----------
    silent : list of str
        Addresses of those that are still in the cluster, but do not answer.
    """

    def __init__(self, message: str, silent: list[str] | None = None) -> None:
        super().__init__(message)
        self.silent = silent or []
