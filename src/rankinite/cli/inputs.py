"""Reading what the verbs are given: data, scores, models, lists of measures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankinite.cli.data_files import DataFiles, at_hand
from rankinite.cli.options import LABEL, QID
from rankinite.errors import DataError, LabelError, ParameterError, RankiniteWarning

if TYPE_CHECKING:
    import numpy as np

    from rankinite.data import Dataset, Queries
    from rankinite.distributed import Communicator


@dataclass(frozen=True)
class Expected:
    """The features that data must have, because something else has them already.

    Attributes
    ----------
    n_features : int
    names : list of str or None
    owner : str
        What has them, for messages: "the model ranker.rk".
    open_ended : bool
        Whether there may be more features.
    """

    n_features: int
    names: list[str] | None
    owner: str
    open_ended: bool = False

    @classmethod
    def by_model(cls, model: Any, path: Path) -> Expected:
        """What a model was trained on."""
        from rankinite.models.ranker import feature_names_of

        open_ended = bool(getattr(model, "open_ended", False))
        return cls(model.n_features_in_, feature_names_of(model), f"the model {path}", open_ended)


def read_like(
    data: DataFiles,
    expected: Expected,
    *,
    label: str | None,
    qid: str | None,
    document: str | None = None,
    labels_needed: bool = True,
    queries_needed: bool = True,
    bins_of: Dataset | None = None,
    communicator: Communicator | None = None,
) -> Dataset:
    """Read data that has the features of something else.

    Columns of a table are found by their names, in whatever order they stand. SVMlight text may
    leave out the last features, as it may leave out any that is 0. With `bins_of` the result holds
    only bins, those of that dataset. Unless queries are needed, a table may have no column of them.
    With a `communicator` it is this worker's share.
    """
    from rankinite.formats import read

    columns = data.columns
    names = expected.names
    if columns and names is not None:
        # LightGBM puts underscores into names.
        spaced = {column.replace(" ", "_"): column for column in columns}
        names = [name if name in columns else spaced.get(name, name) for name in names]
    for name in (names or []) if columns else []:
        if name not in columns:
            raise DataError(
                f"{data} has no column {name!r}, which is a feature of {expected.owner}: "
                f"its columns are {', '.join(columns)}"
            )
    if not labels_needed:
        label = label_if_there(data, label)
    if columns and not queries_needed and qid == QID and qid not in columns:
        qid = None  # all rows are one query

    def rows_of(n_features: int | None) -> Dataset:
        return read(
            data.at_hand,
            label=label,
            qid=qid,
            features=names if columns else None,
            document=document,
            n_features=n_features,
            like=bins_of,
            same_id=data.same_id,
            communicator=communicator,
        )

    try:
        dataset = rows_of(expected.n_features if data.is_text else None)
    except DataError as error:
        given = f"n_features={expected.n_features}"
        if given in str(error):
            if expected.open_ended:
                return rows_of(None)
            message = str(error).replace(given, str(expected.n_features))
            raise DataError(f"{message}, the number of features of {expected.owner}") from None
        raise
    enough = expected.open_ended and dataset.n_features > expected.n_features
    if dataset.n_features != expected.n_features and not enough:
        raise DataError(
            f"{data} has {dataset.n_features} features, but {expected.owner} has "
            f"{expected.n_features}: pass data with the features that it was trained on"
        )
    if data.is_text and (communicator is None or communicator.size == 1):
        _warn_of_narrow_text(dataset, data, expected)
    return dataset


def read_judgements(
    data: DataFiles,
    *,
    label: str,
    qid: str,
    document: str | None = None,
    labels_needed: bool = True,
) -> Queries:
    """Read data for its labels and queries alone; of a table no other column is looked at."""
    from rankinite.formats import read

    roles: dict[str, Any] = {"label": label, "qid": qid, "document": document}
    if not labels_needed and label_if_there(data, label) is None:
        roles["label"] = None
    elif data.columns:
        # A dataset needs a feature: the label stands in for it.
        roles["features"] = [label]
    return read(data.at_hand, same_id=data.same_id, **roles)


def label_if_there(data: DataFiles, label: str | None) -> str | None:
    """The name of the column of labels; None if the data is a table that has no such.

    A name that was asked for must be there.
    """
    columns = data.columns
    absent = label == LABEL and columns and label not in columns
    return None if absent else label


def read_scores(path: Path, n_rows: int, data: DataFiles) -> np.ndarray:
    """Read one score a line.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
    """
    import numpy as np

    lines = at_hand(path).read_text(encoding="utf-8", errors="backslashreplace").splitlines()
    scores = np.array([_score(text, path, number) for number, text in enumerate(lines, start=1)])
    if len(scores) != n_rows:
        raise DataError(
            f"{path} has {len(scores)} scores, but {data} has {n_rows} rows: "
            "there must be one score a line, in the order of the rows"
        )
    return scores


def model_at_hand(path: Path) -> Path:
    """The file of a model; of a stream a copy."""
    from rankinite.formats.files import is_stream

    return at_hand(path) if is_stream(path) else path


def load_model(path: Path, n_threads: int | None) -> Any:
    """Load a model, also of another library, to be used with so many threads."""
    from rankinite.models import load
    from rankinite.models.parameters import Whole

    Whole(1, optional=True).check("threads", n_threads)
    model = load(model_at_hand(path))
    model.n_threads = n_threads
    return model


def judge_labels(measures: Iterable[Any], data: DataFiles, rows: Queries) -> None:
    """Let measures look at the labels, so that a misfit shows before the work, with its place."""
    from rankinite.measures import Evaluator

    with labels_located(data, rows):
        for each in measures:
            Evaluator(each, rows)


@contextmanager
def labels_located(data: DataFiles, rows: Queries) -> Iterator[None]:
    """Let an error about a label say where in the file it stands, and in which query."""
    try:
        yield
    except LabelError as error:
        row = error.row if rows.order is None else int(rows.order[error.row])
        query = rows.qids[error.query]
        place = data.place_of(row)
        raise DataError(f"{place}: a document of query {query} {error.what}") from None


def scores_by(model: Any, rows: Dataset, n_rounds: int | None = None) -> np.ndarray:
    """Scores of a model that `load_model` gave, shape (n_rows,), in the order of the file."""
    from rankinite._numba import threads
    from rankinite.models import Ranker
    from rankinite.models.scores import scores_of

    if isinstance(model, Ranker):
        return model.predict(rows, n_rounds=n_rounds)
    if n_rounds is not None:
        kind = getattr(model, "origin", type(model).__name__)
        raise ParameterError(f"--n-rounds is for models of rankinite, not for a {kind}")
    with threads(model.n_threads):
        return rows.in_caller_order(scores_of(model, rows))


def named_files(options: list[str]) -> dict[str, Path]:
    """Files by name; a file without one is called by its stem, or its path if the stem is taken."""
    named: dict[str, Path] = {}
    for text in options:
        name, equals, rest = text.partition("=")
        if equals and not Path(text).exists():
            named[name] = Path(rest)
        else:
            stem = Path(text).stem
            named[text if stem in named else stem] = Path(text)
    return named


def split_measures(text: str) -> list[str]:
    """Cut ``a,b`` into measures, each of which may hold commas: ``avendcg:depth=5,gain=label``."""
    measures: list[str] = []
    for piece in text.split(","):
        if measures and re.match(r"\s*\w+=", piece):
            measures[-1] += f",{piece}"
        else:
            measures.append(piece)
    return measures


def _score(text: str, path: Path, line: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if score - score != 0:  # NaN or infinite
        raise DataError(f"{path}, line {line}: {text!r} is not a finite number")
    return score


def _warn_of_narrow_text(dataset: Dataset, data: DataFiles, expected: Expected) -> None:
    import numpy as np

    from rankinite.data import FeatureBins

    if isinstance(dataset.features, FeatureBins):
        return
    used = np.flatnonzero(dataset.X.any(axis=0))
    width = int(used[-1]) + 1 if len(used) else 0
    if width < expected.n_features:
        warnings.warn(
            f"{data} has values for the features 1 to {width} only, and {expected.owner} has "
            f"{expected.n_features}: the others count as 0",
            RankiniteWarning,
            stacklevel=2,
        )
