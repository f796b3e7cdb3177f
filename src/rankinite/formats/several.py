"""Several files as one source of pieces, for binning them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankinite.data.concatenation import refuse_same_id
from rankinite.data.grouping import runs
from rankinite.formats.streaming import Part, Source


class ChainedSource:
    """Sources one after the other.

    Parameters
    ----------
    sources : list of Source
    same_id : {"error", "join", "apart"}
        What to do with a query id that two of them have; see `rankinite.concat`.

    Attributes
    ----------
    largest_index : int
        Of the features of SVMlight text that were seen.
    """

    def __init__(self, sources: list[Any], same_id: str) -> None:
        first, *others = sources
        self.name = f"{first.name} with {', '.join(other.name for other in others[:3])}"
        self.name += ", ..." if len(others) > 3 else ""
        self.may_widen = all(source.may_widen for source in sources)
        self.largest_index = 0
        self._sources, self._same_id = sources, same_id
        self._owners: dict[Any, int] = {}

    @property
    def ids_as_text(self) -> bool:
        """Whether query ids must be given as text."""
        return self._sources[0].ids_as_text

    @ids_as_text.setter
    def ids_as_text(self, as_text: bool) -> None:
        for source in self._sources:
            source.ids_as_text = as_text

    def pieces(self) -> Iterator[_PieceOf]:
        """Go through all sources."""
        self._owners = {}
        for number, source in enumerate(self._sources):
            is_text = hasattr(source, "largest_index")
            if is_text:  # the features that another file has are 0 in this one
                source.largest_index = max(source.largest_index, self.largest_index)
            for piece in source.pieces():
                yield _PieceOf(piece, self, number)
                if is_text:
                    self.largest_index = max(source.largest_index, self.largest_index)

    def ids(self, ids: np.ndarray, number: int) -> np.ndarray:
        """The query ids of rows of a source, as they are in the whole."""
        if self._same_id == "apart":
            told = np.empty(len(ids), object)
            told[:] = [f"{number}:{qid}" for qid in ids.tolist()]
            return told
        if self._same_id == "error":
            for qid in ids[runs(ids)[0]].tolist():
                owner = self._owners.setdefault(qid, number)
                if owner != number:
                    places = (self._sources[k].name for k in (owner, number))
                    raise refuse_same_id(qid, *places)
        return ids


class _PieceOf:
    """A piece of one of the sources, whose ids are those of the whole."""

    def __init__(self, piece: Any, chain: ChainedSource, number: int) -> None:
        self._piece, self._chain, self._number = piece, chain, number
        self.n_rows, self.dtype = piece.n_rows, piece.dtype
        self.feature_names, self.weight = piece.feature_names, piece.weight

    def ids(self) -> np.ndarray:
        """The query id of every row."""
        return self._chain.ids(self._piece.ids(), self._number)

    def some_features(self, rows: np.ndarray) -> np.ndarray:
        """The features of the given rows."""
        return self._piece.some_features(rows)

    def parts(self) -> Iterator[Part]:
        """All rows, a few at a time."""
        return self._piece.parts()


def chained(sources: list[Any], same_id: str) -> Source:
    """One source of several; a single one is itself."""
    return sources[0] if len(sources) == 1 else ChainedSource(sources, same_id)
