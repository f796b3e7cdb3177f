"""The examples in the docstrings run."""

import doctest
from importlib import import_module

import pytest

MODULES = ("augmentation", "bagging", "folds", "rescaled", "query_features", "stacked")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    outcome = doctest.testmod(import_module(f"rankinite.ensemble.{name}"))
    assert outcome.attempted and not outcome.failed
