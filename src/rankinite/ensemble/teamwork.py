"""Steps that the workers of a job do: what can be trained together is, all else by one of them.

All workers have all data and the same plan, and hear how every step has ended, so that they agree
on the next ones without being told. Worker 0 alone has the folder of the run. Each of the others
has one of its own for the time being, with the scores that steps may ask for.
"""

from __future__ import annotations

import json
import traceback
from pathlib import Path

import numpy as np

from rankinite.distributed import Communicator, everywhere, is_everywhere, told_by, told_by_all
from rankinite.ensemble.plan import MEMBER, TRAIN, Step
from rankinite.ensemble.running import Failures, Progress, named, pending
from rankinite.ensemble.work import Workshop
from rankinite.errors import RankiniteError, WorkerError


def run_on_workers(
    steps: list[Step],
    workshop: Workshop,
    progress: Progress,
    communicator: Communicator,
    *,
    keep_going: bool = False,
) -> dict[str, str]:
    """Do all steps that are not done yet; see `run_steps`.

    An error that ends the run is raised on all workers, or ends the job.
    """
    team = _Team(workshop, communicator, keep_going)
    names = told_by([step.name for step in pending(steps, workshop.folder)], communicator)
    for step in steps:
        if step.name not in names and step.kind != TRAIN:
            team.tell(step)
    failures = Failures(progress, keep_going)
    waiting = [step for step in steps if step.name in names]
    while waiting:
        wave = team.next_wave(waiting)
        waiting = [step for step in waiting if step not in wave]
        lost = [step for step in wave if failures.is_lost(step)]
        wave = [step for step in wave if step not in lost]
        for step in wave:
            progress.begin(step)
        for step, error in zip(wave, team.do(wave), strict=True):
            if error is None:
                progress.end(step)
            else:
                failures.note(step, error)
    return failures.by_owner


class _Team:
    """The workers, and what passes between them.

    Parameters
    ----------
    workshop : Workshop
        This worker's.
    communicator : Communicator
    keep_going : bool
        Then trees are trained by one worker too: an error in what all do together would end all.
    """

    def __init__(self, workshop: Workshop, communicator: Communicator, keep_going: bool) -> None:
        self._workshop, self._workers, self._keep_going = workshop, communicator, keep_going

    def next_wave(self, waiting: list[Step]) -> list[Step]:
        """The steps to do next, one a worker; or one that all do, or that worker 0 does.

        Parameters
        ----------
        waiting : list of Step
            Each after those that it needs.
        """
        open_ = {step.name for step in waiting}
        ready = [step for step in waiting if not open_.intersection(step.needs)]
        if not self._is_alone(ready[0]):
            return ready[:1]
        return [step for step in ready if self._is_alone(step)][: self._workers.size]

    def _is_alone(self, step: Step) -> bool:
        """Whether any single worker can do a step; a member is made of files that worker 0 has."""
        return step.kind != MEMBER and not self._is_together(step)

    def _is_together(self, step: Step) -> bool:
        return not self._keep_going and self._workshop.distributes(step)

    def do(self, wave: list[Step]) -> list[RankiniteError | None]:
        """Do what `next_wave` gave; what went wrong, on all workers."""
        if not wave:
            return []
        if self._is_together(wave[0]):
            return [self._together(wave[0])]
        mine = wave[self._workers.rank] if self._workers.rank < len(wave) else None
        own = None if mine is None else self._alone(mine)
        errors = [_error(told) for told in told_by_all(own, self._workers)[: len(wave)]]
        sound = [step for step, error in zip(wave, errors, strict=True) if error is None]
        if sound and wave[0].kind == MEMBER:
            self.tell(sound[0])
        elif sound:
            self._collect(wave, sound, None if mine not in sound else mine)
        return errors

    def _together(self, step: Step) -> RankiniteError | None:
        """All workers train; worker 0 keeps what comes out."""
        try:
            self._workshop.do_together(step, self._workers)
        except RankiniteError as error:
            if is_everywhere(error):
                raise everywhere(named(step, error)) from error
            raise
        return None

    def _alone(self, step: Step) -> dict[str, str] | None:
        """Do a step; what went wrong, as others are told."""
        try:
            self._workshop.do(step)
        except RankiniteError as error:
            return _told(named(step, error, ""))
        except Exception as error:
            if not self._keep_going:
                raise
            traceback.print_exc()
            return _told(WorkerError(f"{type(error).__name__}: {error}"))
        return None

    def tell(self, step: Step) -> None:
        """Let all have the scores of a step that worker 0 has done."""
        pack = None
        if self._workers.rank == 0:
            pack = _packed(self._workshop.folder.results(step), with_models=False)
        told = self._workers.broadcast(pack)
        if self._workers.rank > 0:
            self._keep(step, told)

    def _collect(self, wave: list[Step], sound: list[Step], mine: Step | None) -> None:
        """Bring what each worker has done to worker 0, and scores that others ask for to all."""
        folder, workers = self._workshop.folder, self._workers
        files = [] if mine is None else folder.results(mine)
        pack = _packed(files, with_models=True)
        for rank, told in enumerate(workers.gather(pack, 0 if wave[0].kind == TRAIN else None)):
            if rank < len(wave) and wave[rank] in sound and rank != workers.rank:
                self._keep(wave[rank], told)

    def _keep(self, step: Step, pack: np.ndarray) -> None:
        """Write what another worker has done into this one's folder."""
        self._workshop.folder.take(step, _unpacked(pack))


def _packed(files: list[Path], with_models: bool) -> np.ndarray:
    """Files as bytes, uint8; their names and sizes first, in a line of JSON."""
    kept = [file for file in files if with_models or file.suffix != ".rk"]
    contents = [file.read_bytes() for file in kept]
    sizes = [[file.name, len(content)] for file, content in zip(kept, contents, strict=True)]
    return np.frombuffer(b"".join([json.dumps(sizes).encode(), b"\n", *contents]), np.uint8)


def _unpacked(pack: np.ndarray) -> dict[str, bytes]:
    """What `_packed` has packed, by the names of the files."""
    head, _, rest = pack.tobytes().partition(b"\n")
    found, start = {}, 0
    for name, size in json.loads(head):
        found[name] = rest[start : start + size]
        start += size
    return found


def _told(error: RankiniteError) -> dict[str, str]:
    return {"kind": type(error).__name__, "text": str(error)}


def _error(told: dict[str, str] | None) -> RankiniteError | None:
    """The error that another worker has told."""
    if told is None:
        return None
    from rankinite import errors

    return everywhere(getattr(errors, told["kind"])(told["text"]))
