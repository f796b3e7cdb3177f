"""Reading what the verbs are given: data, scores, models, lists of measures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankinite.errors import DataError, RankiniteWarning

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
    qid: str,
    document: str | None = None,
    labels_needed: bool = True,
    bins_of: Dataset | None = None,
) -> Dataset:
    """Read data that has the features of something else.

    Columns of a table are found by their names, in whatever order they stand. SVMlight text may
    leave out the last features, as it may leave out any that is 0. With `bins_of` the result holds
    only bins, those of that dataset.
    """
    from rankinite.formats import read

    path = at_hand(path)
    columns = _table_columns(path)
    for name in (expected.names or []) if columns else []:
        if name not in columns:
            raise DataError(
                f"{path} has no column {name!r}, which is a feature of {expected.owner}: "
                f"its columns are {', '.join(columns)}"
            )
    has_label = labels_needed or not columns or label in columns
    try:
        dataset = read(
            path,
            label=label if has_label else None,
            qid=qid,
            features=expected.names if columns else None,
            document=document,
            n_features=expected.n_features if _is_text(path) else None,
            like=bins_of,
        )
    except DataError as error:
        if f"n_features={expected.n_features}" in str(error):
            raise DataError(f"{error}, the number of features of {expected.owner}") from None
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
    if not _table_columns(path):
        return read(path, label=label, qid=qid, document=document)
    # A dataset needs a feature: the label stands in for it.
    return read(path, label=label, qid=qid, features=[label], document=document)


def label_if_there(path: Path, label: str) -> str | None:
    """The name of the column of labels; None if the file is a table that has no such."""
    columns = _table_columns(at_hand(path))
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
    """Load a model, to be used with so many threads."""
    from rankinite.models import load
    from rankinite.models.parameters import Whole

    Whole(1, optional=True).check("threads", n_threads)
    model = load(path)
    model.n_threads = n_threads
    return model


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


def _table_columns(path: Path) -> list[str]:
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
