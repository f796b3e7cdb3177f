"""Reading what the verbs are given: data, scores, models, lists of measures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankinite.errors import DataError, LabelError, ParameterError, RankiniteWarning

if TYPE_CHECKING:
    import numpy as np

    from rankinite.data import Dataset, Queries


# Copies of the streams that the command at work was given, by their names.
_copies: dict[Path, Path] = {}
_cleanup = ExitStack()


@contextmanager
def streams_kept() -> Iterator[None]:
    """Let `at_hand` keep copies of streams until the block ends."""
    with _cleanup:
        try:
            yield
        finally:
            _copies.clear()


def at_hand(path: Path) -> Path:
    """The file itself; of a stream a copy, because verbs look at their data several times."""
    from rankinite.formats.files import as_file, check_readable

    check_readable(path)
    if path not in _copies:
        _copies[path] = _cleanup.enter_context(as_file(path))
    return _copies[path]


@dataclass(frozen=True)
class Expected:
    """The features that data must have, because something else has them already.

    Attributes
    ----------
    n_features : int
    names : list of str or None
    owner : str
        What has them, for messages: "the model ranker.rk".
    """

    n_features: int
    names: list[str] | None
    owner: str

    @classmethod
    def by_model(cls, model: Any, path: Path) -> Expected:
        """What a model was trained on."""
        from rankinite.models.ranker import feature_names_of

        return cls(model.n_features_in_, feature_names_of(model), f"the model {path}")


def read_like(
    path: Path,
    expected: Expected,
    *,
    label: str,
    qid: str | None,
    document: str | None = None,
    labels_needed: bool = True,
    queries_needed: bool = True,
    bins_of: Dataset | None = None,
) -> Dataset:
    """Read data that has the features of something else.

    Columns of a table are found by their names, in whatever order they stand. SVMlight text may
    leave out the last features, as it may leave out any that is 0. With `bins_of` the result holds
    only bins, those of that dataset. Unless queries are needed, a table may have no column of them.
    """
    from rankinite.formats import read

    path = at_hand(path)
    columns = table_columns(path)
    names = expected.names
    if columns and names is not None:
        # LightGBM puts underscores into names.
        spaced = {column.replace(" ", "_"): column for column in columns}
        names = [name if name in columns else spaced.get(name, name) for name in names]
    for name in (names or []) if columns else []:
        if name not in columns:
            raise DataError(
                f"{path} has no column {name!r}, which is a feature of {expected.owner}: "
                f"its columns are {', '.join(columns)}"
            )
    has_label = labels_needed or not columns or label in columns
    if columns and qid not in columns and not queries_needed:
        qid = None  # all rows are one query
    try:
        dataset = read(
            path,
            label=label if has_label else None,
            qid=qid,
            features=names if columns else None,
            document=document,
            n_features=expected.n_features if _is_text(path) else None,
            like=bins_of,
        )
    except DataError as error:
        given = f"n_features={expected.n_features}"
        if given in str(error):
            message = str(error).replace(given, str(expected.n_features))
            raise DataError(f"{message}, the number of features of {expected.owner}") from None
        raise
    if _is_text(path):
        _warn_of_narrow_text(dataset, path, expected)
    return dataset


def read_judgements(
    path: Path,
    *,
    label: str,
    qid: str,
    document: str | None = None,
    labels_needed: bool = True,
) -> Queries:
    """Read data for its labels and queries alone; of a table no other column is looked at."""
    from rankinite.formats import read

    path = at_hand(path)
    if not labels_needed and label_if_there(path, label) is None:
        return read(path, label=None, qid=qid, document=document)
    if not table_columns(path):
        return read(path, label=label, qid=qid, document=document)
    # A dataset needs a feature: the label stands in for it.
    return read(path, label=label, qid=qid, features=[label], document=document)


def label_if_there(path: Path, label: str) -> str | None:
    """The name of the column of labels; None if the file is a table that has no such."""
    columns = table_columns(at_hand(path))
    return None if columns and label not in columns else label


def read_scores(path: Path, n_rows: int, data: Path) -> np.ndarray:
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


def load_model(path: Path, n_threads: int | None) -> Any:
    """Load a model, also of another library, to be used with so many threads."""
    from rankinite.models import load_base_model
    from rankinite.models.parameters import Whole

    Whole(1, optional=True).check("threads", n_threads)
    model = load_base_model(path)
    model.n_threads = n_threads
    return model


@contextmanager
def labels_located(path: Path, rows: Queries) -> Iterator[None]:
    """Let an error about a label say where in the file it stands, and in which query."""
    try:
        yield
    except LabelError as error:
        row = error.row if rows.order is None else int(rows.order[error.row])
        place = _place_of(at_hand(path), row)
        query = rows.qids[error.query]
        raise DataError(f"{path}, {place}: a document of query {query} {error.what}") from None


def _place_of(path: Path, row: int) -> str:
    """Where a row (from 0) stands in a file, as people count: the line, if it has lines."""
    from rankinite.formats.files import open_input
    from rankinite.formats.kinds import CSV, TEXT, TSV, kind_of
    from rankinite.formats.tables import line_of

    kind = kind_of(path)
    if kind in (CSV, TSV):
        return f"line {line_of(path, row)}"
    if kind == TEXT:
        with open_input(path) as stream:
            lines = stream.read().split(b"\n")
        filled = [n for n, line in enumerate(lines, start=1) if line.partition(b"#")[0].strip()]
        return f"line {filled[row]}"
    return f"row {row} (from 0)"


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


def table_columns(path: Path) -> list[str]:
    """The columns of a table; none for other files and those that are unreadable."""
    from rankinite.formats.kinds import TABLES, kind_of
    from rankinite.formats.tables import columns_in

    try:
        return columns_in(path) if kind_of(path) in TABLES else []
    except DataError:
        return []  # the reader itself says what is wrong


def _is_text(path: Path) -> bool:
    from rankinite.formats.kinds import TEXT, kind_of

    return kind_of(path) == TEXT


def _warn_of_narrow_text(dataset: Dataset, path: Path, expected: Expected) -> None:
    import numpy as np

    from rankinite.data import FeatureBins

    if isinstance(dataset.features, FeatureBins):
        return
    used = np.flatnonzero(dataset.X.any(axis=0))
    width = int(used[-1]) + 1 if len(used) else 0
    if width < expected.n_features:
        warnings.warn(
            f"{path} has values for the features 1 to {width} only, and {expected.owner} has "
            f"{expected.n_features}: the others count as 0",
            RankiniteWarning,
            stacklevel=2,
        )
