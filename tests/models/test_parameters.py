import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from rankinite.errors import ParameterError
from rankinite.models.parameters import OneOf, Real, Whole

TAKEN = [
    (Whole(1), [1, 10**30, np.int8(3), np.uint64(2**63)]),
    (Whole(0, 5), [0, 5, np.int64(0)]),
    (Whole(1, optional=True), [None, 1]),
    (Real(0.0), [1e-300, 1, 5, np.float32(0.5), np.int64(2)]),
    (Real(0.0, 1.0), [1, 1.0, 0.5, np.float64(1e-9)]),
    (OneOf(("a", "b")), ["a", "b", np.str_("a")]),
    (OneOf((True, False)), [True, False]),
]
ODD = [None, "1", b"1", [], [1], {}, object(), 1j, np.array([1, 2]), np.array(1), np.nan]
REFUSED = [
    (Whole(1), [0, -1, 1.0, True, np.True_, np.float64(1), Fraction(1), *ODD], "at least 1,"),
    (Whole(0, 5), [-1, 6, *ODD], "from 0 to 5,"),
    (Whole(1, optional=True), [0, *ODD[1:]], "at least 1 or None,"),
    (Real(0.0), [0, -1.0, math.inf, True, Decimal(1), Fraction(1, 2), *ODD], "above 0,"),
    (Real(0.0, 1.0), [0, 1.0000001, np.inf, *ODD], "above 0 and at most 1,"),
    (OneOf(("a", "b")), ["c", "A", "", "ab", True, 0, *ODD], "one of 'a', 'b',"),
    (OneOf((True, False)), [0, 1, "True", *ODD], "one of True, False,"),
]


@pytest.mark.parametrize(("constraint", "values"), TAKEN, ids=lambda part: str(part)[:30])
def test_taken(constraint, values):
    for value in values:
        constraint.check("size", value)


@pytest.mark.parametrize(
    ("constraint", "values", "words"), REFUSED, ids=lambda part: str(part)[:30]
)
def test_refused_with_the_name_the_range_and_the_value(constraint, values, words):
    for value in values:
        with pytest.raises(ParameterError) as caught:
            constraint.check("size", value)
        message = str(caught.value)
        assert message.startswith("size must be ") and words in message
        assert message.endswith(f"got {value!r}")
