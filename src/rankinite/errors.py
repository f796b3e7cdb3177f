"""Errors that a user can mend: one sentence that says what is wrong, where, and what to do."""


class RankiniteError(ValueError):
    """Base of all errors caused by what the caller passed in; the command line prints it bare."""


class DataError(RankiniteError):
    """The data cannot be used: a malformed line, a label out of range, shapes that disagree."""


class RowError(DataError):
    """Something in a row cannot be used; whoever has the file can say in which line."""


class LabelError(DataError):
    """A measure cannot use a label.

    Attributes
    ----------
    row, query : int
        Where it stands among the rows and queries as they are stored.
    what : str
        What is wrong with it, and what to do, without the place.
    is_named : bool
        Whether the message calls the query by its id.
    """

    is_named = False

    def __init__(self, message: str, row: int, query: int, what: str) -> None:
        super().__init__(message)
        self.row, self.query, self.what = row, query, what

    def of_query(self, qid: object) -> "LabelError":
        """The same error, which calls the query by its id."""
        message = f"a document of query {qid} {self.what}"
        named = LabelError(message, self.row, self.query, self.what)
        named.is_named = True
        return named


class ParameterError(RankiniteError):
    """A parameter has a value outside its range, or one that does not fit the others."""


class DeclarationError(ParameterError):
    """A declaration has something wrong in it; the message is in its own words, with the line."""


class ModelFileError(RankiniteError):
    """A model file is truncated, altered, foreign, or of a version this release cannot read."""


class ExportError(RankiniteError):
    """A model cannot be written in another engine's format without scoring otherwise there."""


class WorkerError(RankiniteError):
    """A worker of a job has failed in its own way, or cannot be reached any more."""


class RankiniteWarning(UserWarning):
    """Something was mended on the caller's behalf, and the result may not be what was meant."""


class NothingLearnedWarning(RankiniteWarning):
    """A training has ended, and the model ranks as if there had been none."""
