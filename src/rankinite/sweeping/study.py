"""The study of a sweep: its trials in memory, and in an SQLite file of optuna's if there is one.

Only trials that have ended are written, each as a whole and at once. So one that was running when
the process was killed is not there, and is run again.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankinite.errors import DataError, RankiniteError
from rankinite.sweeping.space import Choices, Dimension, Space
from rankinite.sweeping.trial import COMPLETE, FAILED, PRUNED, Look, Trial

_NAME = "rankinite"
# What the study says of itself, by which it is known again.
_DECLARATION = "declaration"
_HEADER = b"SQLite format 3\x00"
# Parts of a declaration, in words.
_WORDS = {
    "ranker": "another ranker",
    "space": "another space",
    "fixed": "other fixed parameters",
    "measure": "another measure",
    "n_folds": "another number of folds",
    "sampler": "another sampler",
    "seed": "another seed",
    "prune": "another rule of pruning",
    "data": "other data",
}


def import_optuna() -> Any:
    """The module, if it is installed."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise RankiniteError(
            "a study file and the sampler tpe need optuna, which is not installed: "
            "pip install 'rankinite[sweep]', or use the sampler grid or random without a study"
        ) from None
    return optuna


@contextmanager
def in_silence(optuna: Any) -> Iterator[None]:
    """Let optuna's own log and warnings not be seen inside the block."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)


def distribution_of(dimension: Dimension) -> Any:
    """The values of a parameter as optuna has them."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(dimension, Choices):
        return CategoricalDistribution(dimension.values)
    low, high = dimension.low, dimension.high
    if dimension.step is not None:
        high = dimension.grid()[-1]
    if dimension.whole:
        step = int(dimension.step or 1)
        return IntDistribution(int(low), int(high), log=dimension.log, step=step)
    return FloatDistribution(low, high, log=dimension.log, step=dimension.step)


class Study:
    """The trials of a sweep that have ended.

    Parameters
    ----------
    codec : Codec
    declaration : dict
        What makes it this sweep and no other, in JSON.
    lower_is_better : bool
    path : Path, optional
        The file; none to keep them in memory only.

    Attributes
    ----------
    trials : dict of int to Trial
        By their numbers.
    """

    def __init__(
        self,
        codec: Codec,
        declaration: Mapping[str, Any],
        lower_is_better: bool,
        path: Path | None = None,
    ) -> None:
        self.trials: dict[int, Trial] = {}
        self._codec = codec
        self._path, self._lock = path, None
        self._study: Any = None
        self._storage: Any = None
        if path is not None:
            self._optuna = import_optuna()
            check_study(path)
            self._lock = _locked(path)
            try:
                with self._writing():
                    self._open(declaration, "minimize" if lower_is_better else "maximize")
            except BaseException:
                self.close()
                raise

    def add(self, trial: Trial) -> None:
        """Keep a trial that has ended."""
        self.trials[trial.number] = trial
        if self._study is not None:
            with self._writing():
                self._study.add_trial(self._codec.encoded(trial))

    def past(self, number: int) -> list[Trial]:
        """The trials below a number, in order."""
        return [self.trials[each] for each in sorted(self.trials) if each < number]

    def close(self) -> None:
        """Let others use the file."""
        if self._storage is not None:
            self._storage.remove_session()
            self._storage.engine.dispose()
        if self._lock is not None:
            self._lock.close()
            lock_of(self._path).unlink(missing_ok=True)
            self._lock = None

    def _open(self, declaration: Mapping[str, Any], direction: str) -> None:
        # A connection of our own, for not every path can be a part of a URL.
        self._storage = storage = self._optuna.storages.RDBStorage(
            "sqlite:///study", engine_kwargs={"creator": self._connect}
        )
        names = {each.study_name for each in storage.get_all_studies()}
        if names - {_NAME}:
            raise DataError(
                f"{self._path} holds studies that are no sweeps of rankinite: use another file"
            )
        self._study = self._optuna.create_study(
            storage=storage, study_name=_NAME, direction=direction, load_if_exists=True
        )
        kept = self._study.user_attrs.get(_DECLARATION)
        if kept is None:
            self._study.set_user_attr(_DECLARATION, json.dumps(declaration))
        else:
            self._check_same(json.loads(kept), declaration)
        for each in self._study.get_trials(deepcopy=False):
            trial = self._codec.decoded(each)
            self.trials.setdefault(trial.number, trial)

    def _connect(self) -> sqlite3.Connection:
        assert self._path is not None
        return sqlite3.connect(self._path, timeout=60, check_same_thread=False)

    def _check_same(self, kept: Mapping[str, Any], declaration: Mapping[str, Any]) -> None:
        # As JSON has them, so that tuples are lists and NaN is NaN.
        ours = json.loads(json.dumps(declaration))
        for part, words in _WORDS.items():
            if kept.get(part) != ours[part]:
                told = ""
                if part != "data" and not isinstance(ours[part], dict):
                    told = f", {kept.get(part)} and not {ours[part]}"
                raise DataError(
                    f"{self._path} holds a sweep of {words}{told}: go on with what it was started "
                    "with, or use another file"
                )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Errors of the database as sentences."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with in_silence(self._optuna):
                yield
        except (SQLAlchemyError, self._optuna.exceptions.OptunaError) as error:
            reason = str(getattr(error, "orig", None) or error.__cause__ or error).splitlines()[0]
            raise DataError(f"the study {self._path} cannot be used: {reason}") from None


