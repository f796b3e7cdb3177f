"""The binned form of a dataset as one file, whose bins are mapped into memory on loading.

Its arrays and its text are in the format of `array_file`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.binning import BinMapper, BinnedMatrix, Bins
from rankinite.binning._binning_kernels import BLOCK
from rankinite.data.dataset import Dataset
from rankinite.data.features import FeatureBins
from rankinite.data.preferences import Preferences
from rankinite.data.queries import Queries
from rankinite.errors import DataError
from rankinite.formats.array_file import map_arrays, write_arrays
from rankinite.formats.files import replacing

_FORMAT, _VERSION = "rankinite-dataset", "1"
_OF_PAIRS = {"first": np.int64, "other": np.int64, "probability": np.float64, "weight": np.float64}


def save_binned(
    dataset: Dataset, path: str | PathLike[str], max_bins: int, like: Dataset | None
) -> None:
    """Write `dataset` in binned form; see `Dataset.save`."""
    bins = _bins(dataset, max_bins, like)
    arrays = {
        "blocks": bins.blocks,
        "edges": bins.mapper.edges,
        "edge_offsets": bins.mapper.edge_offsets,
        "offsets": dataset.offsets,
        **_id_arrays(dataset.qids),
    }
    for name in ("y", "weight", "query_weight", "order"):
        if getattr(dataset, name) is not None:
            arrays[name] = getattr(dataset, name)
    if dataset.preferences is not None:
        arrays |= {f"pair_{name}": getattr(dataset.preferences, name) for name in _OF_PAIRS}
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
        "max_bins": str(bins.mapper.max_bins),
        "n_features": str(bins.n_features),
    }
    if dataset.feature_names is not None:
        metadata["feature_names"] = json.dumps(dataset.feature_names)
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        write_arrays(file, dict(sorted(arrays.items())), metadata)


def _bins(dataset: Dataset, max_bins: int, like: Dataset | None) -> Bins:
    if like is None:
        return dataset.binned(max_bins)
    return dataset.features.bins_by(
        like.binned(max_bins).mapper,
        "this dataset holds only bins, so it cannot be binned like another: "
        "use the dataset with its features",
    )


def load_binned(path: Path) -> Dataset:
    """Load a dataset that `Dataset.save` wrote; the bins stay in the file until they are used."""
    arrays = _BinnedFile(path)
    bins = _load_bins(arrays, path)
    n_rows = bins.blocks.shape[1]
    offsets = arrays.read("offsets", np.int64)
    n_queries = len(offsets) - 1
    if n_queries < 1 or offsets[0] != 0 or offsets[-1] != n_rows or (np.diff(offsets) < 1).any():
        raise _damaged(path, "the offsets of the queries do not fit the rows")
    order = arrays.read_optional("order", np.int64, n_rows)
    if order is not None and not np.array_equal(np.sort(order), np.arange(n_rows)):
        raise _damaged(path, "the order of the rows is not a permutation")
    queries = Queries(
        offsets=offsets,
        qids=_load_ids(arrays, n_queries, path),
        y=arrays.read_finite("y", n_rows),
        weight=_load_weight(arrays, "weight", n_rows),
        query_weight=_load_weight(arrays, "query_weight", n_queries),
        order=order,
        preferences=_load_pairs(arrays, offsets, path),
    )
    names = _load_names(arrays.metadata, bins.n_features, path)
    return Dataset.of(queries, FeatureBins(bins, names, lambda bins: _check_bins(bins, path)))


def _check_bins(bins: BinnedMatrix, path: Path) -> None:
    feature = bins.first_wrong()
    if feature is not None:
        last = min(feature + BLOCK, bins.n_features) - 1
        raise _damaged(path, f"a feature from {feature} to {last} has a bin above its last edge")


def _load_weight(arrays: _BinnedFile, name: str, length: int) -> np.ndarray | None:
    weight = arrays.read_finite(name, length)
    if weight is not None and (weight < 0).any():
        raise _damaged(arrays.path, f"the array {name!r} has a negative weight")
    return weight


def _load_pairs(arrays: _BinnedFile, offsets: np.ndarray, path: Path) -> Preferences | None:
    if "pair_first" not in arrays:
        return None
    first, other, probability, weight = (
        arrays.read(f"pair_{name}", dtype) for name, dtype in _OF_PAIRS.items()
    )
    if not 0 < len(first) == len(other) == len(probability) == len(weight):
        raise _damaged(path, "its pairs are not of one length")
    rows = np.stack([first, other])
    query = np.searchsorted(offsets, rows, side="right")
    inside = rows.min() >= 0 and rows.max() < offsets[-1]
    if not inside or (query[0] != query[1]).any() or (first == other).any():
        raise _damaged(path, "its pairs are not pairs of documents of a query")
    if not ((probability >= 0) & (probability <= 1) & (weight >= 0) & np.isfinite(weight)).all():
        raise _damaged(path, "its pairs have a probability or a weight out of range")
    return Preferences(offsets, first, other, probability, weight)


def _load_bins(arrays: _BinnedFile, path: Path) -> BinnedMatrix:
    blocks = arrays.map("blocks", np.uint8)
    edges = arrays.read("edges", np.float64)
    edge_offsets = arrays.read("edge_offsets", np.int64)
    try:
        n_features, max_bins = (int(arrays.metadata[key]) for key in ("n_features", "max_bins"))
    except (KeyError, ValueError) as error:
        raise _damaged(path, "its header lacks n_features or max_bins") from error
    if n_features < 1 or not 2 <= max_bins <= 255:
        raise _damaged(path, f"it has {n_features} features and max_bins={max_bins}")
    if blocks.ndim != 3 or blocks.shape[::2] != (-(-n_features // BLOCK), BLOCK):
        raise _damaged(path, f"bins of shape {blocks.shape} do not fit {n_features} features")
    fits = len(edge_offsets) == n_features + 1 and edge_offsets[0] == 0
    if not fits or edge_offsets[-1] != len(edges) or (np.diff(edge_offsets) < 0).any():
        raise _damaged(path, "the edges of the bins do not fit the features")
    _check_edges(edges, edge_offsets, max_bins, path)
    return BinnedMatrix(blocks, n_features, BinMapper(edges, edge_offsets, max_bins))


def _check_edges(edges: np.ndarray, offsets: np.ndarray, max_bins: int, path: Path) -> None:
    most = int(np.diff(offsets).max())
    if most >= max_bins:
        raise _damaged(path, f"a feature has {most} edges, too many for max_bins={max_bins}")
    # The last edge of a feature and the first of the next are no neighbours.
    inner = np.ones(max(len(edges) - 1, 0), bool)
    borders = offsets[1:-1]
    inner[borders[(borders > 0) & (borders < len(edges))] - 1] = False
    if np.isnan(edges).any() or not (edges[1:] > edges[:-1])[inner].all():
        raise _damaged(path, "the edges of a feature do not ascend")


def _load_names(metadata: dict[str, str], n_features: int, path: Path) -> list[str] | None:
    if "feature_names" not in metadata:
        return None
    try:
        names = json.loads(metadata["feature_names"])
    except (ValueError, RecursionError):
        names = None
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != n_features:
        raise _damaged(path, f"its feature names are not a list of {n_features}")
    return names


class _BinnedFile:
    """The arrays of a binned file, of the types and lengths that are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._arrays, self.metadata = map_arrays(path, lambda why: _damaged(path, why))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        self._check_format()

    def _check_format(self) -> None:
        if self.metadata.get("format") != _FORMAT:
            raise DataError(
                f"{self.path} is a safetensors file, but not a dataset: pass a file that "
                "Dataset.save wrote (models are loaded with load)"
            )
        if self.metadata.get("version") != _VERSION:
            raise DataError(
                f"{self.path} is a dataset of version {self.metadata.get('version')}, and this "
                f"release reads version {_VERSION}: save it again"
            )

    def map(self, name: str, dtype: Any) -> np.ndarray:
        """An array whose bytes stay in the file until they are used."""
        if name not in self._arrays:
            raise _damaged(self.path, f"the array {name!r} is not in it")
        array = self._arrays[name]
        if array.dtype != dtype:
            raise _damaged(self.path, f"the array {name!r} has the wrong type or size")
        return array

    def read(self, name: str, dtype: Any) -> np.ndarray:
        """A one-dimensional array in memory."""
        array = np.array(self.map(name, dtype))
        if array.ndim != 1:
            raise _damaged(self.path, f"the array {name!r} has the wrong shape {array.shape}")
        return array

    def read_optional(self, name: str, dtype: Any, length: int) -> np.ndarray | None:
        """As `read`, of the given length; None if the file has no such array."""
        if name not in self._arrays:
            return None
        array = self.read(name, dtype)
        if len(array) != length:
            raise _damaged(self.path, f"the array {name!r} has {len(array)} values, not {length}")
        return array

    def read_finite(self, name: str, length: int) -> np.ndarray | None:
        """As `read_optional`, of finite numbers."""
        array = self.read_optional(name, np.float64, length)
        if array is not None and not np.isfinite(array).all():
            raise _damaged(self.path, f"the array {name!r} has a value that is NaN or infinite")
        return array

    def __contains__(self, name: str) -> bool:
        return name in self._arrays


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{path} is truncated or damaged: {reason}; save the dataset again")


