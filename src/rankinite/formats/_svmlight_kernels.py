"""Parsing SVMlight text from bytes: many rows at a time, straight into arrays."""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from rankinite._numba import kernel
from rankinite.formats._token_kernels import (
    COLON,
    DOT,
    EIGHT,
    EXACT,
    HASH,
    MINUS,
    MOST_DIGITS,
    NEWLINE,
    ONE,
    TEN,
    TENS,
    WHOLE_TENS,
    ZERO,
    ZERO_BYTE,
    ends_token,
    leading_digits,
    load_word,
    parse_integer,
    parse_number,
    skip_blanks,
    skip_token,
)

# What is wrong with a line; the messages are in svmlight.py.
FINE = 0
BAD_LABEL = 1
LABEL_NOT_FINITE = 2
NO_QID = 3
EMPTY_QID = 4
BAD_PAIR = 5
INDEX_ZERO = 6
INDEX_TOO_LARGE = 7
DUPLICATE = 8
BAD_VALUE = 9

LARGEST_INDEX = 2**31 - 1  # beyond it an index is a mistake, not the width of a matrix
_PLAIN_BYTES = np.uint64(48)  # that the fast way to read a pair may look at
ROWS_AT_ONCE = 64  # that one step parses
_ALL_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)


@kernel()
def parse_index(buffer, at, stop):
    """Read the digits of an index and the colon; (index, position after the colon, is one)."""
    index = np.uint64(0)
    first = at
    while at < stop and ZERO <= buffer[at] <= ZERO + 9:
        digit = np.uint64(buffer[at]) - np.uint64(ZERO)
        index = min(index * np.uint64(10) + digit, np.uint64(LARGEST_INDEX + 1))
        at += ONE
    known = at != first and at < stop and buffer[at] == COLON
    return index, at + ONE, known


@kernel()
def parse_pair(buffer, at, stop):
    """Read index:value; (fault, index, value, position after it)."""
    index, after, is_index = parse_index(buffer, at, stop)
    if not is_index:
        return BAD_PAIR, index, 0.0, at
    if index > np.uint64(LARGEST_INDEX):
        return INDEX_TOO_LARGE, index, 0.0, at
    value, after, is_number = parse_number(buffer, after, stop)
    return (FINE if is_number else BAD_VALUE), index, value, after


@kernel()
def rows_of_piece(buffer, first, last, starts):
    """Find the rows among the lines that begin in [first, last).

    A row is a line that is neither blank nor comment. Where its first byte that is no blank lies
    is written to `starts`, as far as there is room. Returns the number of rows.
    """
    stop = np.uint64(buffer.shape[0])
    n_rows = 0
    if first == np.uint64(0):
        n_rows = note_row(buffer, first, stop, starts, n_rows)
        first = ONE
    # The line after the newline at i begins at i + 1.
    at, last = first - ONE, last - ONE
    while at + EIGHT <= last:
        word = load_word(buffer, at) ^ _ALL_NEWLINES
        # The highest bit of every byte that was a newline.
        newlines = ~(((word & _LOW_BITS) + _LOW_BITS) | word | _LOW_BITS)
        while newlines != np.uint64(0):
            line = at + (np.uint64(trailing_zeros(newlines)) >> np.uint64(3)) + ONE
            n_rows = note_row(buffer, line, stop, starts, n_rows)
            newlines &= newlines - ONE
        at += EIGHT
    while at < last:
        if buffer[at] == NEWLINE:
            n_rows = note_row(buffer, at + ONE, stop, starts, n_rows)
        at += ONE
    return n_rows


@kernel()
def note_row(buffer, at, stop, starts, n_rows):
    """Count the line that begins at `at`, and note its start, if it is a row."""
    at = skip_blanks(buffer, at, stop)
    if at == stop or buffer[at] == NEWLINE or buffer[at] == HASH:
        return n_rows
    if n_rows < starts.shape[0]:
        starts[n_rows] = at
    return n_rows + 1


