"""Parsing SVMlight text from bytes: chunks of whole lines in parallel, straight into arrays."""

from __future__ import annotations

import math

import numba
import numpy as np

from rankinite._numba import kernel, parallel_kernel

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
_SPLITTER = 134217729.0  # 2^27 + 1, Dekker 1971
_SMALLEST_POWER, _LARGEST_POWER = -360, 310


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


@kernel()
def ends_token(byte):
    """Whether a token cannot go on with this byte."""
    return byte in (SPACE, NEWLINE, TAB, RETURN, HASH)


@kernel()
def skip_blanks(buffer, at, stop):
    """Position of the first byte at or after `at` that is not a blank."""
    while at < stop and buffer[at] in (SPACE, TAB, RETURN):
        at += 1
    return at


@kernel()
def skip_token(buffer, at, stop):
    """Position after the token that covers `at`."""
    while at < stop and not ends_token(buffer[at]):
        at += 1
    return at


@kernel()
def skip_line(buffer, at, stop):
    """Position after the next newline."""
    while at < stop and buffer[at] != NEWLINE:
        at += 1
    return at + 1


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
        at += 1
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
        at += 1
    if n_seen == 0:
        end = skip_token(buffer, at, stop)
        value, known = parse_word(buffer, at, end)
        return (-value if negative else value), end, known and not after_dot
    if at < stop and (buffer[at] | 32) == 101:  # e
        at += 1
        minus = at < stop and buffer[at] == MINUS
        if at < stop and (buffer[at] == MINUS or buffer[at] == PLUS):
            at += 1
        exponent = 0
        first = at
        while at < stop and ZERO <= buffer[at] <= ZERO + 9:
            exponent = min(exponent * 10 + np.int64(buffer[at]) - ZERO, 1_000_000_000_000)
            at += 1
        if at == first:
            return 0.0, at, False
        power += -exponent if minus else exponent
    value = scale_by_power(mantissa, power)
    return (-value if negative else value), at, at == stop or ends_token(buffer[at])


@kernel()
def parse_index(buffer, at, stop):
    """Read the digits of an index and the colon; (index, position after the colon or -1)."""
    index = 0
    first = at
    while at < stop and ZERO <= buffer[at] <= ZERO + 9:
        index = min(index * 10 + np.int64(buffer[at]) - ZERO, LARGEST_INDEX + 1)
        at += 1
    if at in (first, stop) or buffer[at] != COLON:
        return index, -1
    return index, at + 1


@kernel()
def parse_integer(buffer, at, stop):
    """Read [at, stop) as an int64; (value, whether it is one)."""
    negative = buffer[at] == MINUS
    if buffer[at] == MINUS or buffer[at] == PLUS:
        at += 1
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
def cut_at_newlines(buffer, chunk_bytes):
    """Cut the buffer into chunks of whole lines of about `chunk_bytes` bytes.

    Returns
    -------
    ndarray of int64, shape (n_chunks + 1,)
        Chunk c is ``buffer[cuts[c]:cuts[c + 1]]``.
    """
    cuts = [0]
    while cuts[-1] < len(buffer):
        cut = skip_line(buffer, min(cuts[-1] + chunk_bytes, len(buffer)), len(buffer))
        cuts.append(min(cut, len(buffer)))
    return np.array(cuts, dtype=np.int64)


@parallel_kernel()
def scan_chunks(buffer, cuts):
    """First pass: what the second needs to know before it can write.

    Returns
    -------
    ndarray of int64, shape (n_chunks, 3)
        Lines, rows (lines that are neither blank nor comment) and the largest feature index.
    """
    n_chunks = len(cuts) - 1
    found = np.zeros((n_chunks, 3), dtype=np.int64)
    for chunk in numba.prange(n_chunks):
        at, stop = cuts[chunk], cuts[chunk + 1]
        n_lines, n_rows, largest = 0, 0, 0
        while at < stop:
            n_lines += 1
            at = skip_blanks(buffer, at, stop)
            n_rows += at < stop and buffer[at] != NEWLINE and buffer[at] != HASH
            while at < stop and buffer[at] != NEWLINE and buffer[at] != HASH:
                index, after = parse_index(buffer, at, stop)
                if after >= 0 and index <= LARGEST_INDEX:
                    largest = max(largest, index)
                at = skip_blanks(buffer, skip_token(buffer, at, stop), stop)
            at = skip_line(buffer, at, stop)
        found[chunk, 0] = n_lines
        found[chunk, 1] = n_rows
        found[chunk, 2] = largest
    return found


