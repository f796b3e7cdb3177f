"""The workers of a job, by their numbers; and waiting for them, as long as they are there."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from dask.delayed import Delayed
from distributed import Client, Future, wait

from rankinite.dask.failures import LostError

# Seconds between two looks at whether the workers are still there.
POLL = 0.5


class Crew:
    """Some workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    addresses : sequence of str
        Worker r of the job is at ``addresses[r]``.
    """

    def __init__(self, client: Client, addresses: Sequence[str]) -> None:
        self.client = client
        self.addresses = list(addresses)
        # What nobody holds any more is dropped from the memory of the workers.
        self._given: list[weakref.ref[Future]] = []

    @property
    def size(self) -> int:
        """Number of workers."""
        return len(self.addresses)

    def submit(self, rank: int, function: Callable, *values: Any) -> Future:
        """Let a worker call a function: this one, and no other in its place."""
        here = {"workers": [self.addresses[rank]], "allow_other_workers": False}
        return self._noted([self.client.submit(function, *values, pure=False, **here)])[0]

    def compute(self, lazy: Sequence[Delayed]) -> list[Future]:
        """Let the workers compute what Dask has not computed yet, on any of them."""
        here = {"workers": self.addresses, "allow_other_workers": False}
        return self._noted(self.client.compute(list(lazy), **here))

    def map(self, function: Callable, futures: Sequence[Future]) -> list[Future]:
        """Let the workers call a function for each of the results, on any of them."""
        here = {"workers": self.addresses, "allow_other_workers": False}
        return self._noted(self.client.map(function, futures, pure=False, **here))

    def dismiss(self) -> None:
        """Forget all that these workers were to do, and for which workers it was meant.

        Otherwise Dask would compute what others need of it where it was meant to be. One by one and
        the last ones first: the scheduler closes the connection to a client that cancels a task
        before one that needs it, if nobody holds that one any more.
        """
        for given in reversed(self._given):
            future = given()
            if future is not None:
                self.client.cancel([future], force=True)

    def _noted(self, futures: list[Future]) -> list[Future]:
        self._given.extend(map(weakref.ref, futures))
        return futures

    def named(self, rank: int) -> str:
        """What messages call a worker."""
        return f"worker {rank} of {self.size} ({self.addresses[rank]})"

    def gone(self) -> list[int]:
        """The workers that are no longer in the cluster."""
        there = self.client.nthreads()
        return [rank for rank, address in enumerate(self.addresses) if address not in there]

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """What tasks have come to; a LostError if a worker goes before that.

        Tasks of a worker that is gone stay pending in Dask for ever.
        """
        while True:
            wait_a_while(futures)
            if all(future.status != "pending" for future in futures):
                break
            self.refuse_gone()
        return self.client.gather(list(futures))

    def refuse_gone(self) -> None:
        """Raise a LostError if a worker is no longer there."""
        gone = self.gone()
        if gone:
            raise LostError(lost(self, gone))


def wait_a_while(futures: Sequence[Future]) -> None:
    """Wait until one of the tasks that are pending ends, for a moment at most."""
    pending = [future for future in futures if future.status == "pending"]
    # A task that is cancelled is told by its status or, if that happens meanwhile, by an error.
    with suppress(TimeoutError, CancelledError):
        if pending:
            wait(pending, timeout=POLL, return_when="FIRST_COMPLETED")
    if any(future.status == "cancelled" for future in futures):
        raise LostError(
            "the scheduler has forgotten what the workers were to do: it was started anew, or the "
            "connection to it was lost"
        )


def lost(crew: Crew, gone: Sequence[int]) -> str:
    """The sentence about workers that are gone."""
    who = ", ".join(crew.named(rank) for rank in gone)
    return f"{who} {'is' if len(gone) == 1 else 'are'} gone: killed, or cut off from the scheduler"
