"""What workers tell each other that is no array: small things, as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankinite.distributed.communicator import Communicator


def told_by_all(value: Any, communicator: Communicator) -> list[Any]:
    """Every worker's value, by rank: anything that JSON has."""
    return [_value(array) for array in communicator.gather(_array(value))]


def told_by(value: Any, communicator: Communicator, root: int = 0) -> Any:
    """The value of worker `root`: anything that JSON has."""
    return _value(communicator.broadcast(_array(value), root))


def _array(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _value(array: np.ndarray) -> Any:
    return json.loads(array.tobytes())