@kernel()
def find_rows(first_piece, last_piece, buffer, piece_bytes, first_rows, starts, counts):
    """Count the rows of pieces of `piece_bytes` bytes each, or note where they begin.

    Parameters
    ----------
    first_piece, last_piece : int
        The pieces to look at.
    buffer : uint8 (n_bytes,)
    piece_bytes : int
    first_rows : int64 (n_pieces + 1,)
        The row at which each piece begins; all 0 to count only.
    starts : uint64 (n_rows,)
        Output.
    counts : int64 (n_pieces,)
        Output: number of rows of each piece.
    """
    for piece in range(first_piece, last_piece):
        first = np.uint64(piece * piece_bytes)
        last = np.uint64(min((piece + 1) * piece_bytes, buffer.shape[0]))
        own = starts[first_rows[piece] : first_rows[piece + 1]]
        counts[piece] = rows_of_piece(buffer, first, last, own)


@kernel()
def parse_head(buffer, at, stop, row, y, qid, is_integer, spans):
    """Parse the label and the query id that begin at `at`.

    Returns (fault, position): FINE and the position of the first feature, or what is wrong and
    where its token begins.
    """
    label, after, is_number = parse_number(buffer, at, stop)
    if not is_number:
        return BAD_LABEL, at
    if not np.isfinite(label):
        return LABEL_NOT_FINITE, at
    y[row] = label
    at = skip_blanks(buffer, after, stop)
    start = at + np.uint64(4)
    # "qid:"
    if not (
        start <= stop
        and buffer[at] == 113
        and buffer[at + ONE] == 105
        and buffer[at + np.uint64(2)] == 100
        and buffer[at + np.uint64(3)] == COLON
    ):
        return NO_QID, at
    end = skip_token(buffer, start, stop)
    if end == start:
        return EMPTY_QID, at
    spans[row, 0] = start
    spans[row, 1] = end
    qid[row], is_integer[row] = parse_integer(buffer, start, end)
    return FINE, skip_blanks(buffer, end, stop)


@kernel()
def parse_features(buffer, at, stop, values, seen, row, any_width):
    """Parse the features that begin at `at` into `values`, which is zeroed first.

    `seen` holds the last row that had each feature. An index beyond the width of `values` is a
    fault, or left out if there may be `any_width`.

    Returns (fault, position, largest index): FINE and the end of the row, or what is wrong and
    where its token begins.
    """
    width = np.uint64(values.shape[0])
    largest = np.uint64(0)
    for i in range(values.shape[0]):
        values[i] = 0
    while at < stop and buffer[at] != NEWLINE and buffer[at] != HASH:
        index, value, end, is_plain = np.uint64(0), 0.0, at, False
        if at + _PLAIN_BYTES < stop:
            # The usual form, read here: a call that passes an array counts references, which
            # costs more than to read a number.
            digit = np.uint64(buffer[end]) - ZERO_BYTE
            while digit < TEN and end < at + EIGHT:
                index = index * TEN + digit
                end += ONE
                digit = np.uint64(buffer[end]) - ZERO_BYTE
            is_plain = (end > at) & (buffer[end] == COLON)
            end += ONE
            negative = buffer[end] == MINUS
            end += np.uint64(negative)
            mantissa = np.uint64(0)
            first = end
            digit = np.uint64(buffer[end]) - ZERO_BYTE
            while digit < TEN and end < first + EIGHT:
                mantissa = mantissa * TEN + digit
                end += ONE
                digit = np.uint64(buffer[end]) - ZERO_BYTE
            is_plain &= end > first
            n_fraction = np.uint64(0)
            if buffer[end] == DOT:
                n_fraction, fraction = leading_digits(load_word(buffer, end + ONE))
                mantissa = mantissa * WHOLE_TENS[n_fraction] + fraction
                end += n_fraction + ONE
                digit = np.uint64(buffer[end]) - ZERO_BYTE
                if digit < TEN:
                    n_more, fraction = leading_digits(load_word(buffer, end))
                    mantissa = mantissa * WHOLE_TENS[n_more] + fraction
                    end += n_more
                    n_fraction += n_more
            is_plain &= (end - first <= np.uint64(MOST_DIGITS)) & (mantissa < EXACT)
            is_plain &= ends_token(buffer[end])
            value = np.float64(mantissa) / TENS[n_fraction]
            if negative:
                value = -value
        if not is_plain:
            fault, index, value, end = parse_pair(buffer, at, stop)
            if fault != FINE:
                return fault, at, largest
        if index == np.uint64(0):
            return INDEX_ZERO, at, largest
        if index <= width:
            place = index - ONE
            if seen[place] == row:
                return DUPLICATE, at, largest
            seen[place] = row
            values[place] = value
        elif not any_width:
            return INDEX_TOO_LARGE, at, largest
        largest = max(largest, index)
        at = skip_blanks(buffer, end, stop)
    return FINE, at, largest