@kernel()
def parse_row(buffer, at, stop, row, X, y, qid, is_integer, spans, seen):
    """Parse the line that begins at `at` into row `row`.

    Returns (fault, position): FINE and the position after the last feature, or what is wrong
    and where its token begins.
    """
    label, after, is_number = parse_number(buffer, at, stop)
    if not is_number:
        return BAD_LABEL, at
    if not np.isfinite(label):
        return LABEL_NOT_FINITE, at
    y[row] = label
    at = skip_blanks(buffer, after, stop)
    # "qid:"
    if not (
        stop - at >= 4
        and buffer[at] == 113
        and buffer[at + 1] == 105
        and buffer[at + 2] == 100
        and buffer[at + 3] == COLON
    ):
        return NO_QID, at
    end = skip_token(buffer, at, stop)
    if end == at + 4:
        return EMPTY_QID, at
    spans[row, 0] = at + 4
    spans[row, 1] = end
    qid[row], is_integer[row] = parse_integer(buffer, at + 4, end)
    at = skip_blanks(buffer, end, stop)
    while at < stop and buffer[at] != NEWLINE and buffer[at] != HASH:
        index, after = parse_index(buffer, at, stop)
        if after < 0:
            return BAD_PAIR, at
        if index == 0:
            return INDEX_ZERO, at
        if index > X.shape[1]:
            return INDEX_TOO_LARGE, at
        if seen[index - 1] == row:
            return DUPLICATE, at
        seen[index - 1] = row
        value, after, is_number = parse_number(buffer, after, stop)
        if not is_number:
            return BAD_VALUE, at
        X[row, index - 1] = value
        at = skip_blanks(buffer, after, stop)
    return FINE, at


@parallel_kernel()
def parse_chunks(buffer, cuts, first_rows, X, y, qid, is_integer, spans):
    """Second pass: parse every row into its place.

    Parameters
    ----------
    buffer : uint8 (n_bytes,)
    cuts : int64 (n_chunks + 1,)
    first_rows : int64 (n_chunks,)
        The row of the first line of each chunk.
    X : float32 or float64 (n_rows, n_features)
        Zeros, overwritten where the file has a value.
    y : float64 (n_rows,)
    qid : int64 (n_rows,)
        The query ids that are integers.
    is_integer : bool (n_rows,)
        Whether a query id is one.
    spans : int64 (n_rows, 2)
        Where the query id begins and ends in the buffer.

    Returns
    -------
    ndarray of int64, shape (n_chunks, 3)
        The first fault of each chunk, or FINE; its line in the chunk, from 0; its position.
    """
    n_chunks = len(cuts) - 1
    faults = np.zeros((n_chunks, 3), dtype=np.int64)
    for chunk in numba.prange(n_chunks):
        at, stop, row = cuts[chunk], cuts[chunk + 1], first_rows[chunk]
        seen = np.full(X.shape[1], -1, dtype=np.int64)
        line = 0
        while at < stop:
            at = skip_blanks(buffer, at, stop)
            if at < stop and buffer[at] != NEWLINE and buffer[at] != HASH:
                fault, at = parse_row(buffer, at, stop, row, X, y, qid, is_integer, spans, seen)
                if fault != FINE:
                    faults[chunk, 0] = fault
                    faults[chunk, 1] = line
                    faults[chunk, 2] = at
                    break
                row += 1
            at = skip_line(buffer, at, stop)
            line += 1
    return faults
