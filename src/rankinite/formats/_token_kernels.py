"""Kernels that read numbers and tokens from bytes.

Positions in the text are unsigned, so that indexing need not look for negative ones. Eight bytes
at a time are taken as one word where that helps.
"""

from __future__ import annotations

import math

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from rankinite._numba import kernel

TAB, NEWLINE, RETURN, SPACE, HASH = 9, 10, 13, 32, 35
PLUS, MINUS, DOT, ZERO, COLON = 43, 45, 46, 48, 58
ONE, EIGHT, TEN, ZERO_BYTE = np.uint64(1), np.uint64(8), np.uint64(10), np.uint64(48)
MOST_DIGITS = 19  # 10^19 - 1 fits into uint64
EXACT = np.uint64(2**53)
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
TENS = 10.0 ** np.arange(23)  # the powers of ten that a double holds exactly
WHOLE_TENS = np.uint64(10) ** np.arange(9, dtype=np.uint64)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL_ZEROS = np.uint64(0x3030303030303030)  # the text "00000000"


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
    if mantissa < EXACT and -22 <= power <= 22:
        if power < 0:
            return np.float64(mantissa) / TENS[-power]
        return np.float64(mantissa) * TENS[power]
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
    word |= np.uint64(buffer[at + ONE]) << np.uint64(8)
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
    half = (EIGHT - n_digits) << np.uint64(2)
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
        at += ONE
    return at


@kernel()
def skip_token(buffer, at, stop):
    """Position after the token that covers `at`."""
    while at < stop and not ends_token(buffer[at]):
        at += ONE
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
        at += ONE
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
            if n_digits < MOST_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                n_digits += mantissa > 0
                power -= after_dot
            else:
                power += not after_dot
        else:
            break
        at += ONE
    if n_seen == 0:
        end = skip_token(buffer, at, stop)
        value, known = parse_word(buffer, at, end)
        return (-value if negative else value), end, known and not after_dot
    if at < stop and (buffer[at] | 32) == 101:  # e
        at += ONE
        minus = at < stop and buffer[at] == MINUS
        if at < stop and (buffer[at] == MINUS or buffer[at] == PLUS):
            at += ONE
        exponent = 0
        first = at
        while at < stop and ZERO <= buffer[at] <= ZERO + 9:
            exponent = min(exponent * 10 + np.int64(buffer[at]) - ZERO, 1_000_000_000_000)
            at += ONE
        if at == first:
            return 0.0, at, False
        power += -exponent if minus else exponent
    value = scale_by_power(mantissa, power)
    return (-value if negative else value), at, at == stop or ends_token(buffer[at])


@kernel()
def parse_integer(buffer, at, stop):
    """Read [at, stop) as an int64; (value, whether it is one)."""
    negative = buffer[at] == MINUS
    if buffer[at] == MINUS or buffer[at] == PLUS:
        at += ONE
    magnitude = np.uint64(0)
    n_digits = 0
    for p in range(at, stop):
        digit = np.int64(buffer[p]) - ZERO
        if digit < 0 or digit > 9 or n_digits == MOST_DIGITS:
            return 0, False
        magnitude = magnitude * np.uint64(10) + np.uint64(digit)
        n_digits += magnitude > 0
    if at == stop or magnitude > np.uint64(2**63 - 1) + np.uint64(negative):
        return 0, False
    value = np.int64(magnitude)
    return (-value if negative else value), True