def _id_arrays(qids: np.ndarray) -> dict[str, np.ndarray]:
    """Query ids as arrays: integers as they are, strings as UTF-8 bytes with offsets."""
    ids = qids.tolist()
    if len(set(ids)) < len(ids):
        raise DataError(
            "two queries have the same id, as in a sample with repetitions: give every query an "
            "id of its own to save them"
        )
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**63) <= qid < 2**63 for qid in ids):
        return {"qids": qids.astype(np.int64)}
    if kinds != {str}:
        raise DataError(
            "query ids must be strings or integers of 64 bits to be saved, but they are of type "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}: convert them"
        )
    texts = [qid.encode("utf-8", "surrogatepass") for qid in ids]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return {"qid_bytes": np.frombuffer(b"".join(texts), np.uint8), "qid_offsets": ends}


def _load_ids(arrays: _BinnedFile, n_queries: int, path: Path) -> np.ndarray:
    if "qids" in arrays:
        qids = arrays.read("qids", np.int64)
    else:
        text = arrays.read("qid_bytes", np.uint8).tobytes()
        places = arrays.read("qid_offsets", np.int64)
        if len(places) and (
            places[0] != 0 or places[-1] != len(text) or (np.diff(places) < 0).any()
        ):
            raise _damaged(path, "the places of its query ids do not fit their text")
        ends = places.tolist()
        qids = np.empty(max(len(ends) - 1, 0), dtype=object)
        try:
            qids[:] = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
        except UnicodeDecodeError as error:
            raise _damaged(path, "its query ids are not text") from error
    if len(qids) != n_queries:
        raise _damaged(path, f"it has {len(qids)} query ids for {n_queries} queries")
    if len(set(qids.tolist())) < n_queries:
        raise _damaged(path, "two of its queries have the same id")
    return qids
