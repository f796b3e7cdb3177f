"""The model file: safetensors, that is named arrays behind a JSON header. No pickle.

The header's metadata has one entry, ``rankinite``: a JSON object with the format's version, the
state of the model, and a SHA-256 of the state and all arrays, so that an altered file is noticed.
A model inside a model (a base model) is a state inside the state; its arrays carry a prefix.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.errors import ModelFileError
from rankinite.formats.array_file import DTYPES, Arrays, Metadata, read_arrays, write_arrays
from rankinite.formats.files import replacing

FORMAT = "rankinite-model"
VERSION = 1
_DTYPES = tuple(DTYPES.values())

State = dict[str, Any]


def write_model(path: str | os.PathLike[str], state: State, arrays: Arrays) -> None:
    """Write a model whole or not at all: to a file beside `path`, then renamed."""
    # An array without a dimension gets one.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype not in _DTYPES:
            raise ModelFileError(
                f"the array {name!r} is of type {array.dtype}, which a model file cannot hold: "
                "use another type"
            )
    header = {
        "format": FORMAT,
        "version": VERSION,
        "state": state,
        "sha256": _checksum(state, arrays),
    }
    metadata = {"rankinite": json.dumps(header, sort_keys=True)}
    names = sorted(arrays, key=lambda name: (_DTYPES.index(arrays[name].dtype), name))
    with replacing(Path(path), ModelFileError) as temporary, temporary.open("wb") as file:
        write_arrays(file, {name: arrays[name] for name in names}, metadata)


def read_model(path: str | os.PathLike[str]) -> tuple[State, Arrays]:
    """Read state and arrays, after checking format, version and checksum."""
    try:
        arrays, metadata = read_arrays(Path(path), lambda why: _not_whole(path, why))
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {path}: {error.strerror}") from error
    try:
        return _checked_state(path, metadata, arrays), arrays
    except RecursionError as error:
        raise _not_whole(path, "its state is lists in lists without end") from error


def _checked_state(path: str | os.PathLike[str], metadata: Metadata, arrays: Arrays) -> State:
    try:
        header = json.loads(metadata["rankinite"])
        known = header["format"] == FORMAT
    except (KeyError, TypeError, ValueError):
        known = False
    if not known:
        raise ModelFileError(f"{path} is not a model file of rankinite: pass one that save wrote")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has version {header.get('version')} of the model format, and this release "
            f"reads version {VERSION}: use the release that wrote it, or a newer one"
        )
    state = header.get("state")
    if not isinstance(state, dict) or header.get("sha256") != _checksum(state, arrays):
        raise ModelFileError(
            f"{path} was altered after it was saved (its checksum differs): "
            "restore it from where it came from"
        )
    return state


def _not_whole(path: str | os.PathLike[str], reason: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a whole model file of rankinite ({reason}): it is truncated or foreign"
    )


def _checksum(state: State, arrays: Arrays) -> str:
    """Of arrays that are contiguous."""
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