@kernel()
def heads_of_rows(buffer, starts, first, last, y, qid, is_integer, spans, bodies):
    """Parse the heads of the rows ``first:last``; (fault, position) of the first fault."""
    stop = np.uint64(buffer.shape[0])
    found, place = FINE, np.uint64(0)
    for row in range(first, last):
        fault, at = parse_head(buffer, starts[row], stop, row, y, qid, is_integer, spans)
        bodies[row] = at if fault == FINE else stop
        if fault != FINE and found == FINE:
            found, place = fault, at
    return found, place


@kernel()
def parse_heads(first_step, last_step, buffer, starts, y, qid, is_integer, spans, bodies, faults):
    """Parse the label and the query id of rows.

    Parameters
    ----------
    first_step, last_step : int
        The steps to take, of 64 rows each.
    buffer : uint8 (n_bytes,)
    starts : uint64 (n_rows,)
        Where the rows begin.
    y : float64 (n_rows,)
    qid : int64 (n_rows,)
        The query ids that are integers.
    is_integer : bool (n_rows,)
        Whether a query id is one.
    spans : int64 (n_rows, 2)
        Where the query id begins and ends in the buffer.
    bodies : uint64 (n_rows,)
        Where the features begin; the end of the buffer for a row with a fault.
    faults : int64 (n_steps, 2)
        The first fault of every 64 rows, or FINE, and its position.
    """
    for step in range(first_step, last_step):
        first = step * ROWS_AT_ONCE
        last = min(first + ROWS_AT_ONCE, starts.shape[0])
        fault, at = heads_of_rows(buffer, starts, first, last, y, qid, is_integer, spans, bodies)
        faults[step, 0] = fault
        faults[step, 1] = at


@kernel()
def features_of_rows(buffer, bodies, first, last, X, any_width):
    """Parse the rows ``first:last``; (fault, position, largest index), up to the first fault."""
    stop = np.uint64(buffer.shape[0])
    seen = np.full(X.shape[1], -1, dtype=np.int64)
    found, place, widest = FINE, np.uint64(0), np.uint64(0)
    for row in range(first, last):
        fault, at, largest = parse_features(buffer, bodies[row], stop, X[row], seen, row, any_width)
        widest = max(widest, largest)
        if fault != FINE:
            found, place = fault, at
            break
    return found, place, widest


@kernel()
def mark_columns(first_step, last_step, buffer, bodies, used):
    """Mark the features that rows have a value of, as far as they can be read.

    Parameters
    ----------
    first_step, last_step : int
        The steps to take, of 64 rows each.
    buffer : uint8 (n_bytes,)
    bodies : uint64 (n_rows,)
        Where the features of each row begin.
    used : bool (n_features,)
        Output; an index beyond it is left out.
    """
    stop = np.uint64(buffer.shape[0])
    width = np.uint64(used.shape[0])
    last = min(last_step * ROWS_AT_ONCE, bodies.shape[0])
    for row in range(first_step * ROWS_AT_ONCE, last):
        at = bodies[row]
        while at < stop and buffer[at] != NEWLINE and buffer[at] != HASH:
            index, after, is_index = parse_index(buffer, at, stop)
            if not is_index:
                break
            if np.uint64(0) < index <= width:
                used[index - ONE] = True
            at = skip_blanks(buffer, skip_token(buffer, after, stop), stop)


@kernel()
def parse_bodies(first_step, last_step, buffer, bodies, X, any_width, faults):
    """Parse the features of rows.

    Parameters
    ----------
    first_step, last_step : int
        The steps to take, of 64 rows each.
    buffer : uint8 (n_bytes,)
    bodies : uint64 (n_rows,)
        Where the features of each row begin.
    X : float32 or float64 (n_rows, n_features)
    any_width : bool
        Whether indices beyond the width of X are left out; else they are faults.
    faults : int64 (n_steps, 3)
        The first fault of every 64 rows, or FINE, its position, and the largest index.
    """
    for step in range(first_step, last_step):
        first = step * ROWS_AT_ONCE
        last = min(first + ROWS_AT_ONCE, bodies.shape[0])
        fault, at, largest = features_of_rows(buffer, bodies, first, last, X, any_width)
        faults[step, 0] = fault
        faults[step, 1] = at
        faults[step, 2] = largest
