"""Parsing SVMlight text from bytes: many rows in parallel, straight into arrays.

Positions in the text are unsigned, so that indexing need not look for negative ones. Eight bytes
at a time are taken as one word where that helps: to find line ends, and to read digits.
"""

from __future__ import annotations

import math

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from rankinite._numba import kernel

TAB, NEWLINE, RETURN, SPACE, HASH = 9, 10, 13, 32, 35
PLUS, MINUS, DOT, ZERO, COLON = 43, 45, 46, 48, 58

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
_MOST_DIGITS = 19  # 10^19 - 1 fits into uint64
_EXACT = np.uint64(2**53)
_ONE, _EIGHT, _TEN, _ZERO = np.uint64(1), np.uint64(8), np.uint64(10), np.uint64(48)
_SPLITTER = 134217729.0  # 2^27 + 1, Dekker 1971
_SMALLEST_POWER, _LARGEST_POWER = -360, 310
_PLAIN_BYTES = np.uint64(48)  # that the fast way to read a pair may look at
ROWS_AT_ONCE = 64  # that one step parses


def _power_table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """10^e as (high + low) * 2^exponent with 1 <= high < 2, to about 106 bits."""
    n_powers = _LARGEST_POWER - _SMALLEST_POWER + 1
    high, low = np.empty(n_powers), np.empty(n_powers)
    exponent = np.empty(n_powers, dtype=np.int64)
    bits = 160
    for at, e in enumerate(range(_SMALLEST_POWER, _LARGEST_POWER + 1)):
        # A whole number of `bits` bits or one less, times 2^-shift, is 10^e.
        shift = bits - math.floor(e * math.log2(10)) - 1
        number = (10 ** max(e, 0) << max(shift, 0)) // (10 ** max(-e, 0) << max(-shift, 0))
        high[at] = math.ldexp(float(number), 1 - bits)
        rest = number - int(float(number))
        low[at] = math.ldexp(float(rest), 1 - bits)
        exponent[at] = bits - 1 - shift
    return high, low, exponent


_HIGH, _LOW, _EXPONENT = _power_table()
_TENS = 10.0 ** np.arange(23)  # the powers of ten that a double holds exactly
_WHOLE_TENS = np.uint64(10) ** np.arange(9, dtype=np.uint64)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL_ZEROS = np.uint64(0x3030303030303030)  # the text "00000000"
_ALL_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)


@kernel()
def scale_by_power(mantissa, power):
    """Return mantissa * 10^power, rounded once: mantissa uint64, power any integer.

    Exact operands and one operation where possible (Clinger 1990); else the product of two
    double-doubles, wrong only if the exact value lies within 2^-100 of the middle of two doubles
    (or is subnormal: one unit in the last place).
    """
    if mantissa == 0 or power < _SMALLEST_POWER:
        return 0.0
    if power > _LARGEST_POWER:
        return np.inf
    if mantissa < _EXACT and -22 <= power <= 22:
        if power < 0:
            return np.float64(mantissa) / _TENS[-power]
        return np.float64(mantissa) * _TENS[power]
    at = power - _SMALLEST_POWER
    a = np.float64(mantissa)
    a_low = np.float64(np.int64(mantissa - np.uint64(a)))
    b = _HIGH[at]
    # Dekker's exact product: a * b = product + error.
    t = _SPLITTER * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLITTER * b
    b1 = t - (t - b)
    b2 = b - b1
    product = a * b
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return math.ldexp(product + (error + (a * _LOW[at] + a_low * b)), _EXPONENT[at])