class Codec:
    """Trials as optuna keeps them, and back.

    Parameters
    ----------
    space : Space
    longest : int
        Most rounds of a fold: a look is kept as the number of rounds over all folds.
    """

    def __init__(self, space: Space, longest: int) -> None:
        self._space, self._longest = space, longest

    def encoded(self, trial: Trial) -> Any:
        """As optuna's."""
        from optuna.trial import TrialState, create_trial

        states = {
            COMPLETE: TrialState.COMPLETE,
            PRUNED: TrialState.PRUNED,
            FAILED: TrialState.FAIL,
        }
        return create_trial(
            state=states[trial.state],
            value=trial.value if trial.is_complete else None,
            params=trial.params,
            distributions={n: distribution_of(d) for n, d in self._space.dimensions.items()},
            intermediate_values={
                look.fold * self._longest + look.round: look.value for look in trial.curve
            },
            user_attrs={
                "number": trial.number,
                "folds": trial.folds,
                "rounds": trial.rounds,
                "seconds": trial.seconds,
                "error": trial.error,
            },
        )

    def decoded(self, kept: Any) -> Trial:
        """As ours."""
        from optuna.trial import TrialState

        states = {TrialState.COMPLETE: COMPLETE, TrialState.PRUNED: PRUNED}
        told = kept.user_attrs
        curve = [
            Look((step - 1) // self._longest, (step - 1) % self._longest + 1, value)
            for step, value in sorted(kept.intermediate_values.items())
        ]
        complete = kept.state == TrialState.COMPLETE
        return Trial(
            number=told["number"],
            params={name: kept.params[name] for name in self._space.names},
            state=states.get(kept.state, FAILED),
            value=kept.value if complete else float("nan"),
            folds=told["folds"],
            rounds=told["rounds"],
            seconds=told["seconds"],
            curve=curve,
            error=told["error"],
        )


def check_study(path: Path) -> None:
    """Refuse a file that is no study, or that cannot become one."""
    if path.is_dir() or not path.parent.is_dir():
        raise DataError(
            f"cannot keep the study in {path}: it is a folder, or in a folder that does not exist"
        )
    start = b""
    try:
        if path.exists():
            with path.open("rb+") as file:
                start = file.read(len(_HEADER))
        else:
            # Permission bits do not tell of read-only file systems; a file does.
            with tempfile.TemporaryFile(dir=path.parent):
                pass
    except OSError as error:
        raise DataError(f"cannot keep the study in {path}: {error.strerror}") from error
    if start and start != _HEADER:
        raise DataError(f"{path} is no study, but another file: use another name for the study")


def lock_of(path: Path | None) -> Path:
    """The file that stands beside a study while it is in use."""
    assert path is not None
    return path.with_name(f"{path.name}.lock")


def _locked(path: Path) -> Any:
    """Take a study for this process alone, until it ends in whatever way.

    SQLite's own lock on a file beside it, which every system has, and which does not outlive us.
    """
    lock = sqlite3.connect(lock_of(path), timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" in str(error):
            raise DataError(
                f"the study {path} is in use by another sweep: wait until it has ended, or start "
                "it with more jobs instead"
            ) from None
        raise DataError(f"cannot keep the study in {path}: {error}") from None
    return lock
