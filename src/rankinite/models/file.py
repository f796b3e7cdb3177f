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
from rankinite.formats.files import replacing

FORMAT = "rankinite-model"
VERSION = 1

State = dict[str, Any]
Arrays = dict[str, np.ndarray]


def write_model(path: str | os.PathLike[str], state: State, arrays: Arrays) -> None:
    """Write a model whole or not at all: to a file beside `path`, then renamed."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "state": state,
        "sha256": _checksum(state, arrays),
    }
    content = save(arrays, metadata={"rankinite": json.dumps(header, sort_keys=True)})
    with replacing(Path(path), ModelFileError) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        # A checkpoint must outlive the machine, not only the process.
        os.fsync(file.fileno())


def read_model(path: str | os.PathLike[str]) -> tuple[State, Arrays]:
    """Read state and arrays, after checking format, version and checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        Path(path).open("rb").close()
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {path}: {error.strerror}") from error
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} is not a whole model file of rankinite ({error}): it is truncated or foreign"
        ) from error
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
    return state, arrays


def _checksum(state: State, arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
