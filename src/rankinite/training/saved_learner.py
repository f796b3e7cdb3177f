"""What of a trained learner is in its file, and how it comes back."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

from rankinite.errors import ModelFileError
from rankinite.models.checked_state import saved_history, saved_names, saved_text, saved_whole
from rankinite.models.file import Arrays, State
from rankinite.models.ranker import Ranker, takes_width
from rankinite.models.storage import from_state, nested, to_state, unnested
from rankinite.training.resuming import comparable
from rankinite.training.run import History


class SavedLearner(Ranker):
    """A ranker that was trained in rounds, as its file knows it.

    A subclass says in `_own_state` and `_restore` what it has learned itself.
    """

    # Parameters that are not in the model file as they stand. The number of threads belongs to the
    # machine: the file of a model must not depend on it.
    not_in_file: ClassVar[tuple[str, ...]] = ("base_model", "n_threads")

    base_model: Any
    random_state: int | None

    seed_: int
    history_: History
    best_iteration_: int
    _base: Any  # the base model that was trained on; None if there was none
    _data_fingerprint: str

    @property
    @abstractmethod
    def n_rounds_(self) -> int:
        """Rounds whose result the model keeps."""

    @abstractmethod
    def _own_state(self) -> tuple[State, Arrays]:
        """What was learned, for the model file."""

    @abstractmethod
    def _restore(self, state: State, arrays: Arrays) -> None:
        """Take back what `_own_state` gave; parameters, features and base are there already."""

    def to_state(self) -> tuple[State, Arrays]:
        """What `from_state` takes: the state as JSON has it, and the arrays."""
        params = self.get_params(deep=False)
        params = {name: value for name, value in params.items() if name not in self.not_in_file}
        own, arrays = self._own_state()
        state = {
            "params": comparable(params),
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "data": self._data_fingerprint,
            "base": None,
            **own,
        }
        if self.random_state is None:
            state["seed"] = self.seed_
        if self._base is not None:
            state["base"], base_arrays = to_state(self._base)
            arrays = arrays | nested("base", base_arrays)
        return state, arrays

    @classmethod
    def from_state(cls, state: State, arrays: Arrays) -> Self:
        """What was saved by `to_state`, after a check."""
        base = None
        if state["base"] is not None:
            base = from_state(state["base"], unnested("base", arrays))
        model = cls(**{**state["params"], "base_model": base})
        # Not its own check, which would look at measures that only the trainer had.
        Ranker.check_params(model)
        model.n_features_in_ = saved_whole(state, "n_features")
        model._feature_names = saved_names(state, model.n_features_in_)
        _check_base_fits(base, model.n_features_in_)
        model.history_ = saved_history(state)
        model.best_iteration_ = saved_whole(state, "best_iteration")
        own = model.random_state
        model.seed_ = saved_whole(state, "seed", 0, 2**63 - 1) if own is None else int(own)
        model._base = base
        model._data_fingerprint = saved_text(state, "data")
        model._restore(state, arrays)
        n_done = next(iter(_lengths(model.history_)), model.n_rounds_)
        if model.best_iteration_ > n_done:
            raise ModelFileError(
                f"the model file says that round {model.best_iteration_} of {n_done} was the best: "
                "save the model again"
            )
        return model


def _lengths(history: History) -> list[int]:
    """Numbers of rounds in a history; they should all be the same."""
    return [len(values) for measures in history.values() for values in measures.values()]


def _check_base_fits(base: Any, n_features: int) -> None:
    if not takes_width(base, n_features):
        raise ModelFileError(
            f"the base model in the model file has {base.n_features_in_} features, and the model "
            f"{n_features}: save the model again"
        )