@kernel(inline="always")
def load_word(buffer, at):
    """Eight bytes from `at` on, the first one lowest; compiled to one load."""
    word = np.uint64(buffer[at])
    word |= np.uint64(buffer[at + _ONE]) << np.uint64(8)
    word |= np.uint64(buffer[at + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(buffer[at + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(buffer[at + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(buffer[at + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(buffer[at + np.uint64(6)]) << np.uint64(48)
    word |= np.uint64(buffer[at + np.uint64(7)]) << np.uint64(56)
    return word


@kernel(inline="always")
def leading_digits(word):
    """How many of the eight bytes are digits before the first that is none, and their value.

    Adding 0x76 to a byte above 9 sets its highest bit. The digits are moved to the end, behind
    zeros, and then put together in pairs, fours and eights.
    """
    digits = word ^ _ALL_ZEROS
    other = ((digits + np.uint64(0x7676767676767676)) | digits) & _HIGH_BITS
    n_digits = np.uint64(trailing_zeros(other)) >> np.uint64(3)  # 64 for none
    # Half the shift at a time: one by 64 bits is not defined.
    half = (_EIGHT - n_digits) << np.uint64(2)
    digits = (digits << half) << half
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    mask = np.uint64(0x000000FF000000FF)
    evens = (digits & mask) * np.uint64(0x000F424000000064)
    odds = ((digits >> np.uint64(16)) & mask) * np.uint64(0x0000271000000001)
    return n_digits, (evens + odds) >> np.uint64(32)


@kernel()
def ends_token(byte):
    """Whether a token cannot go on with this byte."""
    return byte in (SPACE, NEWLINE, TAB, RETURN, HASH)


@kernel()
def skip_blanks(buffer, at, stop):
    """Position of the first byte at or after `at` that is not a blank."""
    while at < stop and buffer[at] in (SPACE, TAB, RETURN):
        at += _ONE
    return at


@kernel()
def skip_token(buffer, at, stop):
    """Position after the token that covers `at`."""
    while at < stop and not ends_token(buffer[at]):
        at += _ONE
    return at


@kernel()
def parse_word(buffer, at, stop):
    """Value of nan, inf or infinity in any case at [at, stop), and whether it is one of them."""
    letters = np.uint64(0)
    if stop - at > 8:
        return 0.0, False
    for p in range(at, stop):
        letters = (letters << np.uint64(8)) | np.uint64(buffer[p] | 32)
    if letters == np.uint64(0x6E616E):  # "nan"
        return np.nan, True
    if letters == np.uint64(0x696E66) or letters == np.uint64(0x696E66696E697479):
        return np.inf, True
    return 0.0, False


@kernel()
def parse_number(buffer, at, stop):
    """Read the number that begins at `at` and goes to the end of its token.

    Returns (value, position after the token, whether it is a number).
    """
    negative = at < stop and buffer[at] == MINUS
    if at < stop and (buffer[at] == MINUS or buffer[at] == PLUS):
        at += _ONE
    mantissa = np.uint64(0)
    n_digits = 0  # that are in the mantissa, without leading zeros
    power = 0
    n_seen = 0
    after_dot = False
    while at < stop:
        digit = np.int64(buffer[at]) - ZERO
        if digit == DOT - ZERO and not after_dot:
            after_dot = True
        elif 0 <= digit <= 9:
            n_seen += 1
            if n_digits < _MOST_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                n_digits += mantissa > 0
                power -= after_dot
            else:
                power += not after_dot
        else:
            break
        at += _ONE
    if n_seen == 0:
        end = skip_token(buffer, at, stop)
        value, known = parse_word(buffer, at, end)
        return (-value if negative else value), end, known and not after_dot
    if at < stop and (buffer[at] | 32) == 101:  # e
        at += _ONE
        minus = at < stop and buffer[at] == MINUS
        if at < stop and (buffer[at] == MINUS or buffer[at] == PLUS):
            at += _ONE
        exponent = 0
        first = at
        while at < stop and ZERO <= buffer[at] <= ZERO + 9:
            exponent = min(exponent * 10 + np.int64(buffer[at]) - ZERO, 1_000_000_000_000)
            at += _ONE
        if at == first:
            return 0.0, at, False
        power += -exponent if minus else exponent
    value = scale_by_power(mantissa, power)
    return (-value if negative else value), at, at == stop or ends_token(buffer[at])


@kernel()
def parse_index(buffer, at, stop):
    """Read the digits of an index and the colon; (index, position after the colon, is one)."""
    index = np.uint64(0)
    first = at
    while at < stop and ZERO <= buffer[at] <= ZERO + 9:
        digit = np.uint64(buffer[at]) - np.uint64(ZERO)
        index = min(index * np.uint64(10) + digit, np.uint64(LARGEST_INDEX + 1))
        at += _ONE
    known = at != first and at < stop and buffer[at] == COLON
    return index, at + _ONE, known


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
def parse_integer(buffer, at, stop):
    """Read [at, stop) as an int64; (value, whether it is one)."""
    negative = buffer[at] == MINUS
    if buffer[at] == MINUS or buffer[at] == PLUS:
        at += _ONE
    magnitude = np.uint64(0)
    n_digits = 0
    for p in range(at, stop):
        digit = np.int64(buffer[p]) - ZERO
        if digit < 0 or digit > 9 or n_digits == _MOST_DIGITS:
            return 0, False
        magnitude = magnitude * np.uint64(10) + np.uint64(digit)
        n_digits += magnitude > 0
    if at == stop or magnitude > np.uint64(2**63 - 1) + np.uint64(negative):
        return 0, False
    value = np.int64(magnitude)
    return (-value if negative else value), True


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
        first = _ONE
    # The line after the newline at i begins at i + 1.
    at, last = first - _ONE, last - _ONE
    while at + _EIGHT <= last:
        word = load_word(buffer, at) ^ _ALL_NEWLINES
        # The highest bit of every byte that was a newline.
        newlines = ~(((word & _LOW_BITS) + _LOW_BITS) | word | _LOW_BITS)
        while newlines != np.uint64(0):
            line = at + (np.uint64(trailing_zeros(newlines)) >> np.uint64(3)) + _ONE
            n_rows = note_row(buffer, line, stop, starts, n_rows)
            newlines &= newlines - _ONE
        at += _EIGHT
    while at < last:
        if buffer[at] == NEWLINE:
            n_rows = note_row(buffer, at + _ONE, stop, starts, n_rows)
        at += _ONE
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
        and buffer[at + _ONE] == 105
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
            digit = np.uint64(buffer[end]) - _ZERO
            while digit < _TEN and end < at + _EIGHT:
                index = index * _TEN + digit
                end += _ONE
                digit = np.uint64(buffer[end]) - _ZERO
            is_plain = (end > at) & (buffer[end] == COLON)
            end += _ONE
            negative = buffer[end] == MINUS
            end += np.uint64(negative)
            mantissa = np.uint64(0)
            first = end
            digit = np.uint64(buffer[end]) - _ZERO
            while digit < _TEN and end < first + _EIGHT:
                mantissa = mantissa * _TEN + digit
                end += _ONE
                digit = np.uint64(buffer[end]) - _ZERO
            is_plain &= end > first
            n_fraction = np.uint64(0)
            if buffer[end] == DOT:
                n_fraction, fraction = leading_digits(load_word(buffer, end + _ONE))
                mantissa = mantissa * _WHOLE_TENS[n_fraction] + fraction
                end += n_fraction + _ONE
                digit = np.uint64(buffer[end]) - _ZERO
                if digit < _TEN:
                    n_more, fraction = leading_digits(load_word(buffer, end))
                    mantissa = mantissa * _WHOLE_TENS[n_more] + fraction
                    end += n_more
                    n_fraction += n_more
            is_plain &= (end - first <= np.uint64(_MOST_DIGITS)) & (mantissa < _EXACT)
            is_plain &= ends_token(buffer[end])
            value = np.float64(mantissa) / _TENS[n_fraction]
            if negative:
                value = -value
        if not is_plain:
            fault, index, value, end = parse_pair(buffer, at, stop)
            if fault != FINE:
                return fault, at, largest
        if index == np.uint64(0):
            return INDEX_ZERO, at, largest
        if index <= width:
            place = index - _ONE
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
