"""Writing SVMlight / LETOR text."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankinite.data.dataset import Dataset
from rankinite.data.queries import Queries
from rankinite.errors import DataError, ParameterError
from rankinite.formats.files import compression_of, open_output, replacing

_BLOCK_VALUES = 1 << 20  # values formatted at a time


def write_svmlight(data: Any, path: str | PathLike[str], y: Any = None, qid: Any = None) -> None:
    """Write ``label qid:ID index:value ...`` lines, in the caller's row order.

    Zeros are left out, missing values are written ``nan``, and every number in the shortest form
    that reads back as the same number. Weights and feature names have no place in
    the format. Rows without labels get the label 0.

    Parameters
    ----------
    data : Dataset, or anything that can be the X of one
    path : path
        Compressed if it ends in ``.gz`` or ``.zst``. Written beside and then moved into place.
    y, qid : array-like
        Labels and query ids when `data` is not a Dataset.
    """
    if isinstance(data, Dataset):
        if y is not None or qid is not None:
            raise ParameterError("y and qid belong to the Dataset: pass them only with a matrix")
        dataset = data
    else:
        dataset = Dataset(data, y, qid=qid)
    X = dataset.features.values(
        "this dataset holds only bins: its feature values cannot be written"
    )
    ids = _id_texts(dataset.qids)
    place = Path(path)
    with replacing(place) as temporary, open_output(temporary, compression_of(place)) as stream:
        _write_rows(stream, dataset, X, ids)


def _write_rows(stream: Any, queries: Queries, X: np.ndarray, ids: np.ndarray) -> None:
    query = np.repeat(np.arange(queries.n_queries), queries.query_sizes)
    y = np.zeros(queries.n_rows) if queries.y is None else queries.y
    stored = queries.in_caller_order(np.arange(queries.n_rows))  # stored row of a caller's row
    step = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, queries.n_rows, step):
        rows = stored[start : start + step]
        stream.write(_format_rows(X[rows], y[rows], ids[query[rows]]))


def _format_rows(X: np.ndarray, y: np.ndarray, ids: np.ndarray) -> bytes:
    """Lines of a block of rows, formatted column-wise by pyarrow rather than value by value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    row, column = np.nonzero(X)
    prefixes = pa.array([f" {index}:" for index in range(1, X.shape[1] + 1)], pa.string())
    # The shortest form of a float32 reads back as another float64.
    values = pc.cast(pa.array(X[row, column].astype(np.float64, copy=False)), pa.string())
    pairs = pc.binary_join_element_wise(prefixes.take(pa.array(column)), values, "")
    ends = np.searchsorted(row, np.arange(len(X) + 1))
    features = pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs), "")
    labels = pc.cast(pa.array(y), pa.string())
    heads = pc.binary_join_element_wise(labels, pa.array(ids, pa.string()), " qid:")
    lines = pc.binary_join_element_wise(heads, features, "\n", "")
    # The strings of an arrow array lie one after the other: its data buffer is the text.
    return lines.buffers()[2].to_pybytes()


def _id_texts(qids: np.ndarray) -> np.ndarray:
    """Query ids as they stand in the text: object array of str."""
    texts = np.empty(len(qids), dtype=object)
    for query, qid in enumerate(qids.tolist()):
        text = qid.decode("utf-8", "backslashreplace") if isinstance(qid, bytes) else str(qid)
        if not text or any(byte in text for byte in " \t\r\n#"):
            raise DataError(
                f"the query id {text!r} cannot be written: SVMlight text needs ids that are not "
                "empty and have no blank and no #"
            )
        texts[query] = text
    return texts
