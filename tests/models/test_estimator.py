from typing import ClassVar

import pytest

from rankinite.errors import ParameterError
from rankinite.models import Estimator, NotFittedError
from rankinite.models.parameters import Whole


class Toy(Estimator):
    constraints: ClassVar = {"size": Whole(1)}

    def __init__(self, size=3, name="x", inner=None):
        self.size = size
        self.name = name
        self.inner = inner


def test_parameters_are_the_arguments():
    toy = Toy(5, inner=Toy(size=7))
    assert toy.get_params(deep=False) == {"size": 5, "name": "x", "inner": toy.inner}
    assert toy.get_params()["inner__size"] == 7
    assert toy.set_params(size=6, inner__name="y") is toy
    assert toy.size == 6 and toy.inner.name == "y"


def test_a_class_is_not_an_inner_estimator():
    assert set(Toy(inner=Toy).get_params()) == {"size", "name", "inner"}


def test_unknown_parameters_name_the_known_ones():
    with pytest.raises(ParameterError, match="Toy has no parameter 'sise'; it has size, name, in"):
        Toy().set_params(sise=3)


def test_repr_shows_what_differs_from_the_default():
    assert repr(Toy()) == repr(Toy(size=3)) == "Toy()"
    assert repr(Toy(4, "it's")) == 'Toy(size=4, name="it\'s")'
    assert repr(Toy(inner=Toy(1))) == "Toy(inner=Toy(size=1))"


def test_checks():
    toy = Toy(size=0)
    with pytest.raises(ParameterError, match="size must be a whole number at least 1, got 0"):
        toy.check_params()
    with pytest.raises(NotFittedError, match="this Toy is not trained: call fit first"):
        toy.check_fitted()
    assert issubclass(NotFittedError, AttributeError), "as scikit-learn's own error is"
    toy.n_features_in_ = 3
    toy.check_fitted()
