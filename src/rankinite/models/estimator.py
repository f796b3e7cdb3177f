"""The scikit-learn protocol, without the price of importing scikit-learn.

Parameters are the arguments of ``__init__``, stored as they are; ``fit`` returns self and sets
attributes that end in an underscore. scikit-learn itself (over a second to import) is only
loaded when one of its own tools asks for tags or metadata routing.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rankinite.errors import ParameterError, RankiniteError
from rankinite.models.parameters import Constraint
from rankinite.models.words_of_others import refuse_unknown

# Arguments that scikit-learn's meta-estimators may route to the methods, and which of them they
# pass on unless told otherwise: without its queries no ranker can be trained or measured.
_ROUTED = ("qid", "sample_weight", "query_weight")
_UNLESS_TOLD = {"qid": True}


class NotFittedError(RankiniteError, AttributeError):
    """The model is asked for something that it only has after ``fit``."""


class Estimator:
    """Base of everything with parameters."""

    constraints: ClassVar[Mapping[str, Constraint]] = {}
    # What `set_fit_request` and `set_score_request` asked for; replaced, never changed in place.
    _requests: Mapping[str, Mapping[str, Any]] = {"fit": _UNLESS_TOLD, "score": _UNLESS_TOLD}

    def __new__(cls, *values: Any, **params: Any) -> Self:
        """Refuse parameters that there are not, before Python does it in its own words."""
        if params and not _takes_any(cls.__init__):
            refuse_unknown(cls.__name__, params, cls.parameter_names())
        return super().__new__(cls)

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The arguments of ``__init__``."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def _refuse_unknown(self, method: str, unknown: Mapping[str, Any]) -> None:
        """Refuse arguments of a method that it does not have."""
        if unknown:
            arguments = inspect.signature(getattr(self, method)).parameters
            known = [name for name in arguments if name != "unknown"]
            refuse_unknown(method, unknown, known, self.parameter_names())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of a base model, as ``base_model__x``."""
        params = {name: getattr(self, name) for name in self.parameter_names()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    inner = value.get_params(deep=True)
                    params |= {f"{name}__{key}": item for key, item in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self."""
        known = self.parameter_names()
        for name, value in params.items():
            head, _, rest = name.partition("__")
            refuse_unknown(type(self).__name__, {head: value}, known)
            if rest:
                inner = getattr(self, head)
                if not hasattr(inner, "set_params"):
                    raise ParameterError(
                        f"{name} cannot be set: {head} is {inner!r}, which has no parameters"
                    )
                inner.set_params(**{rest: value})
            else:
                setattr(self, head, value)
        return self

    def check_params(self) -> None:
        """Refuse parameters outside their range, or that do not fit each other."""
        for name, constraint in self.constraints.items():
            constraint.check(name, getattr(self, name))

    def check_fitted(self) -> None:
        """Refuse a model that is not trained."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not trained: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if not _same(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        """An untrained copy for ``sklearn.base.clone``, with the very same parameters.

        scikit-learn would copy a base model as an untrained one, and it is there to score.
        """
        copy = type(self)(**self.get_params(deep=False))
        copy._requests = self._requests
        return copy

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(allow_nan=True, sparse=True),
        )

    def set_fit_request(self, **requests: Any) -> Self:
        """Ask scikit-learn's meta-estimators to pass ``sample_weight``, … on to ``fit``."""
        return self._request("fit", requests)

    def set_score_request(self, **requests: Any) -> Self:
        """Ask scikit-learn's meta-estimators to pass ``sample_weight``, … on to ``score``."""
        return self._request("score", requests)

    def _request(self, method: str, requests: Mapping[str, Any]) -> Self:
        for name in requests:
            if name not in _ROUTED:
                raise ParameterError(f"{method} takes {', '.join(_ROUTED)}, not {name!r}")
        self._requests = {**self._requests, method: {**self._requests[method], **requests}}
        return self

    def get_metadata_routing(self) -> Any:
        """What scikit-learn's meta-estimators may pass on, and what they are asked to."""
        from sklearn.utils.metadata_routing import MetadataRequest

        routing = MetadataRequest(owner=self)
        for method, requests in self._requests.items():
            for name in _ROUTED:
                getattr(routing, method).add_request(param=name, alias=requests.get(name))
        return routing


def _takes_any(function: Any) -> bool:
    """Whether a function takes arguments of any name, as one of a user's own class may."""
    kinds = (each.kind for each in inspect.signature(function).parameters.values())
    return inspect.Parameter.VAR_KEYWORD in kinds


def _same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, (int, float, str)) and value == default)
